// SPDX-License-Identifier: Apache-2.0
// One board of the KARMA bench: the network IP with a traffic generator, a consumer and counters at each intra-tile
// port.
//
// Two register blocks on AXI4-Lite, the IP's (`node_…`) and the bench's (`karma_…`); what is left to add is
// transceivers and a processor.
module karma_board #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 2,
  parameter int unsigned IntraDepth = 4096,
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned IntraSlots = 8
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        node_awready,
  input  logic        node_awvalid,
  input  logic [9:0]  node_awaddr,
  input  logic [2:0]  node_awprot,
  output logic        node_wready,
  input  logic        node_wvalid,
  input  logic [31:0] node_wdata,
  input  logic [3:0]  node_wstrb,
  input  logic        node_bready,
  output logic        node_bvalid,
  output logic [1:0]  node_bresp,
  output logic        node_arready,
  input  logic        node_arvalid,
  input  logic [9:0]  node_araddr,
  input  logic [2:0]  node_arprot,
  input  logic        node_rready,
  output logic        node_rvalid,
  output logic [31:0] node_rdata,
  output logic [1:0]  node_rresp,
  output logic        karma_awready,
  input  logic        karma_awvalid,
  input  logic [8:0]  karma_awaddr,
  input  logic [2:0]  karma_awprot,
  output logic        karma_wready,
  input  logic        karma_wvalid,
  input  logic [31:0] karma_wdata,
  input  logic [3:0]  karma_wstrb,
  input  logic        karma_bready,
  output logic        karma_bvalid,
  output logic [1:0]  karma_bresp,
  output logic        karma_arready,
  input  logic        karma_arvalid,
  input  logic [8:0]  karma_araddr,
  input  logic [2:0]  karma_arprot,
  input  logic        karma_rready,
  output logic        karma_rvalid,
  output logic [31:0] karma_rdata,
  output logic [1:0]  karma_rresp,
  output logic [InterPorts-1:0] tx_valid_o,
  output logic [63:0]           tx_data_o[InterPorts],
  input  logic [InterPorts-1:0] tx_ready_i,
  input  logic [InterPorts-1:0] rx_valid_i,
  input  logic [63:0]           rx_data_i[InterPorts]
);
  karma_registers_pkg::karma_registers__in_t status;
  karma_registers_pkg::karma_registers__out_t written;
  exanet_pkg::flit_t [IntraPorts-1:0] sent, received;
  exanet_pkg::credit_t [IntraPorts-1:0] credit;
  logic [InterPorts-1:0][63:0] tx_data, rx_data;
  for (genvar p = 0; p < InterPorts; p++) begin : gen_line
    assign tx_data_o[p] = tx_data[p];
    assign rx_data[p] = rx_data_i[p];
  end
  logic [IntraPorts-1:0] release_slot;
  logic [31:0] now_q;

  exanet_ip #(
    .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders),
    .IntraSlots(IntraSlots)
  ) u_ip (
    .clk_i, .rst_ni,
    .s_axil_awready(node_awready), .s_axil_awvalid(node_awvalid), .s_axil_awaddr(node_awaddr), .s_axil_awprot(node_awprot),
    .s_axil_wready(node_wready),
    .s_axil_wvalid(node_wvalid), .s_axil_wdata(node_wdata), .s_axil_wstrb(node_wstrb), .s_axil_bready(node_bready), .s_axil_bvalid(node_bvalid),
    .s_axil_bresp(node_bresp), .s_axil_arready(node_arready), .s_axil_arvalid(node_arvalid), .s_axil_araddr(node_araddr), .s_axil_arprot(node_arprot),
    .s_axil_rready(node_rready), .s_axil_rvalid(node_rvalid), .s_axil_rdata(node_rdata), .s_axil_rresp(node_rresp),
    .flit_i(sent), .credit_o(credit), .flit_o(received), .release_i(release_slot),
    .tx_valid_o, .tx_data_o(tx_data), .tx_ready_i, .rx_valid_i, .rx_data_i(rx_data));

  karma_registers u_registers (
    .clk(clk_i), .arst_n(rst_ni),
    .s_axil_awready(karma_awready), .s_axil_awvalid(karma_awvalid), .s_axil_awaddr(karma_awaddr), .s_axil_awprot(karma_awprot),
    .s_axil_wready(karma_wready),
    .s_axil_wvalid(karma_wvalid), .s_axil_wdata(karma_wdata), .s_axil_wstrb(karma_wstrb), .s_axil_bready(karma_bready), .s_axil_bvalid(karma_bvalid),
    .s_axil_bresp(karma_bresp), .s_axil_arready(karma_arready), .s_axil_arvalid(karma_arvalid), .s_axil_araddr(karma_araddr),
    .s_axil_arprot(karma_arprot),
    .s_axil_rready(karma_rready), .s_axil_rvalid(karma_rvalid), .s_axil_rdata(karma_rdata), .s_axil_rresp(karma_rresp),
    .hwif_in(status), .hwif_out(written));
  exanet_axil_check #(.AddressBits(9)) u_check (
    .clk_i, .rst_ni,
    .awready_i(karma_awready), .awvalid_i(karma_awvalid), .awaddr_i(karma_awaddr), .awprot_i(karma_awprot),
    .wready_i(karma_wready), .wvalid_i(karma_wvalid), .wdata_i(karma_wdata), .wstrb_i(karma_wstrb),
    .bready_i(karma_bready), .bvalid_i(karma_bvalid), .bresp_i(karma_bresp),
    .arready_i(karma_arready), .arvalid_i(karma_arvalid), .araddr_i(karma_araddr), .arprot_i(karma_arprot),
    .rready_i(karma_rready), .rvalid_i(karma_rvalid), .rdata_i(karma_rdata), .rresp_i(karma_rresp));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) now_q <= '0;
    else now_q <= now_q + 1'b1;
  end
  assign status.now.cycles.next = now_q;

  for (genvar i = 0; i < 4; i++) begin : gen_port
    if (i < IntraPorts) begin : gen_used
      logic arrived, answered, busy;
      logic [1:0] mode;
      exanet_pkg::header_t header, arrived_header;
      assign mode = written.port[i].form.mode.value;
      always_comb begin
        header = '0;
        header.dcid = written.port[i].destination.dcid.value;
        header.source_dcid = written.source.dcid.value;
        header.length = written.port[i].form.length.value;
        header.kind = written.port[i].form.kind.value;
        header.high_priority = written.port[i].form.high_priority.value;
      end

      karma_generator #(.IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders), .IntraSlots(IntraSlots)) u_generator (
        .clk_i, .rst_ni, .now_i(now_q), .start_i(written.port[i].control.start.value), .clear_i(written.port[i].control.clear.value),
        .packets_i(written.port[i].packets.count.value), .mode_i(mode), .gap_i(written.port[i].form.gap.value), .header_i(header),
        .arrived_i(arrived), .arrived_header_i(arrived_header), .answered_o(answered), .flit_o(sent[i]), .credit_i(credit[i]), .busy_o(busy),
        .sent_o(status.port[i].sent.count.next), .first_sent_o(status.port[i].first_sent.count.next),
        .last_sent_o(status.port[i].last_sent.count.next));

      karma_consumer #(.IntraSlots(IntraSlots)) u_consumer (
        .clk_i, .rst_ni, .now_i(now_q), .clear_i(written.port[i].control.clear.value), .stuck_i(written.port[i].control.stuck.value),
        .echo_i(mode == 2'd2), .trips_i(mode == 2'd1), .sent_head_i(sent[i].valid && sent[i].head), .flit_i(received[i]),
        .release_o(release_slot[i]), .answered_i(answered), .arrived_o(arrived), .header_o(arrived_header),
        .received_o(status.port[i].received.count.next), .received_bytes_o(status.port[i].received_bytes.count.next),
        .bad_o(status.port[i].bad.count.next), .first_head_o(status.port[i].first_head.count.next),
        .first_tail_o(status.port[i].first_tail.count.next), .last_tail_o(status.port[i].last_tail.count.next),
        .trip_min_o(status.port[i].trip_min.count.next), .trip_max_o(status.port[i].trip_max.count.next),
        .trip_sum_o(status.port[i].trip_sum.count.next));
      assign status.port[i].control.busy.next = busy;
    end else begin : gen_unused
      assign status.port[i] = '{default: '0};
    end
  end
endmodule
