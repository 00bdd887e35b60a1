// SPDX-License-Identifier: Apache-2.0
// The scrambler and the descrambler of 64b/66b, each beginning in any state, on a line that turns bits. Proved: behind
// 58 bits without an error the descrambler gives back what was scrambled, whatever either began with, and does so
// behind each error again; one wrong bit is three, itself and those 39 and 58 bits later, and no other.
module scrambler_formal (
  input logic        clk_i,
  input logic        block_i,    // a block goes
  input logic [63:0] payload_i,
  input logic [63:0] wrong_i,    // bits that the line turns
  input logic [5:0]  one_i
);
  logic [57:0] sender, receiver;  // no initial value: any
  logic [63:0] scrambled, line, clear;
  logic in_step = 1'b0, erred = 1'b0;
  assign scrambled = phy_pkg::scramble(sender, payload_i);
  assign line = scrambled ^ wrong_i;
  assign clear = phy_pkg::descramble(receiver, line);
  always_ff @(posedge clk_i) begin
    if (block_i) begin
      sender   <= scrambled[63:6];
      receiver <= line[63:6];
      erred    <= erred || (in_step && wrong_i[63:6] != '0);
      in_step  <= wrong_i[63:6] == '0;
    end
  end

  // Of the block with one wrong bit and the next one, on a line of their own.
  logic [127:0] three;
  logic [63:0] one, first, second;
  assign one = 64'd1 << one_i;
  assign three = 128'(one) ^ 128'(one) << 39 ^ 128'(one) << 58;
  assign first = phy_pkg::descramble(receiver, scrambled ^ one);
  assign second = phy_pkg::descramble(scrambled[63:6] ^ one[63:6], payload_i);

  always_ff @(posedge clk_i) begin
    if (in_step && wrong_i == '0) Same: assert (clear == payload_i);
    if (wrong_i == '0) FromThe59th: assert (clear[63:58] == payload_i[63:58]);
    InStep: assert (!in_step || sender == receiver);
    if (in_step) OneIsThree: assert ({second ^ phy_pkg::descramble(scrambled[63:6], payload_i), first ^ payload_i} == three);
    Errs: cover (in_step && clear != payload_i);
    BackInStep: cover (in_step && erred);
  end
endmodule
