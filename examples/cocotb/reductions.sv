// SPDX-License-Identifier: Apache-2.0
// A node with a reduction unit between the processors' bus and memory: what test_reductions.py drives. What it sends to
// itself goes through its router; nothing is at its links. Every signal that cocotb looks at is a port here.
module reductions (
  input  logic         clk,
  input  logic         rst_n,
  output logic [31:0]  discarded,  // packets that found no way

  input  logic [3:0]   s_axi_awid,
  input  logic [19:0]  s_axi_awaddr,
  input  logic [7:0]   s_axi_awlen,
  input  logic [2:0]   s_axi_awsize,
  input  logic [1:0]   s_axi_awburst,
  input  logic         s_axi_awvalid,
  output logic         s_axi_awready,
  input  logic [127:0] s_axi_wdata,
  input  logic [15:0]  s_axi_wstrb,
  input  logic         s_axi_wlast,
  input  logic         s_axi_wvalid,
  output logic         s_axi_wready,
  output logic [3:0]   s_axi_bid,
  output logic [1:0]   s_axi_bresp,
  output logic         s_axi_bvalid,
  input  logic         s_axi_bready,
  input  logic [3:0]   s_axi_arid,
  input  logic [19:0]  s_axi_araddr,
  input  logic [7:0]   s_axi_arlen,
  input  logic [2:0]   s_axi_arsize,
  input  logic [1:0]   s_axi_arburst,
  input  logic         s_axi_arvalid,
  output logic         s_axi_arready,
  output logic [3:0]   s_axi_rid,
  output logic [127:0] s_axi_rdata,
  output logic [1:0]   s_axi_rresp,
  output logic         s_axi_rlast,
  output logic         s_axi_rvalid,
  input  logic         s_axi_rready,

  output logic         m_axi_awid,
  output logic [47:0]  m_axi_awaddr,
  output logic [7:0]   m_axi_awlen,
  output logic [2:0]   m_axi_awsize,
  output logic [1:0]   m_axi_awburst,
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [127:0] m_axi_wdata,
  output logic [15:0]  m_axi_wstrb,
  output logic         m_axi_wlast,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  input  logic         m_axi_bid,
  input  logic [1:0]   m_axi_bresp,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready
);
  import exanet_pkg::*;

  // One node on a ring of one: packets come out at the port that they went into.
  router_config_t config_q;
  always_comb begin
    config_q = '0;
    config_q.enabled = 1'b1;
    for (int unsigned d = 0; d < 3; d++) config_q.side[d] = 9'd1;
    config_q.order = {2'd0, 2'd1, 2'd2};
  end

  flit_t in[2], out[2], sent;
  credit_t freed[2][2], returned[2][2];
  logic taken;
  assign in[0] = '0;
  assign in[1] = sent;
  assign returned = '{default: '0};
  exanet_router #(.InterPorts(1), .IntraPorts(1), .Dimensions(1)) u_router (
    .clk_i(clk), .rst_ni(rst_n), .config_i(config_q), .flit_i(in), .credit_o(freed), .flit_o(out), .credit_i(returned), .release_i({taken, 1'b0}),
    .discarded_o(discarded));

  exanet_reduce u_reduce (
    .clk_i(clk), .rst_ni(rst_n), .s_axi_awid, .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid, .s_axi_awready,
    .s_axi_wdata, .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bid, .s_axi_bresp, .s_axi_bvalid, .s_axi_bready,
    .s_axi_arid, .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid, .s_axi_arready, .s_axi_rid, .s_axi_rdata,
    .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid,
    .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready,
    .flit_o(sent), .credit_i(freed[1][0]), .flit_i(out[1]), .release_o(taken));
  assign m_axi_awid = '0;
  always_ff @(posedge clk) if (rst_n && m_axi_bvalid) OneId : assert (m_axi_bid == m_axi_awid);
endmodule
