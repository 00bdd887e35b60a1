// SPDX-License-Identifier: Apache-2.0
// Watches somebody who has to give a sign of life in each period.
//
// Signs that are at most `period_i` cycles apart never make a fault; without one it is there `period_i` + 2 cycles
// behind the last one's cycle, or 2 behind the cycle in which a shorter period is set, if that is later. It goes with
// the next sign, when a longer period is set than the time since the last one, or when the period is set to 0: nobody is
// watched then, and the count begins when that ends.
module node_watchdog #(
  parameter int unsigned PeriodBits = 32
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [PeriodBits-1:0] period_i,  // cycles
  input  logic                  beat_i,    // a sign of life
  output logic                  fault_o
);
  logic [PeriodBits-1:0] since_q;  // cycles since the last sign, as far as they can be counted
  logic watched, late;
  assign watched = period_i != '0;
  assign late = since_q >= period_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      since_q <= '0;
      fault_o <= 1'b0;
    end else begin
      if (beat_i || !watched) since_q <= '0;
      else if (since_q != '1) since_q <= since_q + 1'b1;
      fault_o <= watched && late && !beat_i;
    end
  end
endmodule
