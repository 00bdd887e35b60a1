// SPDX-License-Identifier: Apache-2.0
// Of the words that a line brings, in the recovered clock, those that the core is to have: all data, and flags when
// they have changed. While the channel is down it gets, of those that have not changed, the ones that fall on one word
// in 16, too. So behind a channel that is up there are no more words than the far core sent, however fast the line is,
// and a core that is a little slower keeps up.
module pcs_words (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       locked_i,
  input  logic       asked_i,    // the channel is down
  input  logic       valid_i,    // a sound word
  input  logic       control_i,  // it is flags
  input  logic [3:0] flags_i,
  output logic       valid_o,
  input  logic       lost_i,     // it was passed on, and did not arrive
  output logic       beat_o      // turns every eight sound words
);
  logic known_q;
  logic [3:0] count_q, flags_q;
  assign valid_o = valid_i && (!control_i || !known_q || flags_i != flags_q || (asked_i && count_q == '0));
  assign beat_o = count_q[3];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q <= 1'b0;
      flags_q <= '0;
      count_q <= '0;
    end else begin
      if (valid_i) count_q <= count_q + 1'b1;
      if (!locked_i || lost_i) known_q <= 1'b0;
      else if (valid_i && control_i) begin
        known_q <= 1'b1;
        flags_q <= flags_i;
      end
    end
  end
endmodule
