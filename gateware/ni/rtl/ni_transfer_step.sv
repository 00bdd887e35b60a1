// SPDX-License-Identifier: Apache-2.0
// What a step of ni_transfers does, in its third cycle: the next state of a transfer, of a block in one of its slots,
// and of the window of PSNs of its node; and the packet that it sends.
//
// A step has one of five kinds. Admit and Begin begin a block where a slot, a PSN and space for its first packet are
// free. Emit sends a block's next packet. Answer takes an Ack, a Nack or the end of a read. Scan looks at a block that
// waits, and retransmits it when its time is over, or gives it up. What each of them does has a name below: begins,
// emits, takes_psn, acks, nacks, parks, retransmits, retries, frees. All of it is logic without state;
// core/nic/transfers/transfer_steps.cpp models it, a function a case.
module ni_transfer_step #(
  parameter int unsigned SlotBits = 10,
  parameter int unsigned Window = 32,
  localparam int unsigned WindowBits = $clog2(Window)
) (
  input  logic [3:0]                 tries_i,  // of which a block has failed; 0: none
  input  logic [11:0]                round_i,
  // the kind of step, the slot that it is for, and what is known of it
  input  logic                       begin_i,
  input  logic                       emit_i,
  input  logic                       scan_i,
  input  logic                       space_i,  // for a packet
  input  logic [SlotBits-1:0]        slot_i,
  input  ni_pkg::transfer_facts_t    facts_i,
  input  ni_pkg::transfer_order_t    order_i,
  // state as it is, and as it is behind the step
  input  ni_pkg::transfer_state_t    state_i,
  output ni_pkg::transfer_state_t    state_o,
  input  logic [3:0][WindowBits-1:0] psns_i,  // of the slots' blocks, their lowest bits
  output logic [3:0][WindowBits-1:0] psns_o,
  input  ni_pkg::transfer_block_t    block_i,
  output ni_pkg::transfer_block_t    block_o,
  output logic                       block_write_o,
  output logic [1:0]                 block_slot_o,  // of the channel
  input  logic                       full_i,  // the place of the next PSN is taken
  input  logic [23:0]                next_i,
  input  logic [Window-1:0]          outstanding_i,
  output logic                       full_o,
  output logic [23:0]                next_o,
  output logic [Window-1:0]          outstanding_o,
  output logic                       window_write_o,
  // what follows from it
  output logic                       sends_o,
  output ni_pkg::write_packet_t      packet_o,
  output logic                       queues_block_o,
  output logic                       queues_channel_o,
  output logic                       ends_o,  // the transfer
  output logic                       retransmits_o,
  output logic                       fits_o  // the answer was waited for
);
  import exanet_pkg::*;
  localparam logic [2:0] MostBackoff = 3'd5;

  // --- Which case it is.
  logic begins, emits, due, gives_up, retransmits, abandons, frees, here_busy, failed;
  logic acks, nacks, retries, scanned, timed_out, is_fence, here_parked, here_keeps_psn, takes_psn, waits_for_psn, parks, returns_psn;
  logic abandons_parked, gets_psn;
  logic [3:0] usable;
  logic [1:0] free_slot, here;
  nack_reason_e reason;
  logic others_busy, more;
  assign here = slot_i[1:0];
  assign usable = ~(state_i.busy | state_i.queued);
  always_comb begin
    free_slot = 2'd3;
    for (int unsigned i = 3; i > 0; i--) if (usable[i-1]) free_slot = 2'(i - 1);
  end
  assign failed = state_i.failure != NackReasonNone;
  assign begins = space_i && facts_i.more && facts_i.may_begin && usable != '0 && !state_i.sending && !full_i;
  assign block_slot_o = begins ? free_slot : here;
  assign here_busy = state_i.busy[here];
  assign here_parked = state_i.parked[here];
  assign here_keeps_psn = state_i.keeps_psn[here];
  assign takes_psn = here_busy && facts_i.may_emit && state_i.needs_psn[here] && !full_i;
  assign waits_for_psn = here_busy && facts_i.may_emit && state_i.needs_psn[here] && full_i;
  assign emits = here_busy && facts_i.may_emit && !here_parked && !waits_for_psn;
  assign abandons = (emit_i && here_busy && facts_i.abandons) || abandons_parked;
  assign gets_psn = begins || takes_psn;
  // Answers, and blocks that nobody answers.
  assign fits_o = facts_i.fits && here_busy;
  assign acks = fits_o && state_i.reads && !facts_i.ends && facts_i.reason == NackReasonNone;
  assign nacks = fits_o && state_i.reads && !facts_i.ends && facts_i.reason == NackReasonBusy;
  assign parks = fits_o && facts_i.page_fault && !facts_i.abandons;
  assign others_busy = (state_i.busy & ~(4'd1 << here)) != '0;
  assign scanned = scan_i && here_busy && !state_i.queued[here];
  assign abandons_parked = scanned && here_parked && facts_i.abandons;
  assign due = scanned && facts_i.late && !(block_i.fence && others_busy) && !abandons_parked;
  assign returns_psn = scanned && facts_i.late && facts_i.behind_parked;
  assign timed_out = scanned && facts_i.timed_out;
  assign retries = scanned && facts_i.retries;
  assign gives_up = (due && !here_parked && tries_i != '0 && block_i.tries >= tries_i) || timed_out;
  assign retransmits = due && !gives_up;
  assign frees = (fits_o && !acks && !nacks && !parks) || gives_up || abandons;
  assign reason = gives_up ? NackReasonSilent : fits_o && !nacks && !parks ? facts_i.reason : NackReasonNone;
  assign sends_o = begins || emits;
  assign retransmits_o = retransmits;
  assign queues_block_o = (begins && !facts_i.single) || (emits && !facts_i.final_packet) || retransmits || waits_for_psn;

  // --- The packet. What a fence names; one that is sent again is behind no other block.
  fence_place_t fence_place;
  logic [2:0][1:0] other;
  logic [9:0] packet_bytes;
  read_response_t response;  // or what a fence writes
  always_comb begin
    fence_place = '0;
    fence_place.fence = 1'b1;
    for (int unsigned i = 0; i < 3; i++) begin
      other[i] = free_slot + 2'(i + 1);
      if (begins && state_i.busy[other[i]])
        fence_place.behind[i] = 5'(WindowBits'(next_i[WindowBits-1:0] - psns_i[other[i]]));
    end
  end
  always_comb begin
    response = read_response_t'(order_i.fence_value);
    if (state_i.serves) response.failure = state_i.failure;
    packet_o = '0;
    packet_o.dcid = order_i.dcid;
    packet_o.pdid = order_i.pdid;
    if (begins) begin
      packet_o.payload[47:0] = state_i.own;
      packet_o.target = state_i.target;
      packet_o.number = next_i;
      packet_o.place = {10'd0, facts_i.end_byte[11:9], state_i.target[11:9]};
      packet_o.final_packet = facts_i.single;
    end else begin
      packet_o.payload[47:0] = block_i.own + (facts_i.first_packet ? 48'd0 : 48'(facts_i.offset));
      packet_o.target = facts_i.first_packet ? block_i.target : {block_i.target[47:12], block_i.at, 9'd0};
      packet_o.number = takes_psn ? next_i : block_i.psn;
      packet_o.place = {10'd0, block_i.last_byte[11:9], block_i.target[11:9]};
      packet_o.final_packet = facts_i.final_packet;
    end
    packet_o.payload[79:48] = order_i.fence_value[31:0];  // length of a request
    packet_o.kind = state_i.reads ? PacketTypeReadRequest : PacketTypeWrite;
    is_fence = begins ? state_i.fences : block_i.fence;
    if (is_fence) begin
      packet_o.payload[63:0] = response;
      if (state_i.serves) packet_o.kind = PacketTypeReadResponse;
      packet_o.place = block_place_t'(fence_place);
    end
    packet_o.slot = 10'({slot_i[SlotBits-1:2], block_slot_o});
    // From its first byte to the end of its 512, or of its block.
    packet_bytes = (packet_o.final_packet ? 10'((begins ? facts_i.end_byte[8:0] : block_i.last_byte[8:0])) : 10'd511) + 10'd1 -
        (begins || facts_i.first_packet ? 10'(packet_o.target[8:0]) : 10'd0);
    packet_o.bytes = state_i.reads ? 10'($bits(read_request_t) / 8) : packet_bytes;
  end

  // --- The transfer.
  always_comb begin
    state_o = state_i;
    psns_o = psns_i;
    if (begins) begin
      if (!state_i.reads) state_o.own = state_i.own + 48'(facts_i.block_bytes);
      if (!state_i.reads) state_o.target = {state_i.target[47:12] + 36'd1, 12'd0};
      state_o.left = state_i.left - 32'(facts_i.block_bytes);
      if (facts_i.finishes && state_i.fence) begin
        state_o.target = {order_i.fence_word, 3'd0};
        state_o.left = 32'd8;
        state_o.fence = 1'b0;
        state_o.fences = 1'b1;
      end
      state_o.busy[free_slot] = 1'b1;
      psns_o[free_slot] = next_i[WindowBits-1:0];
      state_o.sending = !facts_i.single;
      state_o.sent_slot = free_slot;
    end
    if (frees || retries) state_o.busy[here] = 1'b0;
    if (parks || returns_psn) state_o.parked[here] = 1'b1;
    if (parks) state_o.keeps_psn[here] = facts_i.keeps_psn;
    if (frees || (retransmits && here_parked)) {state_o.parked[here], state_o.keeps_psn[here]} = '0;
    if (frees || takes_psn) state_o.needs_psn[here] = 1'b0;
    if (retransmits && here_parked) state_o.needs_psn[here] = !here_keeps_psn;
    if (takes_psn) psns_o[here] = next_i[WindowBits-1:0];
    if (acks) state_o.acked = 1'b1;
    if (nacks) begin
      state_o.nacked = 1'b1;
      if (state_i.nacks != 3'd4) state_o.nacks = state_i.nacks + 3'd1;
    end
    if (retries) begin
      state_o.nacked = 1'b0;
      state_o.left = 32'd1;
    end
    if (emit_i) state_o.queued[here] = 1'b0;
    if (queues_block_o) state_o.queued[block_slot_o] = 1'b1;
    if ((frees || parks || (emits && facts_i.final_packet)) && state_i.sent_slot == here) state_o.sending = 1'b0;
    if (!failed) state_o.failure = reason;
    if (begin_i) state_o.waits = 1'b0;
    // A transfer is in the queue while it has bytes left and a slot for them, and no block that is being sent.
    more = begins ? !facts_i.finishes || state_i.fence : facts_i.more || retries;
    queues_channel_o = more && (state_o.failure == NackReasonNone || (state_i.serves && (state_o.busy | state_o.queued) == '0)) &&
        (state_o.busy | state_o.queued) != '1 && !state_o.sending && !state_o.waits &&
        !(state_o.fences && (state_o.parked | state_o.needs_psn) != '0);
    if (queues_channel_o) state_o.waits = 1'b1;
    ends_o = state_i.active && state_o.busy == '0 && state_o.queued == '0 && !state_o.waits;
    if (ends_o) state_o.active = 1'b0;
  end

  // --- The block.
  assign block_write_o = sends_o || retransmits || acks || nacks || parks;
  always_comb begin
    block_o = block_i;
    block_o.round = round_i;
    if (begins) begin
      block_o.own = state_i.own;
      block_o.target = state_i.target;
      block_o.fence = state_i.fences;
      block_o.last_byte = facts_i.end_byte;
      block_o.psn = next_i;
      block_o.at = state_i.target[11:9] + 3'd1;
      block_o.tries = '0;
      block_o.faults = '0;
      block_o.backoff = '0;
    end else if (emits) begin
      block_o.at = block_i.at + 3'd1;
      block_o.psn = packet_o.number;
    end else if (retransmits) begin
      block_o.at = block_i.target[11:9];
      if (!here_parked) block_o.tries = block_i.tries + 4'(block_i.tries != '1);
      else if (!here_keeps_psn) block_o.tries = '0;
      block_o.backoff = block_i.backoff == MostBackoff ? MostBackoff : block_i.backoff + 3'd1;
    end else if (parks) begin
      block_o.faults = block_i.faults + 4'd1;
    end
  end

  // --- The window of PSNs.
  logic [WindowBits-1:0] next_but_one;
  assign next_but_one = next_i[WindowBits-1:0] + 1'b1;
  assign window_write_o = gets_psn || acks || nacks || (parks && !facts_i.keeps_psn) || returns_psn ||
      (frees && !facts_i.answered && !facts_i.lacks_psn);
  always_comb begin
    {full_o, next_o, outstanding_o} = {full_i, next_i, outstanding_i};
    if (gets_psn) begin
      next_o = next_i + 24'd1;
      outstanding_o[next_i[WindowBits-1:0]] = 1'b1;
      full_o = outstanding_i[next_but_one];
    end else begin
      outstanding_o[block_i.psn[WindowBits-1:0]] = 1'b0;
      if (block_i.psn[WindowBits-1:0] == next_i[WindowBits-1:0]) full_o = 1'b0;
    end
  end
endmodule
