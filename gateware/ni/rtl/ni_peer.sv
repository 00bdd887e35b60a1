// SPDX-License-Identifier: Apache-2.0
// A node's place in the tables of peers, from its address: coordinates that the kernel's shifts put side by side.
module ni_peer #(
  parameter int unsigned Peers = 4096,
  parameter int unsigned NodeBits = 0,  // of an address: node of the QFDB, then coordinates, as of router_route
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned Bits = $clog2(Peers)
) (
  input  logic [21:0]     dcid_i,
  input  logic [3:0]      y_shift_i,
  input  logic [3:0]      z_shift_i,
  output logic [Bits-1:0] peer_o,
  output logic            known_o  // there is a place for it
);
  localparam int unsigned Low = NodeBits + XBits;
  localparam int unsigned ZBits = 22 - Low - YBits;
  logic [22:0] low, y, z, place;

  assign low = 23'(dcid_i[Low-1:0]);
  assign y = 23'(dcid_i[Low+:YBits]) << y_shift_i;
  assign z = 23'(dcid_i[Low+YBits+:ZBits]) << z_shift_i;
  assign place = low | y | z;
  assign peer_o = place[Bits-1:0];
  // No coordinate reaches into the bits of the next one, so no two nodes share a place.
  assign known_o = place[22:Bits] == '0 && low >> y_shift_i == '0 && (low | y) >> z_shift_i == '0;
endmodule
