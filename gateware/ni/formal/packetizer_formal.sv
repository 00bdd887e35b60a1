// SPDX-License-Identifier: Apache-2.0
// ni_packetizer under any stores, any answers and a port that takes frames at any pace or never. Shown, for so many
// cycles from the reset: a slot comes free by an answer of the node that its message went to, which names the slot and
// the
// number that the message was sent under last and is no refusal because the mailbox is full, or because its tries have
// run out, or its context was closed (which takes more cycles than are looked at), or the transfer that it stays behind
// has failed; and never twice. One that stays behind a transfer is not sent before it has been claimed for its domain,
// which is reported, and launched. What is sent first has a number of its own. No FIFO overflows, no table is read and
// written at once where that counts (the modules' own assertions).
module packetizer_formal (
  input logic                     clk_i,
  input logic                     context_i,
  input logic                     store_i,
  input logic [7:0]               line_i,
  input logic [127:0]             data_i,
  input logic [15:0]              strobe_i,
  input logic                     context_write_i,
  input exanet_pkg::ni_context_t  context_value_i,
  input logic                     claim_i,
  input logic [2:0]          claim_slot_i,
  input logic [9:0]               claim_pdid_i,
  input exanet_pkg::nack_reason_e claim_reason_i,
  input logic                     launch_i,
  input logic [2:0]          launch_slot_i,
  input logic                     ready_i,
  input logic                     answer_i,
  input exanet_pkg::ni_user_t     user_i
);
  import exanet_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = '0;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
    ni_config.tries = 4'd1;
  end

  logic up, on, enabled, valid, last, answer, taken, claim_taken, claimed, launched;
  logic [9:0] pdid;
  ni_status_t status;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  logic [31:0] sent, done, repeated, stale;
  assign answer = rst_n && answer_i;
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
    .s_axis_tvalid(answer), .s_axis_tready(taken), .s_axis_tuser(user_i), .sent_o(sent), .done_o(done), .repeated_o(repeated), .stale_o(stale));

  // A store is one or the other; an answer that is offered stays.
  logic waits = 1'b0;
  ni_user_t user_q = '0;
  logic asks = 1'b0, claim_asks = 1'b0;
  logic [12+$bits(nack_reason_e):0] claim_q = '0;
  logic [2:0] slot_q = '0, claim_slot_q = '0;
  always_ff @(posedge clk_i) begin
    asks                   <= on && launch_i && !launched;
    claim_asks             <= on && claim_i && !claim_taken;
    claim_q                <= {claim_slot_i, claim_pdid_i, claim_reason_i};
    {slot_q, claim_slot_q} <= {launch_slot_i, claim_slot_i};
  end
  always_ff @(posedge clk_i) begin
    waits  <= answer && !taken;
    user_q <= user_i;
  end
  // Slots whose message was claimed, and not launched.
  logic [7:0] pending = '0, pending_next;
  always_comb begin
    pending_next = pending;
    if (launched) pending_next[launch_slot_i] = 1'b0;
    if (claimed) pending_next[claim_slot_q] = 1'b1;
  end
  always_ff @(posedge clk_i) pending <= rst_n ? pending_next : '0;
  always_comb begin
    assume (!(store_i && context_write_i));
    if (waits) assume (answer_i && user_i == user_q);
    if (asks) assume (launch_i && launch_slot_i == slot_q);
    if (claim_asks) assume (claim_i && {claim_slot_i, claim_pdid_i, claim_reason_i} == claim_q);
    if (launch_i) assume (pending[launch_slot_i]);
  end

  // Slot 0, and the answer that was taken last.
  logic busy = 1'b0, to = 1'b0, fills, sends, frees, closed;
  logic [23:0] number = '0;
  logic [2:0] times = '0, waiting = '0;  // sent under this number; cycles of an answer
  ni_user_t answered = '0;
  assign fills = dut.fills && dut.fill_slot == '0;
  assign sends = dut.sends && dut.emit_q == '0;
  assign frees = dut.frees && dut.answer_q == '0;
  assign closed = !dut.contexts[0][10];
  logic stays = 1'b0, stored_q = 1'b0, held = 1'b0, failed = 1'b0, was_launched = 1'b0, claims, claims_q = 1'b0, launches;
  logic [9:0] owner = '0;  // domain of its message
  assign claims = claim_taken && claim_slot_i == '0 && stays && !stored_q && claim_pdid_i == owner;
  assign launches = launched && launch_slot_i == '0;
  always_ff @(posedge clk_i) begin
    claims_q <= rst_n && claims;
    stored_q <= fills;  // too late for a claim in the next cycle
    if (fills) {stays, held, failed, owner} <= {dut.message.behind, dut.message.behind, 1'b0, pdid};
    else begin
      if (claims) {stays, failed} <= {1'b0, claim_reason_i != NackReasonNone};
      if (launches) held <= 1'b0;
    end
    if (rst_n) begin
      NotBefore: assert (!held || !(sends || frees));
      Claimed: assert ((claimed && claim_slot_q == '0) == claims_q);
      NotFailed: assert (!failed || !sends);
      Behind: cover (sends && was_launched);
    end
    was_launched <= (was_launched && !fills) || launches;
  end
  logic was_closed = 1'b0;  // while it was decided on
  always_ff @(posedge clk_i) begin
    was_closed <= closed || (was_closed && 3'(dut.emit_state_q) == 3'd4);
    waiting    <= answer && !taken && on ? waiting + 3'(waiting != '1) : '0;
    if (answer && taken) answered <= user_i;
    if (fills) {busy, times} <= {1'b1, 3'd0};
    if (frees) busy <= 1'b0;
    if (sends) begin
      {number, to} <= {dut.number, dut.order_q.peer};
      times        <= dut.needs_number ? 3'd1 : times + 3'd1;
    end
    if (rst_n) begin
      NotTwice: assert (!frees || busy);
      FirstIsNew: assert (!(sends && times == '0) || dut.needs_number);
      WasSent: assert (!frees || times != '0 || failed);
      ByAnswer: assert (!frees || dut.gives_up_q || (answered.channel == '0 && answered.number == number && answered.source_dcid[0] == to));
      ByItsKind: assert (!frees || dut.gives_up_q || answered.kind == PacketTypeMessageAck ||
                         (answered.kind == PacketTypeMessageNack && answered.reason != NackReasonFull));
      ByItsEnd: assert (!frees || !dut.gives_up_q || times == 3'd2 || was_closed || failed);
      Answered: cover (frees && !dut.gives_up_q && done == 32'd1);
      Held: cover (waiting == 3'd3);
    end
  end
endmodule
