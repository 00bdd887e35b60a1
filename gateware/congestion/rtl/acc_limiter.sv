// SPDX-License-Identifier: Apache-2.0
// ACC's rate limiter of one flow at its source: takes the explicit rates that flow-rate packets bring back, and says
// when the next packet may go. Equal to core/nic/pacing/rate_limiter.hpp to the cycle.
//
// Problem: the time of a packet at a rate is a quotient. Model: a packet costs its bytes times ByteCost; each cycle
// pays the rate that holds in it; the next packet may go when the last one is paid. So a change of the rate acts
// within the gap that runs. ByteCost is what a byte takes of a rate's step in a cycle: 8 bit over 100 kbit/s times
// 6.4 ns. A longer gap than the rate asks for gives nothing to spend later.
//
// With `waits_i` (Wait-for-feedback) a flow keeps to `first_i` until an answer comes to a flow-rate packet that is not
// its first one. With `rise_i` (Wait-to-rise) a rate grows by so much with the first answer that allows more, by twice
// as much with the next, and so on; an answer that allows no more ends that. A rate is at least a step, and `full_i`
// at most.
//
// Limits: one packet in a cycle. `full_i`, `first_i`, `waits_i` and `rise_i` stay as they are while there is a flow.
module acc_limiter #(
  parameter int unsigned RateBits = 28,
  parameter int unsigned ByteBits = 13,
  parameter int unsigned ByteCost = 12500,
  localparam int unsigned CostBits = ByteBits + $unsigned($clog2(ByteCost + 1)),
  localparam int unsigned PaidBits = (CostBits > RateBits ? CostBits : RateBits) + 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [RateBits-1:0] full_i,   // the port's rate, at least 1
  input  logic [RateBits-1:0] first_i,  // of a flow that waits, at least 1
  input  logic                waits_i,
  input  logic [RateBits-1:0] rise_i,   // 0: a rate rises at once
  input  logic                begin_i,  // a new flow, instead of any before
  input  logic                answer_i,
  input  logic                initial_i,   // it answers the flow's first packet
  input  logic [RateBits-1:0] explicit_i,
  input  logic                sent_i,   // a packet goes, which may
  input  logic [ByteBits-1:0] bytes_i,
  output logic                may_send_o,
  output logic [RateBits-1:0] rate_o,   // that its next flow-rate packet carries
  output logic [RateBits-1:0] paid_rate_o  // that packets have
);
  // --- The rate that the answers allow.
  logic waiting_q, takes, allows_more, lifts;
  logic [RateBits-1:0] rate_q, rise_q, allowed, low;
  logic [RateBits:0] lifted;
  assign takes = answer_i && !begin_i && !(waiting_q && initial_i);
  assign allowed = explicit_i == '0 ? RateBits'(1) : explicit_i < full_i ? explicit_i : full_i;
  assign allows_more = allowed > rate_q;
  assign lifted = {1'b0, rate_q} + {1'b0, rise_q};
  assign lifts = rise_i != '0 && allows_more;
  assign low = rate_q < first_i ? rate_q : first_i;
  assign rate_o = rate_q;
  assign paid_rate_o = waiting_q ? low : rate_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= 1'b0;
      rate_q    <= RateBits'(1);
      rise_q    <= '0;
    end else if (begin_i) begin
      waiting_q <= waits_i;
      rate_q    <= full_i;
      rise_q    <= rise_i;
    end else if (takes) begin
      waiting_q <= 1'b0;
      rate_q    <= lifts && lifted < {1'b0, allowed} ? lifted[RateBits-1:0] : allowed;
      rise_q    <= !lifts ? rise_i : rise_q[RateBits-1] ? '1 : rise_q << 1;
    end
  end

  // --- What the last packet costs, and what is paid of it.
  logic [CostBits-1:0] cost_q;
  logic [PaidBits-1:0] paid_q;
  assign may_send_o = paid_q >= PaidBits'(cost_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cost_q <= '0;
      paid_q <= '0;
    end else if (begin_i) begin
      cost_q <= '0;
      paid_q <= '0;
    end else begin
      if (sent_i) cost_q <= CostBits'(bytes_i) * CostBits'(ByteCost);
      if (sent_i) paid_q <= PaidBits'(paid_rate_o);
      else if (!may_send_o) paid_q <= paid_q + PaidBits'(paid_rate_o);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      SentWhenItMay : assert (!sent_i || begin_i || may_send_o);
      AtLeastAStep : assert (rate_q != '0);
    end
  end
`endif
endmodule
