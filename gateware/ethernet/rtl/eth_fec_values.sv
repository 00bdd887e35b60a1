// SPDX-License-Identifier: Apache-2.0
// From rows of places that are wrong to what has to be added there: one symbol a step, by Forney's formula. Rows without
// a place are not kept, so the at most seven places of a codeword take at most seven steps behind its last row, whatever
// codewords came before; a value comes seven steps behind its place.
//
// Of two codewords in a row each has polynomials of its own: `codeword` says which.
module eth_fec_values
  import eth_fec_pkg::*;
  import eth_fec_tables_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 step_i,
  input  logic [55:0]          hits_i,
  input  logic [3:0]           row_i,
  input  logic                 codeword_i,
  input  logic [1:0][7:0][9:0] locators_i,
  input  logic [1:0][6:0][9:0] evaluators_i,
  output logic                 valid_o,
  output logic                 codeword_o,
  output logic [3:0]           row_o,
  output logic [5:0]           place_o,
  output logic [9:0]           value_o
);
  typedef struct packed {
    logic       codeword;
    logic [3:0] row;
  } tag_t;

  // One place a step.
  logic [55:0] hits_q, queued_hits, rest;
  tag_t tag_q, queued_tag;
  logic queued, takes;
  assign rest = hits_q & (hits_q - 1'b1);
  assign takes = queued && rest == '0;
  exanet_fifo #(.Width(61), .Depth(16)) u_rows (
    .clk_i,
    .rst_ni,
    .write_i(step_i && hits_i != '0),
    .data_i ({codeword_i, row_i, hits_i}),
    .read_i (step_i && takes),
    .valid_o(queued),
    .data_o ({queued_tag, queued_hits})
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hits_q <= '0;
    else if (step_i) hits_q <= takes ? queued_hits : rest;
  end
  always_ff @(posedge clk_i) if (step_i && takes) tag_q <= queued_tag;

  localparam int unsigned Stages = 7;
  logic [Stages-1:0] valid_q;
  tag_t [Stages-1:0] tags_q;
  logic [Stages-1:0][5:0] places_q;
  logic [5:0] place;
  logic [55:0] first;
  assign first = hits_q & ~rest;
  always_comb begin
    place = '0;
    for (int unsigned q = 0; q < 56; q++) if (first[q]) place |= 6'(q);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (step_i) valid_q <= {valid_q[Stages-2:0], hits_q != '0};
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      tags_q[0]   <= tag_q;
      places_q[0] <= place;
      for (int unsigned i = 1; i < Stages; i++) begin
        tags_q[i]   <= tags_q[i-1];
        places_q[i] <= places_q[i-1];
      end
    end
  end

  // The inverse of the place, as a power: its row's and its own.
  symbol_t of_row, of_row_q, of_place_q;
  always_comb begin
    case (tags_q[0].row)
      4'd0: of_row = Powers[492];
      4'd1: of_row = Powers[544];
      4'd2: of_row = Powers[596];
      4'd3: of_row = Powers[648];
      4'd4: of_row = Powers[704];
      4'd5: of_row = Powers[756];
      4'd6: of_row = Powers[808];
      4'd7: of_row = Powers[860];
      4'd8: of_row = Powers[912];
      default: of_row = Powers[968];
    endcase
  end

  // z, and its powers; the locator's and the evaluator's sums; their quotient.
  symbol_t z_q, seventh_q, value_q, num_q, num2_q, den_q, inverse_q, z7_q;
  logic [6:1][9:0] powers_q;
  logic [7:0][9:0] locator;
  logic [6:0][9:0] evaluator;
  assign locator = locators_i[tags_q[2].codeword];
  logic [7:0][9:0] locator4;
  assign locator4 = locators_i[tags_q[3].codeword];
  assign evaluator = evaluators_i[tags_q[3].codeword];
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      of_row_q    <= of_row;
      of_place_q  <= Powers[10'(places_q[0])];
      z_q         <= multiply(of_row_q, of_place_q);
      powers_q[1] <= z_q;
      powers_q[2] <= square(z_q);
      powers_q[3] <= multiply(z_q, square(z_q));
      powers_q[4] <= square(square(z_q));
      powers_q[5] <= multiply(z_q, square(square(z_q)));
      powers_q[6] <= multiply(square(z_q), square(square(z_q)));
      seventh_q   <= multiply(locator[7], z_q);
      num_q <= evaluator[0] ^ multiply(evaluator[1], powers_q[1]) ^ multiply(evaluator[2], powers_q[2])
          ^ multiply(evaluator[3], powers_q[3]) ^ multiply(evaluator[4], powers_q[4])
          ^ multiply(evaluator[5], powers_q[5]) ^ multiply(evaluator[6], powers_q[6]);
      den_q <= multiply(locator4[1], powers_q[1]) ^ multiply(locator4[3], powers_q[3])
          ^ multiply(locator4[5], powers_q[5]) ^ multiply(seventh_q, powers_q[6]);
      z7_q      <= multiply(powers_q[1], powers_q[6]);
      num2_q    <= multiply(num_q, square(z7_q));
      inverse_q <= Inverses[den_q];
      value_q   <= multiply(num2_q, inverse_q);
    end
  end
  assign valid_o = valid_q[Stages-1];
  assign {codeword_o, row_o} = tags_q[Stages-1];
  assign place_o = places_q[Stages-1];
  assign value_o = value_q;
endmodule
