// SPDX-License-Identifier: Apache-2.0
// A node's place in the tables of peers, from its address: coordinates that the kernel's shifts put side by side. No
// coordinate reaches into the bits of the next one, so no two nodes share a place. What follows from the shifts alone
// is in registers: it counts a cycle after them.
module ni_peer #(
  parameter int unsigned Peers = 4096,
  parameter int unsigned NodeBits = 0,  // of an address: node of the QFDB, then coordinates, as of router_route
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned Bits = $clog2(Peers)
) (
  input  logic            clk_i,
  input  logic [21:0]     dcid_i,
  input  logic [3:0]      y_shift_i,
  input  logic [3:0]      z_shift_i,
  output logic [Bits-1:0] peer_o,
  output logic            known_o  // there is a place for it
);
  if (Peers < 2 || Peers != 2 ** Bits) begin : gen_illegal_1
    $error("Peers is a power of two");
  end
  localparam int unsigned Low = NodeBits + XBits;
  localparam int unsigned ZBits = 22 - Low - YBits;
  localparam logic [37:0] All = '1;
  logic [Low-1:0] low, no_low_q;  // bits that none may have
  logic [YBits-1:0] y, no_y_q;
  logic [ZBits-1:0] z, no_z_q;

  always_ff @(posedge clk_i) begin
    no_low_q <= Low'((All << y_shift_i) | (All << z_shift_i) | (All << Bits));
    no_y_q   <= YBits'(((All << z_shift_i) | (All << Bits)) >> y_shift_i);
    no_z_q   <= ZBits'((All << Bits) >> z_shift_i);
  end
  assign {z, y, low} = dcid_i;
  assign peer_o = Bits'(low) | Bits'(y) << y_shift_i | Bits'(z) << z_shift_i;
  assign known_o = (low & no_low_q) == '0 && (y & no_y_q) == '0 && (z & no_z_q) == '0;
endmodule
