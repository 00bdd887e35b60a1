// SPDX-License-Identifier: Apache-2.0
// A watchdog of any period, and signs of life at any time. Proved: who gives them at most a period apart is never
// called faulty; who stops is, `period` + 2 cycles behind the last sign, and stays so until the next one; nobody is
// with period 0. Reached: a fault that heals, and one at the largest period.
module watchdog_formal #(
  parameter int unsigned PeriodBits = 4
) (
  input logic                  clk_i,
  input logic [PeriodBits-1:0] period_i,
  input logic                  beat_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A period that is drawn, and stays.
  logic [PeriodBits-1:0] period = '0;
  logic drawn = 1'b0, fault, healed = 1'b0;
  node_watchdog #(.PeriodBits(PeriodBits)) dut (.clk_i, .rst_ni(rst_n), .period_i(period), .beat_i(beat_i && rst_n), .fault_o(fault));

  // Edges since the one that saw the last sign, as far as they can matter.
  logic [PeriodBits:0] silent = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) period <= period_i;
    drawn <= rst_n;
    if (!rst_n || beat_i || period == '0) silent <= '0;
    else if (silent != '1) silent <= silent + 1'b1;
    if (fault && beat_i) healed <= 1'b1;

    if (rst_n) begin
      NeverAlive: assert (!fault || silent > (PeriodBits + 1)'(period));
      ReportedInTime: assert (!drawn || period == '0 || silent <= (PeriodBits + 1)'(period) || fault);
      Off: assert (period != '0 || !fault);
      Counts: assert (dut.since_q == (silent > (PeriodBits + 1)'(period) ? period : PeriodBits'(silent)));
      Heals: cover (healed && !fault);
      Longest: cover (fault && period == '1);
    end
  end
endmodule
