// SPDX-License-Identifier: Apache-2.0
// Messages out of processes' stores: put together in slots, sent, kept until they are answered, and sent again when
// they were not.
//
// A context, the page of a process, has four slots of 64 bytes in one memory. Stores of payload go to the slot that is
// filled; a store of message_send_t hands it over, and the next slot is filled then. So a store waits for no message:
// what has no slot is refused and counted. Bytes that were not stored are zeros.
//
// Slots are sent in the order of their stores, at one in three cycles. A message is numbered among those to its node
// when it is sent first. At most 32 numbers in a row are under way to a node, which is what it remembers (ni_mailbox);
// a message beyond goes to the end of the queue. A number is the same at each repetition, until it is answered:
// MessageAck frees the slot, a MessageNack because the mailbox is full gives the message another number later, and one
// for another reason fails it. One that is never answered is sent again, after a time that doubles, and fails at last.
//
// A message that stays behind a transfer is in its slot, but in no queue. The first transfer of its domain that ends
// and names the slot claims it, and has it launched when its end is in memory; one whose transfer has failed is given
// up where it would be sent.
//
// Stores that send come first at the queue and at what is known of slots. When they have passed others seven times in a
// row, stores wait for four cycles, in which each that waits finds its turn: a transfer that claims, a message that
// finds no number, one that is launched, and one that is due.
//
// A slot's state is in flags of two writers each: `filled` (a store) and `freed` (an answer) differ while it holds a
// message; `pushed` and `popped` while it is in the queue; `filled` and `numbered` until its message has a number;
// `refused` and `renewed` when it needs another one.
//
// ni_message_frames keeps payload and sends frames; ni_message_status has what a process reads.
module ni_packetizer #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Peers = 4096,
  parameter int unsigned NodeBits = 0,  // as of ni_peer
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned ContextBits = $clog2(Contexts),
  localparam int unsigned Slots = 4 * Contexts,
  localparam int unsigned SlotBits = ContextBits + 2,
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  exanet_pkg::ni_config_t  config_i,
  output logic                    ready_o,  // stores may come in two cycles
  // stores: the context a cycle ahead, then, where it is to its page, 16 bytes of it
  input  logic [ContextBits-1:0]  context_i,
  input  logic                    store_i,
  input  logic [7:0]              line_i,
  input  logic [127:0]            data_i,
  input  logic [15:0]             strobe_i,
  output logic [9:0]              pdid_o,  // of the context, with the store
  output logic                    enabled_o,
  // what the kernel writes
  input  logic                    context_write_i,
  input  exanet_pkg::ni_context_t context_value_i,
  // what a process reads; four cycles after its context was given
  input  logic [ContextBits-1:0]  status_at_i,
  output exanet_pkg::ni_status_t  status_o,
  // a transfer of this domain ends that names a slot, and why it has failed; a cycle later, whether a message stays
  // there behind it
  input  logic                    claim_valid_i,
  output logic                    claim_taken_o,
  input  logic [SlotBits-1:0]     claim_slot_i,
  input  logic [9:0]              claim_pdid_i,
  input  exanet_pkg::nack_reason_e claim_reason_i,
  output logic                    claimed_o,
  // slots whose messages were claimed, each once: they are sent, or fail
  input  logic                    launch_valid_i,
  output logic                    launch_taken_o,
  input  logic [SlotBits-1:0]     launch_slot_i,
  // messages, as frames of an ni_port
  output logic                    m_axis_tvalid,
  input  logic                    m_axis_tready,
  output logic [127:0]            m_axis_tdata,
  output logic [15:0]             m_axis_tkeep,
  output logic                    m_axis_tlast,
  output exanet_pkg::ni_user_t    m_axis_tuser,
  // answers to them
  input  logic                    s_axis_tvalid,
  output logic                    s_axis_tready,
  input  exanet_pkg::ni_user_t    s_axis_tuser,
  // counts since reset; they wrap
  output logic [31:0]             sent_o,      // each repetition counts
  output logic [31:0]             done_o,      // slots freed: messages that are in their mailbox, or failed
  output logic [31:0]             repeated_o,  // sent again without an answer
  output logic [31:0]             stale_o      // answers that nobody waits for
);
  import exanet_pkg::*;
  localparam logic [2:0] MostBackoff = 3'd5;
  if (SlotBits > 10) begin : gen_illegal_1
    $error("a packet names its slot in ten bits");
  end
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [PeerBits-1:0] peer_t;

  // Tables are cleared behind a reset: entry after entry, all of them at once.
  localparam int unsigned ClearBits = PeerBits > SlotBits ? PeerBits : SlotBits;
  logic clears;
  logic [ClearBits:0] clear_q;
  assign clears = !clear_q[ClearBits];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_q <= '0;
    else if (clears) clear_q <= clear_q + 1'b1;
  end

  // --- Contexts.
  (* ram_style = "distributed" *) logic [10:0] contexts[Contexts];
  logic [ContextBits-1:0] context_q;  // of the store
  always_ff @(posedge clk_i) begin
    if (clears) contexts[clear_q[ContextBits-1:0]] <= '0;
    else if (context_write_i) contexts[context_q] <= {context_value_i.enabled, context_value_i.pdid};
    context_q <= context_i;
    {enabled_o, pdid_o} <= context_write_i && context_i == context_q ? {context_value_i.enabled, context_value_i.pdid} : contexts[context_i];
  end

  // --- State of slots, as seen by emitter, scanner, answers and status; and by stores, who see it of all slots of
  // their context.
  localparam int unsigned Readers = 4, Emitting = 0, Scanning = 1, Answering = 2, Reporting = 3;
  logic [Readers-1:0] filled, freed, pushed, popped, numbered, refused, renewed, busy, queued, fresh, turned_down;
  logic [Readers-1:0][SlotBits-1:0] looks_at;
  assign busy = filled ^ freed;
  assign queued = pushed ^ popped;
  assign fresh = filled ^ numbered;
  assign turned_down = refused ^ renewed;

  slot_t fill_slot, emit_q, scan_q, answer_q, push_slot, report_slot;
  assign looks_at = {report_slot, answer_q, scan_q, emit_q};
  logic fills, queues_store, frees, refuses, pushes, pushed_next, pops, numbers, renews;
  logic [SlotBits-1:0] clear_slot;
  logic [3:0] filled_here, pushed_here;
  logic [3:0][1:0] answered_here;
  logic [3:0][2:0] emitted_here;
  logic [1:0] fill;  // the slot that stores go to
  logic [3:0] free_here;
  logic free_slot;
  assign clear_slot = clear_q[SlotBits-1:0];
  // A message may be answered, or given up, while a frame of it waits for its port: then its payload stays.
  logic [3:0] framed_here;  // slots of the stores' context that have frames
  for (genvar s = 0; s < 4; s++) begin : gen_free
    assign free_here[s] = filled_here[s] == answered_here[s][1] && pushed_here[s] == emitted_here[s][2] && !framed_here[s];
  end
  assign free_slot = free_here[fill];
  ni_flags #(.Entries(Slots), .Readers(Readers)) u_filled (
    .clk_i, .write_i(fills || clears), .at_i(clears ? clear_slot : fill_slot), .value_i(!clears && !filled_here[fill]), .read_at_i(looks_at),
    .value_o(filled), .context_i, .slots_o(filled_here));
  logic launch_pushed;
  logic [Readers:0][SlotBits-1:0] looks_at_pushed;
  assign looks_at_pushed[Readers-1:0] = looks_at;
  assign looks_at_pushed[Readers] = launch_slot_i;
  ni_flags #(.Entries(Slots), .Readers(Readers + 1)) u_pushed (
    .clk_i, .write_i(pushes || clears), .at_i(clears ? clear_slot : push_slot), .value_i(!clears && pushed_next),
    .read_at_i(looks_at_pushed), .value_o({launch_pushed, pushed}), .context_i, .slots_o(pushed_here));
  logic [Readers-1:0][1:0] of_answers;
  ni_flags #(.Entries(Slots), .Width(2), .Readers(Readers)) u_answered (
    .clk_i, .write_i(frees || refuses || clears), .at_i(clears ? clear_slot : answer_q),
    .value_i(clears ? '0 : {freed[Answering] ^ frees, refused[Answering] ^ refuses}), .read_at_i(looks_at), .value_o(of_answers),
    .context_i, .slots_o(answered_here));
  logic [Readers-1:0][2:0] of_emitter;
  ni_flags #(.Entries(Slots), .Width(3), .Readers(Readers)) u_emitted (
    .clk_i, .write_i(pops || clears), .at_i(clears ? clear_slot : emit_q),
    .value_i(clears ? '0 : {!popped[Emitting], numbered[Emitting] ^ numbers, renewed[Emitting] ^ renews}), .read_at_i(looks_at),
    .value_o(of_emitter), .context_i, .slots_o(emitted_here));
  for (genvar r = 0; r < Readers; r++) begin : gen_reader
    assign {freed[r], refused[r]} = of_answers[r];
    assign {popped[r], numbered[r], renewed[r]} = of_emitter[r];
  end

  // --- Stores: payload into the slot that is filled, and its message.
  typedef struct packed {
    logic [1:0] slot;
    logic spoiled;        // payload found no slot free, so the message is not whole
    logic [3:0] touched;  // words that have been stored to
  } filling_t;
  (* ram_style = "distributed" *) filling_t filling[Contexts];
  message_send_t message;
  filling_t now_q, then;
  logic changes_filling;
  logic [3:0] touched, touches;
  logic payload, send, known;
  peer_t peer;
  store_refusal_e refusal;
  assign message = data_i[63:0];
  assign fill = now_q.slot;
  assign touched = now_q.touched;
  assign fill_slot = {context_q, fill};
  assign payload = store_i && enabled_o && line_i[7:2] == 6'd0;
  assign send = store_i && enabled_o && line_i == 8'd4 && strobe_i[7:0] == '1;
  assign touches = 4'd1 << line_i[1:0];
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_peer (
    .clk_i, .dcid_i(message.dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(peer), .known_o(known));
  always_comb begin
    refusal = StoreRefusalNone;
    if (!known) refusal = StoreRefusalDestination;
    if (message.length > 7'd64) refusal = StoreRefusalLength;
    if (!free_slot || now_q.spoiled) refusal = StoreRefusalNoSlot;
  end
  assign fills = send && refusal == StoreRefusalNone;
  always_ff @(posedge clk_i) begin
    if (clears) filling[clear_q[ContextBits-1:0]] <= '0;
    else if (changes_filling) filling[context_q] <= then;
    now_q <= changes_filling && context_i == context_q ? then : filling[context_i];
  end
  assign changes_filling = send || payload || context_write_i;
  // A page that is given to another process begins with a message without bytes.
  always_comb begin
    then = '0;
    then.slot = fill + 2'(fills);
    if (payload) begin
      then.spoiled = now_q.spoiled || !free_slot;
      then.touched = free_slot ? touched | touches : touched;
    end
  end

  // --- Messages as they were handed over.
  typedef struct packed {
    peer_t peer;
    ni_pkg::message_order_t message;
  } order_t;
  order_t order;
  peer_t answer_peer;
  slot_t head;
  logic emit_reads, answer_reads;
  ni_table #(.Entries(Slots), .Width($bits(order_t))) u_orders (
    .clk_i, .rst_ni, .write_i(fills), .write_at_i(fill_slot), .data_i({peer, pdid_o, touched, message.length, message.mailbox, message.dcid}),
    .read_i(emit_reads), .read_at_i(head), .data_o(order));

  // --- Messages that stay behind a transfer: which slots hold one that was not claimed, whose it is, and why the
  // transfer that has claimed it has failed.
  typedef struct packed {
    logic stays;
    logic [9:0] pdid;
    nack_reason_e reason;
  } link_t;
  (* ram_style = "distributed" *) link_t links[Slots];
  link_t link;
  logic claims, claim_looked_q, claim_fits_q;
  assign link = links[claim_slot_i];
  assign claim_taken_o = claim_valid_i && claim_looked_q && !send && !clears;
  assign claims = claim_taken_o && claim_fits_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) claim_looked_q <= 1'b0;
    else claim_looked_q <= claim_valid_i && !claim_taken_o;
  end
  always_ff @(posedge clk_i) begin
    if (clears || fills || claims)
      links[clears ? clear_slot : send ? fill_slot : claim_slot_i] <= clears ? '{stays: 1'b0, pdid: '0, reason: NackReasonNone}
          : send ? '{stays: message.behind, pdid: pdid_o, reason: NackReasonNone} : '{stays: 1'b0, pdid: '0, reason: claim_reason_i};
    claim_fits_q <= link.stays && link.pdid == claim_pdid_i;
    claimed_o    <= claims;
  end

  // --- The queue of slots, each in it at most once. A store that is to send comes first, refused or not, then the
  // emitter, then what is launched, then the scanner; but stores do not pass these again and again.
  logic head_valid, returns, again, scan_pushes, can_push, scan_checks_q, due, waits, gives_way;
  logic [2:0] passed_q;
  logic [1:0] way_q;  // cycles that were given to who waits
  exanet_fifo_block #(.Width(SlotBits), .Depth(Slots)) u_queue (
    .clk_i, .rst_ni, .write_i(queues_store || again || launch_taken_o || scan_pushes),
    .data_i(send ? fill_slot : again ? emit_q : launch_valid_i ? launch_slot_i : scan_q), .read_i(emit_reads),
    .keep_i(1'b0), .rewind_i(1'b0), .valid_o(head_valid), .data_o(head));
  assign queues_store = fills && !message.behind;
  assign launch_taken_o = launch_valid_i && !send && !returns && !clears;
  assign can_push = !send && !returns && !launch_valid_i;
  assign pushes = queues_store || launch_taken_o || scan_pushes;
  assign push_slot = send ? fill_slot : launch_valid_i ? launch_slot_i : scan_q;
  assign pushed_next = !(send ? pushed_here[fill] : launch_valid_i ? launch_pushed : pushed[Scanning]);
  assign waits = (claim_valid_i && send) || (returns && send) || (launch_valid_i && !launch_taken_o) || (scan_checks_q && due && !can_push);
  assign gives_way = passed_q == '1;
  assign ready_o = !clears && !gives_way;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {passed_q, way_q} <= '0;
    else begin
      way_q <= gives_way && !send ? way_q + 1'b1 : '0;
      if (gives_way) passed_q <= way_q == '1 ? '0 : passed_q;
      else passed_q <= waits ? passed_q + 3'(send) : '0;
    end
  end

  // --- Emitter: a slot's order, then its peer, then the decision; three cycles a message.
  typedef enum logic [2:0] { Pop, Look, Decide, Again, GiveUp } emit_e;
  typedef struct packed {
    logic [31:0] open;  // numbers under way, by their lowest bits
    logic [23:0] next;
  } numbers_t;
  typedef struct packed {
    logic [11:0] round;  // when it was sent last
    logic [3:0] tries;   // since its last answer
    logic [2:0] backoff;
  } timer_t;
  emit_e emit_state_q;
  numbers_t numbers_of_peer, numbers_next;
  timer_t timer, scan_timer, timer_next;
  logic [23:0] number_q, number, answer_number;
  nack_reason_e link_reason_q;  // its transfer has failed
  logic needs_number, window_full, last_try, orphan, enabled_q, sends, approved_space;
  logic peers_read, peers_write, give_up_done;
  peer_t peers_at, peers_write_at;
  numbers_t peers_value;
  logic [11:0] round_q;
  order_t order_q;

  assign emit_reads = emit_state_q == Pop && head_valid && approved_space;
  ni_table #(.Entries(Slots), .Width(24)) u_numbers (
    .clk_i, .rst_ni, .write_i(sends), .write_at_i(emit_q), .data_i(number), .read_i(emit_reads), .read_at_i(head), .data_o(number_q));
  ni_table #(.Entries(Slots), .Width($bits(timer_t))) u_timers (
    .clk_i, .rst_ni, .write_i(sends), .write_at_i(emit_q), .data_i(timer_next), .read_i(emit_reads), .read_at_i(head), .data_o(timer));
  ni_table #(.Entries(Peers), .Width($bits(numbers_t)), .Same(1'b1)) u_peers (
    .clk_i, .rst_ni, .write_i(peers_write || clears), .write_at_i(clears ? clear_q[PeerBits-1:0] : peers_write_at),
    .data_i(clears ? '0 : peers_value),
    .read_i(peers_read), .read_at_i(peers_at), .data_o(numbers_of_peer));

  assign needs_number = fresh[Emitting] || turned_down[Emitting];
  assign window_full = needs_number && numbers_of_peer.open[numbers_of_peer.next[4:0]];
  // A message that is refused again and again ends with its context.
  assign orphan = turned_down[Emitting] && !fresh[Emitting] && !enabled_q;
  assign last_try = orphan || link_reason_q != NackReasonNone || (!needs_number && config_i.tries != '0 && timer.tries >= config_i.tries);
  assign sends = emit_state_q == Decide && busy[Emitting] && !window_full && !last_try;
  assign number = needs_number ? numbers_of_peer.next : number_q;
  always_comb begin
    numbers_next = numbers_of_peer;
    numbers_next.next = numbers_of_peer.next + 1'b1;
    numbers_next.open[numbers_of_peer.next[4:0]] = 1'b1;
    timer_next.round = round_q;
    timer_next.tries = needs_number ? '0 : timer.tries + 4'd1;
    timer_next.backoff = fresh[Emitting] ? '0 : timer.backoff == MostBackoff ? MostBackoff : timer.backoff + 3'd1;
  end
  // One that is given up before it had a number leaves the slot as one that had.
  assign numbers = (sends || emit_state_q == GiveUp) && fresh[Emitting];
  assign renews = sends && turned_down[Emitting];
  assign returns = emit_state_q == Again;
  assign again = returns && !send;
  assign pops = (emit_state_q == Decide && !(busy[Emitting] && (window_full || last_try))) || (emit_state_q == GiveUp && give_up_done);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      emit_state_q <= Pop;
      emit_q       <= '0;
    end else begin
      case (emit_state_q)
        Pop:
        if (emit_reads) begin
          emit_q       <= head;
          emit_state_q <= Look;
        end
        Look: emit_state_q <= Decide;
        Decide: emit_state_q <= !busy[Emitting] ? Pop : last_try ? GiveUp : window_full ? Again : Pop;
        Again: if (!send) emit_state_q <= Pop;
        default: if (give_up_done) emit_state_q <= Pop;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (emit_state_q == Look) begin
      {order_q, enabled_q} <= {order, contexts[emit_q[SlotBits-1:2]][10]};
      link_reason_q        <= links[emit_q].reason;
    end
  end

  // --- Scanner: looks at one slot after the other, and queues again what was not answered in time, or was refused and
  // has waited.
  logic scan_next;
  logic [11:0] elapsed, wait_rounds;
  assign elapsed = round_q - scan_timer.round;
  assign wait_rounds = 12'(config_i.timeout) << scan_timer.backoff;
  assign due = busy[Scanning] && !queued[Scanning] && !fresh[Scanning] && elapsed >= wait_rounds;
  assign scan_pushes = scan_checks_q && due && can_push;
  assign scan_next = scan_checks_q && (!due || can_push);
  ni_table #(.Entries(Slots), .Width($bits(timer_t)), .Same(1'b1)) u_scan_timers (
    .clk_i, .rst_ni, .write_i(sends), .write_at_i(emit_q), .data_i(timer_next), .read_i(!scan_checks_q), .read_at_i(scan_q), .data_o(scan_timer));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scan_checks_q <= 1'b0;
      scan_q        <= '0;
      round_q        <= '0;
    end else begin
      scan_checks_q <= !clears && !scan_next;
      if (scan_next) scan_q <= scan_q + 1'b1;
      if (scan_next && scan_q == '1) round_q <= round_q + 1'b1;
    end
  end

  // --- Answers, and messages that are given up: the number is not under way any more, and the slot free, or its
  // message to be sent under another one.
  typedef enum logic [1:0] { Idle, Check, Apply } answer_e;
  answer_e answer_state_q;
  logic full_q, gives_up_q, awaits, fits, table_free, answers, applies, answer_known;
  nack_reason_e reason_q;
  logic [23:0] answered_number_q;
  peer_t answer_from, answer_from_q, answer_peer_q;
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_answer_peer (
    .clk_i, .dcid_i(s_axis_tuser.source_dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(answer_from),
    .known_o(answer_known));
  ni_table #(.Entries(Slots), .Width(24 + PeerBits), .Same(1'b1)) u_answer_numbers (
    .clk_i, .rst_ni, .write_i(sends), .write_at_i(emit_q), .data_i({number, order_q.peer}), .read_i(answer_reads),
    .read_at_i(s_axis_tuser.channel[SlotBits-1:0]), .data_o({answer_number, answer_peer}));

  assign s_axis_tready = answer_state_q == Idle && emit_state_q != GiveUp && !clears;
  assign answer_reads = s_axis_tvalid && s_axis_tready;
  assign answers = answer_reads && 32'(s_axis_tuser.channel) < Slots && answer_known &&
      (s_axis_tuser.kind == PacketTypeMessageAck || s_axis_tuser.kind == PacketTypeMessageNack);
  // The peers' table is the emitter's while it looks and decides. A read here is followed by its write, when the
  // emitter can at most read.
  assign table_free = emit_state_q != Look && emit_state_q != Decide;
  // An answer may have come while the emitter was to give its message up.
  assign awaits = busy[Answering] && (!fresh[Answering] || gives_up_q);
  assign fits = awaits && (gives_up_q ||
      (!turned_down[Answering] && answered_number_q == answer_number && answer_from_q == answer_peer));
  assign applies = answer_state_q == Apply;
  assign frees = applies && !full_q;
  assign refuses = applies && full_q;
  assign give_up_done = gives_up_q && (applies || (answer_state_q == Check && !awaits));

  assign peers_read = emit_state_q == Look || (answer_state_q == Check && table_free);
  assign peers_at = emit_state_q == Look ? order.peer : gives_up_q ? answer_from_q : answer_peer;
  assign peers_write = (sends && needs_number) || applies;
  assign peers_write_at = applies ? answer_peer_q : order_q.peer;
  always_comb begin
    peers_value = applies ? numbers_of_peer : numbers_next;
    if (applies && !turned_down[Answering] && !fresh[Answering]) peers_value.open[answered_number_q[4:0]] = 1'b0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer_state_q <= Idle;
      answer_q       <= '0;
      full_q         <= 1'b0;
      gives_up_q     <= 1'b0;
      reason_q       <= NackReasonNone;
      stale_o        <= '0;
      done_o         <= '0;
    end else begin
      done_o <= done_o + 32'(frees);
      case (answer_state_q)
        Idle: begin
          gives_up_q <= emit_state_q == GiveUp;
          answer_q   <= emit_state_q == GiveUp ? emit_q : s_axis_tuser.channel[SlotBits-1:0];
          full_q     <= answer_reads && s_axis_tuser.kind == PacketTypeMessageNack && s_axis_tuser.reason == NackReasonFull;
          reason_q   <= emit_state_q == GiveUp ? (link_reason_q != NackReasonNone ? link_reason_q : NackReasonSilent)
              : s_axis_tuser.kind == PacketTypeMessageAck ? NackReasonNone : nack_reason_e'(s_axis_tuser.reason);
          stale_o    <= stale_o + 32'(answer_reads && !answers);
          if (answers || emit_state_q == GiveUp) answer_state_q <= Check;
        end
        Check:
        if (!fits) begin
          stale_o        <= stale_o + 32'(!gives_up_q);
          answer_state_q <= Idle;
        end else if (table_free) answer_state_q <= Apply;
        default: answer_state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (answer_state_q == Idle) begin
      answered_number_q <= emit_state_q == GiveUp ? number_q : s_axis_tuser.number;
      answer_from_q     <= emit_state_q == GiveUp ? order_q.peer : answer_from;
    end
    if (answer_state_q == Check) answer_peer_q <= gives_up_q ? answer_from_q : answer_peer;
  end

  // --- Frames: messages that are to go, beat by beat.
  logic report_framed;
  ni_message_frames #(.SlotBits(SlotBits)) u_frames (
    .clk_i, .rst_ni, .store_i(payload && free_slot), .store_slot_i(fill_slot), .line_i(line_i[1:0]), .data_i, .strobe_i,
    .first_i((touched & touches) == '0), .space_o(approved_space), .sends_i(sends), .slot_i(emit_q), .number_i(number), .order_i(order_q.message),
    .source_dcid_i(config_i.dcid), .context_i, .framed_here_o(framed_here), .report_slot_i(report_slot), .report_framed_o(report_framed),
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_axis_tuser);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_o     <= '0;
      repeated_o <= '0;
    end else begin
      sent_o     <= sent_o + 32'(sends);
      repeated_o <= repeated_o + 32'(sends && !needs_number);
    end
  end

  // --- What a process reads.
  ni_message_status #(.Contexts(Contexts)) u_status (
    .clk_i, .rst_ni, .clears_i(clears), .clear_at_i(clear_q[ContextBits-1:0]), .refuses_i(send && !fills), .refused_at_i(context_q),
    .refusal_i(refusal), .frees_i(frees), .freed_slot_i(answer_q), .reason_i(reason_q), .status_at_i, .slot_o(report_slot),
    .free_i(!busy[Reporting] && !queued[Reporting] && !report_framed), .fill_i(filling[status_at_i].slot), .status_o);

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !clears) begin
      GivesUpInTurn : assert (answer_state_q == Idle || !gives_up_q || emit_state_q == GiveUp);
      SendsItsOwn : assert (!sends || busy[Emitting]);
      NewNumberIsFree : assert (!(sends && needs_number) || !numbers_of_peer.open[numbers_of_peer.next[4:0]]);
      FillsAFreeSlot : assert (!fills || (filled_here[fill] == answered_here[fill][1] && pushed_here[fill] == emitted_here[fill][2]));
    end
  end
`endif
endmodule
