// SPDX-License-Identifier: Apache-2.0
// The receiving end of a link, behind a line that loses any words and damages headers, from a sender that takes space
// by what this end has reported. Looked at for so many cycles, as the solver does not come to an end without bound: the
// space that is reported, what the pools hold and what is still missing are what was sent, in every cycle: so no space
// is reported twice and pools are never sent more than they hold; and once a report has come of all that was sent,
// everything that was lost is reported or held.
module reclaim_formal #(
  parameter int unsigned PayloadDepth = 8,
  parameter int unsigned HeaderDepth = 4
) (
  input logic                clk_i,
  input logic [2:0]          does_i,    // the sender
  input logic                vc_i,
  input logic [1:0]          words_i,   // of the packet that begins
  input logic [2:0]          report_i,
  input logic [127:0]        data_i,
  input logic [1:0][3:0]     frees_words_i,
  input logic [1:0]          frees_i,
  input logic                ready_i
);
  import exanet_pkg::*;
  localparam logic [2:0] Credit = 3'd1, Start = 3'd2, LosesStart = 3'd3, Header = 3'd4, Data = 3'd5;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  credit_t freed[2], credit[2], reclaim[2];
  flit_t flit_out;
  header_t header, handed;
  control_t control;
  report_kind_e kind;
  assign kind = report_kind_e'(report_i);
  health_t health;
  link_counters_t counters;
  logic released, valid, drained, whole, heard, comes;
  logic [127:0] line, data;
  logic [1:0][10:0] sent_here;
  logic [1:0][6:0] sent_headers_here;
  link_tx #(.LineBits(128), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .MostWords(3), .Depth(4)) tx (
    .clk_i, .rst_ni(rst_n), .flit_i('0), .release_o(released), .credit_i(freed), .reclaim_i(reclaim), .health_i('0), .credit_threshold_i('0),
    .credit_interval_i('0), .valid_o(valid), .data_o(data), .ready_i, .drained_o(drained), .sent_words_o(sent_here),
    .sent_headers_o(sent_headers_here), .packets_o(counters.tx_packets), .credits_o(counters.tx_credits), .stuffed_o(counters.tx_stuffed));
  link_rx #(.LineBits(128), .ReceiveTimeout(4), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth)) rx (
    .clk_i, .rst_ni(rst_n), .valid_i(comes), .data_i(line), .whole_o(whole), .flit_o(flit_out), .freed_i(freed), .credit_o(credit),
    .reclaim_o(reclaim), .health_o(health), .heard_o(heard), .unconfirmed_o(counters.tx_unconfirmed), .packets_o(counters.rx_packets),
    .bad_headers_o(counters.rx_bad_headers), .bad_controls_o(counters.rx_bad_controls), .bad_payloads_o(counters.rx_bad_payloads),
    .cut_packets_o(counters.rx_cut_packets), .reclaimed_o(counters.rx_reclaimed), .stray_words_o(counters.rx_stray_words));

  // The sender: totals, and the packet whose header has still to come. What it takes space by is the newest that this
  // end might have reported.
  logic [1:0][10:0] sent = '0;
  logic [1:0][6:0] sent_headers = '0;
  logic pending = 1'b0, begun = 1'b0, vc = 1'b0, last_vc = 1'b0, begins, fits;  // begun: its Start has come
  logic [1:0] words = '0;
  assign fits = 11'(sent[vc_i] - tx.words_q[vc_i][10:0]) + 11'(words_i) <= 11'(PayloadDepth) &&
      7'(sent_headers[vc_i] - tx.headers_q[vc_i][6:0]) < 7'(HeaderDepth);
  assign begins = rst_n && fits && (does_i == Start || does_i == LosesStart);
  always_comb begin
    header = '0;
    header.length = {4'b0, words, 4'b0};
    header.vc = vc;
    header.dmadd = data_i[47:0];
    header.ecc = exanet_code_pkg::header_ecc(header[119:0]);
    control = '0;
    control.kind = does_i == Start ? ControlKindStart : ControlKindCredit;
    control.vc = vc_i;
    control.report_kind = kind;
    case (kind)
      ReportKindWords0: control.report = sent[0];
      ReportKindWords1: control.report = sent[1];
      ReportKindHeaders0: control.report = 11'(sent_headers[0]);
      default: control.report = 11'(sent_headers[1]);
    endcase
    control.ecc = exanet_code_pkg::control_ecc(control[56:0]);
    line = does_i == Header ? header : does_i == Data ? data_i : {control, MagicWord};
    assume (data_i[63:0] != MagicWord && data_i[127:120] != exanet_code_pkg::header_ecc(data_i[119:0]) && header[63:0] != MagicWord);
  end
  assign comes = rst_n && (does_i == Credit || (begins && does_i == Start) || does_i == Data ||
                           (does_i == Header && pending));
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (begins) begin
        sent[vc_i] <= sent[vc_i] + 11'(words_i);
        sent_headers[vc_i] <= sent_headers[vc_i] + 1'b1;
        {pending, begun, vc, words} <= {1'b1, does_i == Start, vc_i, words_i};
        if (does_i == Start) last_vc <= vc_i;
      end else if (does_i == Header || does_i == Credit) begin
        pending <= 1'b0;
      end
    end
  end

  // In the receiver's first stage: a header of the channel that the last Start announced, with its words, or a control
  // word.
  logic in_first = 1'b0, first_vc = 1'b0, opens = 1'b0;
  logic [1:0] first_words = '0, reported = '0, reported_headers = '0;
  always_ff @(posedge clk_i) begin
    in_first <= comes && does_i == Header && vc == last_vc;
    {first_vc, first_words} <= {vc, words};
    opens <= comes && does_i == Start;
  end
  assign handed = flit_out.data;
  for (genvar v = 0; v < 2; v++) begin : gen_channel
    logic just, in_stage;
    logic [10:0] held, come, missing, coming;
    logic [6:0] held_headers, come_headers, missing_headers, coming_headers;
    assign freed[v].words = rst_n && 12'(frees_words_i[v]) + (flit_out.valid && flit_out.head ? 12'd3 : '0) <= 12'(held) ?
        12'(frees_words_i[v]) : '0;
    assign freed[v].headers = 8'(rst_n && frees_i[v] && held_headers != '0);
    assign just = flit_out.valid && flit_out.head && flit_out.vc == v[0];
    assign in_stage = in_first && first_vc == v[0];
    assign held = 11'(PayloadDepth) - 11'(rx.free_words_q[v]);
    assign held_headers = 7'(HeaderDepth) - rx.free_headers_q[v];
    assign come = rx.got_words_q[v] + (just ? 11'(rx.handed_words) : '0);
    assign come_headers = rx.got_headers_q[v] + 7'(just);
    assign missing = sent[v] - come;
    assign missing_headers = sent_headers[v] - come_headers;
    assign coming = (in_stage ? 11'(first_words) : '0) + (pending && vc == v[0] ? 11'(words) : '0);
    assign coming_headers = 7'(in_stage) + 7'(pending && vc == v[0]);
    always_ff @(posedge clk_i) begin
      reported[v] <= rst_n && !(begins && vc_i == v[0]) && (reported[v] || (rx.take_control && rx.reports_words[v] && !(opens && vc == v[0])));
      reported_headers[v] <= rst_n && !(begins && vc_i == v[0]) &&
          (reported_headers[v] || (rx.take_control && rx.reports_headers[v] && !(opens && vc == v[0])));
      Begin: assert (rst_n || {sent[v], sent_headers[v], pending, in_first, opens, reported[v], reported_headers[v]} == '0);
      if (rst_n) begin
        Words: assert (11'(tx.words_q[v][10:0] + reclaim[v].words[10:0] + held) == come);
        Headers: assert (7'(tx.headers_q[v][6:0] + reclaim[v].headers[6:0] + held_headers) == come_headers);
        NoneTwice: assert (11'(sent[v] - tx.words_q[v][10:0]) <= 11'(PayloadDepth) &&
                           7'(sent_headers[v] - tx.headers_q[v][6:0]) <= 7'(HeaderDepth));
        Missing: assert (missing <= 11'(PayloadDepth) && coming <= missing);
        MissingHeaders: assert (coming_headers <= missing_headers && missing_headers <= 7'(HeaderDepth));
        Held: assert (held <= 11'(PayloadDepth) && held_headers <= 7'(HeaderDepth));
        Reclaims: assert (reclaim[v].words <= 12'(PayloadDepth) && reclaim[v].headers <= 8'(HeaderDepth));
        Sum: assert (12'(held) + reclaim[v].words + 12'(missing) <= 12'(PayloadDepth) &&
                     8'(held_headers) + reclaim[v].headers + 8'(missing_headers) <= 8'(HeaderDepth));
        AllCome: assert (!reported[v] || missing == '0);
        AllHeadersCome: assert (!reported_headers[v] || missing_headers == '0);
        Report: assert (!rx.take_control || (!rx.reports_words[v] || rx.control.report == sent[v] - (opens && vc == v[0] ? 11'(words) : '0)));
        ReportHeaders: assert (!rx.take_control || (!rx.reports_headers[v] || rx.control.report[6:0] == sent_headers[v] - 7'(opens && vc == v[0])));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      SpaceThere: assert (rx.accept || !(rx.whole && 3'(rx.state_q) == 3'd1 && in_first && rx.legal_q && rx.syndrome_q == '0));
      Opens: assert (opens == (rx.start) && (!opens || (pending && begun && rx.control.vc == vc && rx.heads_q == 2'd1)) && !rx.magic_q);
      First: assert (!in_first || (rx.data_valid_q && !pending && rx.header.length == {4'b0, first_words, 4'b0}));
      Handed: assert (!(flit_out.valid && flit_out.head) || rx.handed_words <= 6'd3);
      InStep: assert (3'(rx.state_q) != 3'd1 || rx.opens || rx.heads_q + 2'(rx.data_valid_q) == 2'd1);
      Sound: assert (!(rx.whole && 3'(rx.state_q) == 3'd1) ||
                     (in_first ? first_vc == rx.vc_q && rx.length_words_q == 6'(first_words) : rx.syndrome_q != '0 || !rx.legal_q));
      SameChannel: assert (3'(rx.state_q) != 3'd1 || rx.opens || (rx.vc_q == last_vc && (!pending || !begun || vc == last_vc)));
      Control: assert (!rx.control_valid_q || (rx.take_control && opens == pending && !rx.data_valid_q));
      BegunLast: assert (!pending || !begun || vc == last_vc);
      Lost: cover (reported[0] && sent[0] != '0 && counters.rx_reclaimed != '0 && tx.words_q[0][10:0] == sent[0]);
    end
  end
endmodule
