// SPDX-License-Identifier: Apache-2.0
// What both ends of a line agree on behind the link: blocks of 64b/66b (IEEE 802.3 clause 49 has the synchronisation headers and the scrambler), and what
// the ends tell each other in control blocks.
package phy_pkg;
  // Bit 0 is the first on the line.
  localparam logic [1:0] SyncData = 2'b10;
  localparam logic [1:0] SyncControl = 2'b01;
  localparam logic [7:0] ControlType = 8'h1E;

  // The state of one end.
  typedef struct packed {
    logic hears;    // receives the flags of the other end
    logic restart;  // was reset: the other end is to begin anew
    logic begun;    // answers restart: has begun anew
    logic clear;    // holds no packets from before that
  } flags_t;

  // A control block is sent whenever there is no word, and has seven copies of the flags: what a few wrong bits make of it is not taken for another one.
  function automatic logic [63:0] control_block(flags_t flags);
    return {{7{4'b0, flags}}, ControlType};
  endfunction
endpackage
