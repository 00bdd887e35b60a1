// SPDX-License-Identifier: Apache-2.0
// Receiving half of 100GBASE-R with RS-FEC (IEEE 802.3 clauses 82 and 91), from four lanes of 128 bits a cycle to words of
// eight times eight bytes: markers, deskew and order of lanes, RS(528,514), groups of 257 bits, descrambler, 64b/66b.
//
// Blocks of an uncorrectable codeword become ErrorWord, and so do the two blocks after them, whose descrambling needs
// the bad bits (that of the second only where the transcoding omitted a nibble of the first one's type). Three such codewords in a
// row restart the search for markers, as the standard requires. A word is valid in at most 32 of 33 cycles.
module eth_pcs_rx
  import eth_pcs_pkg::*;
#(
  parameter int unsigned Period = 4096  // codewords from marker to marker
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              bypass_i,       // 1: neither corrects nor marks errors; bad codewords do not restart alignment
  input  logic [3:0][127:0] lanes_i,
  output logic              aligned_o,
  output logic              valid_o,
  output word_t [7:0]       words_o,
  output logic              codeword_o,     // pulse: a codeword has been decoded. In this cycle:
  output logic              uncorrected_o,  // it could not be corrected; with bypass_i: it had an error
  output logic [2:0]        corrected_o     // symbols of it that were corrected; with bypass_i 0
);
  logic aligned, step, resync_q;
  logic [3:0] lane_valid, lane_marker, lane_locked;
  logic [3:0][1:0] lane_number;
  logic [3:0][131:0] lane_rows, rows;
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    eth_lane_rx #(.Period(Period)) u_lane (
      .clk_i,
      .rst_ni,
      .resync_i(resync_q),
      .data_i  (lanes_i[l]),
      .valid_o (lane_valid[l]),
      .marker_o(lane_marker[l]),
      .row_o   (lane_rows[l]),
      .locked_o(lane_locked[l]),
      .number_o(lane_number[l])
    );
  end
  eth_lanes_align u_align (
    .clk_i,
    .rst_ni,
    .resync_i (resync_q),
    .valid_i  (lane_valid),
    .marker_i (lane_marker),
    .locked_i (lane_locked),
    .number_i (lane_number),
    .row_i    (lane_rows),
    .aligned_o(aligned),
    .step_o   (step),
    .rows_o   (rows)
  );

  logic stepped_q, valid, first, bad;
  logic [2:0] corrected;
  logic [513:0] chunk;
  eth_fec_decoder u_decoder (
    .clk_i,
    .rst_ni     (aligned),
    .step_i     (step),
    .bypass_i,
    .lanes_i    (rows),
    .valid_o    (valid),
    .first_o    (first),
    .bad_o      (bad),
    .corrected_o(corrected),
    .chunk_o    (chunk)
  );
  logic comes;
  logic [1:0] bad_q;  // messages in a row
  assign comes = stepped_q && valid;
  assign codeword_o = comes && first;
  assign uncorrected_o = bad;
  assign corrected_o = corrected;
  always_ff @(posedge clk_i or negedge aligned) begin
    if (!aligned) begin
      stepped_q <= 1'b0;
      bad_q     <= '0;
    end else begin
      stepped_q <= step;
      if (codeword_o) bad_q <= !bad || bypass_i ? '0 : bad_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) resync_q <= 1'b0;
    else resync_q <= aligned && bad_q == 2'd3;
  end

  logic word_valid, clear_valid_q;
  logic [1:0] last_bad_q;
  logic [7:0] word_bad, word_control, bad2_q;
  logic [511:0] word_payload, clear;
  logic [57:0] state_q;
  block_t [7:0] blocks_q;
  eth_groups_rx #(.Period(Period)) u_groups (
    .clk_i,
    .rst_ni   (aligned),
    .valid_i  (comes),
    .bad_i    (bad && !bypass_i),
    .chunk_i  (chunk),
    .valid_o  (word_valid),
    .bad_o    (word_bad),
    .control_o(word_control),
    .payload_o(word_payload)
  );
  assign clear = descramble(state_q, word_payload);
  always_ff @(posedge clk_i or negedge aligned) begin
    if (!aligned) begin
      clear_valid_q <= 1'b0;
      valid_o       <= 1'b0;
      aligned_o     <= 1'b0;
    end else begin
      clear_valid_q <= word_valid;
      valid_o       <= clear_valid_q;
      if (clear_valid_q) aligned_o <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (word_valid) begin
      state_q    <= word_payload[511:454];
      last_bad_q <= word_bad[7:6];
    end
    bad2_q <= word_bad | {word_bad[6:0], last_bad_q[1]} | {word_bad[5:0], last_bad_q};
    for (int unsigned i = 0; i < 8; i++) begin
      blocks_q[i] <= '{control: word_control[i], payload: clear[64*i+:64]};
      words_o[i]  <= bad2_q[i] ? ErrorWord : decode(blocks_q[i]);
    end
  end
endmodule
