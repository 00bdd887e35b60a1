// SPDX-License-Identifier: Apache-2.0
// A contention point with small counts, flow-rate packets (FRPs) of anything at any time, and pulses at any distance.
// Proved: no explicit rate that leaves is above the one that came, above the share or above the capacity; no count
// wraps at its largest value or at 0; a new share is there Evaluation + 1 cycles behind the pulse's, unless another pulse
// comes; the share is the quotient that the counts ask for (the divider's remainder is smaller than its divisor, and
// quotient, remainder and divisor make up the dividend); where it is not the floor of an equal part, all that are bound
// here, at that share, and the sum of the others fit the capacity; an FRP waits for the stage behind it alone. Reached:
// a share above and one below the one before, with flows of both kinds; a sum and a number of flows at their largest.
module point_formal #(
  parameter int unsigned RateBits = 4,
  parameter int unsigned FlowBits = 2
) (
  input logic                clk_i,
  input logic [RateBits-1:0] capacity_i,
  input logic                pulse_i,
  input logic                frp_valid_i,
  input logic [RateBits-1:0] rate_i,
  input logic [RateBits-1:0] explicit_i,
  input logic                odd_i,
  input logic                ends_i,
  input logic                frp_ready_i
);
  localparam int unsigned Evaluation = 2 * RateBits + 5;
  localparam int unsigned Wide = RateBits + FlowBits + 2;
  logic rst_n = 1'b0;
  logic [RateBits-1:0] capacity = RateBits'(1), asked, lowered, share;
  logic ready, valid, offered = 1'b0, held = 1'b0;
  logic [RateBits-1:0] came = '0, allowed = '0;  // of the FRP in the register: what it came with, and the share then

  acc_point #(.RateBits(RateBits), .FlowBits(FlowBits), .CloseShift(2)) dut (
    .clk_i, .rst_ni(rst_n), .capacity_i(capacity), .pulse_i(pulse_i && rst_n), .frp_valid_i(frp_valid_i && rst_n),
    .frp_ready_o(ready), .rate_i, .explicit_i, .odd_i, .ends_i, .frp_valid_o(valid), .frp_ready_i, .explicit_o(lowered),
    .share_o(share));
  assign asked = explicit_i;

  // The largest counts, and the cycles since the last pulse, as far as they matter.
  logic [FlowBits:0] flows = '0;
  logic [Wide-1:0] since = '0;
  logic pulsed = 1'b0, counts = 1'b0, rises = 1'b0, falls = 1'b0;
  logic [RateBits-1:0] previous = RateBits'(1);
  // Of the cycle before.
  logic fresh = 1'b1, grows = 1'b0, shrinks = 1'b0;
  logic [FlowBits-1:0] last_flows = '0, last_here = '0;
  logic [RateBits-1:0] last_sum = '0;
  // What the evaluation began with.
  logic [FlowBits-1:0] number = '0, bound = '0;
  logic [RateBits-1:0] sum = '0, most = '0, left, floor, chosen;
  assign left = sum < capacity ? capacity - sum : '0;
  assign floor = number == '0 ? capacity : capacity / RateBits'(number);

  always_comb begin
    logic [RateBits:0] raised;
    raised = {1'b0, left} + {1'b0, most};
    chosen = bound != '0 ? left / RateBits'(bound) : raised > {1'b0, capacity} ? capacity : raised[RateBits-1:0];
    if (chosen < floor) chosen = floor;
    if (number == '0) chosen = capacity;
    if (chosen == '0) chosen = RateBits'(1);
  end

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (!rst_n) capacity <= capacity_i == '0 ? RateBits'(1) : capacity_i;
    if (frp_valid_i && ready && rst_n) {came, allowed, held} <= {asked, share, 1'b1};
    else if (frp_ready_i) held <= 1'b0;
    offered <= rst_n && frp_valid_i && !ready;
    if (pulse_i && rst_n) {pulsed, since} <= {1'b1, (Wide)'(1)};
    else if (since != '1 && pulsed) since <= since + 1'b1;
    if (pulse_i && rst_n) {number, bound, sum, most} <= {dut.flows_d, dut.here_d, dut.sum_d, dut.most_d};
    // FRPs counted in this period, to the number that no count holds.
    counts <= dut.accept && !ends_i;
    if (!rst_n || pulse_i) flows <= '0;
    else if (counts && !flows[FlowBits]) flows <= flows + 1'b1;
    previous <= share;
    fresh      <= !rst_n || pulse_i;
    grows      <= dut.counts_q && !dut.ends_q;
    shrinks    <= dut.counts_q && dut.ends_q;
    last_flows <= dut.flows_q;
    last_here  <= dut.here_q;
    last_sum   <= dut.sum_q;

    if (rst_n) begin
      HeldAlike: assert (held == valid);
      NotAboveAsked: assert (!valid || lowered <= came);
      NotAboveShare: assert (!valid || lowered <= allowed);
      NotAboveCapacity: assert (!dut.loaded_q || (share != '0 && share <= capacity && (!valid || allowed <= capacity)));
      // In a period counts only grow with an FRP that is counted, and only shrink with one that ends a flow.
      NoOverflow: assert (shrinks || fresh || (dut.flows_q >= last_flows && dut.here_q >= last_here && dut.sum_q >= last_sum));
      NoUnderflow: assert (grows || fresh || (dut.flows_q <= last_flows && dut.here_q <= last_here && dut.sum_q <= last_sum));
      // Liveness: an FRP is taken as soon as the stage behind is free.
      Accepts: assert (!dut.loaded_q || ready == (!valid || frp_ready_i));
      // The evaluation is where the time since the pulse says, and ends.
      Steps: assert (dut.step_q == (pulsed && since <= Wide'(Evaluation) ? dut.step_q : '0));
      StepsAlike: assert (!pulsed || since > Wide'(Evaluation) || 32'(dut.step_q) == 32'(since));
      Copied: assert (dut.step_q == '0 || (dut.counted_q == number && dut.bound_q == bound && dut.elsewhere_sum_q == sum
        && dut.elsewhere_most_q == most));
      ShareInTime: assert (!pulsed || since != Wide'(Evaluation + 1) || share == chosen);
      ShareStays: assert (!dut.loaded_q || dut.step_q == '0 || share == previous || dut.step_q == 1 || previous == '0);
      Fits: assert (!pulsed || since != Wide'(Evaluation + 1) || bound == '0 || number == '0 || share == floor || floor == '0
        || Wide'(share) * Wide'(bound) + Wide'(sum) <= Wide'(capacity));
      if (since == Wide'(Evaluation + 1) && pulsed && share > previous && bound != '0) rises <= 1'b1;
      if (since == Wide'(Evaluation + 1) && pulsed && share < previous && bound != '0 && sum != '0) falls <= 1'b1;
      Rises: cover (rises);
      Falls: cover (falls);
      SumAtMost: cover (dut.sum_q == '1 && dut.flows_q == '1 && flows[FlowBits]);
    end
  end
endmodule
