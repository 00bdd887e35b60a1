// SPDX-License-Identifier: Apache-2.0
// Sending half of 100GBASE-R with RS-FEC (IEEE 802.3 clauses 82 and 91), from words of eight times eight bytes to four
// lanes of 128 bits a cycle: 64b/66b, scrambler, groups of 257 bits, alignment markers, RS(528,514).
//
// The line needs 33 cycles for 32 words, and every Period codewords 20 blocks for markers: ready_o is low in those cycles.
// Nothing is deleted, so what the MAC has as a gap is one on the line. Markers take two words and a half: behind every other
// of them the second half of each word is sent with the next one.
//
// The lanes of the code are those of the blocks' order: block n is of lane n mod 20. Markers have no parity of their lane
// (bytes 3 and 7): the receiver has the codewords to count errors by.
module eth_pcs_tx
  import eth_pcs_pkg::*;
#(
  parameter int unsigned Period = 4096  // codewords from marker to marker
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  word_t [7:0]       words_i,
  output logic              ready_o,
  output logic [3:0][127:0] lanes_o
);
  localparam int unsigned PeriodBits = unsigned'($clog2(Period));
  if (Period < 2 || Period != 2 ** PeriodBits) begin : gen_illegal_1
    $error("Period must be a power of two, 2 at least");
  end

  // Steps of the code and of the correction; those in which words are taken.
  logic [5:0] gear_q;
  logic step, take, full;
  assign full = gear_q == 6'd32;
  assign step = !full;
  assign ready_o = take;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) gear_q <= '0;
    else gear_q <= full ? '0 : gear_q + 1'b1;
  end

  // Blocks, scrambled, in two groups.
  block_t [7:0] blocks_q;
  logic [511:0] payload, scrambled, scrambled_q;
  logic [7:0] control_q;
  logic [57:0] state_q;
  logic [513:0] groups, groups_q;
  for (genvar i = 0; i < 8; i++) begin : gen_blocks
    assign payload[64*i+:64] = blocks_q[i].payload;
  end
  assign scrambled = scramble(state_q, payload);
  assign groups = {pack(control_q[7:4], scrambled_q[511:256]), pack(control_q[3:0], scrambled_q[255:0])};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      blocks_q  <= '0;
      state_q   <= '1;
      control_q <= '0;
    end else if (take) begin
      for (int unsigned i = 0; i < 8; i++) begin
        blocks_q[i]  <= encode(words_i[i]);
        control_q[i] <= blocks_q[i].control;
      end
      state_q <= scrambled[511:454];
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      scrambled_q <= scrambled;
      groups_q    <= groups;
    end
  end

  // Markers: five groups, symbol by symbol in turn of the four lanes, and five bits that fill them.
  function automatic logic [1279:0] all_markers();
    logic [1279:0] bits;
    logic [3:0][319:0] of_lane;
    for (int unsigned l = 0; l < 4; l++) of_lane[l] = lane_markers(l);
    for (int unsigned s = 0; s < 128; s++) bits[10*s+:10] = of_lane[s%4][10*(s/4)+:10];
    return bits;
  endfunction
  localparam logic [1279:0] AllMarkers = all_markers();

  logic [3:0] at_q;
  logic [PeriodBits-1:0] codeword_q;
  logic odd_q, marks;
  logic [256:0] held_q;
  logic [513:0] chunk_q;
  logic [1284:0] markers;
  assign markers = {odd_q ? 5'b11010 : 5'b00101, AllMarkers};
  assign marks = codeword_q == '0 && at_q <= 4'd2;
  assign take = step && (!marks || (at_q == 4'd2 && !odd_q));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_q       <= '0;
      codeword_q <= '0;
      odd_q      <= 1'b0;
    end else if (step) begin
      at_q <= at_q == 4'd9 ? '0 : at_q + 1'b1;
      if (at_q == 4'd9) codeword_q <= codeword_q + 1'b1;
      if (marks && at_q == 4'd2) odd_q <= !odd_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) held_q <= groups_q[513:257];
    if (step) begin
      case ({marks, at_q[1:0]})
        3'b100: chunk_q <= markers[513:0];
        3'b101: chunk_q <= markers[1027:514];
        3'b110: chunk_q <= {odd_q ? held_q : groups_q[256:0], markers[1284:1028]};
        default: chunk_q <= odd_q ? {groups_q[256:0], held_q} : groups_q;
      endcase
    end
  end

  // The encoder begins with the first chunk of a codeword.
  logic begun_q;
  logic [3:0][131:0] rows;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (step) begun_q <= 1'b1;
  end
  eth_fec_encoder u_encoder (
    .clk_i,
    .rst_ni,
    .step_i (step && begun_q),
    .chunk_i(chunk_q),
    .lanes_o(rows)
  );

  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    logic [131:0] rest_q;
    logic [259:0] bits;
    assign bits = {128'b0, rows[l]} << {gear_q[4:0], 2'b0} | {128'b0, rest_q};
    always_ff @(posedge clk_i) begin
      lanes_o[l] <= full ? rest_q[127:0] : bits[127:0];
      rest_q     <= full || !rst_ni ? '0 : bits[259:128];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni && take) TakesInSteps : assert (step);
`endif
endmodule
