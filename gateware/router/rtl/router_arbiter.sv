// SPDX-License-Identifier: Apache-2.0
// Picks one of those who ask: a priority one where there is one; of a class the first of those who go first, else of
// the others (first_i); of these who is due, the first one behind who was granted last, cyclically. With fixed_i it
// picks the lowest of the class.
//
// Where nobody who might be picked is due, all of them become due. So everybody is served once before anybody is served
// twice, and one who could not ask for want of space keeps his turn: a round robin pointer alone would have moved past
// him, and might do so each time. The pointer among the due has those served alike whose packets come at different
// times: the lowest would go first in each round.
//
// Who is due is kept for each class, the pointer is one: a class never competes with the other in one pick.
//
// Who goes before whom follows from registers, and is there before the requests are: then a request is granted unless
// one of those before it is there. What a grant changes is worked out in the cycle behind it, from a register that
// holds who might have been picked. Contract: in that cycle nobody asks.
module router_arbiter #(
  parameter int unsigned Inputs = 7
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   fixed_i,
  input  logic [Inputs-1:0]      first_i,    // who goes before the others of his class; all or nobody: none does
  input  logic [1:0][Inputs-1:0] request_i,  // of each class, bulk and priority
  output logic [1:0][Inputs-1:0] grant_o
);
  logic [1:0][Inputs-1:0] due_q;
  logic [Inputs-1:0] behind_q;  // the inputs behind who was granted last, up to the end
  logic [Inputs-1:0] ranked, pick_q, grant_q, due;
  logic class_d, class_q;

  assign class_d = request_i[1] != '0;
  // Who is picked before input `i`: lower ones among those alike, or later ones where the pointer stands before this
  // one; then who is due; then who goes first.
  function automatic logic [Inputs-1:0] ahead(int unsigned i, logic fixed, logic [Inputs-1:0] behind, logic [Inputs-1:0] dues,
                                              logic [Inputs-1:0] first);
    logic [Inputs-1:0] lower, alike, later;
    lower = ~({Inputs{1'b1}} << i);
    alike = behind[i] ? behind & lower : behind | lower;
    later = dues[i] ? dues & alike : dues | alike;
    return fixed ? lower : first[i] ? first & later : first | later;
  endfunction

  // In a simulation the ranks of those who ask are worked out, in most cycles none.
  always_comb begin
    grant_o = '0;
    for (int unsigned c = 0; c < 2; c++)
      for (int unsigned i = 0; i < Inputs; i++)
        if (request_i[c][i])
          grant_o[c][i] = (request_i[c] & ahead(i, fixed_i, behind_q, due_q[c], first_i)) == '0 && (c == 1 || request_i[1] == '0);
  end

  assign ranked = request_i[class_d];
  // Whoever is granted in a cycle has nobody before him, and all who might have been picked in his place are in his
  // class, and first if he is.
  assign due = (pick_q & due_q[class_q]) != '0 ? due_q[class_q] : due_q[class_q] | pick_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pick_q   <= '0;
      grant_q  <= '0;
      class_q  <= 1'b0;
      due_q    <= '0;
      behind_q <= '0;
    end else begin
      pick_q  <= fixed_i || (ranked & first_i) == '0 ? ranked : ranked & first_i;
      grant_q <= grant_o[0] | grant_o[1];
      class_q <= class_d;
      if (grant_q != '0) begin
        due_q[class_q] <= due & ~grant_q;
        behind_q       <= ~(grant_q | (grant_q - 1'b1));
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      GrantsOneWhoAsks : assert ($onehot0({grant_o[1], grant_o[0]}) && (grant_o & ~request_i) == '0 && (request_i == '0) == (grant_o == '0));
      NoRequestBehindGrant : assert (grant_q == '0 || request_i == '0);
    end
  end
`endif
endmodule
