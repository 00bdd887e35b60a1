// SPDX-License-Identifier: Apache-2.0
// Picks one of those who ask: round robin from the one after the last granted, or the lowest.
module router_arbiter #(
  parameter int unsigned Inputs = 7
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              fixed_i,
  input  logic [Inputs-1:0] request_i,
  output logic [Inputs-1:0] grant_o
);
  // Ones above the last granted input.
  logic [Inputs-1:0] above_q, later, pick;

  assign later = request_i & above_q;
  assign pick = (!fixed_i && later != '0) ? later : request_i;
  assign grant_o = pick & (~pick + 1'b1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) above_q <= '1;
    else if (grant_o != '0) above_q <= ~(grant_o | (grant_o - 1'b1));
  end

`ifndef SYNTHESIS
  GrantsOneWhoAsks : assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0(grant_o) && (grant_o & ~request_i) == '0 && (request_i == '0) == (grant_o == '0));
`endif
endmodule
