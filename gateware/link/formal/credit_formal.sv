// SPDX-License-Identifier: Apache-2.0
// A sender without packets, whatever its registers say and whatever space comes back. Proved: when so much has come
// back unreported in a channel that the far end might wait for it, a credit is in the line's register within three
// cycles in which the line is ready, and stays until it is taken; and a timer that has run out repeats the counts as
// soon where nothing comes back meanwhile, and runs out whatever the interval is. So no value of a register, and no
// word lost on the line, stops a link for good.
module credit_formal #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned PayloadDepth = 16,
  parameter int unsigned HeaderDepth = 8,
  parameter int unsigned MostWords = 4
) (
  input logic                      clk_i,
  input logic                      ready_i,
  input exanet_pkg::credit_t [1:0] credit_i,
  input logic [11:0]               credit_threshold_i,
  input logic [15:0]               credit_interval_i
);
  localparam logic [2:0] Boundary = 3'd0, Credit = 3'd2;  // as link_tx
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Space that comes back is space that the far end has taken: never more than the pool is unreported.
  exanet_pkg::credit_t freed[2], none[2];
  logic [1:0][6:0] unreported_words = '0;
  logic [1:0][3:0] unreported_headers = '0;
  logic released, valid, control_sent, drained;
  logic [1:0][10:0] sent_words;
  logic [1:0][6:0] sent_headers;
  logic [LineBits-1:0] data;
  exanet_pkg::link_counters_t counters;
  for (genvar v = 0; v < 2; v++) begin : gen_freed
    logic fits;
    assign fits = rst_n && credit_i[v].words <= 12'(MostWords) && credit_i[v].headers == 8'd1 &&
        12'(unreported_words[v]) + credit_i[v].words <= 12'(PayloadDepth) && unreported_headers[v] < 4'(HeaderDepth);
    assign freed[v] = fits ? credit_i[v] : '0;
    assign none[v] = '0;
  end
  link_tx #(.LineBits(LineBits), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .MostWords(MostWords), .Depth(4)) tx (
    .clk_i, .rst_ni(rst_n), .flit_i('0), .release_o(released), .credit_i(freed), .reclaim_i(none), .drained_o(drained), .sent_words_o(sent_words),
    .sent_headers_o(sent_headers), .health_i('0), .credit_threshold_i,
    .credit_interval_i, .valid_o(valid), .data_o(data), .ready_i, .packets_o(counters.tx_packets), .credits_o(counters.tx_credits),
    .stuffed_o(counters.tx_stuffed));

  // A control word carries what had come back before its cycle.
  logic [1:0] starved;
  logic [1:0] waited = '0, stale_for = '0;
  logic [15:0] timer_before = '0;
  logic timed = 1'b0, quiet;
  assign quiet = freed[0].headers == '0 && freed[1].headers == '0;
  assign control_sent = tx.moved && tx.is_control;
  for (genvar v = 0; v < 2; v++) begin : gen_unreported
    always_ff @(posedge clk_i) begin
      unreported_words[v]   <= (control_sent ? '0 : unreported_words[v]) + 7'(freed[v].words);
      unreported_headers[v] <= (control_sent ? '0 : unreported_headers[v]) + 4'(freed[v].headers);
    end
    assign starved[v] = unreported_words[v] > 7'(PayloadDepth - 2 * MostWords) || unreported_headers[v] > 4'(HeaderDepth - 2);
  end
  always_ff @(posedge clk_i) begin
    waited <= control_sent || starved == '0 ? '0 : waited + 2'(ready_i && waited != '1);
    stale_for <= control_sent || tx.timer_q != '0 ? '0 : stale_for + 2'(ready_i && quiet && stale_for != '1);
    timer_before <= tx.timer_q;
    timed <= rst_n && !control_sent;
  end

  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {unreported_words, unreported_headers, waited, stale_for, timed} == '0);
    if (rst_n) begin
      Bounded: assert (unreported_words[0] <= 7'(PayloadDepth) && unreported_words[1] <= 7'(PayloadDepth) &&
                       unreported_headers[0] <= 4'(HeaderDepth) && unreported_headers[1] <= 4'(HeaderDepth));
      OfPackets: assert (unreported_words[0] <= 7'(MostWords * 32'(unreported_headers[0])) &&
                         unreported_words[1] <= 7'(MostWords * 32'(unreported_headers[1])));
      Unreported: assert (tx.unreported_words_q == 12'(unreported_words[0]) + 12'(unreported_words[1]) &&
                      tx.unreported_headers_q == 8'(unreported_headers[0]) + 8'(unreported_headers[1]));
      Empty: assert (tx.u_buffer.write_q == tx.u_buffer.read_q && !tx.buffer_valid);
      OnItsWay: assert (LineBits == 64 && 3'(tx.state_q) == Credit ? waited <= 2'd1 && stale_for <= 2'd1 :
                        3'(tx.state_q) == Boundary && waited == '0 && stale_for == '0);
      ReportsInTime: assert (waited != '1);
      RepeatsInTime: assert (stale_for != '1);
      RunsOut: assert (!timed || timer_before == '0 || tx.timer_q == timer_before - 1'b1);
    end
  end

  logic control_sent_before = 1'b0;
  always_ff @(posedge clk_i) control_sent_before <= control_sent_before || control_sent;
  // Reached: the far end might wait, and gets a control word.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Starved: cover (starved != '0 && control_sent);
      Repeats: cover (control_sent && tx.timer_q == '0 && starved == '0 && control_sent_before);
    end
  end
endmodule
