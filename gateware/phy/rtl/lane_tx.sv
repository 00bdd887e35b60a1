// SPDX-License-Identifier: Apache-2.0
// One lane of 8b/10b, sending: the characters of a cycle, one after the other, to the bus of a transceiver that codes
// nothing. Two cycles.
module lane_tx #(
  parameter int unsigned Bytes = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [Bytes-1:0]    control_i,  // control characters
  input  logic [Bytes*8-1:0]  data_i,     // the lowest goes first
  output logic [Bytes*10-1:0] data_o      // bit 0 goes first
);
  import code8b10b_pkg::*;
  character_t [Bytes-1:0] character_q;
  logic [Bytes-1:0] turns, turns_q, positive;
  logic positive_q;
  logic [Bytes-1:0][9:0] code;
  always_comb begin
    for (int unsigned b = 0; b < Bytes; b++) begin
      // Whether a character turns the disparity does not depend on it.
      turns[b] = positive_behind(encode('{control: control_i[b], data: data_i[8*b+:8]}, 1'b0), 1'b0);
      positive[b] = positive_q;
      for (int unsigned i = 0; i < b; i++) positive[b] ^= turns_q[i];
      code[b] = encode(character_q[b], positive[b]);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turns_q    <= '0;
      positive_q <= 1'b0;
    end else begin
      turns_q    <= turns;
      positive_q <= positive_q ^ (^turns_q);
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < Bytes; b++) begin
      character_q[b] <= '{control: control_i[b], data: data_i[8*b+:8]};
      data_o[10*b+:10] <= {<<{code[b]}};
    end
  end
endmodule
