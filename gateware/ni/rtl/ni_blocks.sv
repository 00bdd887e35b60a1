// SPDX-License-Identifier: Apache-2.0
// Blocks out of the network into memory: each packet is written once, and a block is answered when memory has all of
// it.
//
// Of each node it is known which packets have come of its last Window blocks. A packet that has come is not written
// again; when the last one of a block that is whole comes again, the block is answered again. One of a block that is
// older is nobody's, and dropped. A block of which memory has refused a write is answered with a Nack when the rest of
// it has come. Of a node that nothing has come from yet any number is the first.
//
// A fence is a packet that waits, and lets those behind it wait, until memory has answered all that came before. It is
// dropped, as if it had been lost, where some block that it names is not whole, or so old that nothing is known of it,
// as later packets have overtaken the fence; where memory has refused one of them it is answered with a Nack, and not
// written.
//
// The request of a read goes to the sender, if that has a channel for it; else it has come, too, and is answered with a
// Nack (Busy), as often as it comes. The end of a read is a fence, but goes to the sender, also where memory has
// refused one of the blocks that it names.
//
// Where addresses are translated a packet's page is looked up while its place among the others is, and a packet waits
// for it where it has to be walked to. A page that is not to be written is NACKed as memory's error is, with its own
// reason; a fence behind such a block is not taken, nor is the end of a read, whatever else it is behind: they come
// again.
//
// A packet waits for memory, for its page, and for space for answers, and for nothing else. Where the space waits for
// memory's refusal to be written down, that goes first, and the packet is weighed anew. Words that say that a transfer
// has ended are written in between.
module ni_blocks #(
  parameter int unsigned Peers = 4096,
  parameter int unsigned Window = 32,
  parameter int unsigned NodeBits = 0,  // as of ni_peer
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  exanet_pkg::ni_config_t       config_i,
  output logic                         ready_o,  // its table is clear
  // what the kernel writes: a peer's numbers begin anew
  input  logic                         clear_i,
  input  logic [PeerBits-1:0]          clear_at_i,
  output logic                         clear_taken_o,
  // packets, as frames of an ni_port
  input  logic                         s_axis_tvalid,
  output logic                         s_axis_tready,
  input  logic [127:0]                 s_axis_tdata,
  input  logic [15:0]                  s_axis_tkeep,
  input  logic                         s_axis_tlast,
  input  exanet_pkg::ni_user_t         s_axis_tuser,
  // answers, as frames without a byte
  output logic                         m_axis_tvalid,
  input  logic                         m_axis_tready,
  output exanet_pkg::ni_user_t         m_axis_tuser,
  // reads that are asked for, and ends of those that were
  input  logic                         serves_i,  // one may be handed over
  output logic                         serve_valid_o,
  output ni_pkg::serve_t               serve_o,
  output logic                         read_end_valid_o,
  input  logic                         read_end_taken_i,
  output ni_pkg::read_end_t            read_end_o,
  // translation
  input  logic                         invalidates_i,  // no packet begins
  output logic                         drained_o,  // no packet waits for memory
  output logic                         ends_written_o,  // nor a word that was taken
  output logic                         look_o,
  output logic [9:0]                   domain_o,
  output logic [35:0]                  page_o,
  output logic                         want_o,
  input  logic                         known_i,
  input  logic [35:0]                  page_frame_i,
  input  exanet_pkg::nack_reason_e     fault_i,
  // words of 8 bytes
  input  logic                         end_valid_i,
  output logic                         end_taken_o,
  input  logic                         end_message_i,  // end_answered_o reports it, too, when memory has answered
  output logic                         end_answered_o,
  input  logic [44:0]                  end_word_i,
  input  logic [63:0]                  end_value_i,
  // memory
  output logic [47:0]                  m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic                         m_axi_awvalid,
  input  logic                         m_axi_awready,
  output logic [127:0]                 m_axi_wdata,
  output logic [15:0]                  m_axi_wstrb,
  output logic                         m_axi_wlast,
  output logic                         m_axi_wvalid,
  input  logic                         m_axi_wready,
  input  logic [1:0]                   m_axi_bresp,
  input  logic                         m_axi_bvalid,
  output logic                         m_axi_bready,
  // counts since reset; they wrap
  output logic [31:0]                  written_o,  // packets
  output logic [31:0]                  repeated_o, // that had come before
  output logic [31:0]                  dropped_o,  // of no node, of no block that is known, or that are no part of one
  output logic [31:0]                  answered_o  // blocks
);
  import exanet_pkg::*;
  localparam int unsigned WindowBits = $clog2(Window);
  typedef enum logic [1:0] { Good, Refused, Unmapped, ReadOnly } outcome_e;  // Refused: by memory, or a request
  typedef struct packed {
    outcome_e outcome;
    logic [7:0] come;  // packets; those that it does not have, too; none of one that has not begun
  } block_t;
  typedef struct packed {
    logic known;
    logic [23:0] next;  // behind the highest number that has come
    block_t [Window-1:0] blocks;  // by number
  } past_t;
  typedef logic [PeerBits-1:0] peer_t;

  logic clears;
  logic [PeerBits:0] clear_q;
  assign clears = !clear_q[PeerBits];
  assign ready_o = !clears;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_q <= '0;
    else if (clears) clear_q <= clear_q + 1'b1;
  end

  // --- The table: packets look and write; answers look, and write where memory has refused something, between packets.
  typedef enum logic [1:0] { Idle, Look, Weigh, Decide } state_e;
  state_e state_q, answer_q;
  logic begins, decides, drops, fails, answer_looks, again, kernel;
  logic waits_q, refusal_q;  // a packet waits for space; the answer that looks is a refusal
  peer_t peer, peer_q, answer_peer;
  logic known, known_q;
  past_t past, past_q, past_next, answer_past_q, failed_past;
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_peer (
    .clk_i, .dcid_i(s_axis_tuser.source_dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(peer), .known_o(known));
  ni_table #(.Entries(Peers), .Width($bits(past_t)), .Same(1'b1)) u_past (
    .clk_i, .rst_ni, .write_i((decides && !drops) || fails || kernel || clears),
    .write_at_i(clears ? clear_q[PeerBits-1:0] : fails ? answer_peer : state_q == Decide ? peer_q : clear_at_i),
    .data_i(fails ? failed_past : state_q == Decide && !clears ? past_next : '0), .read_i(begins || answer_looks || again),
    .read_at_i(begins ? peer : again ? peer_q : answer_peer), .data_o(past));
  assign kernel = clear_i && state_q == Idle && answer_q == Idle && !clears;
  assign clear_taken_o = kernel;

  // --- A packet comes, beat by beat.
  localparam int unsigned WordDepth = 128;
  logic amid_q, idle, beat, keeps, word_read, ended_q, held_up, word_valid, jobs_full;
  logic [7:0] words_held_q;
  logic [9:0] bytes_q;
  logic [4:0] kept;
  logic [127:0] word;
  ni_user_t user_q;
  logic [127:0] first_q;  // word of the payload
  logic [23:0] ahead_q;
  logic [2:0][WindowBits-1:0] named_at_q;
  logic [5:0] unanswered_q;  // packets that were decided on
  logic [5:0] ends_unanswered_q;
  block_place_t place_comes;
  assign place_comes = s_axis_tuser.block;
  assign idle = state_q == Idle && words_held_q <= 8'(WordDepth - MaxPayloadWords) && !clears && !clear_i && !held_up && !invalidates_i &&
      !(place_comes.fence && unanswered_q != '0);
  assign begins = idle && s_axis_tvalid && !amid_q;
  assign s_axis_tready = amid_q || idle;
  assign beat = s_axis_tvalid && s_axis_tready;
  assign keeps = beat && s_axis_tkeep != '0;
  assign kept = ni_pkg::bytes_kept(s_axis_tkeep);
  exanet_fifo_block #(.Width(128), .Depth(WordDepth)) u_words (
    .clk_i, .rst_ni, .write_i(keeps), .data_i(s_axis_tdata), .read_i(word_read), .keep_i(1'b0), .rewind_i(1'b0), .valid_o(word_valid), .data_o(word));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      amid_q       <= 1'b0;
      ended_q      <= 1'b0;
      words_held_q <= '0;
    end else begin
      if (beat) amid_q <= !s_axis_tlast;
      ended_q      <= beat ? s_axis_tlast : ended_q && !decides;
      words_held_q <= words_held_q + 8'(keeps) - 8'(word_read);
    end
  end
  always_ff @(posedge clk_i) begin
    if (beat) bytes_q <= (amid_q ? bytes_q : '0) + 10'(kept);
    if (begins) {user_q, peer_q, known_q, first_q} <= {s_axis_tuser, peer, known, s_axis_tdata};
    if (state_q == Look) {past_q, ahead_q} <= {past, user_q.number - past.next};
  end

  // --- The decision.
  block_place_t place;
  fence_place_t fence;
  block_t found, here_q;
  block_t [2:0] named;  // by a fence
  logic [2:0] whole;
  logic [2:0][WindowBits:0] oldest;
  outcome_e spoilt, spoilt_q, page_outcome;
  logic drops_q, spoils, would_write, translates_q, page_known;
  logic [2:0] index;
  logic [7:0] own, span;
  logic [WindowBits-1:0] at;
  logic reports_end, later, later_q, repeated_q, completes_q, acks, takes, writes, fitting, asks_read, ends_read;
  read_request_t request;
  read_response_t response;
  logic [23:0] behind;
  logic [9:0] least_q, most_q;  // bytes that its payload may have
  assign place = user_q.block;
  assign fence = user_q.block;
  assign asks_read = user_q.kind == PacketTypeReadRequest;
  assign ends_read = user_q.kind == PacketTypeReadResponse;
  assign request = first_q;
  assign response = first_q[63:0];
  assign index = user_q.dmadd[11:9];
  assign own = 8'd1 << index;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++)
      span[i] = place.fence ? 3'(i) == index : 3'(i) >= place.first_packet && 3'(i) <= place.last_packet;
  end
  assign at = user_q.number[WindowBits-1:0];
  assign behind = ~ahead_q;
  assign later = !past_q.known || !ahead_q[23];
  assign fitting = bytes_q >= least_q && bytes_q <= most_q;
  assign drops = drops_q || !fitting;
  always_comb begin
    found = past_q.blocks[at];
    if (later || found.come == '0) found = '{outcome: Good, come: ~span};
  end
  // One that has not come yet has its place in the table from a block before it. One that waits for its page counts
  // more than one that was refused: it comes again, and the end of a read is behind it.
  always_comb begin
    spoilt = Good;
    for (int unsigned k = 0; k < 3; k++) begin
      named[k] = past_q.blocks[named_at_q[k]];
      oldest[k] = {1'b0, behind[WindowBits-1:0]} + (WindowBits + 1)'(fence.behind[k]);
      whole[k] = fence.behind[k] == '0 ||
          (named[k].come == '1 && (later ? ahead_q < 24'(fence.behind[k]) : !oldest[k][WindowBits]));
      if (fence.behind[k] != '0 && place.fence && named[k].outcome != Good && (spoilt == Good || spoilt == Refused))
        spoilt = named[k].outcome;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < 3; k++) named_at_q[k] <= at - WindowBits'(fence.behind[k]);
    if (state_q == Weigh) begin
      {later_q, here_q} <= {later, found};
      {repeated_q, completes_q} <= {found.come[index], !found.come[index] && (found.come | own) == '1};
      {least_q, most_q} <= {10'd1, 10'd0};  // none
      if (packet_type_e'(user_q.kind) == PacketTypeWrite && span[index])
        {least_q, most_q} <= {10'd1, 10'd512 - {1'b0, user_q.dmadd[8:0]}};
      if (packet_type_e'(user_q.kind) == PacketTypeReadRequest && !place.fence && span == own)
        {least_q, most_q} <= {2{10'($unsigned($bits(read_request_t) / 8))}};
      if (packet_type_e'(user_q.kind) == PacketTypeReadResponse && place.fence)
        {least_q, most_q} <= {2{10'($unsigned($bits(read_response_t) / 8))}};
      drops_q <= !known_q || (!later && behind[22:WindowBits] != '0) || (place.fence && whole != '1);
      spoilt_q <= spoilt;
    end
  end
  assign takes = !drops && !repeated_q;
  assign spoils = spoilt_q != Good;
  assign would_write = takes && !spoils && !asks_read && !ends_read;
  // The page: looked up at once, and walked to where it is to be written.
  assign look_o = state_q == Look && translates_q;
  assign domain_o = user_q.pdid;
  assign page_o = user_q.dmadd[47:12];
  assign want_o = state_q == Decide && translates_q && would_write;
  assign page_known = !want_o || known_i;
  assign drained_o = state_q == Idle && unanswered_q == '0;
  assign ends_written_o = ends_unanswered_q == '0;
  always_comb begin
    page_outcome = Good;
    if (fault_i == NackReasonUnmapped) page_outcome = Unmapped;
    if (fault_i == NackReasonReadOnly) page_outcome = ReadOnly;
  end
  assign writes = would_write && (!translates_q || page_outcome == Good);
  assign reports_end = takes && ends_read && (spoilt_q == Good || spoilt_q == Refused);
  assign serve_valid_o = decides && takes && asks_read && serves_i;
  assign serve_o = '{from: user_q.dmadd, to: request.own, length: request.length, dcid: user_q.source_dcid, peer: 12'(peer_q),
                     pdid: user_q.source_pdid, slot: user_q.channel, number: user_q.number};
  assign acks = !drops && (completes_q || (here_q.come == '1 && user_q.ack_request));
  assign decides = state_q == Decide && ended_q && !jobs_full && page_known && !(answer_q != Idle && refusal_q);
  // As it is with the packet, unless that is dropped.
  always_comb begin
    past_next = past_q;
    if (later_q) begin
      // Numbers that are left out are yet to begin.
      for (int unsigned i = 0; i < Window; i++)
        if (!past_q.known || ahead_q > 24'(Window - 1) || WindowBits'(i) - past_q.next[WindowBits-1:0] <= ahead_q[WindowBits-1:0])
          past_next.blocks[i] = '0;
      past_next.known = 1'b1;
      past_next.next = user_q.number + 24'd1;
    end
    past_next.blocks[at] = here_q;
    past_next.blocks[at].come = here_q.come | own;
    if (here_q.outcome == Good) begin
      if (spoils) past_next.blocks[at].outcome = spoilt_q;
      else if (asks_read && !repeated_q && !serves_i) past_next.blocks[at].outcome = Refused;
      else if (!asks_read && !ends_read && !repeated_q && translates_q) past_next.blocks[at].outcome = page_outcome;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q          <= Idle;
      translates_q     <= 1'b0;
      read_end_valid_o <= 1'b0;
      written_o        <= '0;
      repeated_o       <= '0;
      dropped_o        <= '0;
    end else begin
      case (state_q)
        Idle: begin
          if (begins) state_q <= Look;
          translates_q <= config_i.translate;  // for all of the packet
        end
        Look: state_q <= Weigh;
        Weigh: state_q <= Decide;
        default: if (decides || again) state_q <= decides ? Idle : Look;
      endcase
      if (decides && reports_end) read_end_valid_o <= 1'b1;
      else if (read_end_taken_i) read_end_valid_o <= 1'b0;
      written_o  <= written_o + 32'(decides && writes);
      repeated_o <= repeated_o + 32'(decides && !drops && repeated_q);
      dropped_o  <= dropped_o + 32'(decides && drops);
    end
  end

  always_ff @(posedge clk_i) begin
    if (decides && reports_end) begin
      read_end_o.peer <= 12'(peer_q);
      read_end_o.end_of <= response;
      if (spoils) read_end_o.end_of.failure <= NackReasonMemory;
    end
  end

  // --- Packets on their way to memory, those that go nowhere, and ends.
  typedef struct packed {
    logic acks;
    logic asks_read;
    peer_t peer;
    logic [21:0] dcid;
    logic [9:0] pdid;
    logic [9:0] channel;
    logic [23:0] number;
  } answer_t;
  logic job_done, ends, writing, pending_space;
  answer_t answer_next, job_answer;
  assign answer_next = '{acks: acks, asks_read: asks_read, peer: peer_q, dcid: user_q.source_dcid, pdid: user_q.source_pdid,
                         channel: user_q.channel, number: user_q.number};
  ni_blocks_write #(.TagBits($bits(answer_t))) u_write (
    .clk_i, .rst_ni, .decides_i(decides), .writes_i(writes), .address_i(translates_q ? {page_frame_i, user_q.dmadd[11:0]} : user_q.dmadd),
    .bytes_i(bytes_q), .tag_i(answer_next), .full_o(jobs_full),
    .word_valid_i(word_valid), .word_i(word), .word_read_o(word_read), .end_valid_i, .end_taken_o, .end_word_i, .end_value_i,
    .space_i(pending_space), .done_o(job_done), .ends_o(ends), .writing_o(writing), .tag_o(job_answer), .m_axi_awaddr, .m_axi_awlen,
    .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready);

  // --- Answers, in the order of packets, each behind what memory says to those before.
  answer_t pending;
  logic pending_valid, waits, pended, taken, memory_q, refused_q, refused, asks, is_end, is_reported;
  outcome_e answer_outcome;
  logic [5:0] pending_q;
  logic [WindowBits-1:0] answer_at;
  logic [23:0] answer_behind;
  assign pended = job_done || end_taken_o;
  assign pending_space = !pending_q[5];  // 32
  exanet_fifo #(.Width($bits(answer_t) + 3), .Depth(32)) u_pending (
    .clk_i, .rst_ni, .write_i(pended), .data_i({ends, ends && end_message_i, writing, ends ? '0 : job_answer}), .read_i(taken),
    .valid_o(pending_valid), .data_o({is_end, is_reported, waits, pending}));
  assign end_answered_o = taken && is_reported;
  assign m_axi_bready = !memory_q;
  assign asks = pending_valid && (!waits || memory_q);
  assign refused = waits && refused_q && !is_end;
  assign answer_peer = pending.peer;
  // The table is the packets' first, but one of them waits while an answer has to write, and one that waits for space
  // is weighed again behind it.
  assign answer_looks = answer_q == Idle && asks && (pending.acks || refused) && !begins && !clears && !m_axis_tvalid &&
      (state_q == Idle ? !clear_i : !refused || waits_q);
  assign held_up = asks && refused;
  assign again = answer_q == Decide && refusal_q && state_q == Decide;
  assign answer_at = pending.number[WindowBits-1:0];
  assign answer_behind = answer_past_q.next - pending.number - 24'd1;
  assign answer_outcome = answer_past_q.blocks[answer_at].outcome != Good ? answer_past_q.blocks[answer_at].outcome : refused ? Refused : Good;
  assign fails = answer_q == Decide && refused && answer_past_q.known && answer_behind[23:WindowBits] == '0;
  always_comb begin
    failed_past = answer_past_q;
    failed_past.blocks[answer_at].outcome = answer_outcome;
  end
  assign taken = asks && (pending.acks || refused ? answer_q == Decide : 1'b1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer_q      <= Idle;
      waits_q       <= 1'b0;
      refusal_q       <= 1'b0;
      memory_q      <= 1'b0;
      refused_q     <= 1'b0;
      pending_q     <= '0;
      unanswered_q  <= '0;
      ends_unanswered_q <= '0;
      m_axis_tvalid <= 1'b0;
      m_axis_tuser  <= '0;
      answered_o    <= '0;
    end else begin
      pending_q <= pending_q + 6'(pended) - 6'(taken);
      unanswered_q <= unanswered_q + 6'(decides) - 6'(taken && !is_end);
      ends_unanswered_q <= ends_unanswered_q + 6'(end_taken_o) - 6'(taken && is_end);
      waits_q <= state_q == Decide && ended_q && jobs_full && page_known;
      if (answer_looks) refusal_q <= refused;
      case (answer_q)
        Idle: if (answer_looks) answer_q <= Look;
        Look: answer_q <= Decide;
        default: answer_q <= Idle;
      endcase
      if (m_axi_bvalid && m_axi_bready) begin
        memory_q  <= 1'b1;
        refused_q <= m_axi_bresp[1];
      end else if (taken && waits) begin
        memory_q <= 1'b0;
      end
      if (answer_q == Decide && pending.acks) begin
        m_axis_tvalid <= 1'b1;
        answered_o    <= answered_o + 32'd1;
        m_axis_tuser  <= '0;
        m_axis_tuser.dcid <= pending.dcid;
        m_axis_tuser.pdid <= pending.pdid;
        m_axis_tuser.source_dcid <= config_i.dcid;
        m_axis_tuser.kind <= answer_outcome == Good ? PacketTypeAck : PacketTypeNack;
        m_axis_tuser.high_priority <= 1'b1;
        m_axis_tuser.number <= pending.number;
        m_axis_tuser.channel <= pending.channel;
        case (answer_outcome)
          Good: m_axis_tuser.reason <= NackReasonNone;
          Unmapped: m_axis_tuser.reason <= NackReasonUnmapped;
          ReadOnly: m_axis_tuser.reason <= NackReasonReadOnly;
          default: m_axis_tuser.reason <= pending.asks_read ? NackReasonBusy : NackReasonMemory;
        endcase
      end else if (m_axis_tready) begin
        m_axis_tvalid <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (answer_q == Look) answer_past_q <= past;
  end

  exanet_stream_check #(.Width($bits(ni_user_t))) u_check_answers (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i(m_axis_tuser), .ready_i(m_axis_tready));
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // before the next one has waited for memory's answers
      EndIsTaken : assert (!(decides && reports_end && read_end_valid_o));
      PendingCounted : assert (pending_q <= 6'd32 && pending_valid == (pending_q != '0));
    end
  end
`endif
endmodule
