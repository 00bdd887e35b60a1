// SPDX-License-Identifier: Apache-2.0
// The registers of a node under a master that does what it likes. Proved: an answer on AXI4-Lite stays, unchanged,
// until the master takes it.
module registers_formal (
  input logic        clk_i,
  input logic        awvalid_i,
  input logic [9:0]  awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [9:0]  araddr_i,
  input logic        rready_i,
  input node_registers_pkg::node_registers__in_t status_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic awready, wready, bvalid, arready, rvalid;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  node_registers_pkg::node_registers__out_t written;
  // The registers of links are outside of the block: their answers come at once, with any data.
  node_registers_pkg::node_registers__in_t status;
  always_comb begin
    status = status_i;
    for (int unsigned p = 0; p < exanet_pkg::MaxInterPorts; p++) begin
      status.link[p].rd_ack = written.link[p].req && !written.link[p].req_is_wr;
      status.link[p].wr_ack = written.link[p].req && written.link[p].req_is_wr;
    end
  end
  node_registers dut (
    .clk(clk_i), .arst_n(rst_n),
    .s_axil_awready(awready), .s_axil_awvalid(awvalid_i), .s_axil_awaddr(awaddr_i), .s_axil_awprot('0),
    .s_axil_wready(wready), .s_axil_wvalid(wvalid_i), .s_axil_wdata(wdata_i), .s_axil_wstrb(wstrb_i),
    .s_axil_bready(bready_i), .s_axil_bvalid(bvalid), .s_axil_bresp(bresp),
    .s_axil_arready(arready), .s_axil_arvalid(arvalid_i), .s_axil_araddr(araddr_i), .s_axil_arprot('0),
    .s_axil_rready(rready_i), .s_axil_rvalid(rvalid), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
    .hwif_in(status), .hwif_out(written));
  exanet_stream_check #(.Width(2)) u_b (.clk_i, .rst_ni(rst_n), .valid_i(bvalid), .data_i(bresp), .ready_i(bready_i));
  exanet_stream_check #(.Width(34)) u_r (.clk_i, .rst_ni(rst_n), .valid_i(rvalid), .data_i({rdata, rresp}), .ready_i(rready_i));

  // Helps the proof: the buffer of two answers is never written when it is full.
  logic [1:0] held;
  assign held = dut.axil_resp_wptr - dut.axil_resp_rptr;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Held: assert (held <= 2'd2 && held <= dut.axil_n_in_flight && dut.axil_n_in_flight <= 2'd2);
    end
  end

  // Reached: two answers to writes wait, and one to a read.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      WritesWait: cover (held == 2'd2 && bvalid && !bready_i);
      ReadWaits: cover (rvalid && !rready_i);
    end
  end
endmodule
