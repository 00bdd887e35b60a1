// SPDX-License-Identifier: Apache-2.0
// Finds the roots of a locator among the 528 symbols of a codeword, a row a step: 52 symbols, in the fifth and the tenth
// row 56, at the end of the row. A symbol is wrong where the polynomial is zero at the inverse of its place.
//
// Rows of a codeword are looked at in the ten steps behind load_i; hits_o has one a step later.
module eth_fec_locator
  import eth_fec_pkg::*;
  import eth_fec_tables_pkg::*;
(
  input  logic            clk_i,
  input  logic            step_i,
  input  logic            load_i,
  input  logic [7:0][9:0] locator_i,
  input  logic [3:0]      at_i,      // the row that is looked at
  output logic [55:0]     hits_o
);
  // Each coefficient times the power of its row.
  logic [7:0][9:0] terms_q;
  logic [79:0] terms;
  assign terms = 80'(terms_q);
  logic wide, next_wide;
  assign wide = at_i == 4'd4 || at_i == 4'd9;
  assign next_wide = at_i == 4'd3 || at_i == 4'd8;
  for (genvar k = 0; k < 8; k++) begin : gen_terms
    always_ff @(posedge clk_i) begin
      if (step_i && load_i) terms_q[k] <= multiply(locator_i[k], Powers[(492 * k) % 1023]);
      else if (step_i)
        terms_q[k] <= next_wide ? multiply(terms_q[k], Powers[(56 * k) % 1023]) : multiply(terms_q[k], Powers[(52 * k) % 1023]);
    end
  end
  for (genvar q = 0; q < 56; q++) begin : gen_places
    symbol_t value;
    for (genvar j = 0; j < 10; j++) begin : gen_bits
      assign value[j] = ^(terms & LocatorMasks[10*q+j]);
    end
    always_ff @(posedge clk_i) if (step_i) hits_o[q] <= value == '0 && (q >= 4 || wide);
  end
endmodule
