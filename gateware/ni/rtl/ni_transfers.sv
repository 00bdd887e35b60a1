// SPDX-License-Identifier: Apache-2.0
// Transfers out of processes' stores: cut into blocks and packets, sent, kept until they are answered, and sent again where they were not.
//
// A transfer takes one of the channels, and each of these has four slots for blocks. A block is what is written between two multiples of 4 KiB of the target's
// address, a packet what is between two of 512 bytes, so what goes to memory there never crosses one. Blocks are numbered among those to their node when
// they begin; at most Window numbers in a row are under way to a node, which is what it remembers (ni_blocks). A block is answered as a whole: an
// Ack frees its slot, a Nack fails its transfer, and one that is not answered is sent again, whole, after a time that doubles, and fails at last. A
// transfer has ended when none of its blocks is under way; then transfer_end is written, and its channel is free.
//
// A fence is a last block of 8 bytes out of the transfer's stores. It is sent behind the last packet of the others and
// names those that have not been answered, at most three, so that the target takes it behind them; one that nobody
// answers is sent again once the others have been answered.
//
// A read is a channel at each end. The one that asks has one block, a packet with the read's addresses and length in it
// (request). Once that is acknowledged the channel waits for the read's end, without a number, and gives up after
// read_patience; where the other node has no channel to spare (Busy) the request gets a new number some rounds later.
// The one that serves is a transfer as others, but its fence names the request and says whether it has failed: it comes
// behind what has failed, too, when none of its other blocks is under way. kept_channels serve and the others do not, so
// nodes that have asked with all that they may take serve each other, and a process that counts its transfers finds room.
//
// A block of which a page is not to be used, here or at its target, rests in its slot, without a number, until its time to be sent again has come. Then it
// gets a new one; after fault_tries of them its transfer has failed. No fence begins meanwhile: it would name a number that may be another block's. One
// that has begun before, and will not be taken, gives its number back when it would be sent again, so that the blocks before it find one. A block that
// was sent again under its number keeps it where a page is not to be read here: its target may have all of it, and must know it again.
//
// All state changes by steps, one begun every three cycles at most, each of which reads the tables in its first cycle and writes them in its fourth, which
// is the first one of the next. Steps, by who goes first: the visit of a slot, once in 16 cycles; an answer; then in turn a new transfer with its first
// packet, the next packet of a block, and the next block of a transfer with its first packet. So channels take turns packet by packet, but the blocks of
// a transfer begin one after the other. A visit that nobody waits for lets a new transfer go first in the four cycles from when it is owed on, which is at
// most six cycles later then. Nothing here waits for the network but packets: without room for one, new transfers are kept, and answers taken.
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
  output logic                    end_message_o,  // memory's answer to it is waited for
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
  localparam logic [2:0] MostDoublings = 3'd5;
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

  // --- Stores: the first three words of a transfer and the two of its fence are kept for their context; the last one
  // hands it over.
  typedef struct packed {
    transfer_t transfer;
    transfer_fence_t fence;
    logic fences;  // it is nothing but the fence, which is its target
    logic serves;
    peer_t peer;
    logic [9:0] pdid;
    logic [ContextBits-1:0] context_of;
  } intake_t;
  logic [4:0][63:0] kept;
  logic [ContextBits-1:0] context_q, hands_context_q;
  logic hands_q, known, claims, intake_taken, intake_valid, own_valid, own_taken, served_last_q, release_channel;
  logic serve_waits;
  serve_t serve;
  logic [5:0] serves_q;
  logic [ChannelBits:0] own_q, most_own_q, served_q;
  logic signed [ChannelBits+1:0] spares_q, spares_next;
  logic released_serves;
  logic [2:0] intakes_q;
  logic [9:0] hands_pdid_q;
  transfer_t transfer_q;
  transfer_fence_t fence_q;
  peer_t peer;
  intake_t intake, intake_next, own_intake;
  store_refusal_e refusal;
  // Words 0 to 2, 4 and 5 of the stores; a page that is given to another process has none.
  for (genvar w = 0; w < 5; w++) begin : gen_kept
    localparam int unsigned Word = w < 3 ? w : w + 1;
    ni_table #(.Entries(Contexts), .Width(64), .Same(1'b1)) u_kept (
      .clk_i, .write_i(context_write_i || (store_i && line_i == 8'($unsigned(8 + Word / 2)) && strobe_i[8*(Word%2)+:8] == '1)),
      .write_at_i(context_q), .data_i(context_write_i ? '0 : data_i[64*(Word%2)+:64]), .read_i(1'b1), .read_at_i(context_i), .data_o(kept[w]));
  end
  always_ff @(posedge clk_i) begin
    context_q       <= context_i;
    hands_context_q <= context_q;
    hands_pdid_q    <= pdid_i;
    transfer_q      <= {data_i[127:64], strobe_i[7:0] == '1 ? data_i[63:0] : kept[2], kept[1], kept[0]};
    fence_q         <= {kept[4], kept[3]};
  end
  always_comb begin
    intake_next = '{transfer: transfer_q, fence: fence_q, fences: 1'b0, serves: 1'b0, peer: peer, pdid: hands_pdid_q, context_of: hands_context_q};
    if (transfer_q.read) begin
      // Its request is a block of one packet, whatever its length.
      intake_next.transfer.fence = 1'b0;
      intake_next.transfer.length = 32'd1;
      intake_next.fence.value = {32'd0, transfer_q.length};
    end else if (transfer_q.fence && transfer_q.length == '0) begin
      intake_next.fences = 1'b1;
      intake_next.transfer.target = {fence_q.word, 3'd0};
      intake_next.transfer.length = 32'd8;
    end
  end
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_peer (
    .clk_i, .dcid_i(transfer_q.dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(peer), .known_o(known));
  always_comb begin
    refusal = StoreRefusalNone;
    if (own_q >= most_own_q || spares_q <= 0) refusal = StoreRefusalNoSlot;
    if (!known) refusal = StoreRefusalDestination;
  end
  assign claims = hands_q && refusal == StoreRefusalNone;
  exanet_fifo #(.Width($bits(intake_t)), .Depth(8)) u_intake (
    .clk_i, .rst_ni, .write_i(claims), .data_i(intake_next), .read_i(own_taken), .valid_o(own_valid), .data_o(own_intake));

  // Reads that are to be served wait beside them, in turn where both wait. There is a channel for each.
  localparam int unsigned ServesWaiting = 32;
  exanet_fifo #(.Width($bits(serve_t)), .Depth(ServesWaiting)) u_serves (
    .clk_i, .rst_ni, .write_i(serve_valid_i), .data_i(serve_i), .read_i(intake_taken && intake.serves), .valid_o(serve_waits),
    .data_o(serve));
  assign intake_valid = own_valid || serve_waits;
  assign own_taken = intake_taken && !intake.serves;
  always_comb begin
    intake = own_intake;
    if (serve_waits && !(own_valid && served_last_q)) begin
      intake = '0;
      intake.serves = 1'b1;
      intake.fences = serve.length == '0;
      intake.peer = peer_t'(serve.peer);
      intake.pdid = serve.pdid;
      intake.transfer.own = serve.from;
      intake.transfer.target = serve.length == '0 ? '0 : serve.to;
      intake.transfer.length = serve.length == '0 ? 32'd8 : serve.length;
      intake.transfer.dcid = serve.dcid;
      intake.transfer.fence = 1'b1;
      intake.fence.value = read_response_t'{number: serve.number, channel: serve.slot, failure: NackReasonNone, reserved: '0};
    end
  end
  // Channels that no store and no read has been promised. What is kept for others' reads may have been changed since; so may one fewer than none be left.
  assign spares_next = spares_q - $signed((ChannelBits + 2)'(claims)) - $signed((ChannelBits + 2)'(serve_valid_i)) +
      $signed((ChannelBits + 2)'(release_channel));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      served_last_q <= 1'b0;
      serves_q      <= '0;
      served_q      <= '0;
      spares_q      <= $signed((ChannelBits + 2)'(Channels));
      serves_o      <= 1'b0;
    end else begin
      if (intake_taken) served_last_q <= intake.serves;
      serves_q <= serves_q + 6'(serve_valid_i) - 6'(intake_taken && intake.serves);
      served_q <= served_q + (ChannelBits + 1)'(serve_valid_i) - (ChannelBits + 1)'(release_channel && released_serves);
      serves_o <= !clears && serves_q < 6'(ServesWaiting - 1) &&
          32'(served_q) + 32'(serve_valid_i) < 32'(config_i.kept_channels) && spares_next > 0;
      spares_q <= spares_next;
    end
  end
  assign ready_o = !clears && intakes_q < 3'd4;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hands_q    <= 1'b0;
      own_q      <= '0;
      most_own_q <= '0;
      intakes_q  <= '0;
    end else begin
      hands_q    <= store_i && line_i == 8'd9 && strobe_i[15:8] == '1;
      own_q      <= own_q + (ChannelBits + 1)'(claims) - (ChannelBits + 1)'(release_channel && !released_serves);
      most_own_q <= 32'(config_i.kept_channels) < Channels ? (ChannelBits + 1)'(Channels - 32'(config_i.kept_channels)) : '0;
      intakes_q  <= intakes_q + 3'(claims) - 3'(own_taken);
    end
  end

  (* ram_style = "distributed" *) logic [35:0] told[Contexts];
  logic [35:0] told_here;
  assign told_here = told[hands_context_q];
  always_ff @(posedge clk_i) begin
    if (clears) told[clear_q[ContextBits-1:0]] <= '0;
    else if (hands_q)
      told[hands_context_q] <= claims ? {told_here[35:16], told_here[15:0] + 16'd1} : {refusal, told_here[31:16] + 16'd1, told_here[15:0]};
  end
  assign status_o = {28'd0, told[status_at_i]};

  // --- Queues: channels that nobody has, those whose transfer is to begin a block, and blocks with packets to send. A channel, and a slot, is in a
  // queue at most once.
  logic spare_valid, begin_valid, emit_valid, spare_taken, begin_taken, emit_taken, begin_pushes_q, emit_pushes_q;
  channel_t spare, begin_channel, channel3_q;
  slot_t emit_slot, slot3_q;
  channel_t released;
  exanet_fifo #(.Width(ChannelBits), .Depth(Channels)) u_spare (
    .clk_i, .rst_ni, .write_i(release_channel || (clears && 32'(clear_q) < Channels)), .data_i(clears ? clear_q[ChannelBits-1:0] : released),
    .read_i(spare_taken), .valid_o(spare_valid), .data_o(spare));
  exanet_fifo_block #(.Width(ChannelBits), .Depth(Channels)) u_begin (
    .clk_i, .rst_ni, .write_i(begin_pushes_q), .data_i(channel3_q), .read_i(begin_taken), .keep_i(1'b0), .rewind_i(1'b0),
    .valid_o(begin_valid), .data_o(begin_channel));
  exanet_fifo_block #(.Width(SlotBits), .Depth(4 * Channels)) u_emit (
    .clk_i, .rst_ni, .write_i(emit_pushes_q), .data_i(slot3_q), .read_i(emit_taken), .keep_i(1'b0), .rewind_i(1'b0),
    .valid_o(emit_valid), .data_o(emit_slot));

  // --- First cycle of a step: which one, and what it reads.
  typedef enum logic [2:0] { Admit, Emit, Begin, Answer, Visit } step_e;
  typedef struct packed {
    logic known;
    logic unread;
    logic ends;  // a read
    peer_t from;
    logic [23:0] number;
    nack_reason_e reason;  // None: an Ack
  } answer_t;
  step_e step, step1_q;
  logic admit2_q, begin2_q, emit2_q, answer2_q, visit2_q;  // what kind of step it is, a register for each
  logic starts, can_start, packet_room, visit_owed_q, visits, visit_yields, answer_comes, answer_known, room1_q, room2_q;
  logic [2:0] ready_turns, turns, turn_q;
  logic [3:0] visit_clock_q;
  logic [1:0] phase_q;
  logic step3_q;  // a step is in its fourth cycle
  slot_t slot, slot1_q, slot2_q, visit_q;
  channel_t channel1_q, channel2_q;
  logic [11:0] round_q;
  peer_t answer_from;
  answer_t answer, answer1_q;
  nack_reason_e reason2_q;
  intake_t intake1_q;
  logic [3:0] packets_q;

  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_answer_peer (
    .clk_i, .dcid_i(s_axis_tuser.source_dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(answer_from),
    .known_o(answer_known));
  assign packet_room = packets_q < 4'(PacketsAhead);
  assign answer_comes = read_end_valid_i || unread_valid_i || s_axis_tvalid;
  // A new transfer needs no room for a packet; it waits in its channel then.
  assign ready_turns = {begin_valid && packet_room, emit_valid && packet_room, intake_valid && spare_valid};
  // Those behind the last one in turn first.
  assign turns = (ready_turns & ~turn_q) != '0 ? ready_turns & ~turn_q : ready_turns;
  // To a transfer that is to begin now, or in the next cycle.
  assign visit_yields = visit_clock_q[3:2] == '0 && !answer_comes && (turns[0] || hands_q);
  assign visits = visit_owed_q && !visit_yields;
  always_comb begin
    if (visits) step = Visit;
    else if (answer_comes) step = Answer;
    else if (turns[0]) step = Admit;
    else if (turns[1]) step = Emit;
    else step = Begin;
  end
  assign can_start = !clears && phase_q == 2'd0;
  assign starts = can_start && (visits || answer_comes || ready_turns != '0);
  assign intake_taken = starts && step == Admit;
  assign spare_taken = intake_taken;
  assign emit_taken = starts && step == Emit;
  assign begin_taken = starts && step == Begin;
  assign read_end_taken_o = starts && step == Answer && read_end_valid_i;
  assign unread_taken_o = starts && step == Answer && unread_valid_i && !read_end_valid_i;
  assign s_axis_tready = can_start && !visit_owed_q && !unread_valid_i && !read_end_valid_i;
  always_comb begin
    slot = emit_slot;
    if (step == Visit) slot = visit_q;
    if (step == Answer) slot = read_end_valid_i ? read_end_i.end_of.channel[SlotBits-1:0]
        : unread_valid_i ? unread_i.slot[SlotBits-1:0] : s_axis_tuser.channel[SlotBits-1:0];
    if (step == Admit) slot = {spare, 2'd0};
    if (step == Begin) slot = {begin_channel, 2'd0};
    answer.unread = unread_valid_i;
    answer.known = unread_valid_i || (answer_known && 32'(s_axis_tuser.channel) < 4 * Channels &&
        (s_axis_tuser.kind == PacketTypeAck || s_axis_tuser.kind == PacketTypeNack));
    answer.from = answer_from;
    answer.number = unread_valid_i ? unread_i.number : s_axis_tuser.number;
    answer.reason = unread_valid_i ? unread_i.reason
        : s_axis_tuser.kind == PacketTypeAck ? NackReasonNone : nack_reason_e'(s_axis_tuser.reason);
    answer.ends = read_end_valid_i;
    if (read_end_valid_i) begin
      answer.unread = 1'b0;
      answer.known = 32'(read_end_i.end_of.channel) < 4 * Channels;
      answer.from = peer_t'(read_end_i.peer);
      answer.number = read_end_i.end_of.number;
      answer.reason = nack_reason_e'(read_end_i.end_of.failure);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q       <= '0;
      turn_q        <= '0;
      visit_clock_q <= '0;
      visit_owed_q  <= 1'b0;
      visit_q       <= '0;
      round_q       <= '0;
    end else begin
      phase_q <= phase_q == 2'd0 ? {1'b0, starts} : phase_q == 2'd1 ? 2'd2 : 2'd0;
      // Steps of a kind that has had its turn wait until the others have had theirs.
      if (starts && step == Admit) turn_q <= 3'b001;
      if (starts && step == Emit) turn_q <= 3'b011;
      if (starts && step == Begin) turn_q <= '0;
      visit_clock_q <= visit_clock_q + 4'(!clears);
      visit_owed_q  <= visit_clock_q == '1 || (visit_owed_q && !(starts && step == Visit));
      if (starts && step == Visit) begin
        visit_q <= visit_q + 1'b1;
        if (visit_q == '1) round_q <= round_q + 1'b1;
      end
    end
  end

  // --- Tables: what does not change while a transfer is under way, what does, blocks, and the numbers of each node.
  typedef struct packed {
    logic [21:0] dcid;
    peer_t peer;
    logic [9:0] pdid;
    logic [44:0] fence_word;
    logic [63:0] fence_value;
  } order_t;
  typedef struct packed {
    logic active;
    logic [47:0] own;   // of the next block
    logic [47:0] target;
    logic [31:0] left;  // bytes in blocks that have not begun
    logic fence;        // one comes behind them
    logic fences;       // it is what has not begun
    logic [3:0][WindowBits-1:0] numbers;  // of the slots' blocks, their lowest bits
    logic [3:0] busy;   // slots: sent and not answered, or to be sent
    logic [3:0] queued;
    logic waits;        // in the queue of those that are to begin a block
    logic sending;      // a block of it is being sent for the first time
    logic [1:0] sent_slot;  // which one
    logic reads;        // it has a request in its first slot
    logic serves;
    logic accepted;     // the request is: its end is to come
    logic refused;      // the request is: it is to be sent anew
    logic [2:0] refusals;  // so far; they count up to four
    logic [3:0] faulted;   // slots whose block rests, for some page
    logic [3:0] keeps;     // one that rests has its number
    logic [3:0] renumbers; // whose block is queued to get another one
    nack_reason_e failure;
  } state_t;
  typedef struct packed {
    logic [47:0] own;
    logic [47:0] target;
    logic fence;
    logic [11:0] last_byte;  // of the target address
    logic [2:0] at;          // packet that is next
    logic [23:0] number;
    logic [11:0] round;      // when it was sent
    logic [3:0] tries;
    logic [3:0] faults;
    logic [2:0] doublings;
  } block_t;
  typedef struct packed {
    logic full;  // the place of the next number is taken
    logic [23:0] next;
    logic [Window-1:0] open;
  } numbers_t;
  typedef struct packed {
    logic [44:0] word;
    logic notify;
    logic [15:0] token;
    logic [9:0] pdid;
    logic message;  // one stays behind it, in this slot
    logic [ContextBits+1:0] message_slot;
  } ending_t;
  order_t order1, order2_q, order3_q;
  state_t state1, state2_q, state3_q, state;
  block_t block1, block2_q, block3_q, block;
  numbers_t numbers2, numbers3_q, numbers;
  ending_t ending, ending1, ending3_q, ending2_q;
  peer_t peer1, peer2_q, peer3_q;
  logic admits3_q, block_writes, block_writes3_q, numbers_write, numbers_write3_q;
  ni_table #(.Entries(Channels), .Width($bits(order_t)), .Same(1'b1)) u_orders (
    .clk_i, .write_i(admits3_q), .write_at_i(channel3_q), .data_i(order3_q), .read_i(starts), .read_at_i(slot[SlotBits-1:2]), .data_o(order1));
  ni_table #(.Entries(Channels), .Width($bits(state_t)), .Same(1'b1)) u_states (
    .clk_i, .write_i(step3_q || clears), .write_at_i(clears ? clear_q[ChannelBits-1:0] : channel3_q), .data_i(clears ? '0 : state3_q),
    .read_i(starts), .read_at_i(slot[SlotBits-1:2]), .data_o(state1));
  ni_table #(.Entries(4 * Channels), .Width($bits(block_t)), .Same(1'b1)) u_blocks (
    .clk_i, .write_i(block_writes3_q), .write_at_i(slot3_q), .data_i(block3_q), .read_i(starts), .read_at_i(slot), .data_o(block1));
  ni_table #(.Entries(Peers), .Width($bits(numbers_t))) u_numbers (
    .clk_i, .write_i(numbers_write3_q || clears), .write_at_i(clears ? clear_q[PeerBits-1:0] : peer3_q), .data_i(clears ? '0 : numbers3_q),
    .read_i(phase_q == 2'd1), .read_at_i(peer1), .data_o(numbers2));

  // --- Second cycle: what was read; a new transfer has its own.
  logic [12:0] sum1, block_bytes1, block_bytes2_q;
  logic whole1, finishes1, finishes2_q, more2_q, single2_q, final2_q, first2_q, fits2_q, quiet1, may_begin2_q, may_emit2_q, abandons2_q;
  logic rests1, rests2_q, ends2_q, late2_q, waited2_q, retries2_q, unnumbered1, unnumbered2_q, page_fault2_q, behind_rest2_q;
  logic keeps2_q;
  logic [3:0] numberless1;
  logic [11:0] elapsed1;
  logic [11:0] end_byte1, end_byte2_q, offset2_q;
  state_t begins1;  // as it is if its next block begins
  assign peer1 = step1_q == Admit ? intake1_q.peer : order1.peer;
  always_comb begin
    begins1 = state1;
    if (step1_q == Admit) begin
      begins1 = '{active: 1'b1, own: intake1_q.transfer.own, target: intake1_q.transfer.target,
                  left: intake1_q.transfer.length, fence: intake1_q.transfer.fence && !intake1_q.fences,
                  fences: intake1_q.fences, reads: intake1_q.transfer.read, serves: intake1_q.serves,
                  failure: NackReasonNone, default: '0};
    end else if (state1.serves && state1.fence && state1.failure != NackReasonNone) begin
      // What has not begun of a read that has failed comes no more, but for its end.
      begins1.target = '0;
      begins1.left = 32'd8;
      begins1.fence = 1'b0;
      begins1.fences = 1'b1;
    end
    // A block ends before the next multiple of 4 KiB, or with its transfer.
    sum1 = {1'b0, begins1.target[11:0]} + {1'b0, begins1.left[11:0]};
    whole1 = begins1.left[31:12] != '0 || sum1[12];
    end_byte1 = whole1 ? '1 : sum1[11:0] - 12'd1;
    block_bytes1 = whole1 ? 13'd4096 - {1'b0, begins1.target[11:0]} : {1'b0, begins1.left[11:0]};
    finishes1 = begins1.left[31:13] == '0 && begins1.left[12:0] <= 13'd4096 - {1'b0, begins1.target[11:0]};
  end
  assign quiet1 = (state1.busy | state1.queued) == '0;
  assign elapsed1 = round_q - block1.round;
  assign rests1 = state1.accepted || state1.refused;
  assign numberless1 = (state1.faulted & ~state1.keeps) | state1.renumbers;
  assign unnumbered1 = numberless1[slot1_q[1:0]];
  assign ending1 = {intake1_q.transfer.end_word, intake1_q.transfer.notify, intake1_q.transfer.token, intake1_q.pdid,
                    intake1_q.transfer.message, intake1_q.context_of, intake1_q.transfer.message_slot};
  always_ff @(posedge clk_i) begin
    if (starts) begin
      step1_q    <= step;
      slot1_q    <= slot;
      channel1_q <= slot[SlotBits-1:2];
      answer1_q  <= answer;
      intake1_q  <= intake;
      room1_q    <= packet_room;
    end
    if (phase_q == 2'd1) begin
      {slot2_q, channel2_q, reason2_q, room2_q, peer2_q, ending2_q} <= {slot1_q, channel1_q, answer1_q.reason, room1_q, peer1, ending1};
      {admit2_q, begin2_q, emit2_q} <= {step1_q == Admit, step1_q == Begin, step1_q == Emit};
      {answer2_q, visit2_q} <= {step1_q == Answer, step1_q == Visit};
      block2_q  <= block1;
      state2_q  <= begins1;
      order2_q  <= step1_q != Admit ? order1
          : {intake1_q.transfer.dcid, intake1_q.peer, intake1_q.pdid, intake1_q.fence.word, intake1_q.fence.value};
      {finishes2_q, more2_q} <= {finishes1, begins1.left != '0};
      {end_byte2_q, block_bytes2_q, single2_q} <= {end_byte1, block_bytes1, begins1.target[11:9] == end_byte1[11:9]};
      final2_q  <= block1.at == block1.last_byte[11:9];
      first2_q  <= block1.at == block1.target[11:9];
      fits2_q   <= step1_q == Answer && answer1_q.known && block1.number == answer1_q.number && (answer1_q.unread || answer1_q.from == order1.peer) &&
          (answer1_q.ends ? state1.reads : !rests1 && !unnumbered1 && !(answer1_q.unread && state1.faulted[slot1_q[1:0]]));
      keeps2_q <= answer1_q.unread && block1.tries != '0;
      unnumbered2_q <= unnumbered1 && step1_q != Admit;
      // The end of a read has no page of its own: it was behind a block that had to rest.
      page_fault2_q <= is_page_fault(answer1_q.reason) && !answer1_q.ends &&
          (block1.faults < config_i.fault_tries || (state1.serves && block1.fence));
      behind_rest2_q <= block1.fence && !unnumbered1 && numberless1 != '0;
      ends2_q   <= answer1_q.ends;
      late2_q   <= !rests1 && elapsed1 >= 12'(config_i.block_patience) << block1.doublings;
      // The end of a read has not come, or its request is to be sent anew after one, two, four, then eight rounds.
      waited2_q <= state1.accepted && config_i.read_patience != '0 && elapsed1 >> config_i.read_patience != '0;
      retries2_q <= state1.refused && {elapsed1, 1'b0} >> state1.refusals != '0;
      rests2_q  <= step1_q != Admit && rests1;
      // The end of a read that has failed is sent behind all else of it.
      may_begin2_q <= step1_q == Admit || (step1_q == Begin &&
          (state1.failure == NackReasonNone || (state1.serves && quiet1)) && !(state1.fences && (state1.faulted | state1.renumbers) != '0));
      may_emit2_q  <= step1_q == Emit && !rests1 && (state1.failure == NackReasonNone || (state1.serves && block1.fence));
      abandons2_q  <= state1.failure != NackReasonNone && !(state1.serves && block1.fence);
      offset2_q <= {block1.at, 9'd0} - block1.target[11:0];
    end
  end

  // --- Third cycle: what it does.
  logic begins, emits, fits, due, gives_up, repeats, abandons, frees, sends, pushes_slot, pushes_channel, ends, here_busy, failed;
  logic accepts, refuses, retries, visited, waited, is_fence, here_faulted, here_keeps, renumbers, waits_for_number, faults, yields, gives_back;
  logic numbered;
  logic [3:0] usable;
  logic [1:0] free_slot, at_slot;
  logic [9:0] packet_bytes;
  nack_reason_e reason;
  write_packet_t packet;
  fence_place_t fence_place;
  logic [2:0][1:0] other;
  logic others_busy, more;
  assign usable = ~(state2_q.busy | state2_q.queued);
  always_comb begin
    free_slot = 2'd3;
    for (int unsigned i = 3; i > 0; i--) if (usable[i-1]) free_slot = 2'(i - 1);
  end
  assign failed = state2_q.failure != NackReasonNone;
  assign begins = room2_q && more2_q && may_begin2_q && usable != '0 &&
      !state2_q.sending && !numbers2.full;
  logic [WindowBits-1:0] next_but_one;
  assign next_but_one = numbers2.next[WindowBits-1:0] + 1'b1;
  assign at_slot = begins ? free_slot : slot2_q[1:0];
  assign here_busy = state2_q.busy[slot2_q[1:0]];
  assign here_faulted = state2_q.faulted[slot2_q[1:0]];
  assign here_keeps = state2_q.keeps[slot2_q[1:0]];
  assign renumbers = here_busy && may_emit2_q && state2_q.renumbers[slot2_q[1:0]] && !numbers2.full;
  assign waits_for_number = here_busy && may_emit2_q && state2_q.renumbers[slot2_q[1:0]] && numbers2.full;
  assign emits = here_busy && may_emit2_q && !here_faulted && !waits_for_number;
  assign abandons = (emit2_q && here_busy && abandons2_q) || gives_back;
  assign numbered = begins || renumbers;  // a block gets a number
  // What a fence names; one that is sent again is behind no other block.
  always_comb begin
    fence_place = '0;
    fence_place.fence = 1'b1;
    for (int unsigned i = 0; i < 3; i++) begin
      other[i] = free_slot + 2'(i + 1);
      if (begins && state2_q.busy[other[i]])
        fence_place.behind[i] = 5'(WindowBits'(numbers2.next[WindowBits-1:0] - state2_q.numbers[other[i]]));
    end
  end
  read_response_t response;  // or what a fence writes
  always_comb begin
    response = read_response_t'(order2_q.fence_value);
    if (state2_q.serves) response.failure = state2_q.failure;
    packet = '0;
    packet.dcid = order2_q.dcid;
    packet.pdid = order2_q.pdid;
    if (begins) begin
      packet.payload[47:0] = state2_q.own;
      packet.target = state2_q.target;
      packet.number = numbers2.next;
      packet.place = {10'd0, end_byte2_q[11:9], state2_q.target[11:9]};
      packet.final_packet = single2_q;
    end else begin
      packet.payload[47:0] = block2_q.own + (first2_q ? 48'd0 : 48'(offset2_q));
      packet.target = first2_q ? block2_q.target : {block2_q.target[47:12], block2_q.at, 9'd0};
      packet.number = renumbers ? numbers2.next : block2_q.number;
      packet.place = {10'd0, block2_q.last_byte[11:9], block2_q.target[11:9]};
      packet.final_packet = final2_q;
    end
    packet.payload[79:48] = order2_q.fence_value[31:0];  // length of a request
    packet.kind = state2_q.reads ? PacketTypeReadRequest : PacketTypeWrite;
    is_fence = begins ? state2_q.fences : block2_q.fence;
    if (is_fence) begin
      packet.payload[63:0] = response;
      if (state2_q.serves) packet.kind = PacketTypeReadResponse;
      packet.place = block_place_t'(fence_place);
    end
    packet.slot = 10'({channel2_q, at_slot});
    // From its first byte to the end of its 512, or of its block.
    packet_bytes = (packet.final_packet ? 10'((begins ? end_byte2_q[8:0] : block2_q.last_byte[8:0])) : 10'd511) + 10'd1 -
        (begins || first2_q ? 10'(packet.target[8:0]) : 10'd0);
    packet.bytes = state2_q.reads ? 10'($bits(read_request_t) / 8) : packet_bytes;
  end
  // Answers, and blocks that nobody answers.
  assign fits = fits2_q && here_busy;
  assign accepts = fits && state2_q.reads && !ends2_q && reason2_q == NackReasonNone;
  assign refuses = fits && state2_q.reads && !ends2_q && reason2_q == NackReasonBusy;
  assign others_busy = (state2_q.busy & ~(4'd1 << slot2_q[1:0])) != '0;
  assign visited = visit2_q && here_busy && !state2_q.queued[slot2_q[1:0]];
  assign gives_back = visited && here_faulted && abandons2_q;
  assign due = visited && late2_q && !(block2_q.fence && others_busy) && !gives_back;
  assign yields = visited && late2_q && behind_rest2_q;
  assign waited = visited && waited2_q;
  assign retries = visited && retries2_q;
  assign faults = fits && page_fault2_q && !abandons2_q;
  assign gives_up = (due && !here_faulted && config_i.tries != '0 && block2_q.tries >= config_i.tries) || waited;
  assign repeats = due && !gives_up;
  assign frees = (fits && !accepts && !refuses && !faults) || gives_up || abandons;
  assign reason = gives_up ? NackReasonSilent : fits && !refuses && !faults ? reason2_q : NackReasonNone;
  assign sends = begins || emits;
  assign pushes_slot = (begins && !single2_q) || (emits && !final2_q) || repeats || waits_for_number;
  always_comb begin
    state = state2_q;
    if (begins) begin
      if (!state2_q.reads) state.own = state2_q.own + 48'(block_bytes2_q);
      if (!state2_q.reads) state.target = {state2_q.target[47:12] + 36'd1, 12'd0};
      state.left = state2_q.left - 32'(block_bytes2_q);
      if (finishes2_q && state2_q.fence) begin
        state.target = {order2_q.fence_word, 3'd0};
        state.left = 32'd8;
        state.fence = 1'b0;
        state.fences = 1'b1;
      end
      state.busy[free_slot] = 1'b1;
      state.numbers[free_slot] = numbers2.next[WindowBits-1:0];
      state.sending = !single2_q;
      state.sent_slot = free_slot;
    end
    if (frees || retries) state.busy[slot2_q[1:0]] = 1'b0;
    if (faults || yields) state.faulted[slot2_q[1:0]] = 1'b1;
    if (faults) state.keeps[slot2_q[1:0]] = keeps2_q;
    if (frees || (repeats && here_faulted)) {state.faulted[slot2_q[1:0]], state.keeps[slot2_q[1:0]]} = '0;
    if (frees || renumbers) state.renumbers[slot2_q[1:0]] = 1'b0;
    if (repeats && here_faulted) state.renumbers[slot2_q[1:0]] = !here_keeps;
    if (renumbers) state.numbers[slot2_q[1:0]] = numbers2.next[WindowBits-1:0];
    if (accepts) state.accepted = 1'b1;
    if (refuses) begin
      state.refused = 1'b1;
      if (state2_q.refusals != 3'd4) state.refusals = state2_q.refusals + 3'd1;
    end
    if (retries) begin
      state.refused = 1'b0;
      state.left = 32'd1;
    end
    if (emit2_q) state.queued[slot2_q[1:0]] = 1'b0;
    if (pushes_slot) state.queued[at_slot] = 1'b1;
    if ((frees || faults || (emits && final2_q)) && state2_q.sent_slot == slot2_q[1:0]) state.sending = 1'b0;
    if (!failed) state.failure = reason;
    if (begin2_q) state.waits = 1'b0;
    // A transfer is in the queue while it has bytes left and a slot for them, and no block that is being sent.
    more = begins ? !finishes2_q || state2_q.fence : more2_q || retries;
    pushes_channel = more && (state.failure == NackReasonNone || (state2_q.serves && (state.busy | state.queued) == '0)) &&
        (state.busy | state.queued) != '1 && !state.sending && !state.waits && !(state.fences && (state.faulted | state.renumbers) != '0);
    if (pushes_channel) state.waits = 1'b1;
    ends = state2_q.active && state.busy == '0 && state.queued == '0 && !state.waits;
    if (ends) state.active = 1'b0;

    block = block2_q;
    block.round = round_q;
    block_writes = sends || repeats || accepts || refuses || faults;
    if (begins) begin
      block.own = state2_q.own;
      block.target = state2_q.target;
      block.fence = state2_q.fences;
      block.last_byte = end_byte2_q;
      block.number = numbers2.next;
      block.at = state2_q.target[11:9] + 3'd1;
      block.tries = '0;
      block.faults = '0;
      block.doublings = '0;
    end else if (emits) begin
      block.at = block2_q.at + 3'd1;
      block.number = packet.number;
    end else if (repeats) begin
      block.at = block2_q.target[11:9];
      if (!here_faulted) block.tries = block2_q.tries + 4'(block2_q.tries != '1);
      else if (!here_keeps) block.tries = '0;
      block.doublings = block2_q.doublings == MostDoublings ? MostDoublings : block2_q.doublings + 3'd1;
    end else if (faults) begin
      block.faults = block2_q.faults + 4'd1;
    end

    numbers = numbers2;
    numbers_write = numbered || accepts || refuses || (faults && !keeps2_q) || yields || (frees && !rests2_q && !unnumbered2_q);
    if (numbered) begin
      numbers.next = numbers2.next + 24'd1;
      numbers.open[numbers2.next[WindowBits-1:0]] = 1'b1;
      numbers.full = numbers2.open[next_but_one];
    end else begin
      numbers.open[block2_q.number[WindowBits-1:0]] = 1'b0;
      if (block2_q.number[WindowBits-1:0] == numbers2.next[WindowBits-1:0]) numbers.full = 1'b0;
    end
  end

  // --- Fourth cycle: it is written.
  logic sends3_q, ends3_q;
  write_packet_t packet3_q, queued;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {step3_q, admits3_q, block_writes3_q, numbers_write3_q, sends3_q, ends3_q, begin_pushes_q, emit_pushes_q} <= '0;
      packets_q  <= '0;
      packets_o  <= '0;
      repeated_o <= '0;
      stale_o    <= '0;
    end else begin
      step3_q          <= phase_q == 2'd2;
      admits3_q        <= phase_q == 2'd2 && admit2_q;
      block_writes3_q  <= phase_q == 2'd2 && block_writes;
      numbers_write3_q <= phase_q == 2'd2 && numbers_write;
      sends3_q         <= phase_q == 2'd2 && sends;
      ends3_q          <= phase_q == 2'd2 && ends;
      begin_pushes_q   <= phase_q == 2'd2 && pushes_channel;
      emit_pushes_q    <= phase_q == 2'd2 && pushes_slot;
      packets_q        <= packets_q + 4'(phase_q == 2'd2 && sends) - 4'(packet_taken_i);
      packets_o        <= packets_o + 32'(sends3_q);
      repeated_o       <= repeated_o + 32'(phase_q == 2'd2 && repeats);
      stale_o          <= stale_o + 32'(phase_q == 2'd2 && answer2_q && !fits);
    end
  end
  always_ff @(posedge clk_i) begin
    if (phase_q == 2'd2) begin
      {state3_q, block3_q, numbers3_q, order3_q, peer3_q, ending3_q, packet3_q, channel3_q} <=
          {state, block, numbers, order2_q, peer2_q, ending2_q, packet, channel2_q};
      slot3_q <= {channel2_q, at_slot};
    end
  end
  always_comb begin
    queued = packet3_q;
    queued.last_line = 6'((11'(packet3_q.payload[3:0]) + 11'(packet3_q.bytes) - 11'd1) >> 4);
    queued.crosses = 9'(packet3_q.payload[11:4]) + 9'(queued.last_line) > 9'd255;
  end
  exanet_fifo #(.Width($bits(write_packet_t)), .Depth(PacketsAhead)) u_packets (
    .clk_i, .rst_ni, .write_i(sends3_q), .data_i(queued), .read_i(packet_taken_i), .valid_o(packet_valid_o), .data_o(packet_o));

  // --- Ends, one after the other: each is written where that is wanted, then its channel is free. One whose page is not to be written is not. The message that
  // stays behind a transfer is claimed first: one that is stored by who has seen the end stays.
  logic offers_q, looked_q, translates_q, end_known;
  logic ended_valid;
  nack_reason_e ended_failure;
  logic launch_room, asked_q, settled_q, claimed_q, may_end;
  exanet_fifo #(.Width(ChannelBits + 5), .Depth(Channels)) u_ends (
    .clk_i, .rst_ni, .write_i(ends3_q), .data_i({channel3_q, state3_q.serves, state3_q.failure}), .read_i(release_channel),
    .valid_o(ended_valid), .data_o({released, released_serves, ended_failure}));
  ni_table #(.Entries(Channels), .Width($bits(ending_t)), .Same(1'b1)) u_endings (
    .clk_i, .write_i(admits3_q), .write_at_i(channel3_q), .data_i(ending3_q), .read_i(!offers_q), .read_at_i(released), .data_o(ending));
  assign look_o = offers_q && ending.notify && translates_q && !looked_q && !invalidates_i;
  assign domain_o = ending.pdid;
  assign page_o = ending.word[44:9];
  assign want_o = looked_q;
  assign drained_o = !looked_q;
  assign end_known = looked_q && known_i;
  assign end_valid_o = offers_q && may_end && ending.notify && (!translates_q || (end_known && fault_i == NackReasonNone));
  assign end_word_o = translates_q ? {page_frame_i, ending.word[8:0]} : ending.word;
  assign end_value_o = '{done: 1'b1, failure: ended_failure, token: ending.token, default: '0};
  assign claim_valid_o = offers_q && ending.message && !asked_q;
  assign {claim_slot_o, claim_pdid_o, claim_reason_o} = {ending.message_slot, ending.pdid, ended_failure};
  assign may_end = !ending.message || settled_q;
  assign end_message_o = claimed_q;
  assign release_channel = offers_q && may_end && (end_taken_i || !ending.notify || (end_known && fault_i != NackReasonNone));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      offers_q <= 1'b0;
      looked_q <= 1'b0;
      ended_o  <= '0;
      {translates_q, asked_q, settled_q, claimed_q} <= '0;
    end else begin
      if (!offers_q) translates_q <= config_i.translate;
      looked_q <= (looked_q || look_o) && !release_channel;
      ended_o  <= ended_o + 32'(release_channel);
      offers_q <= offers_q ? !release_channel : ended_valid && launch_room;
      asked_q  <= (asked_q || claim_taken_i) && !release_channel;
      settled_q <= asked_q && !release_channel;
      claimed_q <= (asked_q && !settled_q ? claimed_i : claimed_q) && !release_channel;
    end
  end

  ni_launches #(.SlotBits(ContextBits + 2)) u_launches (
    .clk_i, .rst_ni, .room_o(launch_room), .ended_i(release_channel && claimed_q), .written_i(end_taken_i), .slot_i(ending.message_slot),
    .answered_i(end_answered_i), .launch_valid_o, .launch_taken_i, .launch_slot_o);
endmodule
