// SPDX-License-Identifier: Apache-2.0
// A node of the tests of reductions: reduction unit, router and links, with what goes on between them at its port.
module reduce_node (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ni_rst_ni,  // of the unit alone
  input  exanet_pkg::router_config_t config_i,
  // processors
  input  logic [19:0]                s_axi_awaddr,
  input  logic                       s_axi_awvalid,
  input  logic [127:0]               s_axi_wdata,
  input  logic [15:0]                s_axi_wstrb,
  input  logic                       s_axi_wvalid,
  output logic                       s_axi_wready,
  input  logic [19:0]                s_axi_araddr,
  input  logic                       s_axi_arvalid,
  output logic                       s_axi_arready,
  output logic [127:0]               s_axi_rdata,
  output logic                       s_axi_rvalid,
  // memory
  output logic [47:0]                m_axi_awaddr,
  output logic [7:0]                 m_axi_awlen,
  output logic                       m_axi_awvalid,
  input  logic                       m_axi_awready,
  output logic [127:0]               m_axi_wdata,
  output logic [15:0]                m_axi_wstrb,
  output logic                       m_axi_wlast,
  output logic                       m_axi_wvalid,
  input  logic                       m_axi_wready,
  input  logic [1:0]                 m_axi_bresp,
  input  logic                       m_axi_bvalid,
  output logic                       m_axi_bready,
  // lines
  output logic [1:0]                 tx_valid_o,
  output logic [63:0]                tx_data_o[2],
  input  logic [1:0]                 tx_ready_i,
  input  logic [1:0]                 rx_valid_i,
  input  logic [63:0]                rx_data_i[2],
  input  logic                       damages_i,  // the packet whose last word comes out of the router
  // what is seen: words into the router and out of it
  output exanet_pkg::flit_t          in_o,
  output exanet_pkg::flit_t          out_o
);
  exanet_pkg::flit_t ins[1], outs[1], out;
  exanet_pkg::credit_t credit[1];
  logic moved_on;

  exanet_reduce u_reduce (
    .clk_i, .rst_ni(rst_ni && ni_rst_ni), .s_axi_awid('0), .s_axi_awaddr, .s_axi_awlen('0), .s_axi_awsize(3'd4), .s_axi_awburst(2'b01),
    .s_axi_awvalid, .s_axi_wdata, .s_axi_wstrb, .s_axi_wlast(1'b1), .s_axi_wvalid, .s_axi_wready, .s_axi_bready(1'b1), .s_axi_arid('0),
    .s_axi_araddr, .s_axi_arlen('0), .s_axi_arsize(3'd4), .s_axi_arburst(2'b01), .s_axi_arvalid, .s_axi_arready, .s_axi_rdata, .s_axi_rvalid,
    .s_axi_rready(1'b1), .m_axi_awaddr, .m_axi_awlen, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid,
    .m_axi_wready, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready, .flit_o(ins[0]), .credit_i(credit[0]), .flit_i(out), .release_o(moved_on));
  // As a link marks it.
  always_comb begin
    exanet_pkg::footer_t footer;
    out = outs[0];
    footer = outs[0].data;
    footer.error = footer.error || damages_i;
    if (outs[0].tail) out.data = footer;
  end
  assign in_o = ins[0];
  assign out_o = outs[0];

  exanet_node #(.InterPorts(2), .IntraPorts(1), .Dimensions(2)) u_node (
    .clk_i, .rst_ni, .config_i, .credit_threshold_i('0), .credit_interval_i(16'd256), .health_i('0), .flit_i(ins), .credit_o(credit),
    .flit_o(outs), .release_i(moved_on), .tx_valid_o, .tx_data_o, .tx_ready_i, .rx_valid_i, .rx_data_i);
endmodule
