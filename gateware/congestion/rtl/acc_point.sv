// SPDX-License-Identifier: Apache-2.0
// ACC's contention point in front of one link: gives the link's flows their max-min shares, and keeps nothing of any
// one of them. Equal to core/network/queue_actions/contention_point.hpp (FairShare) to the cycle.
//
// Problem: a fair share is a quotient of counts, and a divider in one cycle is the longest path of a chip. Model: the
// counts of a period are copied with the pulse; one serial divider works out both quotients of the copy, a bit a
// cycle, while the next period is counted. The new share is there Evaluation cycles behind the pulse's: sources send
// their flow-rate packets (FRPs) as late. Rates are whole steps of one grid.
//
// An FRP goes through one register, in which its explicit rate is lowered to the share. It is classified on the way
// in, and counted in the cycle behind that. One that ends a flow (`ends_i`) takes back what the flow's FRP of the same period has
// added, and nothing if a pulse has come in between (`odd_i`).
//
// Limits: `capacity_i` stays as it is from reset on. A pulse during an evaluation begins a new one; the share of the
// one before is lost. Counts and the sum end at their largest values.
module acc_point #(
  parameter int unsigned RateBits = 28,
  parameter int unsigned FlowBits = 16,
  parameter int unsigned CloseShift = 8,  // a rate so close to the share, by one part in 2**CloseShift, is bound here
  parameter bit          MindTheGap = 1'b1  // ... or to the share of the period before, which it may stem from
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [RateBits-1:0] capacity_i,  // at least 1
  input  logic                pulse_i,     // a period begins; an FRP of the same cycle is the new period's
  input  logic                frp_valid_i,
  output logic                frp_ready_o,
  input  logic [RateBits-1:0] rate_i,      // what the flow sends at
  input  logic [RateBits-1:0] explicit_i,  // what the points before allow
  input  logic                odd_i,       // number of the source's period, modulo 2
  input  logic                ends_i,      // the flow has ended
  output logic                frp_valid_o,
  input  logic                frp_ready_i,
  output logic [RateBits-1:0] explicit_o,
  output logic [RateBits-1:0] share_o
);
  localparam int unsigned Evaluation = 2 * RateBits + 5;
  localparam int unsigned StepBits = $unsigned($clog2(Evaluation + 1));
  localparam logic [FlowBits-1:0] MostFlows = '1;
  localparam logic [RateBits-1:0] MostRate = '1;

  logic loaded_q, odd_q;
  logic [RateBits-1:0] share_q, limit_q;

  // --- On the way in: the explicit rate is lowered, and the flow is bound elsewhere or here.
  logic accept, counts_q, ends_q, elsewhere_q;
  logic [RateBits-1:0] rate_q;
  assign frp_ready_o = loaded_q && (!frp_valid_o || frp_ready_i);
  assign accept = frp_valid_i && frp_ready_o;
  assign share_o = share_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      loaded_q    <= 1'b0;
      odd_q       <= 1'b0;
      counts_q    <= 1'b0;
      frp_valid_o <= 1'b0;
    end else begin
      loaded_q    <= 1'b1;
      odd_q       <= odd_q ^ pulse_i;
      counts_q    <= accept && (!ends_i || odd_i == (odd_q ^ pulse_i));
      frp_valid_o <= accept || (frp_valid_o && !frp_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (accept) begin
      explicit_o  <= explicit_i < share_q ? explicit_i : share_q;
      rate_q      <= rate_i;
      ends_q      <= ends_i;
      elsewhere_q <= {1'b0, rate_i} + (RateBits + 1)'(rate_i >> CloseShift) < {1'b0, limit_q};
    end
  end

  // --- The counts of this period.
  logic [FlowBits-1:0] flows_q, flows_d, here_q, here_d;
  logic [RateBits-1:0] sum_q, sum_d, most_q, most_d;
  logic [RateBits:0] more;
  assign more = {1'b0, sum_q} + {1'b0, rate_q};

  always_comb begin
    flows_d = flows_q;
    here_d  = here_q;
    sum_d   = sum_q;
    most_d  = most_q;
    if (counts_q && !ends_q) begin
      if (flows_q != MostFlows) flows_d = flows_q + 1'b1;
      if (!elsewhere_q && here_q != MostFlows) here_d = here_q + 1'b1;
      if (elsewhere_q) sum_d = more[RateBits] ? MostRate : more[RateBits-1:0];
      if (elsewhere_q && rate_q > most_q) most_d = rate_q;
    end else if (counts_q && flows_q != '0) begin
      flows_d = flows_q - 1'b1;
      if (!elsewhere_q && here_q != '0) here_d = here_q - 1'b1;
      if (elsewhere_q) sum_d = rate_q < sum_q ? sum_q - rate_q : '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {flows_q, here_q} <= '0;
      {sum_q, most_q}   <= '0;
    end else if (pulse_i) begin
      {flows_q, here_q} <= '0;
      {sum_q, most_q}   <= '0;
    end else begin
      {flows_q, here_q} <= {flows_d, here_d};
      {sum_q, most_q}   <= {sum_d, most_d};
    end
  end

  // --- What the last pulse has copied, and the steps of its evaluation: a step to prepare, RateBits of the first
  // quotient, one between, RateBits of the second, two to choose and one to take.
  logic [StepBits-1:0] step_q;  // 0: none
  logic [FlowBits-1:0] counted_q, bound_q;
  logic [RateBits-1:0] elsewhere_sum_q, elsewhere_most_q, left_q, floor_q, chosen_q;
  logic prepares, divides, between, chooses, bounds, takes;
  assign prepares = step_q == StepBits'(1'b1);
  assign between = step_q == StepBits'(RateBits + 2);
  assign chooses = step_q == StepBits'(2 * RateBits + 3);
  assign bounds = step_q == StepBits'(2 * RateBits + 4);
  assign takes = step_q == StepBits'(Evaluation);
  assign divides = step_q > StepBits'(1'b1) && step_q < StepBits'(2 * RateBits + 3) && !between;

  // The divider: restoring, a bit of the quotient for one of the dividend. With divisor 0 the quotient is no matter.
  logic [RateBits-1:0] quotient_q;
  logic [FlowBits-1:0] divisor_q, remainder_q;
  logic [FlowBits:0] next, reduced;
  logic fits;
  assign next = {remainder_q, quotient_q[RateBits-1]};
  assign reduced = next - {1'b0, divisor_q};
  assign fits = next >= {1'b0, divisor_q};

  logic [RateBits-1:0] beyond;
  logic [RateBits:0] raised;
  assign beyond = capacity_i - left_q;  // what the sum leaves of the capacity's bound on the share
  assign raised = {1'b0, left_q} + {1'b0, elsewhere_most_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else if (pulse_i) step_q <= StepBits'(1'b1);
    else if (takes) step_q <= '0;
    else if (step_q != '0) step_q <= step_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (pulse_i) begin
      counted_q        <= flows_d;
      bound_q          <= here_d;
      elsewhere_sum_q  <= sum_d;
      elsewhere_most_q <= most_d;
    end
    if (prepares) left_q <= elsewhere_sum_q < capacity_i ? capacity_i - elsewhere_sum_q : '0;
    if (between) floor_q <= quotient_q;
    if (prepares || between) begin
      quotient_q  <= prepares ? capacity_i : left_q;
      divisor_q   <= prepares ? counted_q : bound_q;
      remainder_q <= '0;
    end else if (divides) begin
      quotient_q  <= {quotient_q[RateBits-2:0], fits};
      remainder_q <= fits ? reduced[FlowBits-1:0] : next[FlowBits-1:0];
    end
    if (chooses) begin
      if (counted_q == '0) chosen_q <= capacity_i;
      else if (bound_q != '0) chosen_q <= quotient_q;
      else chosen_q <= elsewhere_most_q < beyond ? raised[RateBits-1:0] : capacity_i;
    end
    if (bounds && counted_q != '0) chosen_q <= chosen_q < floor_q ? floor_q : chosen_q;
  end

  // The share, at least a step; and below what a rate has to be to be bound elsewhere: this share and the one before.
  logic [RateBits-1:0] share_next;
  assign share_next = chosen_q == '0 ? RateBits'(1) : chosen_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      share_q <= RateBits'(1);
      limit_q <= RateBits'(1);
    end else if (!loaded_q) begin
      share_q <= capacity_i;
      limit_q <= capacity_i;
    end else if (takes && !pulse_i) begin
      share_q <= share_next;
      limit_q <= MindTheGap && share_q < share_next ? share_q : share_next;
    end
  end

  exanet_stream_check #(.Width(RateBits)) i_check (
    .clk_i, .rst_ni, .valid_i(frp_valid_o), .data_i(explicit_o), .ready_i(frp_ready_i));
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && loaded_q) begin
      ShareOfCapacity : assert (share_q != '0 && share_q <= capacity_i && limit_q <= share_q);
    end
  end
`endif
endmodule
