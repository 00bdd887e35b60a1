// SPDX-License-Identifier: Apache-2.0
// The groups of 257 bits. Proved: the nibble that a group leaves out follows from the rest, for every type of control block
// and whatever the scrambler had before.
module code_formal
  import eth_pcs_pkg::*;
(
  input logic        clk_i,
  input logic [63:0] previous_i,
  input logic [55:0] rest_i,
  input logic [3:0]  type_i
);
  // Types by their first nibble; where there is none, that of an idle block.
  logic [7:0] kind;
  logic [511:0] block;
  always_comb begin
    kind = 8'h1E;
    if (type_i == 4'd8) kind = 8'h78;
    if (type_i == 4'd9) kind = 8'h4B;
    if (type_i < 4'd8) kind = TerminateTypes[type_i[2:0]];
  end
  assign block = scramble(previous_i[63:6], {448'b0, rest_i, kind});

  always_ff @(posedge clk_i) begin
    Nibble: assert (second_nibble(previous_i[32:25], previous_i[13:6], block[3:0]) == block[7:4]);
    Each: cover (kind == 8'h4B && block[7:0] == 8'h00);
  end
endmodule
