// SPDX-License-Identifier: Apache-2.0
// Solves the key equation of RS(528,514) for the polynomials that say where symbols are wrong (locator) and how
// (evaluator): the reformulated inversionless Berlekamp-Massey algorithm of Sarwate and Shanbhag (IEEE Transactions on
// VLSI Systems 9(5), 2001), one iteration a step in 22 equal cells.
//
// The result is there 15 steps behind load_i, and stays until the next one, with which it moves to the held outputs.
// valid is low where the equation has no solution for seven wrong symbols or fewer.
module eth_fec_solver
  import eth_fec_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             step_i,
  input  logic             load_i,
  input  logic [13:0][9:0] syndromes_i,
  output logic [7:0][9:0]  locator_o,
  output logic [7:0][9:0]  held_locator_o,
  output logic [6:0][9:0]  held_evaluator_o,
  output logic             held_valid_o,
  output logic [2:0]       held_number_o     // of wrong symbols
);
  localparam int unsigned Cells = 22;
  localparam logic [3:0] Iterations = 4'd14;

  logic [Cells:0][9:0] delta;  // with a zero behind the last one
  logic [Cells-1:0][9:0] delta_q, theta_q;
  symbol_t gamma_q;
  logic signed [4:0] k_q;  // iterations, less twice the number of wrong symbols
  logic [3:0] count_q;
  logic runs, swaps;
  for (genvar i = 0; i < Cells; i++) begin : gen_cells
    assign delta[i] = delta_q[i];
  end
  assign delta[Cells] = '0;
  assign runs = count_q != Iterations;
  assign swaps = delta_q[0] != '0 && k_q >= 0;

  always_ff @(posedge clk_i) begin
    if (step_i && load_i) begin
      for (int unsigned i = 0; i < Cells; i++) begin
        delta_q[i] <= i < 14 ? syndromes_i[i%14] : 10'(i == Cells - 1);
        theta_q[i] <= i < 14 ? syndromes_i[i%14] : 10'(i == Cells - 1);
      end
      gamma_q          <= 10'd1;
      k_q              <= '0;
      held_locator_o   <= locator_o;
      held_evaluator_o <= delta_q[6:0];
      held_valid_o     <= k_q >= 0;
      held_number_o    <= 3'(unsigned'(5'sd14 - k_q) >> 1);
    end else if (step_i && runs) begin
      for (int unsigned i = 0; i < Cells; i++) begin
        delta_q[i] <= multiply(gamma_q, delta[i+1]) ^ multiply(delta_q[0], theta_q[i]);
        if (swaps) theta_q[i] <= delta[i+1];
      end
      if (swaps) gamma_q <= delta_q[0];
      k_q <= swaps ? -k_q - 5'sd1 : k_q + 5'sd1;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= Iterations;
    else if (step_i && load_i) count_q <= '0;
    else if (step_i && runs) count_q <= count_q + 1'b1;
  end
  assign locator_o = delta_q[14:7];
endmodule
