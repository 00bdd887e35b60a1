// SPDX-License-Identifier: Apache-2.0
// ni_packetizer under any stores, claims, launches and answers, and a port that takes frames at any pace or never; one
// of its slots, whichever. Proved without bound: an answer frees the slot, or has its message sent under another number,
// only when the message was sent and not answered, when it comes from the node that the message went to, and when it has
// the number that the message was sent under last. A slot is freed once a message.
//
// What a slot has of its node is a place in the tables of peers. With these shifts a node's place is its address. The
// queue of slots gives what was written to it and not read (the proof `fifo-block`), which is assumed.
module packetizer_answers_formal (
  input logic                     clk_i,
  input exanet_pkg::ni_config_t   config_i,
  input logic [2:0]               tracked_i,
  input logic                     context_i,
  input logic                     store_i,
  input logic [7:0]               line_i,
  input logic [127:0]             data_i,
  input logic [15:0]              strobe_i,
  input logic                     context_write_i,
  input exanet_pkg::ni_context_t  context_value_i,
  input logic                     claim_i,
  input logic [2:0]               claim_slot_i,
  input logic [9:0]               claim_pdid_i,
  input exanet_pkg::nack_reason_e claim_reason_i,
  input logic                     launch_i,
  input logic [2:0]               launch_slot_i,
  input logic                     ready_i,
  input logic                     answer_i,
  input exanet_pkg::ni_user_t     user_i
);
  import exanet_pkg::*;
  localparam logic [2:0] Pop = 3'd0, Look = 3'd1, Decide = 3'd2, GiveUp = 3'd4;  // states of the emitter
  localparam logic [1:0] Idle = 2'd0, Check = 2'd1, Apply = 2'd2;  // and of answers
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = config_i;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
  end

  logic up, on, enabled, valid, last, taken, claim_taken, claimed, launched;
  logic [9:0] pdid;
  ni_status_t status;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  logic [31:0] sent_count, done, repeated, stale;
  // The tables are clear; a store comes two cycles later than that it may.
  logic [1:0] comes_q = '0;
  assign on = rst_n && !dut.clears;
  always_ff @(posedge clk_i) comes_q <= rst_n ? {comes_q[0], up} : '0;
  ni_packetizer #(.Contexts(2), .Peers(2)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .context_i, .store_i(comes_q[1] && store_i), .line_i, .data_i, .strobe_i,
    .pdid_o(pdid), .enabled_o(enabled), .context_write_i(comes_q[1] && context_write_i), .context_value_i, .status_at_i(1'b0), .status_o(status),
    .claim_valid_i(on && claim_i), .claim_taken_o(claim_taken), .claim_slot_i, .claim_pdid_i, .claim_reason_i, .claimed_o(claimed),
    .launch_valid_i(on && launch_i), .launch_taken_o(launched), .launch_slot_i,
    .m_axis_tvalid(valid), .m_axis_tready(ready_i), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user),
    .s_axis_tvalid(rst_n && answer_i), .s_axis_tready(taken), .s_axis_tuser(user_i), .sent_o(sent_count), .done_o(done), .repeated_o(repeated),
    .stale_o(stale));

  // The slot, and its flags.
  logic [2:0] slot = '0;
  always_ff @(posedge clk_i) if (!rst_n) slot <= tracked_i;
  logic [7:0] filled, pushed;
  logic [7:0][1:0] answered;
  logic [7:0][2:0] emitted;
  for (genvar s = 0; s < 4; s++) begin : gen_slot
    for (genvar c = 0; c < 2; c++) begin : gen_context
      assign filled[4*c+s] = dut.u_filled.gen_slot[s].memory[c];
      assign pushed[4*c+s] = dut.u_pushed.gen_slot[s].memory[c];
      assign answered[4*c+s] = dut.u_answered.gen_slot[s].memory[c];
      assign emitted[4*c+s] = dut.u_emitted.gen_slot[s].memory[c];
    end
  end
  logic busy, fresh, queued, turned_down, stays;
  assign busy = filled[slot] ^ answered[slot][1];
  assign fresh = filled[slot] ^ emitted[slot][1];
  assign queued = pushed[slot] ^ emitted[slot][2];
  assign turned_down = answered[slot][0] ^ emitted[slot][0];
  assign stays = dut.links[slot][10+$bits(nack_reason_e)];

  // What happens to it.
  logic fills, sends, writes, reads, emits;
  assign fills = dut.fills && dut.fill_slot == slot;
  assign sends = dut.sends && dut.emit_q == slot;
  assign writes = dut.u_queue.write_i && dut.u_queue.data_i == slot;
  assign reads = dut.emit_reads && dut.head == slot;
  assign emits = 3'(dut.emit_state_q) != Pop && dut.emit_q == slot;
  logic in_queue = 1'b0, any = 1'b0, pending = 1'b0, sent = 1'b0;  // claimed, and not launched; sent since it was filled
  logic to = 1'b0;  // place of its message's node
  logic [21:0] to_dcid = '0, from_dcid;
  logic [23:0] number = '0, answered_number;
  logic [2:0] answered_slot;
  ni_user_t answer;
  always_ff @(posedge clk_i) begin
    in_queue <= rst_n && ((in_queue && !reads) || writes);
    any <= rst_n && (any || dut.u_queue.write_i);
    pending <= rst_n && ((pending && !(launched && launch_slot_i == slot)) || (dut.claims && claim_slot_i == slot));
    if (fills) {sent, to, to_dcid} <= {1'b0, dut.peer, dut.message.dcid};
    else if (sends) {sent, number} <= {1'b1, dut.number};
    if (dut.answer_reads) answer <= user_i;
  end
  assign {from_dcid, answered_number, answered_slot} = {answer.source_dcid, answer.number, answer.channel[2:0]};

  // A store is one or the other; a claim that is offered stays; a message is launched that was claimed.
  logic claim_asks = 1'b0;
  logic [2:0] claim_slot_q = '0;
  always_ff @(posedge clk_i) begin
    claim_asks   <= on && claim_i && !claim_taken;
    claim_slot_q <= claim_slot_i;
  end
  always_comb begin
    assume (!(store_i && context_write_i));
    if (claim_asks) assume (claim_i && claim_slot_i == claim_slot_q);
    if (launch_i && launch_slot_i == slot) assume (pending);
    // The queue's.
    assume (!dut.emit_reads || any);
    assume (!reads || in_queue);
  end

  logic applies;
  assign applies = 2'(dut.answer_state_q) == Apply && dut.answer_q == slot;
  always_ff @(posedge clk_i) begin
    Reset: assert (rst_n || !(in_queue || any || pending || sent));
    if (rst_n) begin
      // The property.
      NotTwice: assert (!(dut.frees && dut.answer_q == slot) || busy);
      ByAnswer: assert (!applies || dut.gives_up_q ||
                        (sent && !turned_down && from_dcid == to_dcid && answered_number == number && answered_slot == slot));
      ByItsKind: assert (!applies || dut.gives_up_q || (answer.kind == PacketTypeMessageAck && dut.frees) ||
                         (answer.kind == PacketTypeMessageNack && (answer.reason == NackReasonFull) == dut.refuses));
      Frees: cover (applies && dut.frees && !dut.gives_up_q);
      Refuses: cover (applies && dut.refuses);
      // Helps the proof: nothing happens while tables are cleared.
      Clears: assert (!dut.clears || (!any && !in_queue && !pending && !sent && 3'(dut.emit_state_q) == Pop && 2'(dut.answer_state_q) == Idle &&
                                      !dut.scan_checks_q && comes_q == '0 && !dut.claim_looked_q));
      Cleared: assert (!(dut.clears && 4'(dut.clear_q) > 4'(slot)) || {filled[slot], pushed[slot], answered[slot], emitted[slot], stays} == '0);
      States: assert (3'(dut.emit_state_q) <= GiveUp && 2'(dut.answer_state_q) <= Apply);
      if (on) begin
        // The queue and the emitter have a slot at most once.
        Once: assert (!(in_queue && emits) && (in_queue || emits) == queued);
        Staying: assert (!stays || (busy && fresh && !queued && !pending));
        Pending: assert (!pending || (busy && fresh && !queued));
        Claiming: assert (!(dut.claim_looked_q && dut.claim_fits_q && claim_slot_q == slot) || stays);
        Looked: assert (dut.claim_looked_q == claim_asks);
        Seen: assert (dut.filled_here[slot[1:0]] == filled[{dut.context_q, slot[1:0]}] &&
                      dut.answered_here[slot[1:0]] == answered[{dut.context_q, slot[1:0]}] &&
                      dut.pushed_here[slot[1:0]] == pushed[{dut.context_q, slot[1:0]}] &&
                      dut.emitted_here[slot[1:0]] == emitted[{dut.context_q, slot[1:0]}]);
        // A message has a number when it was sent.
        Numbered: assert (busy ? fresh == !sent : !fresh);
        Kept: assert (!busy || (22'(to) == to_dcid && dut.u_orders.memory[slot][21:0] == to_dcid));
        KeptPlace: assert (!busy || dut.u_orders.memory[slot][$bits(ni_pkg::message_order_t)] == to);
        Numbers: assert (!(busy && sent) || (dut.u_numbers.memory[slot] == number && dut.u_answer_numbers.memory[slot] == {number, to}));
        Looks: assert (!(emits && 3'(dut.emit_state_q) == Look && busy) || dut.order.peer == to);
        Decides: assert (!(emits && 3'(dut.emit_state_q) == Decide && busy) || dut.order_q.peer == to);
        OfNumber: assert (!(emits && 3'(dut.emit_state_q) inside {Look, Decide} && busy && sent) || dut.number_q == number);
        // Answers.
        GivesUp: assert (2'(dut.answer_state_q) == Idle || !dut.gives_up_q || (3'(dut.emit_state_q) == GiveUp && dut.answer_q == dut.emit_q));
        Came: assert (2'(dut.answer_state_q) == Idle || dut.gives_up_q ||
                      (dut.answered_number_q == answered_number && 22'(dut.answer_from_q) == from_dcid && dut.answer_q == answered_slot));
        OfKind: assert (2'(dut.answer_state_q) == Idle || dut.gives_up_q ||
                        (dut.full_q ? answer.kind == PacketTypeMessageNack && answer.reason == NackReasonFull
                         : answer.kind == PacketTypeMessageAck || (answer.kind == PacketTypeMessageNack && answer.reason != NackReasonFull)));
        NotFull: assert (2'(dut.answer_state_q) == Idle || !dut.gives_up_q || !dut.full_q);
        Checks: assert (!(2'(dut.answer_state_q) == Check && dut.answer_q == slot && !dut.gives_up_q && busy && !fresh && !turned_down) ||
                        {dut.answer_number, dut.answer_peer} == {number, to});
        Applies: assert (!applies || (busy && (dut.gives_up_q || (!fresh && !turned_down && dut.answered_number_q == number &&
                                                                  dut.answer_from_q == to))));
      end
      Shifts: assert (dut.u_peer.no_low_q == '1 << 1 && dut.u_peer.no_y_q == '1 && dut.u_peer.no_z_q == '1 &&
                      dut.u_answer_peer.no_low_q == '1 << 1 && dut.u_answer_peer.no_y_q == '1 && dut.u_answer_peer.no_z_q == '1);
    end
  end
endmodule
