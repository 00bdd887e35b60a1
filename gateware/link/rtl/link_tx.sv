// SPDX-License-Identifier: Apache-2.0
// Sending half of the link: frames packets into the words of the line, and returns credits to the far end.
//
// On a line of 64 bits a packet is Magic, Start, then two line words for each router word, lower half first. A credit
// is Magic, Credit. A data word that equals Magic is sent twice, so the far end never takes data for control. On a line
// of 128 bits (four lanes of 32) Magic and the control word share a line word, Magic in the lower half, and a router
// word is a line word. Before one whose lower half equals Magic goes a word of two Magics. Every control word carries
// all counts of space and, in turn, one report.
//
// Control words never delay a packet: Start carries what is due when a packet comes, and a credit is sent only when no
// packet can be at the wire in one of its cycles. In an idle link it goes as soon as `credit_threshold_i` words have
// come back; that register at 0 means with every packet. Whatever it says, what has come back is reported before the
// far end, which asks space for two of the largest packets, could wait for it. After `credit_interval_i` idle cycles
// (0: 65,536) counts and reports are repeated, so that what was lost on the line is put right. That is at a time at
// which nothing else is due: without a threshold and pauses of the transceiver, when packets and credits arrive does
// not depend on it. Health that has changed is reported in the next control word, out of turn but for every second one,
// or as a repetition of its own when the link is idle.
//
// The words go through a register, which takes the next one when it is empty or its own has been taken: what waits for
// the transceiver stays as it is, and framing and codes are not in the way of `ready_i`. Which word comes next, and
// what a control word says, is settled when the register takes it.
module link_tx #(
  parameter int unsigned LineBits = 64,  // or 128
  parameter int unsigned PayloadDepth = 512,  // of this node's pool, for each virtual channel
  parameter int unsigned HeaderDepth = 32,
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords,
  parameter int unsigned Depth = 128     // of the buffer: two of the largest packets, rounded up
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o,      // a packet's Start is in the register of the line
  input  exanet_pkg::credit_t credit_i[2],    // space that came back in this node's FIFOs
  input  exanet_pkg::credit_t reclaim_i[2],   // space in them whose packets were lost on the way here
  input  exanet_pkg::health_t health_i,
  input  logic [11:0]         credit_threshold_i,
  input  logic [15:0]         credit_interval_i,
  output logic                valid_o,
  output logic [LineBits-1:0] data_o,
  input  logic                ready_i,
  input  logic                drain_i = 1'b0,    // behind the packet that is on the line nothing begins
  output logic                drained_o,         // nothing is in the line's register
  input  logic                restart_i = 1'b0,  // when drained: all totals are zero again
  output logic [1:0][10:0]    sent_words_o,
  output logic [1:0][6:0]     sent_headers_o,
  output logic [31:0]         packets_o,
  output logic [31:0]         credits_o,
  output logic [31:0]         stuffed_o
);
  import exanet_pkg::*;
  if (LineBits != 64 && LineBits != 128) begin : gen_illegal_1
    $error("a line of 64 or 128 bits");
  end

  // A wide line needs Boundary and Upper alone.
  typedef enum logic [2:0] { Boundary, Start, Credit, Lower, Upper } state_e;
  state_e state_q, state_d;

  logic buffer_valid, buffer_read, tail, vc, stuffed_q, stuff, offers, takes, moved, due, stale, head_q, is_control, starts, control_sent;
  logic [127:0] word;
  logic [LineBits-1:0] offered;  // to the register
  logic [1:0][11:0] words_q;   // space that came back, since reset
  logic [1:0][7:0] headers_q;
  logic [11:0] unreported_words_q;  // both channels' space of which the far end does not know
  logic [7:0] unreported_headers_q;
  logic [1:0][10:0] sent_words_q;
  logic [1:0][6:0] sent_headers_q;
  logic [15:0] timer_q;
  logic [2:0] report_q;
  report_kind_e report;
  health_t reported_health_q;  // what was reported to the far end last
  logic news_q, early_q, early;  // health is another by now; a report out of turn was the last one, is this one
  control_t control;

  // Compares the halves of a word with Magic on the way into the buffer, not behind its memory.
  logic [1:0] magic_in, magic;
  assign magic_in = {flit_i.data[127:64] == MagicWord, flit_i.data[63:0] == MagicWord};
  exanet_fifo_bypass #(.Width(132), .Depth(Depth)) u_buffer (
    .clk_i, .rst_ni, .write_i(flit_i.valid), .data_i({magic_in, flit_i.vc, flit_i.tail, flit_i.data}),
    .read_i(buffer_read), .back_i(1'b0), .valid_o(buffer_valid), .more_o(), .data_o({magic, vc, tail, word}));

  logic [11:0] back_words;
  logic [7:0] back_headers;
  assign back_words = credit_i[0].words + credit_i[1].words + reclaim_i[0].words + reclaim_i[1].words;
  assign back_headers = credit_i[0].headers + credit_i[1].headers + reclaim_i[0].headers + reclaim_i[1].headers;
  assign due = unreported_headers_q != '0 && (unreported_words_q >= credit_threshold_i || unreported_words_q > 12'(PayloadDepth - 2 * MostWords) ||
      unreported_headers_q > 8'(HeaderDepth - 2));
  assign early = news_q && !early_q;
  assign report = early ? ReportKindHealth : report_kind_e'(report_q);
  assign stale = timer_q == '0 || news_q;
  assign takes = !valid_o || ready_i;
  assign moved = offers && takes;
  assign release_o = is_control && starts && takes;
  assign drained_o = state_q == Boundary && !valid_o;
  assign sent_words_o = sent_words_q;
  assign sent_headers_o = sent_headers_q;

  always_comb begin
    control = '0;
    control.kind = starts ? ControlKindStart : ControlKindCredit;
    control.vc = starts && vc;
    control.report_kind = report;
    case (report)
      ReportKindWords0: control.report = sent_words_q[0];
      ReportKindWords1: control.report = sent_words_q[1];
      ReportKindHeaders0: control.report = 11'(sent_headers_q[0]);
      ReportKindHeaders1: control.report = 11'(sent_headers_q[1]);
      default: control.report = 11'(health_i);
    endcase
    for (int unsigned v = 0; v < 2; v++) begin
      control.freed_headers[v] = headers_q[v][6:0];
      control.freed_words[v] = words_q[v][10:0];
    end
    control.ecc = 'x;
    if (is_control) control.ecc = exanet_code_pkg::control_ecc(control[56:0]);
  end

  if (LineBits == 64) begin : gen_narrow
    // Space that comes back now is due in the next cycle; a header that comes now is in the buffer then.
    logic quiet;
    assign quiet = credit_i[0].headers == '0 && credit_i[1].headers == '0;
    assign starts = state_q == Start;
    assign is_control = state_q == Start || state_q == Credit;
    assign control_sent = is_control && takes;
    assign stuff = ((state_q == Lower && magic[0]) || (state_q == Upper && magic[1])) && !stuffed_q;
    always_comb begin
      state_d = state_q;
      buffer_read = 1'b0;
      case (state_q)
        Boundary: begin
          offers = !drain_i && (buffer_valid || (!flit_i.valid && (due || (stale && quiet))));
          offered = MagicWord;
          if (takes && offers) state_d = buffer_valid ? Start : Credit;
        end
        Start, Credit: begin
          offers = 1'b1;
          offered = control;
          if (takes) state_d = state_q == Start ? Lower : Boundary;
        end
        Lower: begin
          offers = buffer_valid;
          offered = word[63:0];
          if (takes && buffer_valid && !stuff) state_d = Upper;
        end
        default: begin
          offers = buffer_valid;
          offered = word[127:64];
          if (takes && buffer_valid && !stuff) begin
            buffer_read = 1'b1;
            state_d = tail ? Boundary : Lower;
          end
        end
      endcase
    end
  end else begin : gen_wide
    assign starts = buffer_valid && !drain_i;
    assign is_control = state_q == Boundary;
    assign control_sent = is_control && moved;
    assign stuff = magic[0] && !stuffed_q;
    always_comb begin
      state_d = state_q;
      buffer_read = 1'b0;
      if (state_q == Boundary) begin
        offers = !drain_i && (buffer_valid || due || stale);
        offered = {control, MagicWord};
        if (takes && starts) state_d = Upper;
      end else begin
        offers = buffer_valid;
        offered = stuff ? {MagicWord, MagicWord} : word;
        if (takes && buffer_valid && !stuff) begin
          buffer_read = 1'b1;
          state_d = tail ? Boundary : Upper;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else if (takes) valid_o <= offers;
  end
  always_ff @(posedge clk_i) begin
    if (moved) data_o <= offered;
  end
  exanet_stream_check #(.Width(LineBits)) u_check (.clk_i, .rst_ni, .valid_i(valid_o), .data_i(data_o), .ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= Boundary;
      stuffed_q  <= 1'b0;
      words_q    <= '0;
      headers_q  <= '0;
      unreported_words_q   <= '0;
      unreported_headers_q <= '0;
      timer_q    <= 16'd1;  // the neighbour hears of this node's health at once, but nothing during the reset
      report_q   <= '0;
      reported_health_q <= '0;
      news_q     <= 1'b0;
      early_q    <= 1'b0;
      head_q     <= 1'b0;
      sent_words_q   <= '0;
      sent_headers_q <= '0;
      packets_o  <= '0;
      credits_o  <= '0;
      stuffed_o  <= '0;
    end else begin
      state_q <= state_d;
      for (int unsigned v = 0; v < 2; v++) begin
        words_q[v]   <= words_q[v] + credit_i[v].words + reclaim_i[v].words;
        headers_q[v] <= headers_q[v] + credit_i[v].headers + reclaim_i[v].headers;
      end
      if (release_o) sent_headers_q[vc] <= sent_headers_q[vc] + 1'b1;
      if (buffer_read && !head_q && !tail) sent_words_q[vc] <= sent_words_q[vc] + 1'b1;
      if (release_o) head_q <= 1'b1;
      else if (buffer_read) head_q <= 1'b0;
      if (takes && buffer_valid && (state_q == Lower || state_q == Upper)) begin
        stuffed_q <= stuff;
        stuffed_o <= stuffed_o + 32'(stuff);
      end
      unreported_words_q   <= control_sent ? back_words : back_words + unreported_words_q;
      unreported_headers_q <= control_sent ? back_headers : back_headers + unreported_headers_q;
      if (control_sent) begin
        timer_q        <= credit_interval_i == '0 ? '1 : credit_interval_i;
        early_q        <= early;
        if (!early) report_q <= report == ReportKindHeaders1 ? '0 : report_q + 1'b1;
        if (report == ReportKindHealth) reported_health_q <= health_i;
      end else if (timer_q != '0) begin
        timer_q <= timer_q - 1'b1;
      end
      news_q <= health_i != reported_health_q && !(control_sent && report == ReportKindHealth);
      if (release_o) begin
        packets_o <= packets_o + 1'b1;
      end
      if (control_sent && !starts) credits_o <= credits_o + 1'b1;
      if (restart_i) begin
        {words_q, headers_q, unreported_words_q, unreported_headers_q, sent_words_q, sent_headers_q, report_q} <= '0;
        {reported_health_q, news_q, early_q} <= '0;
        timer_q <= 16'd1;
      end
    end
  end
endmodule
