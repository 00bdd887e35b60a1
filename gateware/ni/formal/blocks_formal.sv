// SPDX-License-Identifier: Apache-2.0
// ni_blocks with translation, under any packets, any memory, any sink of answers, and any ends; ni_translate is
// whatever keeps its contract (ni-translate proves that it does). Proved, for a domain and a frame that is this
// domain's alone: no write goes to that frame but of a packet that was decided on with the domain's translation since
// the last invalidation, or it is an end, which goes to the word of its transfer; and no burst leaves its page. So
// packets of other domains write nothing there, whatever they say. The streams of answers and the write channels keep
// the rules of AXI (the module's own assertions).
//
// Domain and frame are any: they are compared and nothing else. That packets on their way to memory are among those
// that are counted as not answered, which an invalidation waits for, is taken for granted by the proof, and is looked
// at by itself (Counts), for so many cycles from the reset.
module blocks_formal #(
  parameter bit Counts = 1'b0,
  localparam logic [9:0] Domain = 10'd5,
  localparam logic [35:0] Frame = 36'h9
) (
  input logic                     clk_i,
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
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = '0;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
    ni_config.translate = 1'b1;
  end

  logic up, cleared, tready, answers, serves, read_ends, drained, ends_written, look, want, end_taken, end_answered, awvalid, wvalid, wlast, bready;
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
  ni_blocks #(.Peers(2), .Window(2)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .clear_i(1'b0), .clear_at_i(1'b0), .clear_taken_o(cleared),
    .s_axis_tvalid(rst_n && valid_i), .s_axis_tready(tready), .s_axis_tdata(data_i), .s_axis_tkeep(keep_i), .s_axis_tlast(last_i),
    .s_axis_tuser(user_i), .m_axis_tvalid(answers), .m_axis_tready(ready_i), .m_axis_tuser(answer), .serves_i, .serve_valid_o(serves),
    .serve_o(serve), .read_end_valid_o(read_ends), .read_end_taken_i, .read_end_o(read_end), .invalidates_i, .drained_o(drained),
    .ends_written_o(ends_written), .look_o(look), .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i, .fault_i,
    .end_valid_i(rst_n && end_valid_i), .end_taken_o(end_taken), .end_message_i, .end_answered_o(end_answered),
    .end_word_i, .end_value_i, .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
    .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast), .m_axi_wvalid(wvalid),
    .m_axi_wready(wready_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(rst_n && bvalid_i), .m_axi_bready(bready), .written_o(written),
    .repeated_o(repeated), .dropped_o(dropped), .answered_o(answered));

  // What the last look was for. The frame is found for its domain alone.
  logic [9:0] looked_q = '0;
  logic [35:0] page_q = '0;
  logic end_waits = 1'b0;
  logic [44:0] end_word_q = '0;
  logic [63:0] end_value_q = '0;
  always_ff @(posedge clk_i) begin
    if (look) {looked_q, page_q} <= {domain, page};
    end_waits <= rst_n && end_valid_i && !end_taken;
    {end_word_q, end_value_q} <= {end_word_i, end_value_i};
  end
  // An ni_port hands out no more than 512 bytes a frame.
  logic [5:0] words = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) words <= '0;
    else if (tready && valid_i) words <= (dut.amid_q ? words : '0) + 6'(keep_i != '0);
  end
  always_comb begin
    if (dut.amid_q && words == 6'd32) assume (keep_i == '0);
    assume (!(dut.decides && dut.reports_end && read_ends));  // the end of a read is taken in time: ni-transfers-waits
    if (looked_q != Domain) assume (page_frame_i != Frame);
    assume (fault_i == NackReasonNone || ni_pkg::is_page_fault(fault_i));
    if (end_waits) assume (end_valid_i && end_word_i == end_word_q && end_value_i == end_value_q);
  end

  // A packet of the domain was decided on since the last invalidation, with the frame.
  logic translated = 1'b0, decided, clears;
  assign decided = dut.decides && dut.writes && want && known_i && fault_i == NackReasonNone && dut.user_q.pdid == Domain &&
      looked_q == Domain && page_q == dut.user_q.dmadd[47:12] && page_frame_i == Frame;
  assign clears = invalidates_i && drained;
  always_ff @(posedge clk_i) begin
    translated <= rst_n && (decided || (translated && !clears));
    if (rst_n) begin
      OfTheDomain: assert (!(awvalid && !dut.u_write.ends_q && awaddr[47:12] == Frame) || translated);
      Decided: assert (!(dut.decides && dut.writes && dut.u_write.job_next.address[47:12] == Frame) || decided);
      EndWhereAsked: assert (!(awvalid && dut.u_write.ends_q) || (end_valid_i && awaddr == {end_word_i[44:1], 4'd0} && awlen == '0));
      InItsPage: assert (!awvalid || 13'(awaddr[11:0]) + {1'b0, awlen, 4'd0} < 13'd4096);
      Writes: cover (awvalid && !dut.u_write.ends_q && awaddr[47:12] == Frame);
      Another: cover (awvalid && !dut.u_write.ends_q && awaddr[47:12] != Frame && translated);
      Ends: cover (awvalid && dut.u_write.ends_q && awaddr[47:12] == Frame && !translated);
    end
  end

  // A block whose last packet memory has answered with an error, whichever, is not acknowledged.
  logic failed_last = 1'b0, refuses = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && bvalid_i && bready) failed_last <= bresp_i == 2'b10 || bresp_i == 2'b11;
    refuses <= rst_n && 2'(dut.answer_q) == 2'd3 && dut.pending.acks && dut.waits && !dut.is_end && failed_last;
    if (rst_n) begin
      Refuses: assert (!refuses || (answers && answer.kind == PacketTypeNack && answer.reason != NackReasonNone));
      OfMemory: assert (!dut.memory_q || dut.refused_q == failed_last);
      RefusesOne: cover (refuses && answer.reason == NackReasonMemory);
    end
  end

  // Helps the proof: what has been looked up is the packet's; what is on its way to memory was decided on since the
  // last invalidation.
  logic [1:0] state, jobs;
  assign state = 2'(dut.state_q);
  assign jobs = dut.u_write.u_jobs.write_q - dut.u_write.u_jobs.read_q;
  typedef struct packed {
    logic writes;
    logic [47:0] address;
    logic [5:0] bytes;
    logic [5:0] final_beat;
    logic [68:0] answer;
  } job_t;
  job_t job, job_behind;
  assign job = dut.u_write.u_jobs.memory[dut.u_write.u_jobs.read_q[0]];
  assign job_behind = dut.u_write.u_jobs.memory[!dut.u_write.u_jobs.read_q[0]];
  function automatic logic fits(job_t its);
    return 9'(its.address[11:4]) + 9'(its.final_beat) < 9'd256;
  endfunction
  logic [5:0] pending;
  logic counted;  // packets on their way to memory are not answered
  assign pending = dut.u_pending.write_q - dut.u_pending.read_q;
  assign counted = dut.unanswered_q >= 6'(jobs) && dut.unanswered_q < 6'd40;
  if (Counts) begin : gen_counts
    always_ff @(posedge clk_i) if (rst_n) Counted : assert (counted);
  end else begin : gen_counted
    always_comb if (rst_n) assume (counted);
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Jobs: assert (dut.u_write.jobs_q == jobs && jobs <= 2'd2 && dut.u_write.u_jobs.valid_o == (jobs != '0));
      Translates: assert (state == 2'd0 || dut.translates_q);
      Looked: assert (state < 2'd2 || (looked_q == dut.user_q.pdid && page_q == dut.user_q.dmadd[47:12]));
      Range: assert (state != 2'd3 || dut.most_q < dut.least_q || dut.asks_read || dut.ends_read || (
          dut.user_q.kind == exanet_pkg::PacketTypeWrite && dut.least_q == 10'd1 && dut.most_q == 10'd512 - {1'b0, dut.user_q.dmadd[8:0]}));
      Come: assert (state != 2'd3 || dut.repeated_q == dut.here_q.come[dut.index]);
      First: assert (jobs == '0 || !job.writes || job.address[47:12] != Frame || translated);
      Second: assert (jobs < 2'd2 || !job_behind.writes || job_behind.address[47:12] != Frame || translated);
      FirstIn: assert (jobs == '0 || !job.writes || fits(job));
      SecondIn: assert (jobs < 2'd2 || !job_behind.writes || fits(job_behind));
      EndWaits: assert (!dut.u_write.ends_q || end_waits);
      Pending: assert (dut.pending_q == pending && pending <= 6'd32 && dut.u_pending.valid_o == (pending != '0));
      AnswerGoes: assert (2'(dut.answer_q) == 2'd0 || (!answers && dut.asks && (dut.pending.acks || dut.refused)));
      Words: assert (dut.words_held_q == 8'(dut.u_words.write_q - dut.u_words.read_q) + 8'(dut.u_words.valid_o) &&
                     8'(dut.u_words.write_q - dut.u_words.read_q) <= 8'd128);
      WordsFit: assert (words <= 6'd32 && dut.words_held_q <= (dut.amid_q ? 8'd96 + 8'(words) : 8'd128));
      NoJob: assert (jobs != '0 || dut.u_write.ends_q || (!dut.u_write.address_sent_q && !dut.u_write.data_sent_q));
    end
  end
endmodule
