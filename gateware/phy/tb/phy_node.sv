// SPDX-License-Identifier: Apache-2.0
// A node with one link and one network interface, registers, and its transceivers' clocks: what the tests of
// gateware/phy drive.
module phy_node #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned Lanes = 0,
  parameter int unsigned Quiet = 512,
  localparam int unsigned BusBits = Lanes == 0 ? 64 : LineBits / 8 * 10
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                s_axil_awready,
  input  logic                s_axil_awvalid,
  input  logic [9:0]          s_axil_awaddr,
  output logic                s_axil_wready,
  input  logic                s_axil_wvalid,
  input  logic [31:0]         s_axil_wdata,
  output logic                s_axil_bvalid,
  output logic                s_axil_arready,
  input  logic                s_axil_arvalid,
  input  logic [9:0]          s_axil_araddr,
  output logic                s_axil_rvalid,
  output logic [31:0]         s_axil_rdata,
  input  exanet_pkg::flit_t   flit_i,
  output exanet_pkg::credit_t credit_o,
  output exanet_pkg::flit_t   flit_o,
  input  logic                release_i,
  output logic                interrupt_o,
  input  logic                tx_clk_i,
  output logic [BusBits-1:0]  tx_data_o,
  input  logic                rx_clk_i,
  input  logic                rx_signal_i,
  input  logic [BusBits-1:0]  rx_data_i,
  output logic                rx_locked_o
);
  logic rst_n, tx_valid, tx_ready, rx_valid, down, drain, drained, restart, clear, overflow;
  logic [LineBits-1:0] tx_data, rx_data;
  logic [1:0] bresp, rresp;

  exanet_reset_sync u_reset (.clk_i, .rst_ni, .rst_no(rst_n));
  exanet_ip #(.InterPorts(1), .IntraPorts(1), .Dimensions(1), .LineBits(LineBits)) u_ip (
    .clk_i, .rst_ni(rst_n), .s_axil_awready, .s_axil_awvalid, .s_axil_awaddr, .s_axil_awprot('0), .s_axil_wready, .s_axil_wvalid, .s_axil_wdata,
    .s_axil_wstrb('1), .s_axil_bready(1'b1), .s_axil_bvalid, .s_axil_bresp(bresp), .s_axil_arready, .s_axil_arvalid, .s_axil_araddr,
    .s_axil_arprot('0), .s_axil_rready(1'b1), .s_axil_rvalid, .s_axil_rdata, .s_axil_rresp(rresp),
    .flit_i, .credit_o, .flit_o, .release_i,
    .tx_valid_o(tx_valid), .tx_data_o(tx_data), .tx_ready_i(tx_ready), .rx_valid_i(rx_valid), .rx_data_i(rx_data),
    .down_i(down), .drain_i(drain), .drained_o(drained), .restart_i(restart), .clear_o(clear), .overflow_i(overflow), .interrupt_o);
  exanet_phy #(.LineBits(LineBits), .Lanes(Lanes), .Quiet(Quiet)) u_phy (
    .clk_i, .rst_ni(rst_n), .link_valid_i(tx_valid), .link_data_i(tx_data), .link_ready_o(tx_ready),
    .link_valid_o(rx_valid), .link_data_o(rx_data), .down_o(down), .drain_o(drain), .drained_i(drained), .restart_o(restart), .clear_i(clear),
    .overflow_o(overflow), .tx_clk_i, .tx_data_o, .rx_clk_i, .rx_signal_i, .rx_data_i, .rx_locked_o);
endmodule
