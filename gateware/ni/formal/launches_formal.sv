// SPDX-License-Identifier: Apache-2.0
// ni_launches under any ends, answers of memory and taking. Proved: each message whose transfer has ended is launched,
// in the order of the ends; it stays until it is taken, and one behind a word that was written comes behind memory's
// answer to that. No FIFO overflows, and there is a cycle between two launches. One end, any, is followed.
module launches_formal (
  input logic       clk_i,
  input logic       ended_i,
  input logic       written_i,
  input logic [3:0] slot_i,
  input logic       answered_i,
  input logic       taken_i,
  input logic       follow_i
);
  localparam int unsigned Ahead = 8;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;
  logic space, valid, ended, answered, taken;
  logic [3:0] slot;
  assign ended = rst_n && ended_i;
  assign answered = rst_n && answered_i;
  assign taken = rst_n && taken_i;
  ni_launches #(.SlotBits(4), .Ahead(Ahead)) dut (
    .clk_i, .rst_ni(rst_n), .space_o(space), .ended_i(ended), .written_i, .slot_i, .answered_i(answered),
    .launch_valid_o(valid), .launch_taken_i(taken), .launch_slot_o(slot));

  // Memory answers what was written, one after the other.
  logic [4:0] pending = '0;
  always_ff @(posedge clk_i) pending <= pending + 5'(ended && written_i) - 5'(answered);
  always_comb begin
    if (ended) assume (space);
    if (answered) assume (pending != '0);
    if (taken) assume (valid);
  end

  // The end that is followed, until it is asked for (is_mine): those that are asked for before it, and the words up to
  // its own that memory has not answered.
  typedef struct packed {
    logic written;
    logic [3:0] slot;
  } launch_t;
  logic followed = 1'b0, is_mine = 1'b0, was_valid = 1'b0, was_taken = 1'b0, begins;
  logic [4:0] ahead = '0, unanswered = '0;
  launch_t mine = '0, was = '0;
  assign begins = valid && !was_valid;
  always_ff @(posedge clk_i) begin
    {was_valid, was_taken, was} <= {rst_n && valid, taken, 1'b0, slot};
    if (ended && follow_i && !followed && !is_mine) begin
      followed   <= 1'b1;
      mine       <= {written_i, slot_i};
      ahead      <= 5'(dut.waiting_q) - 5'(dut.read);
      unanswered <= pending + 5'(written_i) - 5'(answered);
    end else if (followed) begin
      if (dut.read) begin
        ahead    <= ahead - 5'd1;
        followed <= ahead != '0;
      end
      if (answered && unanswered != '0) unanswered <= unanswered - 5'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    is_mine <= rst_n && (dut.read ? followed && ahead == '0 : is_mine && valid && !taken);
    if (rst_n) begin
      Mine: assert (!is_mine || (valid && slot == mine.slot));
      Answered: assert (!is_mine || !mine.written || unanswered == '0);
      Stays: assert (!(was_valid && !was_taken) || (valid && slot == was.slot));
      Gap: assert (!was_taken || !valid);
      Waits: cover (is_mine && mine.written && begins && dut.answered_q != '0);
      Full: cover (!space && is_mine);
    end
  end

  // Helps the proof: what is kept of the one that is followed, and the counts.
  logic [4:0] filled, written_ahead, written_here;
  logic [2:0] at;
  launch_t [Ahead-1:0] entries;
  assign filled = 5'(4'(dut.u_waiting.write_q - dut.u_waiting.read_q));
  assign at = 3'(dut.u_waiting.read_q + ahead[3:0]);
  always_comb begin
    written_here  = '0;
    written_ahead = '0;
    for (int unsigned i = 0; i < Ahead; i++) begin
      entries[i] = dut.u_waiting.memory[3'(dut.u_waiting.read_q[2:0] + 3'(i))];
      if (5'(i) < filled) written_here = written_here + 5'(entries[i].written);
      if (5'(i) <= ahead) written_ahead = written_ahead + 5'(entries[i].written);
    end
  end
  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {followed, is_mine, was_valid, was_taken, pending} == '0);
    if (rst_n) begin
      Counts: assert (filled == 5'(dut.waiting_q) && filled <= 5'(Ahead) && dut.u_waiting.valid_o == (filled != '0));
      Pending: assert (written_here == pending + 5'(dut.answered_q) && pending <= 5'(Ahead));
      if (followed) begin
        Ahead1: assert (ahead < filled);
        Kept: assert (launch_t'(dut.u_waiting.memory[at]) == mine);
        Behind: assert (written_ahead <= unanswered + 5'(dut.answered_q));
        StillPending: assert (unanswered <= pending && (unanswered == '0 || written_ahead == unanswered + 5'(dut.answered_q)));
      end
    end
  end
endmodule
