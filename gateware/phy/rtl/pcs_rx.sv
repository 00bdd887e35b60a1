// SPDX-License-Identifier: Apache-2.0
// Receiving half of 64b/66b, in the recovered clock: finds the blocks among the bits of a transceiver's bus, and
// descrambles them.
//
// Block lock is as in IEEE 802.3 clause 49: found after 64 sound headers in a row, a bit further on (slip) after each
// that is not; lost after 16 unsound ones among 64. A block with an unsound header is dropped. A wrong bit on the line
// is three behind the descrambler.
//
// A control block whose copies of the flags differ is dropped, too.
module pcs_rx (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        signal_i,   // there is light, or what the transceiver says of its line
  input  logic [63:0] data_i,     // bit 0 came first
  output logic        valid_o,
  output logic        control_o,  // the word is flags, in its lowest bits
  output logic [63:0] data_o,
  output logic        locked_o
);
  import phy_pkg::*;

  // Blocks of 66 bits, or of 67 where one is slipped.
  logic [6:0] held_q;  // bits that wait in rest_q
  logic [7:0] bits_there, bits_taken;
  logic [65:0] rest_q, block_q;
  logic [129:0] bits;
  logic block_valid_q, whole, slip_q, slip;
  assign bits = {66'b0, data_i} << held_q | {64'b0, rest_q};
  assign bits_there = 8'(held_q) + 8'd64;
  assign bits_taken = 8'd66 + 8'(slip_q);
  assign whole = bits_there >= bits_taken;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q        <= '0;
      block_valid_q <= 1'b0;
    end else begin
      held_q        <= 7'(whole ? bits_there - bits_taken : bits_there);
      block_valid_q <= whole;
    end
  end
  always_ff @(posedge clk_i) begin
    block_q <= slip_q ? bits[66:1] : bits[65:0];
    rest_q <= !rst_ni ? '0 : !whole ? bits[65:0] : slip_q ? 66'(bits[129:67]) : 66'(bits[129:66]);
  end

  // Lock. A block that was put together before a slip is not looked at.
  logic sound, looks;
  logic [5:0] seen_q;
  logic [3:0] unsound_q;
  assign sound = block_q[0] != block_q[1];
  assign looks = block_valid_q && !slip_q;
  assign slip = looks && !sound && (!locked_o || unsound_q == 4'd15);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slip_q    <= 1'b0;
      locked_o  <= 1'b0;
      seen_q    <= '0;
      unsound_q <= '0;
    end else begin
      slip_q <= slip || (slip_q && !whole);
      if (looks) begin
        seen_q <= seen_q + 1'b1;
        unsound_q <= unsound_q + 4'(!sound);
        if (seen_q == '1) begin
          locked_o  <= 1'b1;
          unsound_q <= '0;
        end
      end
      if (slip || !signal_i) begin
        locked_o  <= 1'b0;
        seen_q    <= '0;
        unsound_q <= '0;
      end
    end
  end

  // The descrambler's state is what came on the line.
  logic [57:0] state_q;
  logic [63:0] clear, data_q;
  logic valid_q, control_q;
  flags_t flags;
  assign clear = descramble(state_q, block_q[65:2]);
  always_ff @(posedge clk_i) begin
    if (block_valid_q) begin
      state_q   <= block_q[65:8];
      data_q    <= clear;
      control_q <= block_q[1:0] == SyncControl;
    end
  end
  assign flags = flags_t'(data_q[11:8]);
  assign valid_o = valid_q && (!control_q || data_q == control_block(flags));
  assign control_o = control_q;
  assign data_o = control_q ? {60'b0, flags} : data_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= looks && sound && locked_o;
  end
endmodule
