// SPDX-License-Identifier: Apache-2.0
// Encoder of RS(528,514): takes a message of 5140 bits in ten steps of 514, and gives the codeword on four lanes, 132
// bits each a step, symbols in turn. All of it goes on with step_i alone; without a stop in between codewords follow
// each other. The first chunk behind the reset is the first of a message; first_o marks a codeword's first row, which
// comes four steps later.
//
// A chunk is not a whole number of symbols: what is left of one joins the next, so five steps have 51, 51, 52, 51 and 52
// symbols. The symbols of a step stand at the end of their row, so one table serves all of them, and only the remainder
// so far is multiplied by x^51 or x^52.
module eth_fec_encoder
  import eth_fec_pkg::*;
  import eth_fec_tables_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              step_i,
  input  logic [513:0]      chunk_i,  // bit 0 goes first
  output logic [3:0][131:0] lanes_o,
  output logic              first_o
);
  // Steps since a codeword began, at the input; later stages are so many behind.
  logic [3:0] at_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) at_q <= '0;
    else if (step_i) at_q <= at_q == 4'd9 ? '0 : at_q + 1'b1;
  end

  // Whole symbols, at the end of a row of 52.
  logic [2:0] phase;
  logic [7:0] rest_q;
  logic [519:0] row, row_q;
  logic [7:0] rest;
  assign phase = 3'(at_q >= 4'd5 ? at_q - 4'd5 : at_q);
  always_comb begin
    case (phase)
      3'd0: row = {chunk_i[509:0], 10'b0};
      3'd1: row = {chunk_i[505:0], rest_q[3:0], 10'b0};
      3'd2: row = {chunk_i[511:0], rest_q[7:0]};
      3'd3: row = {chunk_i[507:0], rest_q[1:0], 10'b0};
      default: row = {chunk_i[513:0], rest_q[5:0]};
    endcase
    case (phase)
      3'd0: rest = 8'(chunk_i[513:510]);
      3'd1: rest = chunk_i[513:506];
      3'd2: rest = 8'(chunk_i[513:512]);
      3'd3: rest = 8'(chunk_i[513:508]);
      default: rest = '0;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      rest_q <= rest;
      row_q  <= row;
    end
  end

  // What the row adds to the remainder; and the remainder so far, times x^51 or x^52.
  logic [139:0] added_q, remainder_q, by51, by52;
  logic [3:0] remainder_at;
  logic wide;
  assign remainder_at = behind(at_q, 2);
  assign wide = remainder_at == 4'd2 || remainder_at == 4'd4 || remainder_at == 4'd7 || remainder_at == 4'd9;
  for (genvar r = 0; r < 140; r++) begin : gen_bits
    assign by51[r] = ^(remainder_q & By51Masks[r]);
    assign by52[r] = ^(remainder_q & By52Masks[r]);
    always_ff @(posedge clk_i) if (step_i) added_q[r] <= ^(row_q & RowMasks[r]);
  end
  always_ff @(posedge clk_i) begin
    if (step_i) remainder_q <= added_q ^ (remainder_at == '0 ? '0 : wide ? by52 : by51);
  end

  // The codeword in rows of 52 or 56 symbols: where chunk and next chunk stand in a window, a row begins a bit further on
  // in each step, and parity is there when the last one needs it.
  localparam int unsigned Delay = 2;
  logic [Delay:0][513:0] chunks_q;  // the newest one lowest
  logic [3:0] window_at;
  logic [559:0] symbols, symbols_q;
  logic [1027:0] window;
  assign window_at = behind(at_q, Delay + 1);
  assign window = {chunks_q[Delay-1], chunks_q[Delay]};
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      chunks_q[0] <= chunk_i;
      for (int unsigned i = 0; i < Delay; i++) chunks_q[i+1] <= chunks_q[i];
    end
  end
  always_comb begin
    case (window_at)
      4'd0: symbols = window[0+:560];
      4'd1: symbols = window[6+:560];
      4'd2: symbols = window[12+:560];
      4'd3: symbols = window[18+:560];
      4'd4: symbols = window[24+:560];
      4'd5: symbols = window[70+:560];
      4'd6: symbols = window[76+:560];
      4'd7: symbols = window[82+:560];
      4'd8: symbols = window[88+:560];
      default: symbols = {remainder_q, window[94+:420]};
    endcase
  end
  always_ff @(posedge clk_i) if (step_i) symbols_q <= symbols;

  // To lanes: symbol by symbol, and 132 bits of each lane a step.
  logic [2:0] lane_phase;
  logic [3:0] lane_at;
  assign lane_at = behind(at_q, Delay + 2);
  assign lane_phase = 3'(lane_at >= 4'd5 ? lane_at - 4'd5 : lane_at);
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    logic [139:0] of_lane, next_of_lane;
    for (genvar q = 0; q < 14; q++) begin : gen_symbols
      assign of_lane[10*q+:10] = symbols_q[10*(4*q+l)+:10];
      assign next_of_lane[10*q+:10] = symbols[10*(4*q+l)+:10];
    end
    // A row has 130 bits of a lane, the fifth 140; but 132 leave: two of the next row's, four, six and eight.
    always_comb begin
      case (lane_phase)
        3'd0: lanes_o[l] = {next_of_lane[1:0], of_lane[129:0]};
        3'd1: lanes_o[l] = {next_of_lane[3:0], of_lane[129:2]};
        3'd2: lanes_o[l] = {next_of_lane[5:0], of_lane[129:4]};
        3'd3: lanes_o[l] = {next_of_lane[7:0], of_lane[129:6]};
        default: lanes_o[l] = of_lane[139:8];
      endcase
    end
  end
  assign first_o = lane_at == '0;
endmodule
