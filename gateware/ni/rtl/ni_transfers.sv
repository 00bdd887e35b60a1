// SPDX-License-Identifier: Apache-2.0
// Transfers out of processes' stores: cut into blocks and packets, sent, kept until they are answered, and sent again
// where they were not.
//
// A transfer takes one of the channels, and each of these has four slots for blocks. A block is what is written between
// two multiples of 4 KiB of the target's address, a packet what is between two of 512 bytes, so what goes to memory
// there never crosses one. Blocks are numbered among those to their node when they begin (PSN); at most Window of them
// in a row are under way to a node, which is what it remembers (ni_blocks). A block is answered as a whole: an Ack
// frees its slot, a Nack fails its transfer, and one that is not answered is sent again, whole, after a time that
// doubles, and fails at last. A transfer has ended when none of its blocks is under way; then transfer_end is written,
// and its channel is free.
//
// A fence is a last block of 8 bytes out of the transfer's stores. It is sent behind the last packet of the others and
// names those that have not been answered, at most three, so that the target takes it behind them; one that nobody
// answers is sent again once the others have been answered.
//
// A read is a channel at each end. The one that asks has one block, a packet with the read's addresses and length in it
// (request). Once that is acknowledged the channel waits for the read's end, without a PSN, and gives up after
// read_timeout; where the other node has no channel to spare (Busy) the request gets a new PSN some rounds later. The
// one that serves is a transfer as others, but its fence names the request and says whether it has failed: it comes
// behind what has failed, too, when none of its other blocks is under way. kept_channels serve and the others do not,
// so nodes that have asked with all that they may take serve each other, and a process that counts its transfers finds
// space.
//
// A block of which a page is not to be used, here or at its target, is parked in its slot, without a PSN, until its
// time to be sent again has come. Then it gets a new one; after fault_tries of them its transfer has failed. No fence
// begins meanwhile: it would name a PSN that may be another block's. One that has begun before, and will not be taken,
// gives its PSN back when it would be sent again, so that the blocks before it find one. A block that was sent again
// under its PSN keeps it where a page is not to be read here: its target may have all of it, and must know it again.
//
// All state changes by steps, one begun every three cycles at most, each of which reads the tables in its first cycle
// and writes them in its fourth, which is the first one of the next. Steps, by who goes first: the scan of a slot, once
// in 16 cycles; an answer; then in turn a new transfer with its first packet, and the next packet of a block, or of a
// transfer's next block, in the order in which these were queued. So channels take turns packet by packet, and the
// blocks of a transfer begin one after the other. A scan that nobody waits for lets a new transfer go first in the four
// cycles from when it is pending on, which is at most six cycles later then. Nothing here waits for the network but
// packets: without space for one, new transfers are kept, and answers taken.
//
// Here are the steps' order, tables and first two cycles; ni_transfer_submit has what comes before them,
// ni_transfer_step what they do, ni_transfer_ends what comes behind.
module ni_transfers #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Channels = 256,
  parameter int unsigned Peers = 4096,
  parameter int unsigned Window = 32,
  parameter int unsigned NodeBits = 0,  // as of ni_peer
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned ContextBits = $clog2(Contexts),
  localparam int unsigned ChannelBits = $clog2(Channels),
  localparam int unsigned SlotBits = ChannelBits + 2,
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  exanet_pkg::ni_config_t  config_i,
  output logic                    ready_o,  // it can take a store more, and that of this cycle
  // stores: the context a cycle ahead, then, where it is to its page, 16 bytes of it, with the context's domain
  input  logic [ContextBits-1:0]  context_i,
  input  logic                    store_i,
  input  logic                    context_write_i,  // the context is given to whom the kernel says
  input  logic [7:0]              line_i,
  input  logic [127:0]            data_i,
  input  logic [15:0]             strobe_i,
  input  logic [9:0]              pdid_i,
  // what a process reads
  input  logic [ContextBits-1:0]  status_at_i,
  output exanet_pkg::ni_transfer_status_t status_o,
  // reads that other nodes ask for, and the ends of those that this one has asked for; an end is taken in nine cycles
  output logic                    serves_o,  // there is a channel for one that comes a cycle later
  input  logic                    serve_valid_i,
  input  ni_pkg::serve_t          serve_i,
  input  logic                    read_end_valid_i,
  output logic                    read_end_taken_o,
  input  ni_pkg::read_end_t       read_end_i,
  // packets that are to be read from memory and sent
  output logic                    packet_valid_o,
  input  logic                    packet_taken_i,
  output ni_pkg::write_packet_t   packet_o,
  // packets whose read memory has refused
  input  logic                    unread_valid_i,
  output logic                    unread_taken_o,
  input  ni_pkg::unread_t         unread_i,
  // answers
  input  logic                    s_axis_tvalid,
  output logic                    s_axis_tready,
  input  exanet_pkg::ni_user_t    s_axis_tuser,
  // ends that are to be written, and the translation of where
  input  logic                    invalidates_i,  // nothing more is looked up
  output logic                    drained_o,  // no end has been
  output logic                    look_o,
  output logic [9:0]              domain_o,
  output logic [35:0]             page_o,
  output logic                    want_o,
  input  logic                    known_i,
  input  logic [35:0]             page_frame_i,
  input  exanet_pkg::nack_reason_e fault_i,
  output logic                    end_valid_o,
  input  logic                    end_taken_i,
  output logic [44:0]             end_word_o,
  output exanet_pkg::transfer_end_t end_value_o,
  output logic                    end_message_o,  // memory's answer to it is awaited
  input  logic                    end_answered_i,  // to one of these
  // messages that stay behind a transfer: as of ni_packetizer
  output logic                    claim_valid_o,
  input  logic                    claim_taken_i,
  output logic [ContextBits+1:0]  claim_slot_o,
  output logic [9:0]              claim_pdid_o,
  output exanet_pkg::nack_reason_e claim_reason_o,
  input  logic                    claimed_i,
  output logic                    launch_valid_o,
  input  logic                    launch_taken_i,
  output logic [ContextBits+1:0]  launch_slot_o,
  // counts since reset; they wrap
  output logic [31:0]             packets_o,
  output logic [31:0]             ended_o,
  output logic [31:0]             repeated_o,  // blocks that were sent again
  output logic [31:0]             stale_o      // answers that nobody waits for
);
  import exanet_pkg::*;
  import ni_pkg::*;
  localparam int unsigned WindowBits = $clog2(Window);
  localparam int unsigned PacketsAhead = 8;
  if (SlotBits > 10 || Window < 2 || Window > 32 || Window != 2 ** WindowBits) begin : gen_illegal_1
    $error("a packet names its slot in ten bits, a fence blocks in five; Window is a power of two");
  end
  if (Channels < 2 || Channels != 2 ** ChannelBits) begin : gen_illegal_2
    $error("Channels is a power of two, and two at least");
  end
  typedef logic [ChannelBits-1:0] channel_t;
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [PeerBits-1:0] peer_t;

  // Tables are cleared behind a reset.
  localparam int unsigned ClearBits = PeerBits > SlotBits ? PeerBits : SlotBits;
  logic clears;
  logic [ClearBits:0] clear_q;
  assign clears = !clear_q[ClearBits];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_q <= '0;
    else if (clears) clear_q <= clear_q + 1'b1;
  end

  // --- What is to be admitted.
  logic hands, submission_valid, submission_taken, release_channel, released_serves;
  submission_t submission;
  peer_t submission_peer;
  logic [ContextBits-1:0] submission_context;
  ni_transfer_submit #(
    .Contexts(Contexts), .Channels(Channels), .Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)
  ) u_submit (
    .clk_i, .rst_ni, .config_i, .clears_i(clears), .clear_at_i(clear_q[ContextBits-1:0]), .ready_o, .context_i, .store_i, .context_write_i,
    .line_i, .data_i, .strobe_i, .pdid_i, .hands_o(hands), .status_at_i, .status_o, .serves_o, .serve_valid_i, .serve_i,
    .valid_o(submission_valid), .taken_i(submission_taken), .submission_o(submission), .peer_o(submission_peer),
    .context_o(submission_context), .release_i(release_channel), .released_serves_i(released_serves));

  // --- Queues: channels that nobody has, those whose transfer is to begin a block, and blocks with packets to send. A
  // channel, and a slot, is in a queue at most once.
  logic spare_valid, begin_valid, emit_valid, spare_taken, begin_taken, emit_taken, begin_pushes_q, emit_pushes_q, begin_first;
  logic [SlotBits:0] emits_pushed, emits_pushed_q, emits_taken_q, begin_behind;
  channel_t spare, begin_channel, channel3_q, released;
  slot_t emit_slot, slot3_q;
  assign channel3_q = slot3_q[SlotBits-1:2];
  exanet_fifo #(.Width(ChannelBits), .Depth(Channels)) u_spare (
    .clk_i, .rst_ni, .write_i(release_channel || (clears && 32'(clear_q) < Channels)), .data_i(clears ? clear_q[ChannelBits-1:0] : released),
    .read_i(spare_taken), .valid_o(spare_valid), .data_o(spare));
  // A channel that is to begin a block is behind all blocks that were queued before it, or with it: it goes when these
  // have been taken.
  exanet_fifo_block #(.Width(SlotBits + 1 + ChannelBits), .Depth(Channels)) u_begin (
    .clk_i, .rst_ni, .write_i(begin_pushes_q), .data_i({emits_pushed, channel3_q}), .read_i(begin_taken), .keep_i(1'b0), .rewind_i(1'b0),
    .valid_o(begin_valid), .data_o({begin_behind, begin_channel}));
  exanet_fifo_block #(.Width(SlotBits), .Depth(4 * Channels)) u_emit (
    .clk_i, .rst_ni, .write_i(emit_pushes_q), .data_i(slot3_q), .read_i(emit_taken), .keep_i(1'b0), .rewind_i(1'b0),
    .valid_o(emit_valid), .data_o(emit_slot));
  assign emits_pushed = emits_pushed_q + (SlotBits + 1)'(emit_pushes_q);
  assign begin_first = begin_valid && begin_behind == emits_taken_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      emits_pushed_q <= '0;
      emits_taken_q  <= '0;
    end else begin
      emits_pushed_q <= emits_pushed;
      emits_taken_q  <= emits_taken_q + (SlotBits + 1)'(emit_taken);
    end
  end

  // --- First cycle of a step: which one, and what it reads.
  typedef enum logic [2:0] { Admit, Emit, Begin, Answer, Scan } step_e;
  typedef struct packed {
    logic known;
    logic unread;
    logic ends;  // a read
    peer_t from;
    logic [23:0] psn;
    nack_reason_e reason;  // None: an Ack
  } answer_t;
  step_e step, step1_q;
  logic admit2_q, begin2_q, emit2_q, answer2_q, scan2_q;  // what kind of step it is, a register for each
  logic starts, can_start, packet_space, scan_pending_q, scans, scan_yields, answer_comes, answer_known, space1_q, space2_q;
  logic [2:0] turns;
  logic admitted_q;  // by the last step that was in turn
  logic [3:0] scan_clock_q;
  logic [1:0] phase_q;
  logic step3_q;  // a step is in its fourth cycle
  slot_t slot, slot1_q, slot2_q, scan_q;
  logic [11:0] round_q;
  peer_t answer_from;
  answer_t answer, answer1_q;
  submission_t submission1_q;
  peer_t submission_peer1_q;
  logic [ContextBits-1:0] submission_context1_q;
  logic [3:0] packets_q;

  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_answer_peer (
    .clk_i, .dcid_i(unread_valid_i ? unread_i.dcid : s_axis_tuser.source_dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift),
    .peer_o(answer_from), .known_o(answer_known));
  assign packet_space = packets_q < 4'(PacketsAhead);
  assign answer_comes = read_end_valid_i || unread_valid_i || s_axis_tvalid;
  // A new transfer needs no space for a packet; it waits in its channel then.
  assign turns[0] = submission_valid && spare_valid && !(admitted_q && packet_space && (emit_valid || begin_valid));
  assign turns[1] = emit_valid && packet_space && !begin_first;
  assign turns[2] = begin_first && packet_space;
  // To a transfer that is to begin now, or in the next cycle.
  assign scan_yields = scan_clock_q[3:2] == '0 && !answer_comes && (turns[0] || hands);
  assign scans = scan_pending_q && !scan_yields;
  always_comb begin
    if (scans) step = Scan;
    else if (answer_comes) step = Answer;
    else if (turns[0]) step = Admit;
    else if (turns[1]) step = Emit;
    else step = Begin;
  end
  assign can_start = !clears && phase_q == 2'd0;
  assign starts = can_start && (scans || answer_comes || turns != '0);
  assign submission_taken = starts && step == Admit;
  assign spare_taken = submission_taken;
  assign emit_taken = starts && step == Emit;
  assign begin_taken = starts && step == Begin;
  assign read_end_taken_o = starts && step == Answer && read_end_valid_i;
  assign unread_taken_o = starts && step == Answer && unread_valid_i && !read_end_valid_i;
  assign s_axis_tready = can_start && !scan_pending_q && !unread_valid_i && !read_end_valid_i;
  always_comb begin
    slot = emit_slot;
    if (step == Scan) slot = scan_q;
    if (step == Answer) slot = read_end_valid_i ? read_end_i.end_of.channel[SlotBits-1:0]
        : unread_valid_i ? unread_i.slot[SlotBits-1:0] : s_axis_tuser.channel[SlotBits-1:0];
    if (step == Admit) slot = {spare, 2'd0};
    if (step == Begin) slot = {begin_channel, 2'd0};
    answer.unread = unread_valid_i;
    answer.known = unread_valid_i || (answer_known && 32'(s_axis_tuser.channel) < 4 * Channels &&
        (s_axis_tuser.kind == PacketTypeAck || s_axis_tuser.kind == PacketTypeNack));
    answer.from = answer_from;
    answer.psn = unread_valid_i ? unread_i.number : s_axis_tuser.number;
    answer.reason = unread_valid_i ? unread_i.reason
        : s_axis_tuser.kind == PacketTypeAck ? NackReasonNone : nack_reason_e'(s_axis_tuser.reason);
    answer.ends = read_end_valid_i;
    if (read_end_valid_i) begin
      answer.unread = 1'b0;
      answer.known = 32'(read_end_i.end_of.channel) < 4 * Channels;
      answer.from = peer_t'(read_end_i.peer);
      answer.psn = read_end_i.end_of.number;
      answer.reason = nack_reason_e'(read_end_i.end_of.failure);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q       <= '0;
      admitted_q    <= 1'b0;
      scan_clock_q <= '0;
      scan_pending_q  <= 1'b0;
      scan_q       <= '0;
      round_q       <= '0;
    end else begin
      phase_q <= phase_q == 2'd0 ? {1'b0, starts} : phase_q == 2'd1 ? 2'd2 : 2'd0;
      if (starts && (step == Admit || step == Emit || step == Begin)) admitted_q <= step == Admit;
      scan_clock_q <= scan_clock_q + 4'(!clears);
      scan_pending_q  <= scan_clock_q == '1 || (scan_pending_q && !(starts && step == Scan));
      if (starts && step == Scan) begin
        scan_q <= scan_q + 1'b1;
        if (scan_q == '1) round_q <= round_q + 1'b1;
      end
    end
  end

  // --- Tables: what does not change while a transfer is under way, what does, blocks, and the window of PSNs of each
  // node.
  typedef struct packed {
    transfer_order_t order;
    peer_t peer;
  } order_t;
  typedef struct packed {
    logic [3:0][WindowBits-1:0] psns;  // of the slots' blocks, their lowest bits
    transfer_state_t transfer;
  } state_t;
  typedef struct packed {
    logic full;  // the place of the next PSN is taken
    logic [23:0] next;
    logic [Window-1:0] outstanding;
  } psn_window_t;
  order_t order1, order2_q, order3_q;
  state_t state1, state2_q, state3_q, state;
  transfer_block_t block1, block2_q, block3_q, block;
  psn_window_t window2, window3_q, window;
  transfer_ending_t ending1, ending2_q, ending3_q;
  logic [ContextBits+1:0] message_slot1, message_slot2_q, message_slot3_q;
  peer_t peer1, peer2_q, peer3_q;
  logic admits3_q, block_write, block_writes3_q, window_write, window_writes3_q;
  ni_table #(.Entries(Channels), .Width($bits(order_t)), .Same(1'b1)) u_orders (
    .clk_i, .rst_ni, .write_i(admits3_q), .write_at_i(channel3_q), .data_i(order3_q), .read_i(starts), .read_at_i(slot[SlotBits-1:2]),
    .data_o(order1));
  ni_table #(.Entries(Channels), .Width($bits(state_t)), .Same(1'b1)) u_states (
    .clk_i, .rst_ni, .write_i(step3_q || clears), .write_at_i(clears ? clear_q[ChannelBits-1:0] : channel3_q), .data_i(clears ? '0 : state3_q),
    .read_i(starts), .read_at_i(slot[SlotBits-1:2]), .data_o(state1));
  ni_table #(.Entries(4 * Channels), .Width($bits(transfer_block_t)), .Same(1'b1)) u_blocks (
    .clk_i, .rst_ni, .write_i(block_writes3_q), .write_at_i(slot3_q), .data_i(block3_q), .read_i(starts), .read_at_i(slot), .data_o(block1));
  ni_table #(.Entries(Peers), .Width($bits(psn_window_t))) u_windows (
    .clk_i, .rst_ni, .write_i(window_writes3_q || clears), .write_at_i(clears ? clear_q[PeerBits-1:0] : peer3_q), .data_i(clears ? '0 : window3_q),
    .read_i(phase_q == 2'd1), .read_at_i(peer1), .data_o(window2));

  // --- Second cycle: what was read; a new transfer has its own.
  logic [12:0] sum1;
  logic whole1, quiet1, answered1, waits_for_psn1;
  logic [3:0] without_psn1;
  logic [11:0] elapsed1;
  logic [1:0] here1;
  state_t begins1;  // as it is if its next block begins
  transfer_state_t transfer1;
  transfer_facts_t facts1, facts2_q;
  assign peer1 = step1_q == Admit ? submission_peer1_q : order1.peer;
  assign transfer1 = state1.transfer;
  assign here1 = slot1_q[1:0];
  always_comb begin
    begins1 = state1;
    if (step1_q == Admit) begin
      begins1.psns = '0;
      begins1.transfer = '{active: 1'b1, own: submission1_q.transfer.own, target: submission1_q.transfer.target,
                           left: submission1_q.transfer.length, fence: submission1_q.transfer.fence && !submission1_q.fences,
                           fences: submission1_q.fences, reads: submission1_q.transfer.read, serves: submission1_q.serves,
                           failure: NackReasonNone, default: '0};
    end else if (transfer1.serves && transfer1.fence && transfer1.failure != NackReasonNone) begin
      // What has not begun of a read that has failed comes no more, but for its end.
      begins1.transfer.target = '0;
      begins1.transfer.left = 32'd8;
      begins1.transfer.fence = 1'b0;
      begins1.transfer.fences = 1'b1;
    end
    // A block ends before the next multiple of 4 KiB, or with its transfer.
    sum1 = {1'b0, begins1.transfer.target[11:0]} + {1'b0, begins1.transfer.left[11:0]};
    whole1 = begins1.transfer.left[31:12] != '0 || sum1[12];
  end
  assign quiet1 = (transfer1.busy | transfer1.queued) == '0;
  assign elapsed1 = round_q - block1.round;
  assign answered1 = transfer1.acked || transfer1.nacked;
  assign without_psn1 = (transfer1.parked & ~transfer1.keeps_psn) | transfer1.needs_psn;
  assign waits_for_psn1 = transfer1.fences && (transfer1.parked | transfer1.needs_psn) != '0;
  always_comb begin
    facts1.end_byte = whole1 ? '1 : sum1[11:0] - 12'd1;
    facts1.block_bytes = whole1 ? 13'd4096 - {1'b0, begins1.transfer.target[11:0]} : {1'b0, begins1.transfer.left[11:0]};
    facts1.finishes = begins1.transfer.left[31:13] == '0 && begins1.transfer.left[12:0] <= 13'd4096 - {1'b0, begins1.transfer.target[11:0]};
    facts1.more = begins1.transfer.left != '0;
    facts1.single = begins1.transfer.target[11:9] == facts1.end_byte[11:9];
    facts1.final_packet = block1.at == block1.last_byte[11:9];
    facts1.first_packet = block1.at == block1.target[11:9];
    facts1.offset = {block1.at, 9'd0} - block1.target[11:0];
    facts1.fits = step1_q == Answer && answer1_q.known && block1.psn == answer1_q.psn && answer1_q.from == order1.peer &&
        (answer1_q.ends ? transfer1.reads : !answered1 && !without_psn1[here1] && !(answer1_q.unread && transfer1.parked[here1]));
    facts1.keeps_psn = answer1_q.unread && block1.tries != '0;
    facts1.lacks_psn = without_psn1[here1] && step1_q != Admit;
    // The end of a read has no page of its own: it was behind a block that had to be parked.
    facts1.page_fault = is_page_fault(answer1_q.reason) && !answer1_q.ends &&
        (block1.faults < config_i.fault_tries || (transfer1.serves && block1.fence));
    facts1.behind_parked = block1.fence && !without_psn1[here1] && without_psn1 != '0;
    facts1.ends = answer1_q.ends;
    facts1.reason = answer1_q.reason;
    facts1.late = !answered1 && elapsed1 >= 12'(config_i.block_timeout) << block1.backoff;
    // The end of a read has not come, or its request is to be sent anew after one, two, four, then eight rounds.
    facts1.timed_out = transfer1.acked && config_i.read_timeout != '0 && elapsed1 >> config_i.read_timeout != '0;
    facts1.retries = transfer1.nacked && {elapsed1, 1'b0} >> transfer1.nacks != '0;
    facts1.answered = step1_q != Admit && answered1;
    // The end of a read that has failed is sent behind all else of it.
    facts1.may_begin = step1_q == Admit || (step1_q == Begin &&
        (transfer1.failure == NackReasonNone || (transfer1.serves && quiet1)) && !waits_for_psn1);
    facts1.may_emit = step1_q == Emit && !answered1 && (transfer1.failure == NackReasonNone || (transfer1.serves && block1.fence));
    facts1.abandons = transfer1.failure != NackReasonNone && !(transfer1.serves && block1.fence);
  end
  assign ending1 = {submission1_q.transfer.end_word, submission1_q.transfer.notify, submission1_q.transfer.token, submission1_q.pdid,
                    submission1_q.transfer.message};
  assign message_slot1 = {submission_context1_q, submission1_q.transfer.message_slot};
  always_ff @(posedge clk_i) begin
    if (starts) begin
      step1_q       <= step;
      slot1_q       <= slot;
      answer1_q     <= answer;
      submission1_q <= submission;
      {submission_peer1_q, submission_context1_q} <= {submission_peer, submission_context};
      space1_q       <= packet_space;
    end
    if (phase_q == 2'd1) begin
      {slot2_q, space2_q, peer2_q, ending2_q, message_slot2_q} <= {slot1_q, space1_q, peer1, ending1, message_slot1};
      {admit2_q, begin2_q, emit2_q} <= {step1_q == Admit, step1_q == Begin, step1_q == Emit};
      {answer2_q, scan2_q} <= {step1_q == Answer, step1_q == Scan};
      {block2_q, state2_q, facts2_q} <= {block1, begins1, facts1};
      order2_q  <= step1_q != Admit ? order1
          : {submission1_q.transfer.dcid, submission1_q.pdid, submission1_q.fence.word, submission1_q.fence.value, submission_peer1_q};
    end
  end

  // --- Third cycle: what it does.
  logic sends, queues_block, queues_channel, ends, retransmits, fits;
  logic [1:0] block_slot;
  write_packet_t packet;
  ni_transfer_step #(.SlotBits(SlotBits), .Window(Window)) u_step (
    .tries_i(config_i.tries), .round_i(round_q), .begin_i(begin2_q), .emit_i(emit2_q), .scan_i(scan2_q), .space_i(space2_q), .slot_i(slot2_q),
    .facts_i(facts2_q), .order_i(order2_q.order), .state_i(state2_q.transfer), .state_o(state.transfer), .psns_i(state2_q.psns),
    .psns_o(state.psns), .block_i(block2_q), .block_o(block), .block_write_o(block_write), .block_slot_o(block_slot),
    .full_i(window2.full), .next_i(window2.next), .outstanding_i(window2.outstanding), .full_o(window.full), .next_o(window.next),
    .outstanding_o(window.outstanding), .window_write_o(window_write), .sends_o(sends), .packet_o(packet), .queues_block_o(queues_block),
    .queues_channel_o(queues_channel), .ends_o(ends), .retransmits_o(retransmits), .fits_o(fits));

  // --- Fourth cycle: it is written.
  logic sends3_q, ends3_q;
  write_packet_t packet3_q, queued;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {step3_q, admits3_q, block_writes3_q, window_writes3_q, sends3_q, ends3_q, begin_pushes_q, emit_pushes_q} <= '0;
      packets_q  <= '0;
      packets_o  <= '0;
      repeated_o <= '0;
      stale_o    <= '0;
    end else begin
      step3_q          <= phase_q == 2'd2;
      admits3_q        <= phase_q == 2'd2 && admit2_q;
      block_writes3_q  <= phase_q == 2'd2 && block_write;
      window_writes3_q <= phase_q == 2'd2 && window_write;
      sends3_q         <= phase_q == 2'd2 && sends;
      ends3_q          <= phase_q == 2'd2 && ends;
      begin_pushes_q   <= phase_q == 2'd2 && queues_channel;
      emit_pushes_q    <= phase_q == 2'd2 && queues_block;
      packets_q        <= packets_q + 4'(phase_q == 2'd2 && sends) - 4'(packet_taken_i);
      packets_o        <= packets_o + 32'(sends3_q);
      repeated_o       <= repeated_o + 32'(phase_q == 2'd2 && retransmits);
      stale_o          <= stale_o + 32'(phase_q == 2'd2 && answer2_q && !fits);
    end
  end
  always_ff @(posedge clk_i) begin
    if (phase_q == 2'd2) begin
      {state3_q, block3_q, window3_q, order3_q, peer3_q, ending3_q, message_slot3_q, packet3_q} <=
          {state, block, window, order2_q, peer2_q, ending2_q, message_slot2_q, packet};
      slot3_q <= {slot2_q[SlotBits-1:2], block_slot};
    end
  end
  always_comb begin
    queued = packet3_q;
    queued.last_line = 6'((11'(packet3_q.payload[3:0]) + 11'(packet3_q.bytes) - 11'd1) >> 4);
    queued.crosses = 9'(packet3_q.payload[11:4]) + 9'(queued.last_line) > 9'd255;
  end
  exanet_fifo #(.Width($bits(write_packet_t)), .Depth(PacketsAhead)) u_packets (
    .clk_i, .rst_ni, .write_i(sends3_q), .data_i(queued), .read_i(packet_taken_i), .valid_o(packet_valid_o), .data_o(packet_o));

  // --- Ends, one after the other.
  ni_transfer_ends #(.Channels(Channels), .ContextBits(ContextBits)) u_finish (
    .clk_i, .rst_ni, .config_i, .admits_i(admits3_q), .ended_i(ends3_q), .channel_i(channel3_q), .ending_i(ending3_q),
    .message_slot_i(message_slot3_q), .serves_i(state3_q.transfer.serves), .failure_i(state3_q.transfer.failure),
    .release_o(release_channel), .released_o(released), .released_serves_o(released_serves), .invalidates_i, .drained_o, .look_o, .domain_o,
    .page_o, .want_o, .known_i, .page_frame_i, .fault_i, .end_valid_o, .end_taken_i, .end_word_o, .end_value_o, .end_message_o,
    .end_answered_i, .claim_valid_o, .claim_taken_i, .claim_slot_o, .claim_pdid_o, .claim_reason_o, .claimed_i, .launch_valid_o,
    .launch_taken_i, .launch_slot_o, .ended_o);

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      Phases : assert (phase_q != 2'd3 && (!step3_q || phase_q == 2'd0) && (!clears || phase_q == 2'd0));
      KindComes : assert (phase_q != 2'd1 || step1_q <= Scan);
      OneKind : assert (phase_q != 2'd2 || $onehot({admit2_q, begin2_q, emit2_q, answer2_q, scan2_q}));
      FactsOfItsKind : assert (phase_q != 2'd2 || ((!facts2_q.may_begin || admit2_q || begin2_q) && (!facts2_q.may_emit || emit2_q) &&
                                                   (!facts2_q.fits || answer2_q)));
      WritesBehindAStep : assert (step3_q || !(admits3_q || ends3_q || window_writes3_q || block_writes3_q || sends3_q || begin_pushes_q ||
                                               emit_pushes_q));
    end
  end
`endif
endmodule
