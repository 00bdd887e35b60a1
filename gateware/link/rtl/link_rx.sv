// SPDX-License-Identifier: Apache-2.0
// Receiving half of the link: finds packets and control words among the words of the line, checks them, and hands
// packets to the router.
//
// The sender reserved space for a packet, so nothing is buffered here and nothing is ever stalled. With cut-through a
// header has left before its payload arrives: damage that is found later marks the footer. Whatever happens on the
// line, a header that was passed on is followed by exactly its payload and a footer. If the rest does not arrive (another
// control word does, or nothing for `ReceiveTimeout` cycles), the receiver completes the packet and marks it. The queues
// never overflow: a damaged header may need more than was reserved, so space is counted here as well.
//
// The codes of headers and control words only detect, up to three wrong bits. Correcting would mis-correct, because one
// wrong bit on the line is three after the descrambler. A packet with a damaged header is lost, and its space is
// reclaimed. After a damaged control word the next one carries the same totals.
module link_rx #(
  parameter int unsigned LineBits = 64,       // or 128
  parameter int unsigned ReceiveTimeout = 4096,     // a power of two, 64 or more
  parameter int unsigned PayloadDepth = 512,  // of the pool of each virtual channel behind this port, up to 512
  parameter int unsigned HeaderDepth = 32     // up to 64
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  logic [LineBits-1:0] data_i,
  input  logic                down_i = 1'b0,     // no words arrive: an incomplete packet is completed and marked at once
  input  logic                restart_i = 1'b0,  // while down: the far end was reset, so all space there is free again
  input  logic [1:0][10:0]    sent_words_i = '0,
  input  logic [1:0][6:0]     sent_headers_i = '0,
  output logic                whole_o,           // the pools here hold no packet
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t freed_i[2],       // space that came back in this node's FIFOs
  output exanet_pkg::credit_t credit_o[2],      // space that came back at the far end
  output exanet_pkg::credit_t reclaim_o[2],     // space here whose packets were lost on the way
  output exanet_pkg::health_t health_o,         // of the far node
  output logic                heard_o,          // a sound control word came
  // packets sent of which it is not known, after a restart, whether they have left the far end's pools
  output logic [31:0]         unconfirmed_o,
  output logic [31:0]         packets_o,
  output logic [31:0]         bad_headers_o,    // with wrong bits, or without space: the packet is not handed on
  output logic [31:0]         bad_controls_o,
  output logic [31:0]         bad_payloads_o,   // CRC
  output logic [31:0]         cut_packets_o,    // made up to their length
  output logic [31:0]         reclaimed_o,      // packets that did not arrive, whose space was given back
  output logic [31:0]         stray_words_o     // words outside packets
);
  import exanet_pkg::*;
  typedef enum logic [2:0] { Hunt, Header, Payload, Footer, FillPayload, FillFooter } state_e;
  state_e state_q;

  // Stage 1: take out Magic, separate data from control.
  logic magic, announces, magic_q, is_data, is_control;
  assign magic = data_i[63:0] == MagicWord;
  if (LineBits == 64) begin : gen_narrow
    assign announces = magic;
    assign is_data = valid_i && magic == magic_q;
    assign is_control = valid_i && magic_q && !magic;
  end else begin : gen_wide
    assign announces = magic && data_i[127:64] == MagicWord;
    assign is_data = valid_i && (magic_q || !magic);
    assign is_control = valid_i && !magic_q && magic && !announces;
  end

  // Codes are checked on the way into the register, those of a header a line word at a time, since behind it they would
  // lie before all that follows. Without such a word they are not computed: simulation is faster for it, and synthesis
  // takes what is simplest.
  localparam int unsigned HeaderWords = 128 / LineBits;
  logic data_valid_q, control_valid_q, control_sound, control_sound_q;
  logic [LineBits-1:0] word_q;
  logic [1:0] heads_q;  // line words of a header that are still to come
  logic [7:0] syndrome, syndrome_q;  // what the header's check bits differ by, of the words up to this one
  logic [5:0] length_words, length_words_q;
  logic legal, legal_q;
  logic starts_vc_q;  // the channel that the last Start has announced
  control_t incoming;
  header_t part;  // a header of this line word alone
  assign incoming = data_i[LineBits-1-:64];
  if (LineBits == 64) begin : gen_part
    assign part = heads_q == 2'd2 ? {64'b0, data_i} : {data_i, 64'b0};
  end else begin : gen_all
    assign part = data_i;
  end
  always_comb begin
    control_sound = 'x;
    if (is_control) control_sound = incoming.ecc == exanet_code_pkg::control_ecc(incoming[56:0]);
    {syndrome, length_words, legal} = 'x;
    if (is_data && heads_q != '0) begin
      syndrome = part.ecc ^ exanet_code_pkg::header_ecc(part[119:0]) ^ (heads_q == 2'(HeaderWords) ? '0 : syndrome_q);
      length_words = 6'((part.length + 10'd15) >> 4);
      // Of another channel is a header whose own Start was lost, behind a packet that lost its header.
      legal = part.length <= 10'(16 * MaxPayloadWords) && !part.reserved && part.vc == starts_vc_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      magic_q         <= 1'b0;
      data_valid_q    <= 1'b0;
      control_valid_q <= 1'b0;
      control_sound_q <= 1'b0;
      heads_q         <= '0;
      syndrome_q      <= '0;
      length_words_q  <= '0;
      legal_q         <= 1'b0;
      starts_vc_q     <= 1'b0;
      word_q          <= '0;
    end else begin
      if (valid_i || down_i) magic_q <= valid_i && announces && !magic_q;
      data_valid_q    <= is_data;
      control_valid_q <= is_control;
      control_sound_q <= control_sound;
      word_q          <= data_i;
      if (is_control && control_sound && incoming.kind == ControlKindStart) begin
        heads_q     <= 2'(HeaderWords);
        starts_vc_q <= incoming.vc;
      end else if (is_data && heads_q != '0) heads_q <= heads_q - 1'b1;
      if (is_data && heads_q != '0) {syndrome_q, length_words_q, legal_q} <= {syndrome, length_words, legal};
    end
  end

  // Control words.
  control_t control;
  logic start, take_control;
  logic [1:0][10:0] words_q;      // what the far end has reported
  logic [1:0][6:0] headers_q;
  logic [1:0][10:0] got_words_q;  // what has come from there, or been given up
  logic [1:0][6:0] got_headers_q;
  logic [1:0] reports_words, reports_headers;
  logic [5:0] handed_words;
  header_t handed;
  assign control = word_q[LineBits-1-:64];
  assign take_control = control_valid_q && control_sound_q && (control.kind == ControlKindStart || control.kind == ControlKindCredit);
  assign reports_words = {control.report_kind == ReportKindWords1, control.report_kind == ReportKindWords0};
  assign reports_headers = {control.report_kind == ReportKindHeaders1, control.report_kind == ReportKindHeaders0};
  assign handed = flit_o.data;
  assign handed_words = 6'((handed.length + 10'd15) >> 4);
  assign start = take_control && control.kind == ControlKindStart;

  // How far a total has moved. The steps are no larger than a pool; backwards it goes when the last one was taken from
  // a damaged word.
  function automatic credit_t difference(logic [10:0] words, logic [6:0] headers);
    return '{words: {words[10], words}, headers: {headers > 7'd64, headers}};
  endfunction
  function automatic logic [31:0] widened(logic [7:0] headers);
    return {{24{headers[7]}}, headers};
  endfunction
  // On a wide line that has lost words a control word may come right behind a header, which then has been handed on but
  // not counted yet.
  credit_t lost[2];
  for (genvar v = 0; v < 2; v++) begin : gen_lost
    logic just;
    assign just = LineBits == 128 && flit_o.valid && flit_o.head && flit_o.vc == v[0];
    assign lost[v] = difference(
        control.report - got_words_q[v] - (just ? 11'(handed_words) : '0), control.report[6:0] - got_headers_q[v] - 7'(just));
  end

  // Space of which the far end has not said that it is free again.
  credit_t sent[2];
  for (genvar v = 0; v < 2; v++) begin : gen_sent
    assign sent[v] = difference(sent_words_i[v] - words_q[v], sent_headers_i[v] - headers_q[v]);
  end

  // Data words, one or two to a router word.
  logic vc_q, filling, wrong_crc, wrong_q, silence, opens;
  logic [127:0] word;
  logic [5:0] left_q;
  logic [31:0] crc_q, crc_next, sent_crc;
  logic [$clog2(ReceiveTimeout)-1:0] timer_q;
  logic whole;
  header_t header;
  footer_t footer;

  assign header = word;
  assign footer = word;
  assign filling = state_q == FillPayload || state_q == FillFooter;
  assign silence = timer_q == '0 || down_i;
  assign opens = start && (state_q == Hunt || state_q == Header);

  // Space in the pools behind this port.
  logic [1:0][9:0] free_words_q;
  logic [1:0][6:0] free_headers_q;
  logic accept;
  assign whole_o = free_words_q[0] == 10'(PayloadDepth) && free_words_q[1] == 10'(PayloadDepth) &&
      free_headers_q[0] == 7'(HeaderDepth) && free_headers_q[1] == 7'(HeaderDepth);
  assign accept = whole && state_q == Header && syndrome_q == '0 && legal_q && free_headers_q[vc_q] != '0 &&
      free_words_q[vc_q] >= 10'(length_words_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_words_q   <= '{default: 10'(PayloadDepth)};
      free_headers_q <= '{default: 7'(HeaderDepth)};
    end else begin
      for (int unsigned v = 0; v < 2; v++) begin
        free_words_q[v]   <= free_words_q[v] + 10'(freed_i[v].words) - (accept && vc_q == v[0] ? 10'(length_words_q) : '0);
        free_headers_q[v] <= free_headers_q[v] + 7'(freed_i[v].headers) - 7'(accept && vc_q == v[0]);
      end
    end
  end

  // The CRC covers the header but for its channel and check bits, which routers change, and the footer but for its own
  // field and the mark.
  logic [LineBits-1:0] covered;
  logic [31:0] crc_header;
  always_comb begin
    crc_header = 'x;
    if (whole && state_q == Header) crc_header = exanet_code_pkg::crc_header(header);
  end
  if (LineBits == 64) begin : gen_halves
    logic upper_q;
    logic [63:0] lower_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        upper_q <= 1'b0;
        lower_q <= '0;
      end else begin
        if (opens) upper_q <= 1'b0;
        else if (data_valid_q) upper_q <= !upper_q;
        if (data_valid_q && !upper_q) lower_q <= word_q;
      end
    end
    assign word = {word_q, lower_q};
    assign whole = data_valid_q && upper_q;
    always_comb begin
      covered = word_q;
      if (state_q == Footer && !upper_q) covered[31:0] = '0;
      if (state_q == Footer && upper_q) covered[63] = 1'b0;
    end
    always_comb begin
      crc_next = 'x;
      if (data_valid_q) crc_next = exanet_code_pkg::crc_step(crc_q, covered);
    end
  end else begin : gen_whole
    assign word = word_q;
    assign whole = data_valid_q;
    always_comb begin
      covered = word_q;
      if (state_q == Footer) {covered[127], covered[31:0]} = '0;
    end
    always_comb begin
      crc_next = 'x;
      if (data_valid_q) crc_next = exanet_code_pkg::crc_word(crc_q, covered);
    end
  end
  assign sent_crc = footer.crc32;
  assign wrong_crc = ~crc_next != sent_crc;

  localparam flit_t FillFlit = '{valid: 1'b1, default: '0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q        <= Hunt;
      vc_q           <= 1'b0;
      left_q         <= '0;
      crc_q          <= '1;
      timer_q        <= '1;
      flit_o         <= '0;
      wrong_q        <= 1'b0;
      packets_o      <= '0;
      bad_headers_o  <= '0;
      bad_payloads_o <= '0;
      cut_packets_o  <= '0;
      stray_words_o  <= '0;
    end else begin
      flit_o <= '0;
      wrong_q <= 1'b0;
      bad_payloads_o <= bad_payloads_o + 32'(wrong_q);
      timer_q <= data_valid_q ? '1 : silence ? timer_q : timer_q - 1'b1;
      if (data_valid_q) begin
        if (state_q == Header) crc_q <= crc_header;
        else crc_q <= crc_next;
      end
      if ((data_valid_q && state_q == Hunt) || (filling && data_valid_q)) stray_words_o <= stray_words_o + 1'b1;

      case (state_q)
        Header:
        if (whole) begin
          if (accept) begin
            flit_o  <= '{valid: 1'b1, vc: vc_q, head: 1'b1, tail: 1'b0, data: header};
            left_q  <= length_words_q;
            state_q <= length_words_q == '0 ? Footer : Payload;
          end else begin
            bad_headers_o <= bad_headers_o + 1'b1;
            state_q       <= Hunt;
          end
        end
        Payload:
        if (whole) begin
          flit_o <= '{valid: 1'b1, vc: vc_q, head: 1'b0, tail: 1'b0, data: word};
          left_q <= left_q - 1'b1;
          if (left_q == 6'd1) state_q <= Footer;
        end
        Footer:
        if (whole) begin
          flit_o         <= '{valid: 1'b1, vc: vc_q, head: 1'b0, tail: 1'b1, data: {word[127] || wrong_crc, word[126:0]}};
          wrong_q        <= wrong_crc;
          packets_o      <= packets_o + 1'b1;
          state_q        <= Hunt;
        end
        FillPayload: begin
          flit_o    <= FillFlit;
          flit_o.vc <= vc_q;
          left_q    <= left_q - 1'b1;
          if (left_q == 6'd1) state_q <= FillFooter;
        end
        FillFooter: begin
          flit_o           <= FillFlit;
          flit_o.vc        <= vc_q;
          flit_o.tail      <= 1'b1;
          flit_o.data[127] <= 1'b1;
          cut_packets_o    <= cut_packets_o + 1'b1;
          state_q          <= Hunt;
        end
        default: ;
      endcase

      // A packet that does not go on: made up when its header is out already, forgotten when not.
      if ((state_q == Payload || state_q == Footer) && (take_control || (silence && !data_valid_q))) begin
        state_q <= state_q == Payload ? FillPayload : FillFooter;
      end else if (opens) begin
        state_q <= Header;
        vc_q    <= control.vc;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_q        <= '0;
      headers_q      <= '0;
      health_o       <= '0;
      heard_o        <= 1'b0;
      bad_controls_o <= '0;
      got_words_q    <= '0;
      got_headers_q  <= '0;
      unconfirmed_o  <= '0;
      reclaimed_o    <= '0;
      for (int unsigned v = 0; v < 2; v++) {credit_o[v], reclaim_o[v]} <= '0;
    end else begin
      for (int unsigned v = 0; v < 2; v++) credit_o[v] <= '0;
      heard_o <= take_control;
      if (take_control) begin
        for (int unsigned v = 0; v < 2; v++) begin
          credit_o[v] <= difference(control.freed_words[v] - words_q[v], control.freed_headers[v] - headers_q[v]);
        end
        words_q   <= control.freed_words;
        headers_q <= control.freed_headers;
        if (control.report_kind == ReportKindHealth) health_o <= control.report[7:0];
      end
      // Words sent before this one and not handed on by now never will be.
      for (int unsigned v = 0; v < 2; v++) begin
        reclaim_o[v] <= '0;
        if (flit_o.valid && flit_o.head && flit_o.vc == v[0]) begin
          got_words_q[v]   <= got_words_q[v] + 11'(handed_words);
          got_headers_q[v] <= got_headers_q[v] + 1'b1;
        end
        if (take_control && reports_words[v]) begin
          reclaim_o[v].words <= lost[v].words;
          got_words_q[v]     <= control.report;
        end
        if (take_control && reports_headers[v]) begin
          reclaim_o[v].headers <= lost[v].headers;
          got_headers_q[v]     <= control.report[6:0];
        end
      end
      reclaimed_o <= reclaimed_o + widened(reclaim_o[0].headers) + widened(reclaim_o[1].headers);
      if (control_valid_q && !take_control) bad_controls_o <= bad_controls_o + 1'b1;
      if (restart_i) begin
        for (int unsigned v = 0; v < 2; v++) credit_o[v] <= sent[v];
        unconfirmed_o <= unconfirmed_o + widened(sent[0].headers) + widened(sent[1].headers);
        {words_q, headers_q, got_words_q, got_headers_q} <= '0;
      end
    end
  end
endmodule
