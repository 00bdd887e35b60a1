// SPDX-License-Identifier: Apache-2.0
// A whole node between the buses of a system-on-chip and the raw ports of transceivers: exanet_ip with an ni_port at
// each intra-tile port and an exanet_phy at each inter-tile port. AXI4-Stream for frames, AXI4-Lite for registers, 64
// bits a cycle for each transceiver.
//
// rst_ni may change at any time: it is synchronised to clk_i here, and to the transceivers' clocks in exanet_phy. All
// ports are packed vectors, so that plain Verilog can instantiate it (gateware/tops.py).
module exanet_endpoint #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 1,
  parameter int unsigned Dimensions = 2,
  parameter bit          Qfdb = 1'b0,  // as of exanet_ip
  parameter bit          Multicast = 1'b0,
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  parameter int unsigned Quiet = 2048  // as of exanet_phy
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  // registers
  output logic                          s_axil_awready,
  input  logic                          s_axil_awvalid,
  input  logic [9:0]                    s_axil_awaddr,
  input  logic [2:0]                    s_axil_awprot,
  output logic                          s_axil_wready,
  input  logic                          s_axil_wvalid,
  input  logic [31:0]                   s_axil_wdata,
  input  logic [3:0]                    s_axil_wstrb,
  input  logic                          s_axil_bready,
  output logic                          s_axil_bvalid,
  output logic [1:0]                    s_axil_bresp,
  output logic                          s_axil_arready,
  input  logic                          s_axil_arvalid,
  input  logic [9:0]                    s_axil_araddr,
  input  logic [2:0]                    s_axil_arprot,
  input  logic                          s_axil_rready,
  output logic                          s_axil_rvalid,
  output logic [31:0]                   s_axil_rdata,
  output logic [1:0]                    s_axil_rresp,
  output logic                          interrupt_o,
  // frames into the network, as of ni_port
  input  logic [IntraPorts-1:0]         s_axis_tvalid,
  output logic [IntraPorts-1:0]         s_axis_tready,
  input  logic [IntraPorts-1:0][127:0]  s_axis_tdata,
  input  logic [IntraPorts-1:0][15:0]   s_axis_tkeep,
  input  logic [IntraPorts-1:0]         s_axis_tlast,
  input  logic [IntraPorts-1:0][175:0]  s_axis_tuser,
  // frames out of it
  output logic [IntraPorts-1:0]         m_axis_tvalid,
  input  logic [IntraPorts-1:0]         m_axis_tready,
  output logic [IntraPorts-1:0][127:0]  m_axis_tdata,
  output logic [IntraPorts-1:0][15:0]   m_axis_tkeep,
  output logic [IntraPorts-1:0]         m_axis_tlast,
  output logic [IntraPorts-1:0][175:0]  m_axis_tuser,
  output logic [IntraPorts-1:0][31:0]   sent_o,      // counts of each ni_port
  output logic [IntraPorts-1:0][31:0]   refused_o,
  output logic [IntraPorts-1:0][31:0]   received_o,
  output logic [IntraPorts-1:0][31:0]   dropped_o,
  // transceivers, as of exanet_phy
  input  logic [InterPorts-1:0]         tx_clk_i,
  output logic [InterPorts-1:0][63:0]   tx_data_o,
  input  logic [InterPorts-1:0]         rx_clk_i,
  input  logic [InterPorts-1:0]         rx_signal_i,
  input  logic [InterPorts-1:0][63:0]   rx_data_i,
  output logic [InterPorts-1:0]         rx_locked_o
);
  logic rst_n;
  exanet_reset_sync u_reset (.clk_i, .rst_ni, .rst_no(rst_n));

  exanet_pkg::flit_t [IntraPorts-1:0] sent, arrived;
  exanet_pkg::credit_t [IntraPorts-1:0] credit;
  logic [IntraPorts-1:0] release_slot;
  logic [InterPorts-1:0] tx_valid, tx_ready, rx_valid, down, drain, drained, restart, clear, overflow;
  logic [InterPorts-1:0][63:0] tx_data, rx_data;

  exanet_ip #(
    .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .Multicast(Multicast), .XBits(XBits), .YBits(YBits)
  ) u_ip (
    .clk_i, .rst_ni(rst_n),
    .s_axil_awready, .s_axil_awvalid, .s_axil_awaddr, .s_axil_awprot, .s_axil_wready, .s_axil_wvalid, .s_axil_wdata, .s_axil_wstrb,
    .s_axil_bready, .s_axil_bvalid, .s_axil_bresp, .s_axil_arready, .s_axil_arvalid, .s_axil_araddr, .s_axil_arprot,
    .s_axil_rready, .s_axil_rvalid, .s_axil_rdata, .s_axil_rresp,
    .flit_i(sent), .credit_o(credit), .flit_o(arrived), .release_i(release_slot),
    .tx_valid_o(tx_valid), .tx_data_o(tx_data), .tx_ready_i(tx_ready), .rx_valid_i(rx_valid), .rx_data_i(rx_data),
    .down_i(down), .drain_i(drain), .drained_o(drained), .restart_i(restart), .clear_o(clear), .overflow_i(overflow), .interrupt_o);

  for (genvar i = 0; i < IntraPorts; i++) begin : gen_ni
    ni_port u_ni (
      .clk_i, .rst_ni(rst_n),
      .s_axis_tvalid(s_axis_tvalid[i]), .s_axis_tready(s_axis_tready[i]), .s_axis_tdata(s_axis_tdata[i]), .s_axis_tkeep(s_axis_tkeep[i]),
      .s_axis_tlast(s_axis_tlast[i]), .s_axis_tuser(s_axis_tuser[i]),
      .m_axis_tvalid(m_axis_tvalid[i]), .m_axis_tready(m_axis_tready[i]), .m_axis_tdata(m_axis_tdata[i]), .m_axis_tkeep(m_axis_tkeep[i]),
      .m_axis_tlast(m_axis_tlast[i]), .m_axis_tuser(m_axis_tuser[i]),
      .flit_o(sent[i]), .credit_i(credit[i]), .flit_i(arrived[i]), .release_o(release_slot[i]),
      .sent_o(sent_o[i]), .refused_o(refused_o[i]), .received_o(received_o[i]), .dropped_o(dropped_o[i]));
  end

  for (genvar p = 0; p < InterPorts; p++) begin : gen_phy
    exanet_phy #(.Quiet(Quiet)) u_phy (
      .clk_i, .rst_ni(rst_n), .link_valid_i(tx_valid[p]), .link_data_i(tx_data[p]), .link_ready_o(tx_ready[p]),
      .link_valid_o(rx_valid[p]), .link_data_o(rx_data[p]), .down_o(down[p]), .drain_o(drain[p]), .drained_i(drained[p]),
      .restart_o(restart[p]), .clear_i(clear[p]), .overflow_o(overflow[p]),
      .tx_clk_i(tx_clk_i[p]), .tx_data_o(tx_data_o[p]), .rx_clk_i(rx_clk_i[p]), .rx_signal_i(rx_signal_i[p]), .rx_data_i(rx_data_i[p]),
      .rx_locked_o(rx_locked_o[p]));
  end
endmodule
