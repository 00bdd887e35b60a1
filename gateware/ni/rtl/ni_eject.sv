// SPDX-License-Identifier: Apache-2.0
// Packets into frames of AXI4-Stream: takes a packet whole, checks its codes, and then offers it beat by beat, at the
// slave's rate.
//
// A packet whose header or CRC is wrong, whose length is not what came, or that a link has marked, is dropped and
// counted; its slot is released. It is not passed on with a mark: its address and its port may be what is wrong, so
// nobody behind could use it safely, and its sender has to repeat it just as one that a link lost. So every frame here
// is a sound packet, and a slave need not look at TUSER to know.
//
// TUSER is the same in all beats of a frame. A packet without payload is one beat with TKEEP 0. Slots bound what the
// router sends before a release: the buffer has space for the largest packet in each, and a slot is released when the
// last word of its packet has left the buffer.
module ni_eject #(
  parameter int unsigned Slots = 8,  // IntraSlots of the router
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords  // payload of the largest packet
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  exanet_pkg::flit_t    flit_i,
  output logic                 release_o,
  output logic                 tvalid_o,
  input  logic                 tready_i,
  output logic [127:0]         tdata_o,
  output logic [15:0]          tkeep_o,
  output logic                 tlast_o,
  output exanet_pkg::ni_user_t tuser_o,
  output logic [31:0]          packets_o,  // passed on, when their last beat has been taken
  output logic [31:0]          dropped_o
);
  import exanet_pkg::*;
  localparam int unsigned Packets = 2 ** $clog2(Slots > 1 ? Slots : 2);
  localparam int unsigned Words = 2 ** $clog2(Packets * MostWords);
  localparam int unsigned PendingBits = $clog2(Slots + 1) + 1;
  if (Slots < 1 || Slots > 64) begin : gen_illegal_1
    $error("1 to 64 packets before a slot is released");
  end
  if (MostWords < 1 || MostWords > MaxPayloadWords) begin : gen_illegal_2
    $error("the largest packet has 1 to 32 payload words");
  end

  // A packet, word by word. Its end is judged in the cycle after its footer, from registers.
  header_t header_q;
  footer_t footer_q;
  logic [127:0] covered;
  logic [31:0] crc_q, crc_next;
  logic [5:0] words_q, length_words_q;
  logic ended_q, extra_q, header_sound_q, sound, stores, data;
  header_t header_in;
  assign header_in = flit_i.data;
  assign data = flit_i.valid && !flit_i.head && !flit_i.tail;
  assign stores = data && words_q < length_words_q;
  always_comb begin
    covered = flit_i.data;
    if (flit_i.tail) begin
      covered[31:0] = '0;
      covered[127] = 1'b0;
    end
  end
  assign crc_next = exanet_code_pkg::crc_word(crc_q, covered);
  assign sound = header_sound_q && !extra_q &&
      words_q == length_words_q && !footer_q.error && footer_q.crc32 == ~crc_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      header_q       <= '0;
      footer_q       <= '0;
      crc_q          <= '1;
      words_q        <= '0;
      length_words_q <= '0;
      extra_q        <= 1'b0;
      ended_q        <= 1'b0;
      header_sound_q <= 1'b0;
    end else begin
      ended_q <= flit_i.valid && flit_i.tail;
      header_sound_q <= exanet_code_pkg::header_sound(header_q) && header_q.length <= 10'(16 * MostWords);
      if (flit_i.valid && flit_i.head) begin
        header_q       <= flit_i.data;
        crc_q          <= exanet_code_pkg::crc_header(flit_i.data);
        words_q        <= '0;
        length_words_q <= header_in.length > 10'(16 * MostWords) ? '0 : 6'((header_in.length + 10'd15) >> 4);
        extra_q        <= 1'b0;
      end else if (flit_i.valid) begin
        crc_q   <= crc_next;
        words_q <= words_q + 6'(stores);
        extra_q <= extra_q || (data && !stores);
        if (flit_i.tail) footer_q <= flit_i.data;
      end
    end
  end

  ni_user_t arrived, user;
  logic commit, drop, record_valid, word_valid, read, take, loads, empty, final_beat;
  logic [9:0] length, left_q, left;
  logic [127:0] word;
  logic [$clog2(Words):0] held;
  always_comb begin
    arrived = '0;
    arrived.dmadd = header_q.dmadd;
    arrived.dcid = header_q.dcid;
    arrived.pdid = header_q.pdid;
    arrived.source_dcid = header_q.source_dcid;
    arrived.kind = header_q.kind;
    arrived.high_priority = header_q.high_priority;
    arrived.multicast = header_q.multicast;
    arrived.number = footer_q.number;
    arrived.source_pdid = footer_q.source_pdid;
    arrived.channel = footer_q.channel;
    arrived.block = footer_q.block;
    arrived.reason = footer_q.reason;
    arrived.last = footer_q.last;
    arrived.ack_request = footer_q.ack_request;
  end
  assign commit = ended_q && sound;
  assign drop = ended_q && !sound;

  ni_buffer #(.Words(Words), .Packets(Packets), .RecordBits(10 + $bits(ni_user_t))) u_buffer (
    .clk_i, .rst_ni, .write_i(stores), .data_i(flit_i.data), .commit_i(commit), .drop_i(drop), .record_i({header_q.length, arrived}), .held_o(held),
    .take_i(take), .record_valid_o(record_valid), .record_o({length, user}), .read_i(read), .valid_o(word_valid), .data_o(word));

  // Beats, in a register of their own: it is loaded when it is free, or its beat is taken.
  logic amid_q;
  assign left = amid_q ? left_q : length;
  assign empty = left == '0;
  assign final_beat = left <= 10'd16;
  assign loads = record_valid && (empty || word_valid) && (!tvalid_o || tready_i);
  assign read = loads && !empty;
  assign take = loads && final_beat;

  logic [PendingBits-1:0] pending_q;
  assign release_o = pending_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tvalid_o  <= 1'b0;
      tdata_o   <= '0;
      tkeep_o   <= '0;
      tlast_o   <= 1'b0;
      tuser_o   <= '0;
      amid_q    <= 1'b0;
      left_q    <= '0;
      pending_q    <= '0;
      packets_o <= '0;
      dropped_o <= '0;
    end else begin
      pending_q    <= pending_q + PendingBits'(take) + PendingBits'(drop) - PendingBits'(release_o);
      packets_o <= packets_o + 32'(tvalid_o && tready_i && tlast_o);
      dropped_o <= dropped_o + 32'(drop);
      if (loads) begin
        tvalid_o <= 1'b1;
        tdata_o  <= empty ? '0 : word;
        for (int unsigned i = 0; i < 16; i++) tkeep_o[i] <= left > 10'(i);
        tlast_o  <= final_beat;
        tuser_o  <= user;
        amid_q   <= !final_beat;
        left_q   <= left - 10'd16;
      end else if (tready_i) begin
        tvalid_o <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && flit_i.valid && flit_i.head) FitsInBuffer : assert (32'(held) + MostWords <= Words);
  end
`endif

  exanet_stream_check #(.Width(128 + 16 + 1 + $bits(ni_user_t))) u_check (
    .clk_i, .rst_ni, .valid_i(tvalid_o), .data_i({tdata_o, tkeep_o, tlast_o, tuser_o}), .ready_i(tready_i));
endmodule
