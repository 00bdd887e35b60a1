// SPDX-License-Identifier: Apache-2.0
// A watchdog of any period, which changes at any time, and signs of life at any time. Proved: who gives them at most a
// period apart is never called faulty; who stops is, `period` + 2 cycles behind the last sign, and stays so until the
// next one or a period that is longer than the silence; nobody is with period 0. Reached: a fault that heals, one at the
// largest period, and one that stays when the period is raised.
module watchdog_formal #(
  parameter int unsigned PeriodBits = 4
) (
  input logic                  clk_i,
  input logic [PeriodBits-1:0] period_i,
  input logic                  beat_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [PeriodBits-1:0] period = '0;  // of the last cycle, which the fault is of
  logic fault, fault_q = 1'b0, healed = 1'b0, raised = 1'b0;
  node_watchdog #(.PeriodBits(PeriodBits)) dut (.clk_i, .rst_ni(rst_n), .period_i, .beat_i(beat_i && rst_n), .fault_o(fault));

  // Edges since the one that saw the last sign, as far as they can matter.
  logic [PeriodBits:0] silent = '0;
  always_ff @(posedge clk_i) begin
    period <= rst_n ? period_i : '0;
    fault_q <= fault;
    raised <= fault && period_i > period;
    if (!rst_n || beat_i || period_i == '0) silent <= '0;
    else if (silent != '1) silent <= silent + 1'b1;
    if (fault && beat_i) healed <= 1'b1;

    if (rst_n) begin
      NeverAlive: assert (!fault || silent > (PeriodBits + 1)'(period));
      ReportedInTime: assert (period == '0 || silent <= (PeriodBits + 1)'(period) || fault);
      Off: assert (period != '0 || !fault);
      Counts: assert (dut.since_q == (silent[PeriodBits] ? '1 : PeriodBits'(silent)));
      Heals: cover (healed && !fault);
      Raised: cover (raised && fault && fault_q);
      Longest: cover (fault && period == '1);
    end
  end
endmodule
