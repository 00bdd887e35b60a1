// SPDX-License-Identifier: Apache-2.0
// Picks one of those who ask: those who are due first, of them the lowest; or always the lowest.
//
// Where nobody who asks is due, all who ask become due. So everybody is served once before anybody is served twice, and one who could not ask for
// want of room keeps his turn: a round robin pointer would have moved past him, and might do so each time.
module router_arbiter #(
  parameter int unsigned Inputs = 7
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              fixed_i,
  input  logic [Inputs-1:0] request_i,
  output logic [Inputs-1:0] grant_o
);
  logic [Inputs-1:0] due_q, due, pick;

  assign due = (request_i & due_q) != '0 ? due_q : due_q | request_i;
  assign pick = fixed_i ? request_i : request_i & due;
  assign grant_o = pick & (~pick + 1'b1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) due_q <= '0;
    else if (grant_o != '0) due_q <= due & ~grant_o;
  end

`ifndef SYNTHESIS
  GrantsOneWhoAsks : assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0(grant_o) && (grant_o & ~request_i) == '0 && (request_i == '0) == (grant_o == '0));
`endif
endmodule
