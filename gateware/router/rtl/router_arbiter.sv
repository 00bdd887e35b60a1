// SPDX-License-Identifier: Apache-2.0
// Picks one of those of one class who ask: of those who are due the first one behind who was granted last, cyclically; or always the lowest.
//
// Where nobody who asks is due, all who ask become due. So everybody is served once before anybody is served twice, and one who could not ask for
// want of room keeps his turn: a round robin pointer alone would have moved past him, and might do so each time. The pointer among the due has
// those served alike whose packets come at different times: the lowest would go first in each round.
//
// Who is due is kept for each class, the pointer is one: a class never competes with the other in one pick.
module router_arbiter #(
  parameter int unsigned Inputs = 7
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              fixed_i,
  input  logic              class_i,  // of those who ask
  input  logic [Inputs-1:0] request_i,
  output logic [Inputs-1:0] grant_o
);
  logic [1:0][Inputs-1:0] due_q;
  logic [Inputs-1:0] due, pick, ahead;
  logic [Inputs-1:0] behind_q;  // the inputs behind who was granted last, up to the end

  assign due = (request_i & due_q[class_i]) != '0 ? due_q[class_i] : due_q[class_i] | request_i;
  assign ahead = request_i & due & behind_q;
  assign pick = fixed_i ? request_i : ahead != '0 ? ahead : request_i & due;
  assign grant_o = pick & (~pick + 1'b1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      due_q    <= '0;
      behind_q <= '0;
    end else if (grant_o != '0) begin
      due_q[class_i] <= due & ~grant_o;
      behind_q       <= ~(grant_o | (grant_o - 1'b1));
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) GrantsOneWhoAsks : assert ($onehot0(grant_o) && (grant_o & ~request_i) == '0 && (request_i == '0) == (grant_o == '0));
  end
`endif
endmodule
