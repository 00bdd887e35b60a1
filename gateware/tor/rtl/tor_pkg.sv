// SPDX-License-Identifier: Apache-2.0
// What the top-of-rack switch's modules share: the flit of its links and the configuration of its routing.
//
// A flit has 70 bits (Microprocessors and Microsystems 61, 2018, section 2.3): 64 of data, 4 of the medium, which the
// switch passes on, and two that mark a packet's begin and end. A packet's header and footer are those of spec/, each
// in two flits, the lower half first.
package tor_pkg;
  typedef struct packed {
    logic        first;
    logic        last;
    logic [3:0]  mac;
    logic [63:0] data;
  } flit_t;

  localparam int unsigned AddressBits = 16;  // of a destination: those of the header's dcid that the first flit has
  localparam int unsigned AddressLow = 48;  // the lowest of them in the first flit
  localparam int unsigned LengthLow = 38;  // payload bytes in the second flit
  localparam int unsigned LengthBits = 10;
  localparam int unsigned IndexBits = 7;  // number of a packet's last flit, counted from 0: 67 at most
  localparam int unsigned PortBits = 6;

  // Routing in a tree whose switches have powers of two of children and parents: no table, only these. A destination
  // whose bits under `above` are those of `subtree` is below this switch, behind the child that its bits from
  // `down_shift` on name; else a parent, by its bits from `up_shift` on, takes it up (D-mod-k).
  typedef struct packed {
    logic [AddressBits-1:0] above;
    logic [AddressBits-1:0] subtree;
    logic [3:0]             down_shift;
    logic [PortBits-1:0]    down_mask;
    logic [3:0]             up_shift;
    logic [PortBits-1:0]    up_mask;
    logic [PortBits-1:0]    first_up;  // the number of the first port towards a parent
  } route_config_t;

  function automatic logic [PortBits-1:0] route(route_config_t here, logic [AddressBits-1:0] to);
    logic [PortBits-1:0] down, up;
    down = PortBits'(to >> here.down_shift);
    up   = PortBits'(to >> here.up_shift);
    return ((to ^ here.subtree) & here.above) == '0 ? down & here.down_mask : here.first_up + (up & here.up_mask);
  endfunction
endpackage
