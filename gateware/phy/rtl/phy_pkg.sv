// SPDX-License-Identifier: Apache-2.0
// What both ends of a line agree on behind the link: blocks of 64b/66b (IEEE 802.3 clause 49 has the synchronisation
// headers and the scrambler), and what the ends report to each other in control blocks.
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

  // A control block is sent whenever there is no word, and has seven copies of the flags: what a few wrong bits make of
  // it is not taken for another one.
  function automatic logic [63:0] control_block(flags_t flags);
    return {{7{4'b0, flags}}, ControlType};
  endfunction

  // x^58 + x^39 + 1. The state is what went over the line last, the newest bit highest: so a descrambler is in step
  // behind 58 bits, whatever it began with.
  function automatic logic [63:0] scramble(logic [57:0] state, logic [63:0] payload);
    logic [121:0] line;
    line = '0;
    line[57:0] = state;
    for (int unsigned i = 0; i < 64; i++) line[58+i] = payload[i] ^ line[19+i] ^ line[i];
    return line[121:58];
  endfunction

  function automatic logic [63:0] descramble(logic [57:0] state, logic [63:0] scrambled);
    logic [121:0] line;
    line = {scrambled, state};
    return line[121:58] ^ line[82:19] ^ line[63:0];
  endfunction
endpackage
