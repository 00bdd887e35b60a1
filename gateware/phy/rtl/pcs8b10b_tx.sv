// SPDX-License-Identifier: Apache-2.0
// Sending half of a line of several lanes of 8b/10b, as APEnet+'s of four: a word a cycle, an equal part of it on each
// lane, the lowest on lane 0. When there is no word, it sends a control word: on each lane a marker, and copies of the
// flags and of the lane's number. The marker is K28.5, whose comma shows where words begin, or K28.3, which aligns the
// lanes. The distance from one K28.3 to the next is random, 16 to 31 words: so lanes with skew cannot match by chance.
module pcs8b10b_tx #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Bytes = 4  // of a word on each lane
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i,
  input  logic                      control_i,  // the word is flags, in its lowest bits
  input  logic [Lanes*Bytes*8-1:0]  data_i,
  output logic                      read_o,
  output logic [Lanes*Bytes*10-1:0] data_o      // lane 0 lowest, and of each lane bit 0 goes first
);
  import phy_pkg::*;
  import code8b10b_pkg::*;
  logic control, control_q, align_q;
  flags_t flags, flags_q;
  logic [4:0] left_q;  // words until the next K28.3
  logic [6:0] drawn_q;  // x^7 + x^6 + 1
  logic [Lanes*Bytes*8-1:0] data_q;
  assign read_o = valid_i;
  assign control = !valid_i || control_i;
  assign flags = valid_i && control_i ? flags_t'(data_i[3:0]) : flags_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      control_q <= 1'b1;
      align_q   <= 1'b0;
      left_q    <= '0;
      drawn_q   <= '1;
      flags_q   <= '{restart: 1'b1, default: 1'b0};
    end else begin
      control_q <= control;
      align_q   <= control && left_q == '0;
      left_q    <= left_q != '0 ? left_q - 1'b1 : control ? {1'b0, drawn_q[3:0]} + 5'd15 : '0;
      drawn_q   <= {drawn_q[5:0], drawn_q[6] ^ drawn_q[5]};
      flags_q   <= flags;
    end
  end
  always_ff @(posedge clk_i) data_q <= data_i;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [Bytes*8-1:0] ordered_set;
    assign ordered_set = {{Bytes - 1{4'(l), flags_q}}, align_q ? K28_3 : K28_5};
    lane_tx #(.Bytes(Bytes)) u_lane (
      .clk_i, .rst_ni, .control_i(Bytes'(control_q)), .data_i(control_q ? ordered_set : data_q[8*Bytes*l+:8*Bytes]),
      .data_o(data_o[10*Bytes*l+:10*Bytes]));
  end
endmodule
