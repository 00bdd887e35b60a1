// SPDX-License-Identifier: Apache-2.0
// Traffic generator of one intra-tile port: whole packets with every code in place, a word a cycle, when the router has
// space for them.
//
// Stream: one packet after the other. Ping-pong: each when the answer to the one before has come. Echo: an answer for
// each packet that arrives, to its source, of its length and type. Answers wait in a queue as deep as the router's
// slots, so that it never overflows.
module karma_generator #(
  parameter int unsigned IntraDepth = 4096,
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned IntraSlots = 8
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         now_i,
  input  logic                start_i,
  input  logic                clear_i,
  input  logic [31:0]         packets_i,
  input  logic [1:0]          mode_i,
  input  logic [11:0]         gap_i,
  input  exanet_pkg::header_t header_i,   // of the packets to send; ecc and what routers write are made here
  input  logic                arrived_i,  // a packet came, of this header
  input  exanet_pkg::header_t arrived_header_i,
  output logic                answered_o, // its answer is on its way
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t credit_i,
  output logic                busy_o,
  output logic [31:0]         sent_o,
  output logic [31:0]         first_sent_o,
  output logic [31:0]         last_sent_o
);
  import exanet_pkg::*;
  typedef enum logic [1:0] { Stream, PingPong, Echo, Unused } mode_e;
  typedef enum logic [1:0] { Idle, Payload, Footer, Gap } state_e;

  state_e state_q;
  mode_e mode;
  logic waiting_q, begins, wanted, space, answer_valid;
  logic [31:0] left_q, crc_q, pattern_q;
  logic [23:0] number_q;
  logic [12:0] words_q;
  logic [7:0] headers_q;
  logic [5:0] length_words, rest_q;
  logic [9:0] bytes_q;
  logic [11:0] gap_q;
  header_t header, answer;
  footer_t footer;
  logic [127:0] word;

  assign mode = mode_e'(mode_i);
  assign busy_o = state_q != Idle || (mode == Echo ? answer_valid : left_q != '0 || waiting_q);

  exanet_fifo #(.Width(36), .Depth(IntraSlots)) u_answers (
    .clk_i, .rst_ni, .write_i(arrived_i && mode == Echo), .data_i({arrived_header_i.source_dcid, arrived_header_i.length, arrived_header_i.kind}),
    .read_i(begins && mode == Echo), .valid_o(answer_valid), .data_o({answer.dcid, answer.length, answer.kind}));
  assign {answer.ecc, answer.reserved, answer.multicast, answer.vc, answer.high_priority, answer.source_dcid, answer.pdid, answer.dmadd} = '0;

  always_comb begin
    header = header_i;
    if (mode == Echo) begin
      header.dcid   = answer.dcid;
      header.length = answer.length;
      header.kind   = answer.kind;
    end
    header.ecc = exanet_code_pkg::header_ecc(header[119:0]);
  end

  // A packet begins when there is one to send and space for all of it, also in the cycle after a footer. Bulk leaves
  // space for a priority packet.
  assign length_words = 6'((header.length + 10'd15) >> 4);
  assign wanted = mode == Echo ? answer_valid : left_q != '0 && !(mode == PingPong && waiting_q);
  assign space = header.high_priority ? headers_q != '0 && words_q >= 13'(length_words)
      : headers_q >= 8'd2 && words_q >= 13'(length_words) + 13'(MaxPayloadWords);
  assign begins = state_q == Idle && wanted && space;
  assign answered_o = begins && mode == Echo;

  // Payload: a sequence that repeats after 2^32 - 1 words, padded with zeros behind the last byte.
  always_comb begin
    word = {pattern_q, ~pattern_q, pattern_q ^ 32'h5A5A5A5A, {pattern_q[15:0], pattern_q[31:16]}};
    for (int unsigned i = 0; i < 16; i++) if (bytes_q <= 10'(i)) word[8*i+:8] = '0;
  end

  logic [31:0] footer_crc;
  always_comb begin
    footer = '0;
    footer.number = number_q;
    footer.last = 1'b1;
    footer_crc = exanet_code_pkg::crc_word(crc_q, footer);
    footer.crc32 = ~footer_crc;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Idle;
      waiting_q    <= 1'b0;
      left_q       <= '0;
      crc_q        <= '1;
      pattern_q    <= 32'd1;
      number_q     <= '0;
      words_q      <= 13'(IntraDepth);
      headers_q    <= 8'(IntraHeaders);
      rest_q       <= '0;
      bytes_q      <= '0;
      gap_q        <= '0;
      flit_o       <= '0;
      sent_o       <= '0;
      first_sent_o <= '0;
      last_sent_o  <= '0;
    end else begin
      flit_o    <= '0;
      words_q   <= words_q + 13'(credit_i.words) - (begins ? 13'(length_words) : '0);
      headers_q <= headers_q + credit_i.headers - 8'(begins);
      if (arrived_i && mode == PingPong) waiting_q <= 1'b0;

      case (state_q)
        Idle:
        if (begins) begin
          flit_o  <= '{valid: 1'b1, vc: 1'b0, head: 1'b1, tail: 1'b0, data: header};
          crc_q   <= exanet_code_pkg::crc_header(header);
          rest_q  <= length_words;
          bytes_q <= header.length;
          state_q <= header.length == '0 ? Footer : Payload;
          left_q  <= left_q - 32'(mode != Echo);
          waiting_q <= mode == PingPong;
        end
        Payload: begin
          flit_o    <= '{valid: 1'b1, vc: 1'b0, head: 1'b0, tail: 1'b0, data: word};
          crc_q     <= exanet_code_pkg::crc_word(crc_q, word);
          pattern_q <= {1'b0, pattern_q[31:1]} ^ (pattern_q[0] ? 32'h80200003 : '0);
          bytes_q   <= bytes_q > 10'd16 ? bytes_q - 10'd16 : '0;
          rest_q    <= rest_q - 1'b1;
          if (rest_q == 6'd1) state_q <= Footer;
        end
        Footer: begin
          flit_o   <= '{valid: 1'b1, vc: 1'b0, head: 1'b0, tail: 1'b1, data: footer};
          number_q <= number_q + 1'b1;
          gap_q    <= gap_i;
          state_q  <= gap_i == '0 ? Idle : Gap;
        end
        default: begin
          gap_q <= gap_q - 1'b1;
          if (gap_q == 12'd1) state_q <= Idle;
        end
      endcase

      // Counted with the word on the wire, so that the stamp is its cycle.
      if (flit_o.valid && flit_o.head) begin
        sent_o <= sent_o + 1'b1;
        if (sent_o == '0) first_sent_o <= now_i;
      end
      if (flit_o.valid && flit_o.tail) last_sent_o <= now_i;

      if (start_i) begin
        left_q    <= packets_i;
        waiting_q <= 1'b0;
      end
      if (clear_i) {sent_o, first_sent_o, last_sent_o} <= '0;
    end
  end
endmodule
