// SPDX-License-Identifier: Apache-2.0
// Matches inputs and outputs of the top-of-rack switch, and passes the flits of what is matched.
//
// A packet holds an output alone until its last flit has passed, and an input has one packet that passes. In each
// cycle, a free output offers itself to the input whose turn it is among those that have a packet for it, and an input
// that has offers accepts the one of the output whose turn it is: one iteration of iSLIP (McKeown 1999), here of whole
// packets. The turn moves on behind whom has been accepted. That is `arbitration: islip` of the model of
// core/network/wormhole, with one iteration. Its `round-robin`, in which the outputs pick one behind the other, each
// knowing what the others have taken, would be a chain of as many picks as there are ports.
//
// Whose turn it is follows from registers, before the requests do: an offer is made unless somebody ahead asks. The
// turns move on in the cycle behind the match, when neither side can be matched anyway.
module tor_match #(
  parameter int unsigned Ports = 16
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic [Ports-1:0][Ports-1:0] waiting_i,  // of an input: outputs
  input  logic [Ports-1:0][Ports-1:0] readable_i,
  input  logic [Ports-1:0]            last_i,  // of an input: its next flit is the packet's last
  input  logic [Ports-1:0]            credit_i,  // of an output
  output logic [Ports-1:0][Ports-1:0] match_o,
  output logic [Ports-1:0][Ports-1:0] hold_o,
  output logic [Ports-1:0][Ports-1:0] pass_o
);
  logic [Ports-1:0][Ports-1:0] hold_q, offer, match, passes;
  logic [Ports-1:0] in_free_q, out_free_q, in_free_d, out_free_d;
  logic [Ports-1:0][Ports-1:0] offers_behind_q, accepts_behind_q;  // whom a turn comes to before it starts again at 0
  logic [Ports-1:0][Ports-1:0] asks;  // of an output: inputs

  // Those who come before `i`: lower ones on the same side of the turn, or the upper side where `i` is on the lower.
  function automatic logic [Ports-1:0] ahead(int unsigned i, logic [Ports-1:0] behind);
    logic [Ports-1:0] lower;
    lower = ~({Ports{1'b1}} << i);
    return behind[i] ? behind & lower : behind | lower;
  endfunction
  function automatic logic [Ports-1:0] after(logic [Ports-1:0] one);
    logic [Ports-1:0] found;
    found = '0;
    for (int unsigned i = 1; i < Ports; i++) found[i] = found[i-1] | one[i-1];
    return found;
  endfunction

  always_comb begin
    for (int unsigned o = 0; o < Ports; o++)
      for (int unsigned i = 0; i < Ports; i++) asks[o][i] = waiting_i[i][o] && in_free_q[i];
    offer = '0;
    for (int unsigned i = 0; i < Ports; i++)
      for (int unsigned o = 0; o < Ports; o++)
        if (asks[o][i] && out_free_q[o]) offer[i][o] = (asks[o] & ahead(i, offers_behind_q[o])) == '0;
    match = '0;
    for (int unsigned i = 0; i < Ports; i++)
      for (int unsigned o = 0; o < Ports; o++)
        if (offer[i][o]) match[i][o] = (offer[i] & ahead(o, accepts_behind_q[i])) == '0;
  end

  logic [Ports-1:0] in_ends, out_ends, taken;
  always_comb begin
    out_ends = '0;
    taken    = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      passes[i]  = hold_q[i] & readable_i[i] & credit_i;
      in_ends[i] = passes[i] != '0 && last_i[i];
      if (last_i[i]) out_ends |= passes[i];
      taken |= match[i];
      pass_o[i] = passes[i] | (match[i] & credit_i);
    end
    for (int unsigned i = 0; i < Ports; i++) in_free_d[i] = (in_free_q[i] && offer[i] == '0) || in_ends[i];
    out_free_d = (out_free_q & ~taken) | out_ends;
  end
  assign match_o = match;
  assign hold_o  = hold_q;

  logic [Ports-1:0][Ports-1:0] holders;  // of an output
  always_comb begin
    for (int unsigned o = 0; o < Ports; o++) for (int unsigned i = 0; i < Ports; i++) holders[o][i] = hold_q[i][o];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_q           <= '0;
      in_free_q        <= '1;
      out_free_q       <= '1;
      offers_behind_q  <= '0;
      accepts_behind_q <= '0;
    end else begin
      in_free_q  <= in_free_d;
      out_free_q <= out_free_d;
      for (int unsigned i = 0; i < Ports; i++) begin
        hold_q[i] <= match[i] | (in_ends[i] ? '0 : hold_q[i]);
        if (hold_q[i] != '0) accepts_behind_q[i] <= after(hold_q[i]);
      end
      for (int unsigned o = 0; o < Ports; o++) if (holders[o] != '0) offers_behind_q[o] <= after(holders[o]);
    end
  end

`ifndef SYNTHESIS
  for (genvar p = 0; p < Ports; p++) begin : gen_check
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        OneOutput : assert ($onehot0(hold_q[p]) && in_free_q[p] == (hold_q[p] == '0));
        OneInput : assert ($onehot0(holders[p]) && out_free_q[p] == (holders[p] == '0));
      end
    end
  end
`endif
endmodule
