// SPDX-License-Identifier: Apache-2.0
// One end of a link that sends packets to a far end which is honest: it reports at any time, also never, any part of
// what has left its pools, and of nothing that was not sent; and begins anew at any time, when the link has drained
// (`channel` proves that no word from before comes then). Proved: the space that the router has, that of packets which
// it has handed over, and that of packets sent of which nothing has been heard are the far pool together, in every
// cycle. So space never exceeds the pool, and what was sent and not heard of comes back at a restart, at once and once;
// its packets are counted in tx_unconfirmed. Lost control words and packets change nothing of it: totals make them
// good.
//
// That the sender's buffer hands out what went in is what `link-framing` proves; it is assumed here.
module restart_formal #(
  parameter int unsigned LineBits = 128,
  parameter int unsigned PayloadDepth = 16,
  parameter int unsigned HeaderDepth = 8
) (
  input logic                clk_i,
  input exanet_pkg::flit_t   flit_i,
  input logic                ready_i,
  input logic [1:0]          take_i,        // the router hands a packet over, on this channel
  input logic [1:0][3:0]     take_words_i,
  input logic [1:0]          frees_i,       // the far end has reported a packet that it freed
  input logic [1:0][10:0]    frees_words_i,
  input logic                valid_i,       // a word comes
  input logic                is_control_i,       // which is a control word
  input logic                starts_i,
  input logic [10:0]         report_i,
  input logic [2:0]          report_kind_i,
  input logic [LineBits-1:0] data_i,
  input logic                drain_i,
  input logic                restart_i
);
  import exanet_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  flit_t flit, flit_out;
  credit_t credit[2], none[2], reclaim[2];
  health_t health;
  link_counters_t counters;
  logic released, valid, drained, whole, heard, restart, drain, comes;
  logic [LineBits-1:0] data, line;
  logic [1:0][10:0] sent_words;
  logic [1:0][6:0] sent_headers;
  for (genvar v = 0; v < 2; v++) begin : gen_none
    assign none[v] = '0;
  end
  logic [2:0] held;
  assign held = tx.u_buffer.write_q - tx.u_buffer.read_q;
  always_comb begin
    flit = flit_i;
    flit.valid = rst_n && flit_i.valid && held != 3'd4;
  end
  link_tx #(.LineBits(LineBits), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .MostWords(4), .Depth(4)) tx (
    .clk_i, .rst_ni(rst_n), .flit_i(flit), .release_o(released), .credit_i(none), .reclaim_i(none), .health_i('0), .credit_threshold_i('0),
    .credit_interval_i('0), .valid_o(valid), .data_o(data), .ready_i, .drain_i(drain), .drained_o(drained), .restart_i(restart),
    .sent_words_o(sent_words), .sent_headers_o(sent_headers), .packets_o(counters.tx_packets), .credits_o(counters.tx_credits),
    .stuffed_o(counters.tx_stuffed));
  link_rx #(.LineBits(LineBits), .ReceiveTimeout(4), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth)) rx (
    .clk_i, .rst_ni(rst_n), .valid_i(comes), .data_i(line), .down_i(restart), .restart_i(restart), .sent_words_i(sent_words),
    .sent_headers_i(sent_headers), .whole_o(whole), .flit_o(flit_out), .freed_i(none), .credit_o(credit), .reclaim_o(reclaim), .health_o(health),
    .heard_o(heard), .unconfirmed_o(counters.tx_unconfirmed), .packets_o(counters.rx_packets), .bad_headers_o(counters.rx_bad_headers),
    .bad_controls_o(counters.rx_bad_controls), .bad_payloads_o(counters.rx_bad_payloads), .cut_packets_o(counters.rx_cut_packets),
    .reclaimed_o(counters.rx_reclaimed), .stray_words_o(counters.rx_stray_words));
  assign drain = drain_i || restart_i;
  assign restart = rst_n && restart_i && drained;  // as phy_channel

  // What the far end reports: totals since the restart, which only grow, and never beyond what was sent.
  logic [1:0][10:0] reported_words = '0;
  logic [1:0][6:0] reported_headers = '0;
  control_t control;
  always_comb begin
    control = '0;
    control.kind = starts_i ? ControlKindStart : ControlKindCredit;
    control.freed_words = reported_words;
    control.freed_headers = reported_headers;
    control.report = report_i;
    control.report_kind = report_kind_e'(report_kind_i);
    control.ecc = exanet_code_pkg::control_ecc(control[56:0]);
    line = is_control_i ? {control, MagicWord} : data_i;
    assume (data_i[63:0] != MagicWord);
  end
  assign comes = rst_n && valid_i && !restart;

  // The router: its space, and what it has handed over that has not gone to the line.
  logic [1:0][11:0] free_words = '{default: 12'(PayloadDepth)}, waiting = '0, taken, gone, freed;
  logic [1:0][7:0] free_headers = '{default: 8'(HeaderDepth)}, waiting_headers = '0;
  logic [1:0] takes, starts, frees;
  logic [31:0] unconfirmed = '0;
  logic [1:0][7:0] not_heard;  // packets
  for (genvar v = 0; v < 2; v++) begin : gen_channel
    assign takes[v] = rst_n && take_i[v] && 12'(take_words_i[v]) <= free_words[v] && free_headers[v] != '0;
    assign taken[v] = takes[v] ? 12'(take_words_i[v]) : '0;
    assign starts[v] = released && tx.vc == v[0];
    assign gone[v] = 12'(tx.buffer_read && !tx.head_q && !tx.tail && tx.vc == v[0]);
    assign frees[v] = rst_n && frees_i[v] && reported_headers[v] != sent_headers[v];
    assign freed[v] = frees[v] && 11'(frees_words_i[v]) <= 11'(sent_words[v] - reported_words[v]) ? 12'(frees_words_i[v]) : '0;
    always_comb if (rst_n) assume (waiting[v] >= gone[v] && waiting_headers[v] >= 8'(starts[v]));
    assign not_heard[v] = 8'(HeaderDepth) - free_headers[v] - credit[v].headers - waiting_headers[v];
    always_ff @(posedge clk_i) begin
      free_words[v] <= free_words[v] - taken[v] + (rst_n ? credit[v].words : '0);
      free_headers[v] <= free_headers[v] - 8'(takes[v]) + (rst_n ? credit[v].headers : '0);
      waiting[v] <= waiting[v] + taken[v] - gone[v];
      waiting_headers[v] <= waiting_headers[v] + 8'(takes[v]) - 8'(starts[v]);
      reported_words[v] <= restart ? '0 : 11'(reported_words[v] + freed[v][10:0]);
      reported_headers[v] <= restart ? '0 : reported_headers[v] + 7'(frees[v]);
    end
  end
  logic again = 1'b0;  // space of packets that were not heard of has come back
  always_ff @(posedge clk_i) begin
    if (restart) unconfirmed <= unconfirmed + 32'(not_heard[0]) + 32'(not_heard[1]);
    again <= again || (restart && not_heard[0] != '0);
  end

  for (genvar v = 0; v < 2; v++) begin : gen_space
    logic [11:0] on_way, reported_now;  // sent and not heard of, as far as the receiver knows; what it has not seen yet
    logic [7:0] headers_on_way;
    assign on_way = 12'(11'(sent_words[v] - rx.words_q[v]));
    assign headers_on_way = 8'(7'(sent_headers[v] - rx.headers_q[v]));
    assign reported_now = 12'(11'(reported_words[v] - rx.words_q[v]));
    always_ff @(posedge clk_i) begin
      Begin: assert (rst_n || (free_words[v] == 12'(PayloadDepth) && free_headers[v] == 8'(HeaderDepth) &&
                         {waiting[v], waiting_headers[v], reported_words[v], reported_headers[v], unconfirmed} == '0));
      if (rst_n) begin
        Words: assert (free_words[v] + credit[v].words + waiting[v] + on_way == 12'(PayloadDepth));
        Headers: assert (free_headers[v] + credit[v].headers + waiting_headers[v] + headers_on_way == 8'(HeaderDepth));
        NeverMore: assert (free_words[v] <= 12'(PayloadDepth) && free_headers[v] <= 8'(HeaderDepth));
        Bounded: assert (credit[v].words <= 12'(PayloadDepth) && waiting[v] <= 12'(PayloadDepth) && on_way <= 12'(PayloadDepth));
        BoundedHeaders: assert (credit[v].headers <= 8'(HeaderDepth) && waiting_headers[v] <= 8'(HeaderDepth) && headers_on_way <= 8'(HeaderDepth));
        // The order of totals: the receiver's, the one that is coming in, the far end's, the sender's.
        Reported: assert (reported_now <= on_way && 8'(7'(reported_headers[v] - rx.headers_q[v])) <= headers_on_way);
        Coming: assert (!rx.control_valid_q || (rx.control_sound_q && 12'(11'(rx.control.freed_words[v] - rx.words_q[v])) <= reported_now &&
                        8'(7'(rx.control.freed_headers[v] - rx.headers_q[v])) <= 8'(7'(reported_headers[v] - rx.headers_q[v]))));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Unconfirmed: assert (counters.tx_unconfirmed == unconfirmed);
      Held: assert (held <= 3'd4);
      NoMagic: assert (!rx.magic_q);
      BackAgain: cover (again && free_words[0] == 12'(PayloadDepth) && free_headers[0] == 8'(HeaderDepth) && unconfirmed != '0);
      HeardOf: cover (credit[1].headers != '0 && credit[1].words != '0 && !again);
    end
  end
endmodule
