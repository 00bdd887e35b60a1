// SPDX-License-Identifier: Apache-2.0
// Frames of AXI4-Stream into packets: takes a frame whole, then sends its header, payload and footer to the router, a
// word a cycle without a gap.
//
// A frame is in the buffer before its header goes out. So the header has its length, which a stream does not say ahead,
// and a master that pauses within a frame holds up nobody: a packet once begun keeps a router's output, and those
// behind it, until its footer.
//
// Bytes fill beats from the lowest: all of TKEEP, but in a frame's last beat with data, whose bytes are the lowest
// ones. Beats without data (TKEEP 0) may stand anywhere, and one alone with TLAST is a frame of no bytes. TUSER counts
// in a frame's first beat. A frame with more than MostWords words or with holes between its bytes is taken from the
// stream, not sent, and counted: nobody would take its packet for what was meant.
//
// Packets go out in the order of frames, a priority one, too. It asks for space of its own, bulk leaves that space
// free.
module ni_inject #(
  parameter int unsigned Words = 128,  // of the buffer, two of the largest packets at least, and packets; powers of two
  parameter int unsigned Packets = 8,
  parameter int unsigned IntraDepth = 4096,  // of the router's pool behind this port
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords  // payload of the largest packet
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                tvalid_i,
  output logic                tready_o,
  input  logic [127:0]        tdata_i,
  input  logic [15:0]         tkeep_i,
  input  logic                tlast_i,
  input  exanet_pkg::ni_user_t tuser_i,
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t credit_i,
  output logic [31:0]         packets_o,  // sent
  output logic [31:0]         refused_o   // frames
);
  import exanet_pkg::*;
  localparam int unsigned MaxBytes = 16 * MostWords;
  localparam int unsigned HeldBits = $clog2(Words) + 1;
  localparam int unsigned PacketBits = $clog2(Packets) + 1;
  if (Words < 2 * MostWords || Packets < 2) begin : gen_illegal_1
    $error("the buffer holds two of the largest frames");
  end
  if (MostWords < 1 || MostWords > exanet_pkg::MaxPayloadWords) begin : gen_illegal_2
    $error("the largest packet has 1 to 32 payload words");
  end
  if (IntraDepth > 4096 || IntraDepth < 2 * MostWords) begin : gen_illegal_3
    $error("the router's pool has up to 4096 payload words, and holds two of the largest packets");
  end
  if (IntraHeaders < 2 || IntraHeaders > 64) begin : gen_illegal_4
    $error("2 to 64 headers of the router's pool");
  end

  // A frame, beat by beat. Its end is judged in the cycle after its last beat, from registers.
  logic beat, first_q, ended_q, bad_q, closed_q, open_frame, closed, bad, holes, full, stores, commit;
  ni_user_t user_q;
  logic [9:0] bytes_q, bytes;
  logic [4:0] kept;
  logic [127:0] data;
  logic [HeldBits-1:0] held;
  logic [PacketBits-1:0] frames_q;
  logic take;

  assign beat = tvalid_i && tready_o;
  assign open_frame = !first_q;
  assign bytes = open_frame ? bytes_q : '0;
  assign closed = open_frame && closed_q;  // a beat with data, but not in all bytes, has been
  assign holes = (tkeep_i & (tkeep_i + 1'b1)) != '0;
  assign full = bytes == 10'(MaxBytes);
  assign bad = (open_frame && bad_q) || holes || ((closed || full) && tkeep_i != '0);
  assign stores = beat && !bad && tkeep_i != '0;
  always_comb begin
    kept = ni_pkg::bytes_kept(tkeep_i);
    for (int unsigned i = 0; i < 16; i++) data[8*i+:8] = tkeep_i[i] ? tdata_i[8*i+:8] : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q  <= 1'b1;
      ended_q  <= 1'b0;
      bad_q    <= 1'b0;
      closed_q <= 1'b0;
      bytes_q  <= '0;
      user_q   <= '0;
    end else begin
      ended_q <= beat && tlast_i;
      if (beat) begin
        first_q  <= tlast_i;
        bad_q    <= bad;
        closed_q <= closed || (tkeep_i != '0 && tkeep_i != '1);
        if (!bad) bytes_q <= bytes + 10'(kept);
        if (first_q) user_q <= tuser_i;
      end
    end
  end

  // Words and records in the buffer, with one of each to spare for the beat and the verdict of this cycle.
  assign commit = ended_q && !bad_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frames_q  <= '0;
      tready_o  <= 1'b0;
      refused_o <= '0;
    end else begin
      frames_q  <= frames_q + PacketBits'(beat && tlast_i) - PacketBits'(take) - PacketBits'(ended_q && bad_q);
      tready_o  <= 32'(held) + 1 < Words && 32'(frames_q) + 1 < Packets;
      refused_o <= refused_o + 32'(ended_q && bad_q);
    end
  end

  // Packets to the router.
  typedef enum logic [1:0] { Idle, Payload, Footer } state_e;
  state_e state_q;
  ni_user_t user;
  header_t header;
  footer_t footer;
  logic [9:0] length;
  logic [5:0] length_words, stored_words, rest_q;
  logic begun_q;
  logic [12:0] words_q;
  logic [7:0] headers_q;
  // The CRC is a sum: a header's address and the rest of it have a register each, and the footer's part is known when
  // the header goes out.
  logic [31:0] crc_q, address_q, crc, footer_q, footer_crc;
  logic [127:0] word;
  logic record_valid, word_valid, space, begins, sends;

  ni_buffer #(.Words(Words), .Packets(Packets), .RecordBits(16 + $bits(ni_user_t))) u_buffer (
    .clk_i, .rst_ni, .write_i(stores), .data_i(data), .commit_i(commit), .drop_i(ended_q && bad_q), .record_i({stored_words, bytes_q, user_q}),
    .held_o(held),
    .take_i(take), .record_valid_o(record_valid), .record_o({length_words, length, user}), .read_i(sends), .valid_o(word_valid), .data_o(word));

  always_comb begin
    header = '0;
    header.dmadd = user.dmadd;
    header.dcid = user.dcid;
    header.pdid = user.pdid;
    header.source_dcid = user.source_dcid;
    header.length = length;
    header.kind = user.kind;
    header.high_priority = user.high_priority;
    header.multicast = user.multicast;
    header.ecc = exanet_code_pkg::header_ecc(header[119:0]);
    footer = '0;
    footer.number = user.number;
    footer.source_pdid = user.source_pdid;
    footer.channel = user.channel;
    footer.block = user.block;
    footer.reason = user.reason;
    footer.last = user.last;
    footer.ack_request = user.ack_request;
    footer_crc = exanet_code_pkg::crc_word('0, footer);
    footer.crc32 = ~(exanet_code_pkg::crc_word(crc, '0) ^ footer_q);
  end

  assign crc = crc_q ^ address_q;
  assign stored_words = 6'((bytes_q + 10'd15) >> 4);
  // A packet's space is taken in the cycle behind its begin: the next one begins two cycles later at least.
  assign space = user.high_priority ? headers_q != '0 && words_q >= 13'(length_words)
      : headers_q >= 8'd2 && words_q >= 13'(length_words) + 13'(MostWords);
  assign begins = state_q == Idle && record_valid && space;
  assign sends = state_q == Payload && word_valid;
  assign take = state_q == Footer;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      words_q   <= 13'(IntraDepth);
      headers_q <= 8'(IntraHeaders);
      rest_q    <= '0;
      begun_q   <= 1'b0;
      crc_q     <= '1;
      address_q <= '0;
      footer_q  <= '0;
      flit_o    <= '0;
      packets_o <= '0;
    end else begin
      flit_o    <= '0;
      footer_q  <= footer_crc;
      words_q   <= words_q + 13'(credit_i.words) - (begun_q ? 13'(rest_q) : '0);
      headers_q <= headers_q + credit_i.headers - 8'(begun_q);
      begun_q   <= begins;
      packets_o <= packets_o + 32'(take);
      case (state_q)
        Idle:
        if (begins) begin
          flit_o    <= '{valid: 1'b1, vc: 1'b0, head: 1'b1, tail: 1'b0, data: header};
          crc_q     <= exanet_code_pkg::crc_header({header[127:48], 48'b0}) ^ exanet_code_pkg::crc_header('0);
          address_q <= exanet_code_pkg::crc_header(128'(header.dmadd));
          rest_q    <= length_words;
          state_q   <= length_words == '0 ? Footer : Payload;
        end
        Payload:
        if (sends) begin
          flit_o    <= '{valid: 1'b1, vc: 1'b0, head: 1'b0, tail: 1'b0, data: word};
          crc_q     <= exanet_code_pkg::crc_word(crc, word);
          address_q <= '0;
          rest_q    <= rest_q - 1'b1;
          if (rest_q == 6'd1) state_q <= Footer;
        end
        default: begin
          flit_o  <= '{valid: 1'b1, vc: 1'b0, head: 1'b0, tail: 1'b1, data: footer};
          state_q <= Idle;
        end
      endcase
    end
  end

  exanet_stream_check #(.Width(128 + 16 + 1 + $bits(ni_user_t))) u_check (
    .clk_i, .rst_ni, .valid_i(tvalid_i), .data_i({tdata_i, tkeep_i, tlast_i, tuser_i}), .ready_i(tready_o));
endmodule
