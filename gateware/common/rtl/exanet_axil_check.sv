// SPDX-License-Identifier: Apache-2.0
// Checks the five channels of an AXI4-Lite port, both those that the master drives and those that the slave does.
module exanet_axil_check #(
  parameter int unsigned AddressBits = 10
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   awready_i,
  input logic                   awvalid_i,
  input logic [AddressBits-1:0] awaddr_i,
  input logic [2:0]             awprot_i,
  input logic                   wready_i,
  input logic                   wvalid_i,
  input logic [31:0]            wdata_i,
  input logic [3:0]             wstrb_i,
  input logic                   bready_i,
  input logic                   bvalid_i,
  input logic [1:0]             bresp_i,
  input logic                   arready_i,
  input logic                   arvalid_i,
  input logic [AddressBits-1:0] araddr_i,
  input logic [2:0]             arprot_i,
  input logic                   rready_i,
  input logic                   rvalid_i,
  input logic [31:0]            rdata_i,
  input logic [1:0]             rresp_i
);
  exanet_stream_check #(.Width(AddressBits + 3)) u_aw (
    .clk_i, .rst_ni, .valid_i(awvalid_i), .data_i({awaddr_i, awprot_i}), .ready_i(awready_i));
  exanet_stream_check #(.Width(36)) u_w (.clk_i, .rst_ni, .valid_i(wvalid_i), .data_i({wdata_i, wstrb_i}), .ready_i(wready_i));
  exanet_stream_check #(.Width(2)) u_b (.clk_i, .rst_ni, .valid_i(bvalid_i), .data_i(bresp_i), .ready_i(bready_i));
  exanet_stream_check #(.Width(AddressBits + 3)) u_ar (
    .clk_i, .rst_ni, .valid_i(arvalid_i), .data_i({araddr_i, arprot_i}), .ready_i(arready_i));
  exanet_stream_check #(.Width(34)) u_r (.clk_i, .rst_ni, .valid_i(rvalid_i), .data_i({rdata_i, rresp_i}), .ready_i(rready_i));
endmodule
