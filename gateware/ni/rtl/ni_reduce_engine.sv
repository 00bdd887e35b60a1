// SPDX-License-Identifier: Apache-2.0
// Combines the parts of a reduction in the order of their branches, however they have come: a pass over the words for
// each branch, the first of which only copies. So an element is ((p0 + p1) + p2) + ..., with the same rounding in every
// run. A pass takes a cycle a word, but as many at least as a sum needs until the next pass may read it.
module ni_reduce_engine (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                valid_i,  // a job; it stays until done_o
  input  ni_reduce_pkg::job_t                 job_i,
  output logic                                done_o,
  // parts: tree, branch, word; their data a cycle later
  output logic [11:0]                         read_at_o,
  input  logic [127:0]                        data_i,
  // the sum: tree, word
  output logic                                write_o,
  output logic [8:0]                          write_at_o,
  output logic [127:0]                        data_o
);
  import ni_reduce_pkg::*;
  localparam int unsigned Turn = AddLatency + 1;  // cycles from a word's read to that of its sum by the next pass
  typedef struct packed {
    logic valid;
    logic final_pass;
    logic [4:0] word;
  } step_t;

  logic active_q, first_q, last_pass, pass_ends, drains_q;
  logic [Branches-1:0] left_q;
  logic [5:0] at_q, words_q;
  branch_t branch;
  step_t read_q;
  step_t [AddLatency-1:0] adds_q;
  logic read_first_q;

  always_comb begin
    branch = '0;
    for (int unsigned i = Branches; i > 0; i--) if (left_q[i-1]) branch = branch_t'(i - 1);
  end
  assign last_pass = (left_q & (left_q - 1'b1)) == '0;
  assign pass_ends = at_q + 6'd1 >= words_q && (last_pass || words_q == '0 || at_q >= 6'(Turn - 1));
  assign read_at_o = {job_i.tree, branch, at_q[4:0]};

  // Behind the last word of the last pass its sum is waited for.
  assign done_o = active_q && drains_q && at_q == 6'(Turn - 1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      drains_q <= 1'b0;
      first_q  <= 1'b0;
      left_q   <= '0;
      at_q     <= '0;
      words_q  <= '0;
      read_q   <= '0;
      adds_q   <= '0;
    end else begin
      read_q <= '{valid: active_q && !drains_q && at_q < words_q, final_pass: last_pass, word: at_q[4:0]};
      adds_q[0] <= read_q;
      adds_q[AddLatency-1:1] <= adds_q[AddLatency-2:0];
      at_q   <= at_q + 1'b1;
      if (!active_q) begin
        active_q <= valid_i;
        first_q  <= 1'b1;
        drains_q <= 1'b0;
        left_q   <= job_i.branches;
        words_q  <= words_of(job_i.shape.bytes);
        at_q     <= '0;
      end else if (done_o) begin
        active_q <= 1'b0;
      end else if (!drains_q && pass_ends) begin
        drains_q <= last_pass;
        first_q  <= 1'b0;
        left_q   <= left_q & (left_q - 1'b1);
        at_q     <= '0;
      end
    end
  end
  always_ff @(posedge clk_i) read_first_q <= first_q;

  // Sums of the passes before; the sum of the last one goes out.
  (* ram_style = "distributed" *) logic [127:0] sums[32];
  step_t written;
  assign written = adds_q[AddLatency-1];
  always_ff @(posedge clk_i) if (written.valid && !written.final_pass) sums[written.word] <= data_o;
  ni_reduce_lanes u_lanes (
    .clk_i, .first_i(read_first_q), .operation_i(job_i.shape.operation), .element_i(job_i.shape.element), .a_i(sums[read_q.word]), .b_i(data_i),
    .data_o);
  assign write_o = written.valid && written.final_pass;
  assign write_at_o = {job_i.tree, written.word};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni && valid_i) SomePart : assert (job_i.branches != '0);
`endif
endmodule
