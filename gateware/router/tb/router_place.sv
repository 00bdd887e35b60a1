// SPDX-License-Identifier: Apache-2.0
// The router as gateware/place.py places it: whole, but for the data that it carries, of which the first CarriedBits of
// a word are brought out; memory and crossbar of the others are left out with them. What decides, and a header's change
// on its way out, is all there.
module router_place #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 3,
  parameter int unsigned CarriedBits = 16,
  parameter int unsigned HeaderDepth = 32,  // of each queue
  localparam int unsigned Ports = InterPorts + IntraPorts
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  exanet_pkg::router_config_t        config_i,
  input  exanet_pkg::flit_t                 flit_i[Ports],
  output exanet_pkg::credit_t               credit_o[Ports][2],
  output logic [Ports-1:0][CarriedBits+3:0] flit_o,
  input  exanet_pkg::credit_t               credit_i[Ports][2],
  input  logic [Ports-1:0]                  release_i,
  output logic [31:0]                       discarded_o
);
  exanet_pkg::flit_t flit[Ports];
  exanet_router #(
    .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .HeaderDepth(HeaderDepth), .IntraHeaders(HeaderDepth)
  ) u_router (
    .clk_i, .rst_ni, .config_i, .flit_i, .credit_o, .flit_o(flit), .credit_i, .release_i, .discarded_o);
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    assign flit_o[p] = {flit[p].valid, flit[p].vc, flit[p].head, flit[p].tail, flit[p].data[127-:CarriedBits]};
  end
endmodule
