// SPDX-License-Identifier: Apache-2.0
// A sender and a receiver on a line that loses nothing: any words as data, Magic among them, at any pace, any space
// given back. Proved: data is never taken for control nor control for data; every data word is seen once, in order;
// control words stand between packets alone, with their check bits right; and the space that the receiver reports is
// what the sender's control words said, no more and no less.
module framing_formal #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned Depth = 4
) (
  input logic                      clk_i,
  input exanet_pkg::flit_t         flit_i,
  input logic                      ready_i,
  input exanet_pkg::credit_t [1:0] credit_i,
  input logic [11:0]               credit_threshold_i,
  input logic [15:0]               credit_interval_i
);
  localparam logic [2:0] Boundary = 3'd0, Start = 3'd1, Credit = 3'd2, Lower = 3'd3, Upper = 3'd4;  // as link_tx
  localparam int unsigned Bits = $clog2(Depth) + 1;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  exanet_pkg::flit_t flit, flit_out;
  exanet_pkg::credit_t freed[2], none[2], credit[2], reclaim[2];
  exanet_pkg::health_t health;
  logic heard;
  exanet_pkg::link_counters_t counters;
  logic released, valid, moved, drained, whole;
  logic [1:0][10:0] sent_words;
  logic [1:0][6:0] sent_headers;
  logic [LineBits-1:0] data;
  for (genvar v = 0; v < 2; v++) begin : gen_freed
    assign freed[v] = rst_n ? credit_i[v] : '0;
    assign none[v] = '0;
  end
  // The router holds back what the buffer has no space for.
  logic [Bits-1:0] held;
  assign held = tx.u_buffer.write_q - tx.u_buffer.read_q;
  always_comb begin
    flit = flit_i;
    flit.valid = flit_i.valid && rst_n && held != Bits'(Depth);
  end
  link_tx #(.LineBits(LineBits), .Depth(Depth)) tx (
    .clk_i, .rst_ni(rst_n), .flit_i(flit), .release_o(released), .credit_i(freed), .reclaim_i(none), .drained_o(drained), .sent_words_o(sent_words),
    .sent_headers_o(sent_headers), .health_i('0), .credit_threshold_i,
    .credit_interval_i, .valid_o(valid), .data_o(data), .ready_i, .packets_o(counters.tx_packets), .credits_o(counters.tx_credits),
    .stuffed_o(counters.tx_stuffed));
  assign moved = valid && ready_i;
  link_rx #(.LineBits(LineBits)) rx (
    .clk_i, .rst_ni(rst_n), .valid_i(moved), .data_i(data), .whole_o(whole), .unconfirmed_o(counters.tx_unconfirmed),
    .flit_o(flit_out), .freed_i(none), .credit_o(credit), .reclaim_o(reclaim),
    .health_o(health), .heard_o(heard), .packets_o(counters.rx_packets), .bad_headers_o(counters.rx_bad_headers),
    .bad_controls_o(counters.rx_bad_controls), .bad_payloads_o(counters.rx_bad_payloads), .cut_packets_o(counters.rx_cut_packets),
    .reclaimed_o(counters.rx_reclaimed), .stray_words_o(counters.rx_stray_words));

  // The word on the line as the sender saw it when its register took it, and the sender as the line sees it.
  logic [2:0] state, of_line, seen;
  logic [127:0] word;
  logic reads, ends, starts, is_control, was_stuffed, stuffs, seen_stuffed;
  exanet_pkg::control_t control;
  logic [1:0][10:0] known_words;
  logic [1:0][6:0] known_headers;
  assign state = 3'(tx.state_q);
  always_ff @(posedge clk_i) begin
    if (tx.moved) begin
      {of_line, word, ends, was_stuffed} <= {state, tx.word, tx.tail, tx.stuffed_q};
      {reads, starts} <= {tx.buffer_read, released};
      for (int unsigned v = 0; v < 2; v++) begin
        known_words[v]   <= tx.words_q[v][10:0];
        known_headers[v] <= tx.headers_q[v][6:0];
      end
    end
  end
  assign control = data[LineBits-1-:64];
  assign seen = valid ? of_line : state;
  assign seen_stuffed = valid ? was_stuffed : tx.stuffed_q;

  // Packets as they are read from the sender's buffer: up to a word marked as the last.
  logic amid = 1'b0, half = 1'b0;
  always_ff @(posedge clk_i) begin
    if (moved && reads) amid <= !ends;
    if (LineBits == 64 && rx.is_data) half <= !half;
  end

  // Space: what the sender knew when it sent a control word, and the sum of what the receiver reported.
  logic [1:0][10:0] reported_words = '0, sum_words = '0;
  logic [1:0][6:0] reported_headers = '0, sum_headers = '0;
  logic pending = 1'b0;
  always_ff @(posedge clk_i) begin
    pending <= rx.is_control;
    for (int unsigned v = 0; v < 2; v++) begin
      if (rx.is_control) begin
        reported_words[v]   <= known_words[v];
        reported_headers[v] <= known_headers[v];
      end
      sum_words[v]   <= sum_words[v] + credit[v].words[10:0];
      sum_headers[v] <= sum_headers[v] + credit[v].headers[6:0];
    end
  end

  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {amid, half, reported_words, reported_headers, sum_words, sum_headers} == '0);
    if (rst_n) begin
      BetweenPackets: assert (!rx.is_control || (!amid && !half));
      CodeRight: assert (!rx.control_valid_q || rx.take_control);
      StartIsStart: assert (!rx.is_control || (control.kind == exanet_pkg::ControlKindStart) == starts);
      Coded: assert (!valid || !is_control || (control.ecc == exanet_code_pkg::control_ecc(control[56:0]) && control.reserved == '0 &&
                     (starts ? control.kind == exanet_pkg::ControlKindStart : control.kind == exanet_pkg::ControlKindCredit) &&
                     control.freed_words == known_words && control.freed_headers == known_headers));
      Held: assert (held <= Bits'(Depth));
      DataOrControl: assert (!(rx.data_valid_q && rx.control_valid_q) && rx.control_valid_q == pending);
      OfTheSender: assert (!pending || (rx.control.freed_words == reported_words && rx.control.freed_headers == reported_headers));
      Reported: assert (pending || (rx.words_q == reported_words && rx.headers_q == reported_headers));
    end
  end
  // Separates data: that the decoder and the sender are in step, and which word of the sender follows which.
  if (LineBits == 64) begin : gen_narrow
    assign is_control = of_line == Start || of_line == Credit;
    assign stuffs = data == exanet_pkg::MagicWord && !was_stuffed;
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        DataIsData: assert (!rx.is_data || (of_line == Lower && data == word[63:0]) || (of_line == Upper && data == word[127:64]));
        EachOnce: assert ((moved && reads) == (rx.is_data && half) && half == (seen == Upper));
        ControlIsControl: assert (!rx.is_control || is_control);
        NoneLost: assert (!moved || rx.is_data || rx.is_control || data == exanet_pkg::MagicWord);
        MagicSeen: assert (rx.magic_q == (seen == Start || seen == Credit || seen_stuffed));
        Stuffing: assert (!tx.stuffed_q || ((state == Lower || state == Upper) && tx.buffer_valid &&
                                            (state == Lower ? tx.word[63:0] : tx.word[127:64]) == exanet_pkg::MagicWord));
        States: assert (state <= Upper && (state != Upper || tx.buffer_valid));
        Between: assert (!(seen == Boundary || seen == Start || seen == Credit) || !amid);
        Starting: assert (state != Start || tx.buffer_valid);
        if (valid) begin
          Word: assert (of_line == Boundary ? data == exanet_pkg::MagicWord : of_line == Lower ? data == word[63:0] :
                        of_line == Upper ? data == word[127:64] : is_control);
          Stuffed: assert (!was_stuffed || ((of_line == Lower || of_line == Upper) && data == exanet_pkg::MagicWord));
          Reads: assert (reads == (of_line == Upper && !stuffs) && starts == (of_line == Start));
          Follows: assert (of_line == Boundary ? state == Start || state == Credit : of_line == Start ? state == Lower :
                           of_line == Credit ? state == Boundary : stuffs ? state == of_line :
                           of_line == Lower ? state == Upper : state == (ends ? Boundary : Lower));
          Twice: assert (tx.stuffed_q == ((of_line == Lower || of_line == Upper) && stuffs));
        end
      end
    end
  end else begin : gen_wide
    assign is_control = of_line == Boundary;
    assign stuffs = word[63:0] == exanet_pkg::MagicWord && !was_stuffed;
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        DataIsData: assert (!rx.is_data || (of_line == Upper && data == word));
        EachOnce: assert ((moved && reads) == rx.is_data);
        ControlIsControl: assert (!rx.is_control || is_control);
        NoneLost: assert (!moved || rx.is_data || rx.is_control || data == {2{exanet_pkg::MagicWord}});
        MagicSeen: assert (rx.magic_q == seen_stuffed);
        Stuffing: assert (!tx.stuffed_q || (state == Upper && tx.buffer_valid && tx.word[63:0] == exanet_pkg::MagicWord));
        States: assert ((seen == Boundary && !amid) || seen == Upper);
        Known: assert (state == Boundary || state == Upper);
        if (valid) begin
          Word: assert (is_control ? data[63:0] == exanet_pkg::MagicWord : data == (stuffs ? {2{exanet_pkg::MagicWord}} : word));
          Stuffed: assert (!was_stuffed || (of_line == Upper && word[63:0] == exanet_pkg::MagicWord));
          Reads: assert (reads == (of_line == Upper && !stuffs) && (of_line == Upper || !was_stuffed));
          Follows: assert (is_control ? state == (starts ? Upper : Boundary) : stuffs ? state == Upper : state == (ends ? Boundary : Upper));
          Twice: assert (tx.stuffed_q == (of_line == Upper && stuffs));
        end
      end
    end
  end
  // The buffer shows its front, and marks beside its words say which of their halves equal Magic.
  always_ff @(posedge clk_i) begin
    if (rst_n) Front: assert (held == '0 || tx.u_buffer.data_o == tx.u_buffer.memory[tx.u_buffer.read_q[Bits-2:0]]);
  end
  for (genvar k = 0; k < Depth; k++) begin : gen_entry
    logic [131:0] entry;
    logic [Bits-2:0] age;
    assign entry = tx.u_buffer.memory[k];
    assign age = unsigned'((Bits - 1)'(k)) - tx.u_buffer.read_q[Bits-2:0];
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Marked: assert (Bits'(age) >= held ||
                        entry[131:130] == {entry[127:64] == exanet_pkg::MagicWord, entry[63:0] == exanet_pkg::MagicWord});
      end
    end
  end
  for (genvar v = 0; v < 2; v++) begin : gen_sum
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        SpaceKept: assert (sum_words[v] + credit[v].words[10:0] == rx.words_q[v] && sum_headers[v] + credit[v].headers[6:0] == rx.headers_q[v]);
      end
    end
  end

  // Reached: Magic among the data, and a control word with space behind a packet.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Stuffs: cover (counters.tx_stuffed != '0 && moved && reads && ends);
      Reports: cover (reported_words[1] != '0 && counters.tx_packets != '0);
    end
  end
endmodule
