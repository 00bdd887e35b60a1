// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_mailbox takes messages, which are bulk, as soon as memory and the port of answers, which are
// priority, let it. Under any frames and any kernel, a memory that takes and answers what it is asked within Memory
// cycles, and a port that takes an answer within Priority cycles. Proved: in each cycle that a message waits what is on
// its way to memory and to the port of answers gets less, so it waits for 21 (Memory + 1) + 8 (Priority + 1) + 2 cycles
// at most, besides those in which nothing but a change of the kernel's goes first. There is no other port that it could
// wait for. And a change of the kernel's waits for 2 (Priority + 1) + 2 cycles at most, besides those that the beats of
// a message take that has begun: never for memory.
module mailbox_waits_formal #(
  parameter int unsigned Mailboxes = 1024,
  parameter int unsigned Peers = 4096,
  parameter int unsigned Memory = 3,    // cycles that an address, a word or an answer of memory is waited for at most
  parameter int unsigned Priority = 3,  // and that an answer waits for its port
  localparam int unsigned BoxBits = $clog2(Mailboxes),
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input logic                         clk_i,
  input exanet_pkg::ni_config_t       config_i,
  input logic                         valid_i,
  input logic [127:0]                 data_i,
  input logic [15:0]                  keep_i,
  input logic                         last_i,
  input exanet_pkg::ni_user_t         user_i,
  input logic                         open_i,
  input logic [BoxBits-1:0]           open_at_i,
  input exanet_pkg::ni_mailbox_t      open_value_i,
  input logic                         clear_i,
  input logic [PeerBits-1:0]          clear_at_i,
  input logic                         release_i,
  input exanet_pkg::mailbox_release_t release_value_i,
  input logic [9:0]                   release_pdid_i,
  input logic                         ready_i,
  input logic                         awready_i,
  input logic                         wready_i,
  input logic                         bvalid_i,
  input logic [1:0]                   bresp_i
);
  import exanet_pkg::*;
  localparam logic [8:0] ByMemory = 9'(Memory + 1), ByPriority = 9'(Priority + 1);
  localparam logic [8:0] Most = 9'd21 * ByMemory + 9'd8 * ByPriority + 9'd2;
  localparam logic [1:0] Idle = 2'd0, Look = 2'd1, Decide = 2'd2;  // as ni_mailbox
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, tready, kernel_taken, at_rest, release_taken, answers, awvalid, wvalid, wlast, bready, bvalid, offered, changes;
  logic [47:0] awaddr;
  logic [7:0] awlen;
  logic [127:0] wdata;
  ni_user_t answer;
  logic [31:0] stored, refused, repeated, dropped;
  assign offered = rst_n && valid_i;
  assign bvalid = rst_n && bvalid_i;
  assign changes = rst_n && (open_i || clear_i);
  ni_mailbox #(.Mailboxes(Mailboxes), .Peers(Peers)) dut (
    .clk_i, .rst_ni(rst_n), .config_i, .ready_o(up), .open_i(rst_n && open_i), .open_at_i, .open_value_i, .clear_i(rst_n && clear_i),
    .clear_at_i, .kernel_taken_o(kernel_taken), .at_rest_o(at_rest), .release_i(rst_n && release_i), .release_value_i, .release_pdid_i,
    .release_taken_o(release_taken), .s_axis_tvalid(offered), .s_axis_tready(tready), .s_axis_tdata(data_i), .s_axis_tkeep(keep_i),
    .s_axis_tlast(last_i), .s_axis_tuser(user_i), .m_axis_tvalid(answers), .m_axis_tready(ready_i), .m_axis_tuser(answer),
    .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wlast(wlast),
    .m_axi_wvalid(wvalid), .m_axi_wready(wready_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(bvalid), .m_axi_bready(bready),
    .stored_o(stored), .refused_o(refused), .repeated_o(repeated), .dropped_o(dropped));

  // Memory and the port of answers: how long each has let the unit wait. The burst of
  // an answer that waits for memory's has gone there once none is on its way any more.
  logic [3:0] address_waited = '0, word_waited = '0, memory_waited = '0, answer_waited = '0;
  logic asks_memory, stays = 1'b0;
  assign asks_memory = dut.pending_valid && dut.pending.waits && !dut.memory_q && dut.jobs_q == '0;
  always_ff @(posedge clk_i) begin
    address_waited <= rst_n && awvalid && !awready_i ? address_waited + 4'd1 : '0;
    word_waited    <= rst_n && wvalid && !wready_i ? word_waited + 4'd1 : '0;
    memory_waited  <= rst_n && asks_memory && !bvalid ? memory_waited + 4'd1 : '0;
    answer_waited  <= rst_n && answers && !ready_i ? answer_waited + 4'd1 : '0;
    stays          <= offered && !tready;
  end
  always_comb begin
    if (stays) assume (valid_i);
    assume (!(release_i && (open_i || clear_i)) && !(open_i && clear_i));
    assume (!awvalid || awready_i || 32'(address_waited) < Memory);
    assume (!wvalid || wready_i || 32'(word_waited) < Memory);
    assume (!asks_memory || bvalid || 32'(memory_waited) < Memory);
    assume (!answers || ready_i || 32'(answer_waited) < Priority);
  end

  // What is left to be done, in cycles: of the message that is being decided on, of bursts on their way to memory, and
  // of answers.
  typedef struct packed {
    logic writes;
    logic [2:0] words;
    logic [40:0] line;
    mailbox_entry_t info;
  } job_t;
  job_t first, second;
  logic [1:0] state, jobs;
  logic [3:0] pending;
  logic [8:0] left, first_left, second_left, decision_left, left_q = '0;
  assign state = 2'(dut.state_q);
  assign jobs = dut.u_jobs.write_q - dut.u_jobs.read_q;
  assign pending = dut.u_pending.write_q - dut.u_pending.read_q;
  assign first = dut.u_jobs.memory[dut.u_jobs.read_q[0]];
  assign second = dut.u_jobs.memory[!dut.u_jobs.read_q[0]];
  function automatic logic [8:0] beats(logic [2:0] words);
    return 9'(words) + 9'd1;
  endfunction
  always_comb begin
    first_left = '0;
    if (jobs != '0) begin
      if (!first.writes) first_left = beats(first.words - dut.sent_q);
      else begin
        if (!dut.address_sent_q) first_left = first_left + ByMemory - 9'(address_waited);
        if (!dut.info_sent_q) first_left = first_left + beats(first.words - dut.sent_q) * ByMemory - 9'(word_waited);
      end
    end
    second_left = jobs != 2'd2 ? '0 : second.writes ? (beats(second.words) + 9'd1) * ByMemory : beats(second.words);
    decision_left = state == Idle ? '0 : 9'd8 * ByMemory + ByPriority + (state == Look ? 9'd2 : 9'd1);
  end
  assign left = first_left + second_left + decision_left + 9'(pending) * (ByMemory + ByPriority) -
      (asks_memory ? 9'(memory_waited) : pending == '0 || (dut.pending.waits && !dut.memory_q) ? 9'd0 : ByMemory) - 9'(answer_waited);

  // A cycle counts unless nothing holds the message up but a change of the kernel's.
  logic counts, counts_q = 1'b0;
  logic [8:0] waited = '0;
  assign counts = offered && !tready && up && !(changes && state == Idle && dut.pending_space && dut.jobs_space && !(answers && !ready_i));
  always_ff @(posedge clk_i) begin
    counts_q <= counts;
    left_q   <= left;
    waited   <= offered && !tready ? waited + 9'(counts && waited != '1) : '0;
  end

  // What a change of the kernel's waits for: a message that has begun, an answer that is offered, and one behind it if
  // memory has refused something.
  localparam logic [8:0] ChangeMost = 9'd2 * ByPriority + 9'd2;
  logic change_counts, change_counts_q = 1'b0;
  logic [8:0] change_left, change_left_q = '0, change_waited = '0;
  assign change_counts = changes && !kernel_taken && up && !dut.amid_q;
  always_comb begin
    change_left = (dut.breaks ? ByPriority : 9'd0) + (answers ? ByPriority - 9'(answer_waited) : 9'd0);
    if (state != Idle || dut.release_checked_q) change_left = ChangeMost - (state == Look ? 9'd0 : 9'd1);
  end
  always_ff @(posedge clk_i) begin
    change_counts_q <= change_counts;
    change_left_q   <= change_left;
    change_waited   <= changes && !kernel_taken ? change_waited + 9'(change_counts && change_waited != '1) : '0;
  end

  logic in_frame;
  assign in_frame = state != Idle;
  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {stays, counts_q, waited, address_waited, word_waited, memory_waited, answer_waited} == '0);
    BeginChange: assert (rst_n || {change_counts_q, change_waited} == '0);
    if (rst_n) begin
      Taken: assert (waited <= Most);
      Less: assert (!counts_q || left < left_q);
      Left: assert (waited + left <= Most);
      Changed: assert (change_waited <= ChangeMost);
      ChangeLess: assert (!change_counts_q || !changes || change_left < change_left_q);
      ChangeLeft: assert (!changes || change_waited + change_left <= ChangeMost);
      // Helps the proof.
      Intervals: assert (32'(address_waited) <= Memory && 32'(word_waited) <= Memory && 32'(memory_waited) <= Memory &&
                         32'(answer_waited) <= Priority);
      Waits: assert ((address_waited == '0 || awvalid) && (word_waited == '0 || wvalid) &&
                     (answer_waited == '0 || answers));
      Counts: assert (stays || (waited == '0 && !counts_q));
      Clear: assert (up || (!in_frame && jobs == '0 && pending == '0 && waited == '0));
      States: assert (state <= Decide);
      Jobs: assert (dut.jobs_q == jobs && jobs <= 2'd2 && dut.u_jobs.valid_o == (jobs != '0));
      JobWords: assert ((jobs == '0 || (first.words <= 3'd4 && dut.sent_q <= first.words)) && (jobs < 2'd2 || second.words <= 3'd4));
      NoJob: assert (jobs != '0 || (dut.sent_q == '0 && !dut.address_sent_q && !dut.info_sent_q));
      InfoSent: assert (!dut.info_sent_q || dut.sent_q == first.words);
      Skipped: assert (jobs == '0 || first.writes || (!dut.info_sent_q && !dut.address_sent_q));
      NotDone: assert (!(dut.info_sent_q && dut.address_sent_q));
      HasSpace: assert (!in_frame || (dut.pending_space && dut.jobs_space && dut.words_q <= 3'd4));
      Frame: assert (dut.amid_q == (in_frame && !dut.ended_q));
      Pending: assert (dut.pending_q == pending && pending <= 4'd8 && dut.u_pending.valid_o == (pending != '0));
      ForMemory: cover (offered && tready && waited >= 9'd3 && stored == 32'd3);
      ForPriority: cover (offered && tready && waited >= 9'd4 && stored == '0);
    end
  end
endmodule
