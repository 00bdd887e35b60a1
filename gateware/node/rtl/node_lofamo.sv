// SPDX-License-Identifier: Apache-2.0
// LO|FA|MO, the local fault monitor of APEnet+: finds faults of this node, reports to its neighbours by its health
// word, and shows what they reported.
//
// Host and network interface write heartbeats. A watchdog for each reports in a register, and by an interrupt, that no
// heartbeat has arrived for a period that software sets. A link that receives no control word is silent: its neighbour
// is dead, or its line is cut. The links' control words carry the health word (link_tx). Software sends packets to
// report to nodes further away (docs/gateware/lofamo.md).
module node_lofamo #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned PeriodBits = 32,
  parameter int unsigned SilenceBits = 20
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [PeriodBits-1:0]  host_period_i,  // cycles; 0: not watched
  input  logic [PeriodBits-1:0]  ni_period_i,
  input  logic                   host_beat_i,
  input  logic                   ni_beat_i,
  input  logic [SilenceBits-1:0] silence_i,
  input  logic [InterPorts-1:0]  disabled_i,     // nothing is plugged in there
  input  logic [InterPorts-1:0]  heard_i,        // a control word came
  input  logic [InterPorts-1:0]  down_i,
  input  exanet_pkg::health_t    own_i,          // what software says
  input  exanet_pkg::health_t    far_health_i[InterPorts],
  output exanet_pkg::health_t    health_o,
  output logic                   host_fault_o,
  output logic                   ni_fault_o,
  output logic [InterPorts-1:0]  silent_o,
  output logic [InterPorts-1:0]  far_host_o,     // the neighbours' faults
  output logic [InterPorts-1:0]  far_ni_o,
  output logic                   host_changed_o,
  output logic                   ni_changed_o,
  output logic                   neighbour_changed_o,
  output logic                   link_changed_o
);
  node_watchdog #(.PeriodBits(PeriodBits)) u_host (.clk_i, .rst_ni, .period_i(host_period_i), .beat_i(host_beat_i), .fault_o(host_fault_o));
  node_watchdog #(.PeriodBits(PeriodBits)) u_ni (.clk_i, .rst_ni, .period_i(ni_period_i), .beat_i(ni_beat_i), .fault_o(ni_fault_o));

  logic [InterPorts-1:0] unheard, changed;
  for (genvar p = 0; p < InterPorts; p++) begin : gen_link
    exanet_pkg::health_t before_q;
    node_watchdog #(.PeriodBits(SilenceBits)) u_silence (
      .clk_i, .rst_ni, .period_i(silence_i), .beat_i(heard_i[p] || disabled_i[p]), .fault_o(unheard[p]));
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) before_q <= '0;
      else before_q <= far_health_i[p];
    end
    assign changed[p] = far_health_i[p] != before_q;
    assign far_host_o[p] = far_health_i[p].host_fault;
    assign far_ni_o[p] = far_health_i[p].ni_fault;
  end

  logic host_q, ni_q;
  logic [InterPorts-1:0] silent_q;
  assign host_changed_o = host_fault_o != host_q;
  assign ni_changed_o = ni_fault_o != ni_q;
  assign link_changed_o = silent_o != silent_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      host_q <= 1'b0;
      ni_q <= 1'b0;
      silent_o <= '0;
      silent_q <= '0;
      neighbour_changed_o <= 1'b0;
      health_o <= '0;
    end else begin
      host_q <= host_fault_o;
      ni_q <= ni_fault_o;
      silent_o <= unheard | (down_i & ~disabled_i);
      silent_q <= silent_o;
      neighbour_changed_o <= changed != '0;
      health_o <= own_i;
      health_o.host_fault <= own_i.host_fault || host_fault_o;
      health_o.ni_fault <= own_i.ni_fault || ni_fault_o;
      health_o.link_fault <= own_i.link_fault || silent_o != '0;
    end
  end
endmodule
