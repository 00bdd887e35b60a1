// SPDX-License-Identifier: Apache-2.0
// Payload of ni_packetizer's messages, in slots of 64 bytes, and the frames that are sent of them, beat by beat.
//
// A word's first store writes all of it, so nothing of an earlier message is left; a word that was not stored is sent
// as zeros. Four messages at most are to be sent, in order. Their slots may be freed meanwhile, as an answer may come
// before a repeated frame has gone: so it is known which slots have frames, and none of these is filled. Limits: 128
// bits a beat, at most four of them.
module ni_message_frames #(
  parameter int unsigned SlotBits = 10
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // 16 bytes of payload for a slot
  input  logic                    store_i,
  input  logic [SlotBits-1:0]     store_slot_i,
  input  logic [1:0]              line_i,
  input  logic [127:0]            data_i,
  input  logic [15:0]             strobe_i,
  input  logic                    first_i,  // to this word of the message
  // a message is to be sent
  output logic                    space_o,  // for one, and one that is on its way
  input  logic                    sends_i,
  input  logic [SlotBits-1:0]     slot_i,
  input  logic [23:0]             number_i,
  input  ni_pkg::message_order_t  order_i,
  input  logic [21:0]             source_dcid_i,
  // slots with frames: those of a context, a cycle later, and one
  input  logic [SlotBits-3:0]     context_i,
  output logic [3:0]              framed_here_o,
  input  logic [SlotBits-1:0]     report_slot_i,
  output logic                    report_framed_o,
  // frames of an ni_port
  output logic                    m_axis_tvalid,
  input  logic                    m_axis_tready,
  output logic [127:0]            m_axis_tdata,
  output logic [15:0]             m_axis_tkeep,
  output logic                    m_axis_tlast,
  output exanet_pkg::ni_user_t    m_axis_tuser
);
  import exanet_pkg::*;
  typedef logic [SlotBits-1:0] slot_t;
  typedef struct packed {
    slot_t slot;
    logic [23:0] number;
    ni_pkg::message_order_t order;
    logic [1:0] final_beat;
  } approved_t;

  // --- Payload. The word is written a cycle later than it is stored.
  (* ram_style = "block" *) logic [127:0] words[4*2**SlotBits];
  logic store_q;
  logic [SlotBits+1:0] word_at_q;
  logic [127:0] word_q;
  logic [15:0] strobe_q;
  always_ff @(posedge clk_i) begin
    store_q   <= store_i;
    word_at_q <= {store_slot_i, line_i};
    strobe_q  <= strobe_i | {16{first_i}};
    for (int unsigned b = 0; b < 16; b++) word_q[8*b+:8] <= strobe_i[b] ? data_i[8*b+:8] : '0;
    if (store_q) begin
      for (int unsigned b = 0; b < 16; b++) if (strobe_q[b]) words[word_at_q][8*b+:8] <= word_q[8*b+:8];
    end
  end

  // --- Messages that are to be sent, and their slots.
  approved_t approved;
  logic approved_valid, approved_taken, fetch, final_beat, zero_q;
  logic [1:0] beat_q, last_beat, frame_in_q, frame_out_q;
  logic [2:0] approved_q;
  logic [3:0] framed, framed_still;  // frames that have yet to be read out of the slots' memory
  slot_t [3:0] framed_slots;
  logic [6:0] left;
  logic [127:0] fetched_q;
  assign approved_taken = fetch && final_beat;
  assign last_beat = order_i.length == '0 ? 2'd0 : 2'((order_i.length - 7'd1) >> 4);
  assign space_o = approved_q < 3'd3;
  exanet_fifo #(.Width($bits(approved_t)), .Depth(4)) u_approved (
    .clk_i, .rst_ni, .write_i(sends_i), .data_i({slot_i, number_i, order_i, last_beat}), .read_i(approved_taken),
    .valid_o(approved_valid), .data_o(approved));
  function automatic logic in_frames(slot_t slot, logic [3:0] frames);
    logic found;
    found = 1'b0;
    for (int unsigned i = 0; i < 4; i++) found |= frames[i] && framed_slots[i] == slot;
    return found;
  endfunction
  assign framed_still = framed & ~(4'(approved_taken) << frame_out_q);
  assign report_framed_o = in_frames(report_slot_i, framed);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {frame_in_q, frame_out_q, framed, framed_here_o} <= '0;
    end else begin
      frame_in_q  <= frame_in_q + 2'(sends_i);
      frame_out_q <= frame_out_q + 2'(approved_taken);
      if (sends_i) framed[frame_in_q] <= 1'b1;
      if (approved_taken) framed[frame_out_q] <= 1'b0;
      for (int unsigned i = 0; i < 4; i++)
        framed_here_o[i] <= in_frames({context_i, i[1:0]}, framed_still) || (sends_i && slot_i == {context_i, i[1:0]});
    end
  end
  always_ff @(posedge clk_i) begin
    if (sends_i) framed_slots[frame_in_q] <= slot_i;
  end

  // --- Beats.
  assign fetch = approved_valid && (!m_axis_tvalid || m_axis_tready);
  assign left = approved.order.length - {1'b0, beat_q, 4'd0};
  assign final_beat = beat_q == approved.final_beat;
  assign m_axis_tdata = zero_q ? '0 : fetched_q;
  always_ff @(posedge clk_i) begin
    if (fetch) fetched_q <= words[{approved.slot, beat_q}];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      approved_q    <= '0;
      beat_q        <= '0;
      zero_q        <= 1'b0;
      m_axis_tvalid <= 1'b0;
      m_axis_tkeep  <= '0;
      m_axis_tlast  <= 1'b0;
      m_axis_tuser  <= '0;
    end else begin
      approved_q <= approved_q + 3'(sends_i) - 3'(approved_taken);
      if (fetch) begin
        m_axis_tvalid <= 1'b1;
        beat_q        <= final_beat ? '0 : beat_q + 1'b1;
        zero_q        <= !approved.order.touched[beat_q];
        for (int unsigned i = 0; i < 16; i++) m_axis_tkeep[i] <= left > 7'(i);
        m_axis_tlast <= final_beat;
        m_axis_tuser <= '{dmadd: 48'(approved.order.mailbox), dcid: approved.order.dcid, pdid: approved.order.pdid, source_dcid: source_dcid_i,
                          kind: PacketTypeMessage, high_priority: 1'b0, multicast: 1'b0, number: approved.number, source_pdid: approved.order.pdid,
                          channel: 10'(approved.slot), block: '0, reason: '0, last: 1'b1, ack_request: 1'b1, reserved: '0};
      end else if (m_axis_tready) begin
        m_axis_tvalid <= 1'b0;
      end
    end
  end

  exanet_stream_check #(.Width(128 + 16 + 1 + $bits(ni_user_t))) u_check (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}), .ready_i(m_axis_tready));
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      FramesCounted : assert (approved_q == 3'(framed[0]) + 3'(framed[1]) + 3'(framed[2]) + 3'(framed[3]));
      SlotIsFramed : assert (!approved_valid || (framed[frame_out_q] && framed_slots[frame_out_q] == approved.slot));
      NotFilledUnderItsFrame : assert (!store_i || !in_frames(store_slot_i, framed));
    end
  end
`endif
endmodule
