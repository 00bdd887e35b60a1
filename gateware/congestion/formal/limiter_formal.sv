// SPDX-License-Identifier: Apache-2.0
// A rate limiter with small numbers; answers and packets of anything at any time that the limiter allows. Proved: what
// a packet costs is paid at the rate that held in each cycle since it went, before the next goes, and that rate is
// never above the last answer's, nor above the port's, nor above that of a flow that waits (a rate of 0 counts as a
// step); no sum passes over its largest value; a packet may go as soon as that much is paid, and so after as many cycles
// as its cost has steps at most; with Wait-to-rise no answer adds more than the increment, which doubles from the first
// one on. Reached: a rate that rises in three steps, a packet of the largest cost that is paid.
module limiter_formal #(
  parameter int unsigned RateBits = 4,
  parameter int unsigned ByteBits = 2,
  parameter int unsigned ByteCost = 5
) (
  input logic                clk_i,
  input logic [RateBits-1:0] full_i,
  input logic [RateBits-1:0] first_i,
  input logic                waits_i,
  input logic [RateBits-1:0] rise_i,
  input logic                begin_i,
  input logic                answer_i,
  input logic                initial_i,
  input logic [RateBits-1:0] explicit_i,
  input logic                sent_i,
  input logic [ByteBits-1:0] bytes_i
);
  localparam int unsigned SumBits = RateBits + ByteBits + 6;
  logic rst_n = 1'b0, may, begun = 1'b0, waits = 1'b0, waiting = 1'b0;
  logic [RateBits-1:0] full = RateBits'(1), first = RateBits'(1), rise = '0, rate, paid_rate, bound = RateBits'(1), previous = '0;
  logic sent, starts, hears;
  assign starts = begin_i || !begun;
  assign sent = sent_i && may && !starts && rst_n;
  assign hears = answer_i && !starts && !(waiting && initial_i);

  acc_limiter #(.RateBits(RateBits), .ByteBits(ByteBits), .ByteCost(ByteCost)) dut (
    .clk_i, .rst_ni(rst_n), .full_i(starts ? (full_i == '0 ? RateBits'(1) : full_i) : full),
    .first_i(starts ? (first_i == '0 ? RateBits'(1) : first_i) : first), .waits_i(starts ? waits_i : waits),
    .rise_i(starts ? rise_i : rise), .begin_i(starts && rst_n), .answer_i, .initial_i, .explicit_i, .sent_i(sent), .bytes_i,
    .may_send_o(may), .rate_o(rate), .paid_rate_o(paid_rate));

  // What the last packet costs, what the rates since have paid, and the cycles since.
  logic [SumBits-1:0] cost = '0, paid = '0, since = '0;
  logic [1:0] rising = '0;
  logic [RateBits:0] step = '0;  // that the next answer may add

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (rst_n) begun <= 1'b1;
    if (starts && rst_n) begin
      full    <= full_i == '0 ? RateBits'(1) : full_i;
      first   <= first_i == '0 ? RateBits'(1) : first_i;
      waits   <= waits_i;
      waiting <= waits_i;
      rise    <= rise_i;
      bound   <= full_i == '0 ? RateBits'(1) : full_i;
      step    <= {1'b0, rise_i};
      {cost, paid, since, rising} <= '0;
    end else if (rst_n) begin
      if (hears) begin
        waiting <= 1'b0;
        bound   <= explicit_i == '0 ? RateBits'(1) : explicit_i;
        step    <= explicit_i <= rate || full <= rate ? {1'b0, rise} : step[RateBits-1] || step[RateBits] ? {1'b0, {RateBits{1'b1}}} : step << 1;
        rising  <= explicit_i <= rate ? '0 : rising == '1 ? rising : rising + 1'b1;
      end
      if (sent) begin
        cost  <= SumBits'(bytes_i) * SumBits'(ByteCost);
        paid  <= SumBits'(paid_rate);
        since <= SumBits'(1);
      end else if (paid < cost) begin
        paid  <= paid + SumBits'(paid_rate);
        since <= since + 1'b1;
      end
    end
    previous <= rate;

    if (rst_n && begun) begin
      WaitsAlike: assert (waiting == dut.waiting_q);
      NotAboveAnswer: assert (rate != '0 && rate <= bound && rate <= full);
      NotAboveFirst: assert (starts || (paid_rate != '0 && paid_rate <= rate && (!waiting || paid_rate <= first)));
      CostAlike: assert (SumBits'(dut.cost_q) == cost && cost <= SumBits'((2 ** ByteBits - 1) * ByteCost));
      PaidAlike: assert (SumBits'(dut.paid_q) == paid && paid >= since);
      NoOverflow: assert (paid < cost || paid < cost + SumBits'(32'd1 << RateBits) || paid < SumBits'(32'd1 << RateBits));
      PaidBeforeNext: assert (!sent || paid >= cost);
      GoesInTime: assert (may || (since <= paid && since < cost));
      StepAlike: assert (rise == '0 || step == {1'b0, dut.rise_q});
      RisesInSteps: cover (rise != '0 && rising == 2'd3 && rate < bound && rate > previous);
      LargestPaid: cover (cost == SumBits'((2 ** ByteBits - 1) * ByteCost) && may);
    end
  end

  // An answer adds the increment at most.
  logic [RateBits-1:0] from = '0;
  logic [RateBits:0] by = '0;
  logic lifted = 1'b0;
  always_ff @(posedge clk_i) begin
    from   <= rate;
    by     <= step;
    lifted <= rst_n && begun && hears && rise != '0;
    if (lifted) AddsAStep: assert (rate <= from || {1'b0, rate - from} <= by);
  end
endmodule
