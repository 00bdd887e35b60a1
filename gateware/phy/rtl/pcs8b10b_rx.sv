// SPDX-License-Identifier: Apache-2.0
// Receiving half of a line of several lanes of 8b/10b, which share a recovered clock: joins the words of lanes that are
// in lock and aligned.
//
// A word with a marker on every lane is a control word, if its characters are valid, its copies of the flags equal, and
// the lanes' numbers those of their places. A word without a marker is data, even with invalid characters: the link's
// checks are stronger, and they need the word in its place. A word with markers on some lanes only is dropped.
module pcs8b10b_rx #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Bytes = 4
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      signal_i,
  input  logic [Lanes*Bytes*10-1:0] data_i,
  output logic                      valid_o,
  output logic                      control_o,
  output logic [Lanes*Bytes*8-1:0]  data_o,
  output logic                      locked_o
);
  import phy_pkg::*;
  import code8b10b_pkg::*;
  localparam int unsigned Bits = 8 * Bytes;
  localparam logic [Bytes-1:0] OneControl = 1;
  // A word of a lane: whether it has a marker, whether it may be flags, and its bytes.
  typedef struct packed {
    logic            marked;
    logic            sound;
    logic [Bits-1:0] data;
  } word_t;
  word_t word[Lanes], aside[Lanes];
  logic [Lanes*(Bits+2)-1:0] came, beside;
  logic [Lanes-1:0] locked, align;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [Bytes-1:0] control;
    logic [Bits-1:0] bytes;
    logic sound;
    lane_rx #(.Bytes(Bytes)) u_lane (
      .clk_i, .rst_ni, .signal_i, .data_i(data_i[10*Bytes*l+:10*Bytes]), .control_o(control), .data_o(bytes), .sound_o(sound), .locked_o(locked[l]));
    assign word[l] = '{marked: control[0] && is_marker(bytes[7:0]), sound: sound && control == OneControl, data: bytes};
    assign came[l*(Bits+2)+:Bits+2] = word[l];
    assign aside[l] = beside[l*(Bits+2)+:Bits+2];
    assign align[l] = word[l].marked && word[l].sound && bytes[7:0] == K28_3;
  end
  lane_deskew #(.Lanes(Lanes), .Width(Bits + 2)) u_deskew (
    .clk_i, .rst_ni, .locked_i(locked), .align_i(align), .data_i(came), .data_o(beside), .aligned_o(locked_o));

  logic none, all, alike;
  logic [Lanes*Bits-1:0] data;
  flags_t flags;
  assign flags = flags_t'(aside[0].data[11:8]);
  always_comb begin
    none  = 1'b1;
    all   = 1'b1;
    alike = 1'b1;
    for (int unsigned l = 0; l < Lanes; l++) begin
      data[l*Bits+:Bits] = aside[l].data;
      none  = none && !aside[l].marked;
      all   = all && aside[l].marked && aside[l].sound;
      alike = alike && aside[l].data[Bits-1:8] == {Bytes - 1{4'(l), flags}};
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= locked_o && (none || (all && alike));
  end
  always_ff @(posedge clk_i) begin
    control_o <= all;
    data_o    <= all ? (Lanes * Bits)'(flags) : data;
  end
endmodule
