// SPDX-License-Identifier: Apache-2.0
// Syndromes of RS(528,514), from four lanes of which each brings 132 bits a step: ten steps have a codeword. The first
// row behind the reset is the first of a codeword; at_o counts on from there.
//
// 132 bits are not whole symbols: what is left joins the next ones, so four rows in five have 52 symbols and the fifth 56.
// The symbols stand at the end of a row, behind zeros, so that one table serves all rows. The row is there one step
// later, and the syndromes three steps after the last row.
module eth_fec_syndromes
  import eth_fec_pkg::*;
  import eth_fec_tables_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              step_i,
  input  logic [3:0][131:0] lanes_i,
  output logic [3:0]        at_o,
  output logic [559:0]      row_o,
  output logic [13:0][9:0]  syndromes_o
);
  logic [2:0] phase;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) at_o <= '0;
    else if (step_i) at_o <= at_o == 4'd9 ? '0 : at_o + 1'b1;
  end
  assign phase = 3'(at_o >= 4'd5 ? at_o - 4'd5 : at_o);

  logic [559:0] row;
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    logic [131:0] bits;
    logic [139:0] symbols;
    logic [7:0] rest_q;
    assign bits = lanes_i[l];
    always_comb begin
      case (phase)
        3'd0: symbols = {bits[129:0], 10'b0};
        3'd1: symbols = {bits[127:0], rest_q[1:0], 10'b0};
        3'd2: symbols = {bits[125:0], rest_q[3:0], 10'b0};
        3'd3: symbols = {bits[123:0], rest_q[5:0], 10'b0};
        default: symbols = {bits, rest_q};
      endcase
    end
    always_ff @(posedge clk_i) begin
      if (step_i) begin
        case (phase)
          3'd0: rest_q <= 8'(bits[131:130]);
          3'd1: rest_q <= 8'(bits[131:128]);
          3'd2: rest_q <= 8'(bits[131:126]);
          default: rest_q <= bits[131:124];
        endcase
      end
    end
    for (genvar q = 0; q < 14; q++) begin : gen_symbols
      assign row[10*(4*q+l)+:10] = symbols[10*q+:10];
    end
  end
  always_ff @(posedge clk_i) if (step_i) row_o <= row;

  logic [13:0][9:0] added_q;
  logic [3:0] added_at;
  logic wide;
  assign added_at = behind(at_o, 2);
  assign wide = added_at == 4'd4 || added_at == 4'd9;
  for (genvar i = 0; i < 14; i++) begin : gen_syndromes
    symbol_t moved;
    assign moved = wide ? multiply(syndromes_o[i], Powers[(56 * i) % 1023]) : multiply(syndromes_o[i], Powers[(52 * i) % 1023]);
    for (genvar j = 0; j < 10; j++) begin : gen_bits
      always_ff @(posedge clk_i) if (step_i) added_q[i][j] <= ^(row_o & SyndromeMasks[10*i+j]);
    end
    always_ff @(posedge clk_i) if (step_i) syndromes_o[i] <= added_q[i] ^ (added_at == '0 ? '0 : moved);
  end
endmodule
