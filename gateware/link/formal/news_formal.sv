// SPDX-License-Identifier: Apache-2.0
// A sender without packets whose node's health changes at any time, whatever its registers say and whatever space comes
// back. Proved: health that is not what was reported to the far end last is in the register of the line within eight
// cycles in which the line is ready and no space comes back; and two reports out of turn never follow each other, so
// the others keep coming. Reached: health reported out of turn, twice with another report between.
module news_formal #(
  parameter int unsigned LineBits = 64
) (
  input logic                      clk_i,
  input logic                      ready_i,
  input exanet_pkg::health_t       health_i,
  input logic                      back_i,
  input logic [15:0]               credit_interval_i
);
  import exanet_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic released, valid, drained, control_sent;
  logic [1:0][10:0] sent_words;
  logic [1:0][6:0] sent_headers;
  logic [LineBits-1:0] data;
  link_counters_t counters;
  credit_t freed[2], none[2];
  assign freed[0] = '{words: '0, headers: 8'(back_i && rst_n)};
  assign freed[1] = '0;
  assign none = '{default: '0};
  link_tx #(.LineBits(LineBits), .PayloadDepth(16), .HeaderDepth(8), .MostWords(4), .Depth(4)) tx (
    .clk_i, .rst_ni(rst_n), .flit_i('0), .release_o(released), .credit_i(freed), .reclaim_i(none), .drained_o(drained), .sent_words_o(sent_words),
    .sent_headers_o(sent_headers), .health_i, .credit_threshold_i('0), .credit_interval_i, .valid_o(valid), .data_o(data), .ready_i,
    .packets_o(counters.tx_packets), .credits_o(counters.tx_credits), .stuffed_o(counters.tx_stuffed));

  health_t far = '0;
  logic [3:0] behind = '0;  // ready cycles without space that comes back, in which nothing has been reported
  logic was_early = 1'b0, reports_health;
  logic [1:0] early = '0;
  assign control_sent = tx.moved && tx.is_control;
  assign reports_health = control_sent && tx.report == ReportKindHealth;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (reports_health) far <= health_i;
      if (reports_health || health_i == far) behind <= '0;
      else if (ready_i && !back_i && behind != '1) behind <= behind + 1'b1;
      if (control_sent) was_early <= tx.early;
      if (control_sent && tx.early && early != '1) early <= early + 1'b1;
      ReportedInTime: assert (behind <= 4'd8);
      InTurn: assert (!(control_sent && tx.early && was_early));
      Twice: cover (early == 2'd2);
    end
  end
endmodule
