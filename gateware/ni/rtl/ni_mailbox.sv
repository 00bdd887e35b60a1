// SPDX-License-Identifier: Apache-2.0
// Messages out of the network into mailboxes, rings of entries in memory; each is answered when the memory has it, or
// with why it is refused.
//
// An entry is 128 bytes: the message's words, then mailbox_entry_t in its last 16, written by one burst in this order.
// So a reader that sees the entry's phase sees the message, and up to 48 bytes of it share a line of 64 bytes with it.
//
// A message comes once: of each node it is known which of its last 32 numbers have come, and which of these were
// stored. One that has come is answered again and goes nowhere; if it was not stored, with why it would be refused now,
// and with Full where it would not, so that it comes under another number. One that is older than these is nobody's,
// and dropped: its sender has had an answer, or it would not be that far. Of a node that nothing has come from yet any
// number is the first.
//
// Answers wait for their turn in order; a message waits for memory and for space for its answer, and for nothing else.
// It waits before anything is looked up for it, so a change of the kernel's waits for a message's beats and for the
// port of answers, and not for memory.
module ni_mailbox #(
  parameter int unsigned Mailboxes = 1024,
  parameter int unsigned Peers = 4096,
  parameter int unsigned NodeBits = 0,  // as of ni_peer
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned BoxBits = $clog2(Mailboxes),
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  exanet_pkg::ni_config_t       config_i,
  output logic                         ready_o,  // its tables are clear
  // what the kernel writes: a mailbox, which is empty then; a peer's numbers begin anew
  input  logic                         open_i,
  input  logic [BoxBits-1:0]           open_at_i,
  input  exanet_pkg::ni_mailbox_t      open_value_i,
  input  logic                         clear_i,
  input  logic [PeerBits-1:0]          clear_at_i,
  output logic                         kernel_taken_o,
  // memory has answered all that was decided on before the last change of the kernel's
  output logic                         at_rest_o,
  // how far a process has read
  input  logic                         release_i,
  input  exanet_pkg::mailbox_release_t release_value_i,
  input  logic [9:0]                   release_pdid_i,
  output logic                         release_taken_o,
  // messages, as frames of an ni_port
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
  // memory
  output logic [47:0]                  m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic                         m_axi_awvalid,
  input  logic                         m_axi_awready,
  output logic [127:0]                 m_axi_wdata,
  output logic                         m_axi_wlast,
  output logic                         m_axi_wvalid,
  input  logic                         m_axi_wready,
  input  logic [1:0]                   m_axi_bresp,
  input  logic                         m_axi_bvalid,
  output logic                         m_axi_bready,
  // counts since reset; they wrap
  output logic [31:0]                  stored_o,
  output logic [31:0]                  refused_o,
  output logic [31:0]                  repeated_o,  // that had come before
  output logic [31:0]                  dropped_o    // of no node, or with a number that is none of its last
);
  import exanet_pkg::*;
  if (Mailboxes < 2 || Mailboxes > 1024 || (Mailboxes & (Mailboxes - 1)) != 0) begin : gen_illegal_1
    $error("Mailboxes is a power of two, 2 to 1024");
  end
  localparam int unsigned ClearBits = PeerBits > BoxBits ? PeerBits : BoxBits;
  typedef enum logic [1:0] { Stored, Full, Closed, Domain } outcome_e;
  typedef struct packed {
    logic [23:0] next;                // behind the highest that has come
    logic [31:0] come;                // those before it, bit 0 the last one
    logic [31:0] stored;              // of those that have come
  } past_t;

  logic clears;
  logic [ClearBits:0] clear_q;
  assign clears = !clear_q[ClearBits];
  assign ready_o = !clears;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_q <= '0;
    else if (clears) clear_q <= clear_q + 1'b1;
  end

  // --- Tables: mailboxes as the kernel wrote them, how far each is written and read, and the past of each node.
  typedef enum logic [1:0] { Idle, Look, Decide } state_e;
  state_e state_q;
  logic begins, decides, drops, kernel, breaks, stores, release_checked_q, release_fits;
  logic [BoxBits-1:0] box, box_q;
  logic [PeerBits-1:0] peer, peer_q;
  logic known, known_q;
  ni_mailbox_t found, found_q;
  assign found.reserved = '0;
  logic [13:0] written, written_q, read, read_place_q;
  past_t past, past_q, past_next;
  ni_user_t user_q;
  logic [23:0] ahead_q;

  assign box = s_axis_tuser.dmadd[BoxBits-1:0];
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_peer (
    .clk_i, .dcid_i(s_axis_tuser.source_dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(peer), .known_o(known));
  // The kernel's writes come between messages, and before the next one: what was looked up is not changed before it is
  // decided on. And not while an answer is offered, which may depend on them.
  assign kernel = (open_i || clear_i) && state_q == Idle && !release_checked_q && !breaks && (!m_axis_tvalid || m_axis_tready);
  assign kernel_taken_o = kernel;
  ni_table #(.Entries(Mailboxes), .Width(56)) u_mailboxes (
    .clk_i, .rst_ni, .write_i((kernel && open_i) || clears), .write_at_i(clears ? clear_q[BoxBits-1:0] : open_at_i),
    .data_i(clears ? '0 : {open_value_i.open, open_value_i.pdid, open_value_i.log_entries, open_value_i.line}), .read_i(begins), .read_at_i(box),
    .data_o({found.open, found.pdid, found.log_entries, found.line}));
  ni_table #(.Entries(Mailboxes), .Width(14)) u_written (
    .clk_i, .rst_ni, .write_i((kernel && open_i) || stores), .write_at_i(stores ? box_q : open_at_i), .data_i(stores ? written_q + 1'b1 : '0),
    .read_i(begins), .read_at_i(box), .data_o(written));
  ni_table #(.Entries(Mailboxes), .Width(14), .Same(1'b1)) u_read (
    .clk_i, .rst_ni, .write_i((kernel && open_i) || release_fits), .write_at_i(kernel ? open_at_i : release_value_i.mailbox[BoxBits-1:0]),
    .data_i(kernel ? '0 : release_value_i.place[13:0]), .read_i(begins), .read_at_i(box), .data_o(read));
  ni_table #(.Entries(Peers), .Width($bits(past_t))) u_past (
    .clk_i, .rst_ni, .write_i((kernel && clear_i) || (decides && !drops) || clears),
    .write_at_i(clears ? clear_q[PeerBits-1:0] : decides ? peer_q : clear_at_i),
    .data_i(decides ? past_next : '0), .read_i(begins), .read_at_i(peer), .data_o(past));

  // A mailbox to which memory has refused a write is broken until it is opened again: its reader does not get past the
  // hole.
  logic [1:0] broken;  // that of the message, that of the answer
  logic [BoxBits-1:0] answer_box;
  (* ram_style = "distributed" *) logic broken_boxes[Mailboxes];
  assign broken = {broken_boxes[answer_box], broken_boxes[box_q]};
  always_ff @(posedge clk_i) begin
    if (clears) broken_boxes[clear_q[BoxBits-1:0]] <= 1'b0;
    else if (breaks || (kernel && open_i)) broken_boxes[breaks ? answer_box : open_at_i] <= breaks;
  end

  // A process moves the reader's place of a mailbox of its own domain.
  logic release_open;
  logic [9:0] release_domain;
  ni_table #(.Entries(Mailboxes), .Width(11)) u_release_mailboxes (
    .clk_i, .rst_ni, .write_i((kernel && open_i) || clears), .write_at_i(clears ? clear_q[BoxBits-1:0] : open_at_i),
    .data_i(clears ? '0 : {open_value_i.open, open_value_i.pdid}), .read_i(release_i), .read_at_i(release_value_i.mailbox[BoxBits-1:0]),
    .data_o({release_open, release_domain}));
  assign release_fits = release_checked_q && release_open && release_domain == release_pdid_i && 32'(release_value_i.mailbox) < Mailboxes;
  assign release_taken_o = release_checked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) release_checked_q <= 1'b0;
    else release_checked_q <= release_i && !release_checked_q;
  end

  // --- A message comes, beat by beat, while its past and its mailbox are looked up.
  localparam int unsigned WordDepth = 8;  // those of a message behind another one's: it is not begun before
  localparam int unsigned PendingDepth = 8;
  logic pending_space, jobs_space, amid_q, idle, beat, keeps, word_read, ended_q, too_long_q;
  logic [2:0] words_q;
  logic [6:0] length_q;
  logic [4:0] kept;
  logic [127:0] word;
  assign idle = state_q == Idle && pending_space && jobs_space && !clears && !open_i && !clear_i;
  assign begins = idle && s_axis_tvalid;
  assign s_axis_tready = amid_q || idle;
  assign beat = s_axis_tvalid && s_axis_tready;
  assign keeps = beat && s_axis_tkeep != '0 && (!amid_q || words_q != 3'd4);
  assign kept = ni_pkg::bytes_kept(s_axis_tkeep);
  exanet_fifo #(.Width(128), .Depth(WordDepth)) u_words (
    .clk_i, .rst_ni, .write_i(keeps), .data_i(s_axis_tdata), .read_i(word_read), .data_o(word));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      amid_q  <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      if (beat) amid_q <= !s_axis_tlast;
      ended_q <= beat ? s_axis_tlast : ended_q && !decides;
    end
  end
  always_ff @(posedge clk_i) begin
    if (beat) begin
      words_q    <= (amid_q ? words_q : '0) + 3'(keeps);
      length_q   <= (amid_q ? length_q : '0) + (keeps ? 7'(kept) : '0);
      too_long_q <= amid_q && (too_long_q || (words_q == 3'd4 && s_axis_tkeep != '0));
    end
    if (begins) {user_q, box_q, peer_q, known_q} <= {s_axis_tuser, box, peer, known};
    // How far behind the next number: its complement is how far before the last one.
    if (state_q == Look) ahead_q <= user_q.number - past.next;
    if (state_q == Look) {found_q, written_q, read_place_q, past_q} <= {found, written, read, past};
  end

  // --- The decision.
  logic [23:0] behind;
  logic later, seen, fresh, writes, box_full, box_known;
  logic [4:0] age;
  logic [13:0] entries, entry, held;
  outcome_e outcome, answer;
  assign behind = ~ahead_q;
  assign later = past_q.come == '0 || !ahead_q[23];
  assign age = behind[4:0];
  assign drops = !known_q || (!later && behind[22:5] != '0) || user_q.kind != PacketTypeMessage || too_long_q;
  assign seen = !later && past_q.come[age];
  assign fresh = !drops && !seen;
  assign entries = 14'd1 << found_q.log_entries;
  assign entry = written_q & (entries - 14'd1);
  assign box_known = 32'(user_q.dmadd[15:0]) < Mailboxes && user_q.dmadd[47:16] == '0;
  assign held = (written_q - read_place_q) & ({entries[12:0], 1'b0} - 14'd1);
  assign box_full = held >= entries;
  always_comb begin
    outcome = Stored;
    if (box_full) outcome = Full;
    if (found_q.pdid != user_q.pdid) outcome = Domain;
    if (!found_q.open || !box_known || found_q.log_entries > 4'd13) outcome = Closed;
  end
  // One whose mailbox is broken is NACKed as memory's error, whatever becomes of the mailbox until then.
  always_comb begin
    answer = outcome;
    if (seen && past_q.stored[age]) answer = Stored;
    else if (seen && outcome == Stored && !broken[0]) answer = Full;
  end
  assign decides = state_q == Decide && ended_q;
  assign writes = fresh && outcome == Stored && !broken[0];
  assign stores = decides && writes;
  always_comb begin
    past_next = past_q;
    if (later) begin
      past_next.next = user_q.number + 1'b1;
      past_next.come = ahead_q > 24'd31 ? '0 : past_q.come << ahead_q[4:0] << 1;
      past_next.stored = past_q.stored << ahead_q[4:0] << 1;
      past_next.come[0] = 1'b1;
      past_next.stored[0] = writes;
    end else begin
      past_next.come[age] = 1'b1;
      if (!past_q.come[age]) past_next.stored[age] = writes;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= Idle;
      stored_o   <= '0;
      refused_o  <= '0;
      repeated_o <= '0;
      dropped_o  <= '0;
    end else begin
      case (state_q)
        Idle: if (begins) state_q <= Look;
        Look: state_q <= Decide;
        default: if (decides) state_q <= Idle;
      endcase
      stored_o   <= stored_o + 32'(stores);
      refused_o  <= refused_o + 32'(decides && fresh && !stores);
      repeated_o <= repeated_o + 32'(decides && seen && !drops);
      dropped_o  <= dropped_o + 32'(decides && drops);
    end
  end

  // --- Entries on their way to memory, and words that go nowhere.
  typedef struct packed {
    logic writes;
    logic [2:0] words;
    logic [40:0] line;
    mailbox_entry_t info;
  } job_t;
  job_t job, job_next;
  logic job_valid, job_done, address_sent_q, info_sent_q, address_sent, info_sent;
  logic [1:0] jobs_q;
  logic [2:0] sent_q;
  always_comb begin
    job_next = '0;
    job_next.writes = writes;
    job_next.words = words_q;
    job_next.line = found_q.line | 41'(entry);
    job_next.info.phase = (written_q & entries) == '0;
    job_next.info.length = length_q;
    job_next.info.source_dcid = user_q.source_dcid;
    job_next.info.pdid = user_q.source_pdid;
    job_next.info.channel = user_q.channel;
    job_next.info.number = user_q.number;
  end
  assign jobs_space = !jobs_q[1];
  exanet_fifo #(.Width($bits(job_t)), .Depth(2)) u_jobs (
    .clk_i, .rst_ni, .write_i(decides), .data_i(job_next), .read_i(job_done), .valid_o(job_valid), .data_o(job));

  assign m_axi_awvalid = job_valid && job.writes && !address_sent_q;
  assign m_axi_awaddr = {job.line, 7'd112 - {job.words, 4'd0}};
  assign m_axi_awlen = 8'(job.words);
  assign m_axi_wvalid = job_valid && job.writes && !info_sent_q;
  assign m_axi_wlast = sent_q == job.words;
  assign m_axi_wdata = m_axi_wlast ? job.info : word;
  assign word_read = job_valid && sent_q != job.words && (!job.writes || m_axi_wready);
  assign address_sent = address_sent_q || (m_axi_awvalid && m_axi_awready);
  assign info_sent = info_sent_q || (m_axi_wvalid && m_axi_wready && m_axi_wlast);
  assign job_done = job_valid && (job.writes ? address_sent && info_sent : sent_q == job.words);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      jobs_q         <= '0;
      sent_q         <= '0;
      address_sent_q <= 1'b0;
      info_sent_q    <= 1'b0;
    end else begin
      jobs_q         <= jobs_q + 2'(decides) - 2'(job_done);
      sent_q         <= job_done ? '0 : sent_q + 3'(word_read);
      address_sent_q <= address_sent && !job_done;
      info_sent_q    <= info_sent && !job_done;
    end
  end

  // --- Answers, in the order of the messages; one that was stored waits for the memory's.
  typedef struct packed {
    outcome_e outcome;
    logic waits;  // for memory
    logic broken;  // was its mailbox
    logic [BoxBits-1:0] box;
    logic [21:0] dcid;
    logic [9:0] pdid;
    logic [9:0] channel;
    logic [23:0] number;
  } pending_t;
  pending_t pending;
  logic [3:0] pending_q, before_q;  // of these, decided on before the kernel's last change
  logic pending_valid, pends, answered, memory_q, failed_q, noted_q, memory_failed;
  assign pending_space = !pending_q[3];
  assign pends = decides && !drops;
  exanet_fifo #(.Width($bits(pending_t)), .Depth(PendingDepth)) u_pending (
    .clk_i, .rst_ni, .write_i(pends),
    .data_i({answer, writes, broken[0], box_q, user_q.source_dcid, user_q.source_pdid, user_q.channel, user_q.number}),
    .read_i(answered), .valid_o(pending_valid), .data_o(pending));
  assign at_rest_o = before_q == '0;
  assign m_axi_bready = !memory_q;
  assign m_axis_tvalid = pending_valid && (!pending.waits || memory_q);
  assign answered = m_axis_tvalid && m_axis_tready;
  assign answer_box = pending.box;
  assign breaks = pending_valid && pending.waits && memory_q && failed_q && !noted_q;
  assign memory_failed = pending.outcome == Stored && ((pending.waits && failed_q) || pending.broken || broken[1]);
  always_comb begin
    m_axis_tuser = '0;
    m_axis_tuser.dcid = pending.dcid;
    m_axis_tuser.pdid = pending.pdid;
    m_axis_tuser.source_dcid = config_i.dcid;
    m_axis_tuser.kind = pending.outcome == Stored && !memory_failed ? PacketTypeMessageAck : PacketTypeMessageNack;
    m_axis_tuser.high_priority = 1'b1;
    m_axis_tuser.number = pending.number;
    m_axis_tuser.channel = pending.channel;
    case (pending.outcome)
      Full: m_axis_tuser.reason = NackReasonFull;
      Closed: m_axis_tuser.reason = NackReasonClosed;
      Domain: m_axis_tuser.reason = NackReasonDomain;
      default: m_axis_tuser.reason = memory_failed ? NackReasonMemory : NackReasonNone;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= '0;
      before_q  <= '0;
      memory_q  <= 1'b0;
      failed_q  <= 1'b0;
      noted_q   <= 1'b0;
    end else begin
      noted_q   <= (noted_q || breaks) && !answered;
      pending_q <= pending_q + 4'(pends) - 4'(answered);
      before_q  <= kernel ? pending_q - 4'(answered) : before_q - 4'(answered && before_q != '0);
      if (m_axi_bvalid && m_axi_bready) begin
        memory_q <= 1'b1;
        failed_q <= m_axi_bresp[1];
      end else if (answered && pending.waits) begin
        memory_q <= 1'b0;
      end
    end
  end

  exanet_stream_check #(.Width($bits(ni_user_t))) u_check_answers (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i(m_axis_tuser), .ready_i(m_axis_tready));
  exanet_stream_check #(.Width(48 + 8)) u_check_addresses (
    .clk_i, .rst_ni, .valid_i(m_axi_awvalid), .data_i({m_axi_awaddr, m_axi_awlen}), .ready_i(m_axi_awready));
  exanet_stream_check #(.Width(128 + 1)) u_check_words (
    .clk_i, .rst_ni, .valid_i(m_axi_wvalid), .data_i({m_axi_wdata, m_axi_wlast}), .ready_i(m_axi_wready));
endmodule
