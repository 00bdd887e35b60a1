// SPDX-License-Identifier: Apache-2.0
// ni_mailbox between a port that hands out any frames, a memory and a sink of answers at any pace, and a kernel that
// opens mailboxes at any time. Proved, for a domain and a mailbox that is never opened to it: no burst into that
// mailbox's ring carries a message of the domain. And, for a node and one of its numbers, of which others are less than
// a quarter of all numbers away: a message of that number is stored once at most, until the kernel clears the node's
// past. A process moves the reader's place of mailboxes of its own domain alone. A message whose address is beyond the
// mailboxes is not stored, and one that memory has answered with an error, whichever, is not acknowledged. The stream
// of answers and the write channels keep the rules of AXI (the module's own assertions), and no FIFO overflows.
//
// Rings are apart by the highest bit of their address. The domain and the number are any: nothing but comparisons knows
// them.
module mailbox_formal #(
  parameter int unsigned Domain = 5,
  parameter int unsigned Number = 16777214  // wraps soon
) (
  input logic                         clk_i,
  input logic                         valid_i,
  input logic [127:0]                 data_i,
  input logic [15:0]                  keep_i,
  input logic                         last_i,
  input exanet_pkg::ni_user_t         user_i,
  input logic                         open_i,
  input logic                         open_at_i,
  input exanet_pkg::ni_mailbox_t      open_value_i,
  input logic                         clear_i,
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
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = '0;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
  end

  logic up, tready, kernel_taken, at_rest, release_taken, answers, awvalid, wvalid, wlast, bready;
  logic [47:0] awaddr;
  logic [7:0] awlen;
  logic [127:0] wdata;
  ni_user_t answer;
  mailbox_entry_t entry;
  logic [31:0] stored, refused, repeated, dropped;
  assign entry = wdata;
  ni_mailbox #(.Mailboxes(2), .Peers(2)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .open_i(rst_n && open_i), .open_at_i, .open_value_i, .clear_i(rst_n && clear_i),
    .clear_at_i(1'b1), .kernel_taken_o(kernel_taken), .at_rest_o(at_rest), .release_i(rst_n && release_i && up), .release_value_i, .release_pdid_i,
    .release_taken_o(release_taken), .s_axis_tvalid(rst_n && valid_i), .s_axis_tready(tready), .s_axis_tdata(data_i), .s_axis_tkeep(keep_i),
    .s_axis_tlast(last_i), .s_axis_tuser(user_i), .m_axis_tvalid(answers), .m_axis_tready(ready_i), .m_axis_tuser(answer),
    .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wlast(wlast),
    .m_axi_wvalid(wvalid), .m_axi_wready(wready_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(rst_n && bvalid_i), .m_axi_bready(bready),
    .stored_o(stored), .refused_o(refused), .repeated_o(repeated), .dropped_o(dropped));

  // The packetizer sends a message from the domain that it goes to, and numbers near the one that is looked at. One
  // change comes at a time.
  logic [23:0] away;
  assign away = user_i.number - 24'(Number);
  always_comb begin
    assume (user_i.source_pdid == user_i.pdid);
    assume (away[23:22] == 2'b00 || away[23:22] == 2'b11);
    assume (!(release_i && (open_i || clear_i)) && !(open_i && clear_i));
    assume (open_value_i.line[40] == open_at_i);
    assume (!open_at_i || open_value_i.pdid != 10'(Domain));
  end

  // A release stays until it is taken. Mailboxes as the kernel has opened them, and the last of memory's answers.
  logic releases = 1'b0, refused_last = 1'b0;
  mailbox_release_t release_value = '0;
  logic [9:0] release_pdid = '0;
  logic [1:0] opened = '0;
  logic [1:0][9:0] owner = '0;
  always_ff @(posedge clk_i) begin
    releases <= rst_n && release_i && up && !release_taken;
    {release_value, release_pdid} <= {release_value_i, release_pdid_i};
    if (kernel_taken && open_i && up) {opened[open_at_i], owner[open_at_i]} <= {open_value_i.open, open_value_i.pdid};
    if (rst_n && bvalid_i && bready) refused_last <= bresp_i[1];
  end
  always_comb if (releases) assume (release_i && release_value_i == release_value && release_pdid_i == release_pdid);

  logic done = 1'b0;
  logic taken;
  assign taken = dut.stores && dut.peer_q == 1'b0 && dut.user_q.number == 24'(Number);
  always_ff @(posedge clk_i) begin
    done <= done || taken;
    Begin: assert (rst_n || (!done && opened == '0 && !releases));
    if (rst_n) begin
      Once: assert (!(done && taken));
      if (dut.u_read.write_i && !(kernel_taken && open_i))
        ReleasesOwn: assert (release_value_i.mailbox[15:1] == '0 && opened[release_value_i.mailbox[0]] &&
                             owner[release_value_i.mailbox[0]] == release_pdid_i);
      Addressed: assert (!dut.stores || dut.user_q.dmadd[47:1] == '0);
      if (answers && dut.pending.waits && refused_last) Refuses: assert (answer.kind == PacketTypeMessageNack);
      NotTheDomains: assert (!(wvalid && wlast && awaddr[47] && entry.pdid == 10'(Domain)));
      Stores: cover (wvalid && wlast && awaddr[47]);
      Twice: cover (done && dut.decides && dut.seen && dut.user_q.number == 24'(Number));
      Fills: cover (answers && answer.reason == NackReasonFull);
      Breaks: cover (answers && answer.reason == NackReasonMemory);
      Wraps: cover (done && stored == 32'd2 && dut.past_q.next == 24'd0);
    end
  end

  // Helps the proof: what was looked up stays as it is in the tables; what waits for memory; the past of the node.
  logic [23:0] since;
  typedef struct packed {
    logic [23:0] next;
    logic [31:0] come;
    logic [31:0] stored;
  } past_t;
  typedef struct packed {
    logic writes;
    logic [2:0] words;
    logic [40:0] line;
    mailbox_entry_t info;
  } job_t;
  past_t past;
  job_t first, second;
  assign past = dut.u_past.memory[0];
  assign since = past.next - 24'(Number) - 24'd1;
  logic [2:0] first_words, second_words;
  logic [1:0] waiting;
  assign first = dut.u_jobs.memory[dut.u_jobs.read_q[0]];
  assign second = dut.u_jobs.memory[!dut.u_jobs.read_q[0]];
  assign waiting = dut.u_jobs.write_q - dut.u_jobs.read_q;
  assign first_words = waiting != '0 ? first.words - dut.sent_q : '0;
  assign second_words = waiting == 2'd2 ? second.words : '0;
  logic in_frame;
  logic [1:0] state;
  assign state = 2'(dut.state_q);
  assign in_frame = state != 2'd0;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Cleared: assert (!(in_frame || done || dut.release_checked_q || dut.pending_q != '0) || up);
      States: assert (state <= 2'd2 && dut.clear_q <= 2'd2);
      LookedUp: assert (state != 2'd1 || (dut.u_mailboxes.read_q == dut.u_mailboxes.memory[dut.box_q] &&
                                                   dut.u_past.read_q == dut.u_past.memory[dut.peer_q]));
      Kept: assert (state != 2'd2 || (56'(dut.found_q) == dut.u_mailboxes.memory[dut.box_q] &&
                                                 88'(dut.past_q) == dut.u_past.memory[dut.peer_q] &&
                                                 dut.ahead_q == dut.user_q.number - dut.past_q.next));
      User: assert (!in_frame || dut.user_q.source_pdid == dut.user_q.pdid);
      Near: assert (!in_frame || dut.user_q.number - 24'(Number) < 24'h400000 || dut.user_q.number - 24'(Number) >= 24'hc00000);
      Past: assert (!done || (past.come != '0 && since < 24'h400000 && (since > 24'd31 || past.come[since[4:0]])));
      PastNear: assert (dut.clear_q == '0 || past.come == '0 || past.next - 24'(Number) <= 24'h400000 || past.next - 24'(Number) >= 24'hc00000);
      Tables: assert (dut.clear_q == '0 || !dut.u_mailboxes.memory[0][55] || !dut.u_mailboxes.memory[0][40]);
      TablesOther: assert (!up || !dut.u_mailboxes.memory[1][55] || (dut.u_mailboxes.memory[1][54:45] != 10'(Domain)));
      Jobs: assert (dut.jobs_q == waiting && waiting <= 2'd2 && dut.u_jobs.valid_o == (waiting != '0));
      JobWords: assert ((waiting == '0 || (first.words <= 3'd4 && dut.sent_q <= first.words)) && (waiting < 2'd2 || second.words <= 3'd4));
      JobDomain: assert (waiting == '0 || !first.writes || !first.line[40] || first.info.pdid != 10'(Domain));
      JobDomainNext: assert (waiting < 2'd2 || !second.writes || !second.line[40] || second.info.pdid != 10'(Domain));
      NoJob: assert (waiting != '0 || (dut.sent_q == '0 && !dut.address_sent_q && !dut.info_sent_q));
      InfoSent: assert (!dut.info_sent_q || dut.sent_q == first.words);
      Skipped: assert (waiting == '0 || first.writes || (!dut.info_sent_q && !dut.address_sent_q));
      Words: assert (4'(dut.u_words.write_q - dut.u_words.read_q) == 4'(first_words) + 4'(second_words) + (in_frame ? 4'(dut.words_q) : 4'd0));
      ReleaseLooks: assert (!dut.release_checked_q || (releases && dut.u_release_mailboxes.read_q ==
                                                                  dut.u_release_mailboxes.memory[release_value_i.mailbox[0]]));
      Owned: assert (!up || (dut.u_release_mailboxes.memory[0] == {opened[0], owner[0]} || !opened[0]));
      OwnedOther: assert (!up || (dut.u_release_mailboxes.memory[1] == {opened[1], owner[1]} || !opened[1]));
      NotOwned: assert (dut.clear_q == '0 || opened[0] || !dut.u_release_mailboxes.memory[0][10]);
      NotOwnedOther: assert (!up || opened[1] || !dut.u_release_mailboxes.memory[1][10]);
      Unopened: assert (up || opened == '0);
      Answer: assert (!dut.memory_q || dut.failed_q == refused_last);
      HasSpace: assert (!in_frame || (dut.pending_space && dut.jobs_space && dut.words_q <= 3'd4));
      Frame: assert (dut.amid_q == (in_frame && !dut.ended_q));
      Pending: assert (dut.pending_q == dut.u_pending.write_q - dut.u_pending.read_q && dut.pending_q <= 4'd8);
      PendingValid: assert (dut.u_pending.valid_o == (dut.pending_q != '0));
    end
  end
endmodule
