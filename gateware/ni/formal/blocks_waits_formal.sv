// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_blocks takes packets of transfers, which are bulk, as soon as memory and the port of answers,
// which are priority, let it. Under any frames of an ni_port, any kernel, ends, and sender, a memory that takes and
// answers what it is asked within Memory cycles, pages that are found within Pages cycles, which are reads of memory,
// and a port that takes an answer within Priority cycles. Proved: in each cycle that a packet waits what is left to be
// done before it gets less, so it waits for as many cycles at most as there can be, besides those in which nothing but
// the kernel goes first; each word that reports a transfer's end and is written meanwhile adds its own time. Whether
// the sender has space for a read (serves_i) and when it takes the end of one makes no difference: they are any. What
// is where in the unit is proved first, and the sum with it (Sum): a solver comes to an end sooner so.
//
// Taken for granted: a packet that is not answered is on its way to memory or among the answers; this, and that ends of
// reads come six cycles apart at least, on which transfers_waits_formal counts, is looked at by itself (Counts), for so
// many cycles from the reset.
module blocks_waits_formal #(
  parameter int unsigned Peers = 4096,
  parameter int unsigned Window = 32,
  parameter bit Counts = 1'b0,
  parameter bit Sum = 1'b0,
  parameter int unsigned Memory = 1,    // cycles that an address, a word or an answer of memory is waited for at most
  parameter int unsigned Pages = 3,     // that a page is waited for
  parameter int unsigned Priority = 1,  // and that an answer waits for its port
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input logic                     clk_i,
  input exanet_pkg::ni_config_t   config_i,
  input logic                     clear_i,
  input logic [PeerBits-1:0]      clear_at_i,
  input logic                     valid_i,
  input logic [127:0]             data_i,
  input logic [15:0]              keep_i,
  input logic                     last_i,
  input exanet_pkg::ni_user_t     user_i,
  input logic                     ready_i,
  input logic                     serves_i,
  input logic                     end_message_i,
  input logic                     read_end_taken_i,
  input logic                     invalidates_i,
  input logic                     known_i,
  input logic [35:0]              page_frame_i,
  input exanet_pkg::nack_reason_e fault_i,
  input logic                     end_valid_i,
  input logic [44:0]              end_word_i,
  input logic [63:0]              end_value_i,
  input logic                     awready_i,
  input logic                     wready_i,
  input logic                     bvalid_i,
  input logic [1:0]               bresp_i
);
  import exanet_pkg::*;
  typedef logic [11:0] time_t;
  localparam time_t ByMemory = time_t'(Memory + 1), ByPage = time_t'(Pages + 1), ByPriority = time_t'(Priority + 1);
  // An entry of answers: memory's, a look at the table in three cycles, its port, and the packet being decided on again
  // behind it.
  localparam time_t Entry = ByMemory + ByPriority + ByPage + 12'd8;
  localparam time_t Burst = 12'd34 * ByMemory + 12'd1 + Entry;  // an address and 33 words at most
  localparam time_t End = 12'd2 * ByMemory + Entry;
  localparam time_t Most = 12'd3 * Burst + 12'd33 * Entry + 12'd2 * ByMemory + ByPage + ByPriority + 12'd5;
  localparam logic [1:0] Idle = 2'd0, Look = 2'd1, Weigh = 2'd2, Decide = 2'd3;  // as ni_blocks, packets and answers
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = config_i;
    ni_config.translate = 1'b1;
  end
  logic up, cleared, tready, answers, serves, read_ends, drained, ends_written, look, want, end_taken, end_answered;
  logic awvalid, wvalid, wlast, bready, offered;
  logic [9:0] domain;
  logic [35:0] page;
  logic [47:0] awaddr;
  logic [7:0] awlen;
  logic [127:0] wdata;
  logic [15:0] wstrb;
  ni_user_t answer;
  ni_pkg::serve_t serve;
  ni_pkg::read_end_t read_end;
  logic [31:0] written, repeated, dropped, answered;
  assign offered = rst_n && valid_i;
  ni_blocks #(.Peers(Peers), .Window(Window)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .clear_i(rst_n && clear_i), .clear_at_i, .clear_taken_o(cleared),
    .s_axis_tvalid(offered), .s_axis_tready(tready), .s_axis_tdata(data_i), .s_axis_tkeep(keep_i), .s_axis_tlast(last_i),
    .s_axis_tuser(user_i), .m_axis_tvalid(answers), .m_axis_tready(ready_i), .m_axis_tuser(answer), .serves_i, .serve_valid_o(serves),
    .serve_o(serve), .read_end_valid_o(read_ends), .read_end_taken_i, .read_end_o(read_end), .invalidates_i(rst_n && invalidates_i),
    .drained_o(drained), .ends_written_o(ends_written), .look_o(look), .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i,
    .fault_i, .end_valid_i(rst_n && end_valid_i), .end_taken_o(end_taken), .end_message_i, .end_answered_o(end_answered),
    .end_word_i, .end_value_i, .m_axi_awaddr(awaddr),
    .m_axi_awlen(awlen), .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
    .m_axi_wvalid(wvalid), .m_axi_wready(wready_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(rst_n && bvalid_i), .m_axi_bready(bready),
    .written_o(written), .repeated_o(repeated), .dropped_o(dropped), .answered_o(answered));

  // How long memory, pages and the port of answers have let the unit wait. The burst of an answer that waits for
  // memory's has gone there.
  logic asks_memory, asks_page, stays = 1'b0, end_stays = 1'b0, found_q = 1'b0;
  logic [3:0] address_waited = '0, word_waited = '0, memory_waited = '0, page_waited = '0, answer_waited = '0;
  assign asks_memory = dut.pending_valid && dut.waits && !dut.memory_q;
  assign asks_page = want && !known_i;
  always_ff @(posedge clk_i) begin
    address_waited <= rst_n && awvalid && !awready_i ? address_waited + 4'd1 : '0;
    word_waited    <= rst_n && wvalid && !wready_i ? word_waited + 4'd1 : '0;
    memory_waited  <= rst_n && asks_memory && !bvalid_i ? memory_waited + 4'd1 : '0;
    page_waited    <= rst_n && asks_page ? page_waited + 4'd1 : '0;
    answer_waited  <= rst_n && answers && !ready_i ? answer_waited + 4'd1 : '0;
    stays          <= offered && !tready;
    end_stays      <= rst_n && end_valid_i && !end_taken;
    found_q        <= want && known_i && !look;
  end
  always_comb begin
    if (stays) assume (valid_i);
    if (end_stays) assume (end_valid_i);
    if (found_q) assume (known_i);
    assume (!awvalid || awready_i || 32'(address_waited) < Memory);
    assume (!wvalid || wready_i || 32'(word_waited) < Memory);
    assume (!asks_memory || bvalid_i || 32'(memory_waited) < Memory);
    assume (!asks_page || 32'(page_waited) < Pages);
    assume (!answers || ready_i || 32'(answer_waited) < Priority);
  end

  // Frames as ni_eject hands them out: up to 512 bytes, whole words but the last one.
  logic [5:0] words = '0;  // of the frame so far
  logic amid;
  assign amid = dut.amid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) words <= '0;
    else if (offered && tready) words <= (amid ? words : '0) + 6'(keep_i != '0);
  end
  always_comb begin
    if (!last_i) assume (keep_i == '1);
    assume ((keep_i & (keep_i + 16'd1)) == '0);
    if (amid) assume (keep_i != '0);
    if (amid && words == 6'd31) assume (last_i);
  end

  // What is left to be done, in cycles: of two bursts on their way to memory, an end, the packet that is being decided
  // on, and answers.
  typedef struct packed {
    logic writes;
    logic [47:0] address;
    logic [3:0] last_byte;
    logic empty;
    logic spills;
    logic [5:0] final_beat;
    logic acks;
    logic [55+PeerBits+11:0] answer;
  } job_t;
  job_t first, second;
  logic [1:0] state, answering, jobs;
  logic [5:0] pending;
  time_t first_left, second_left, end_left, decision_left, answers_left, left, left_q = '0;
  assign state = 2'(dut.state_q);
  assign answering = 2'(dut.answer_q);
  assign jobs = dut.u_write.u_jobs.write_q - dut.u_write.u_jobs.read_q;
  assign pending = dut.u_pending.write_q - dut.u_pending.read_q;
  assign first = dut.u_write.u_jobs.memory[dut.u_write.u_jobs.read_q[0]];
  assign second = dut.u_write.u_jobs.memory[!dut.u_write.u_jobs.read_q[0]];
  function automatic logic [5:0] words_of(job_t job);
    return job.empty ? '0 : job.final_beat + 6'(!job.spills);
  endfunction
  logic [5:0] first_words, first_beats, sent;  // that are left
  assign sent = dut.u_write.ends_q ? '0 : dut.u_write.beat_q;
  assign first_beats = first.empty ? 6'd1 : 6'(first.final_beat + 6'd1 - sent);
  assign first_words = jobs == '0 || words_of(first) <= sent ? '0 : words_of(first) - sent;
  always_comb begin
    first_left = '0;
    second_left = '0;
    end_left = '0;
    decision_left = '0;
    if (jobs != '0) begin
      first_left = Entry + time_t'(first_words != '0 && !dut.word_valid);
      if (!first.writes) first_left = first_left + time_t'(first_beats);
      else if (dut.u_write.ends_q) first_left = first_left + (time_t'(first_beats) + 12'd1) * ByMemory;
      else begin
        if (!dut.u_write.address_sent_q) first_left = first_left + ByMemory - time_t'(address_waited);
        if (!dut.u_write.data_sent_q) first_left = first_left + time_t'(first_beats) * ByMemory - time_t'(word_waited);
      end
    end
    if (jobs == 2'd2) second_left = Entry + (second.empty ? 12'd1 : time_t'(second.final_beat) + 12'd2) * (second.writes ? ByMemory : 12'd1);
    if (dut.u_write.ends_q) begin
      end_left = Entry;
      if (!dut.u_write.address_sent_q) end_left = end_left + ByMemory - time_t'(address_waited);
      if (!dut.u_write.data_sent_q) end_left = end_left + ByMemory - time_t'(word_waited);
    end
    if (state != Idle) decision_left = Burst + (state == Look ? ByPage + 12'd4 : state == Weigh ? ByPage + 12'd3
        : 12'd1 + (asks_page ? ByPage - time_t'(page_waited) : 12'd0) + time_t'(answering == Idle && !dut.waits_q));
    answers_left = time_t'(pending) * Entry - (pending == '0 ? 12'd0 : asks_memory ? time_t'(memory_waited) : ByMemory) -
        (answering == Look ? 12'd1 : answering == Decide ? 12'd2 : 12'd0) + (answers ? ByPriority - time_t'(answer_waited) : 12'd0);
  end
  assign left = first_left + second_left + end_left + decision_left + answers_left;

  // A cycle counts unless nothing holds the packet up but the kernel.
  logic counts, counts_q = 1'b0, begins_end, kernel;
  assign kernel = cleared || (invalidates_i && drained && !clear_i);
  assign counts = offered && !tready && up && !kernel;
  assign begins_end = !dut.u_write.ends_q && end_valid_i && (dut.job_done || !dut.u_write.job_valid);
  logic begins_end_q = 1'b0;
  always_ff @(posedge clk_i) begin
    counts_q     <= counts;
    left_q       <= left;
    begins_end_q <= rst_n && begins_end;
  end

  logic [7:0] in_fifo, words_here;
  logic [5:0] frame_words;
  logic in_frame;
  assign in_frame = state != Idle;
  assign in_fifo = 8'(dut.u_words.write_q - dut.u_words.read_q);
  assign frame_words = in_frame ? 6'((dut.bytes_q + 10'd15) >> 4) : '0;
  assign words_here = 8'(first_words) + 8'(jobs == 2'd2 ? words_of(second) : 6'd0) + 8'(frame_words);
  function automatic logic fits(job_t job);
    return job.empty ? !job.writes : job.final_beat <= (job.writes ? 6'd32 : 6'd31) && (!job.spills || (job.writes && job.final_beat != '0));
  endfunction
  // What the proof takes for granted of packets without an answer, and ni-transfers-waits of ends of reads, is looked
  // at by itself.
  logic some, reports, sound;
  logic [3:0] since = 4'd6;  // cycles since the last end of a read
  assign some = dut.unanswered_q == '0 || jobs != '0 || pending != '0;
  assign reports = dut.decides && dut.reports_end;
  always_ff @(posedge clk_i) since <= reports ? 4'd1 : since + 4'(since != 4'd6);
  if (Counts) begin : gen_counts
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Some: assert (some);
        Apart: assert (!reports || since == 4'd6);
      end
    end
  end else begin : gen_proof
    always_comb if (rst_n) assume (some);
    // What is where in the unit.
    always_comb begin
      sound = 1'b1;
      sound &= 32'(address_waited) <= Memory && 32'(word_waited) <= Memory && 32'(memory_waited) <= Memory && 32'(answer_waited) <= Priority
          && 32'(page_waited) <= Pages;
      sound &= (address_waited == '0 || awvalid) && (word_waited == '0 || wvalid) && (memory_waited == '0 || asks_memory) && (answer_waited
          == '0 || answers) && (page_waited == '0 || state == Decide);
      sound &= stays || !counts_q;
      sound &= up || (!in_frame && jobs == '0);
      sound &= answering != Weigh;
      sound &= dut.u_write.jobs_q == jobs && jobs <= 2'd2 && dut.u_write.job_valid == (jobs != '0);
      sound &= jobs == '0 || fits(first);
      sound &= jobs < 2'd2 || fits(second);
      sound &= dut.u_write.ends_q ? dut.u_write.beat_q == 6'(dut.u_write.data_sent_q)
          : jobs == '0 || first.empty ? dut.u_write.beat_q == '0 : dut.u_write.beat_q <= first.final_beat + 6'(dut.u_write.data_sent_q);
      sound &= !dut.u_write.data_sent_q || dut.u_write.ends_q || dut.u_write.beat_q == first.final_beat + 6'd1;
      sound &= !(dut.u_write.address_sent_q && dut.u_write.data_sent_q);
      sound &= jobs != '0 || dut.u_write.ends_q || (!dut.u_write.address_sent_q && !dut.u_write.data_sent_q);
      sound &= dut.u_write.ends_q || jobs == '0 || first.writes || (!dut.u_write.address_sent_q && !dut.u_write.data_sent_q);
      sound &= dut.pending_space || (!dut.u_write.address_sent_q && !dut.u_write.data_sent_q && dut.u_write.beat_q == '0);
      sound &= !dut.u_write.ends_q || end_stays;
      sound &= dut.words_held_q == words_here && dut.words_held_q == in_fifo + 8'(dut.word_valid) && in_fifo <= 8'd128;
      sound &= dut.words_held_q <= 8'd96 + 8'(frame_words) && frame_words <= 6'd32;
      sound &= !amid || dut.bytes_q == {words, 4'd0};
      sound &= !in_frame || (dut.bytes_q <= 10'd512 && (!amid || (words != '0 && words <= 6'd31)));
      sound &= amid == (in_frame && !dut.ended_q);
      sound &= dut.pending_q == pending && pending <= 6'd32 && dut.pending_valid == (pending != '0);
      sound &= answering == Idle || (!answers && dut.asks && (dut.pending.acks || dut.refused) && (dut.refusal_q == dut.refused));
      sound &= answering == Idle || !dut.refused || state == Idle || (state == Decide && !amid && (!want || found_q));
      sound &= state != Decide || dut.most_q < dut.least_q || dut.asks_read || dut.ends_read || (
          dut.user_q.kind == PacketTypeWrite && dut.least_q == 10'd1 && dut.most_q == 10'd512 - {1'b0, dut.user_q.dmadd[8:0]});
      sound &= state != Decide || dut.repeated_q == dut.here_q.come[dut.index];
      sound &= !dut.waits_q || (state == Decide ? !amid && (!want || found_q) : state == Look && !dut.memory_q);
    end
    if (Sum) begin : gen_sum
      always_comb if (rst_n) assume (sound);
    end
    always_ff @(posedge clk_i) begin
      Begin: assert (rst_n || {stays, counts_q, end_stays, begins_end_q, address_waited, word_waited, memory_waited, page_waited,
                        answer_waited} == '0);
      if (rst_n) begin
        if (Sum) Less: assert (!counts_q || left < left_q + (begins_end_q ? End + 12'd1 : 12'd0));
        if (Sum) Bound: assert (left <= Most);
        if (!Sum) Sound: assert (sound);
        ForMemory: cover (offered && tready && counts_q && written == 32'd2);
        ForPriority: cover (offered && tready && counts_q && answered == 32'd1 && $past(answers));
      end
    end
  end
endmodule
