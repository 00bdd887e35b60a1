// SPDX-License-Identifier: Apache-2.0
// Sending half of 64b/66b: a block a cycle, scrambled (x^58 + x^39 + 1) behind its two bits of header, on a
// transceiver's bus of 64 bits. Of 33 cycles one takes no block: the 66 bits of the 32 others fill it. Where there is
// no word a control block with the flags of the last one goes out.
module pcs_tx (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic        control_i,  // the word is flags, in its lowest bits
  input  logic [63:0] data_i,
  output logic        read_o,
  output logic [63:0] data_o      // bit 0 goes first
);
  import phy_pkg::*;
  logic [5:0] sequence_q;  // twice as many bits wait in rest_q
  logic full, control;
  flags_t flags, flags_q;
  logic [63:0] payload, scrambled, rest_q;
  logic [57:0] state_q;  // the last bits on the line, the newest one highest
  logic [65:0] block_q;
  logic [129:0] bits;

  assign full = sequence_q == 6'd32;
  assign read_o = valid_i && !full;
  assign control = !valid_i || control_i;
  assign flags = valid_i && control_i ? flags_t'(data_i[3:0]) : flags_q;
  assign payload = control ? control_block(flags) : data_i;
  assign scrambled = scramble(state_q, payload);
  assign bits = {64'b0, block_q} << {sequence_q[4:0], 1'b0} | {66'b0, rest_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sequence_q <= '0;
      flags_q    <= '{restart: 1'b1, default: 1'b0};
      state_q    <= '1;
    end else begin
      sequence_q <= full ? '0 : sequence_q + 1'b1;
      if (!full) begin
        flags_q <= flags;
        state_q <= scrambled[63:6];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!full) block_q <= {scrambled, control ? SyncControl : SyncData};
    data_o <= full ? rest_q : bits[63:0];
    // What a pause leaves is nothing, whatever the first cycles were.
    rest_q <= full || !rst_ni ? '0 : bits[127:64];
  end
endmodule
