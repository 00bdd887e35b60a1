// SPDX-License-Identifier: Apache-2.0
// One lane of the receiver: finds the alignment marker at any bit of a lane, and gives rows of 132 bits that begin with a
// codeword's.
//
// A marker is looked for at every bit of a row, all of its 48 bits right; then Period codewords later one has to follow,
// of whose twelve nibbles nine are right. Five that are not, one after the other, or resync_i, make the search begin again:
// so after a slip. The marker behind the first says which lane this is.
module eth_lane_rx
  import eth_pcs_pkg::*;
#(
  parameter int unsigned Period = 4096
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         resync_i,
  input  logic [127:0] data_i,     // bit 0 came first
  output logic         valid_o,
  output logic         marker_o,   // the row begins with a marker
  output logic [131:0] row_o,
  output logic         locked_o,
  output logic [1:0]   number_o
);
  localparam int unsigned Rows = 10 * Period;
  localparam int unsigned CountBits = unsigned'($clog2(Rows));

  // A row is where the pointer says, from the oldest of three words on; words go on by 128 bits, rows by 132.
  logic [383:0] words_q;  // the oldest word lowest
  logic [8:0] pointer_q, slip;
  logic emits;
  logic [131:0] row, row_q;
  assign emits = pointer_q < 9'd128;
  assign row = 132'(words_q >> pointer_q[6:0]);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pointer_q <= '0;
    else pointer_q <= emits ? pointer_q + 9'd4 + slip : pointer_q - 9'd128;
  end
  always_ff @(posedge clk_i) begin
    words_q <= {data_i, words_q[383:128]};
    if (emits) row_q <= row;
  end

  // Search: at each bit of a row.
  logic [131:0] matching, matching_q, first;
  logic [7:0] offset;
  logic [263:0] two;
  logic hunts_q, found;
  localparam logic [63:0] First = marker(0);
  assign two = {row, row_q};
  for (genvar o = 0; o < 132; o++) begin : gen_places
    assign matching[o] = two[o+:24] == First[23:0] && two[o+32+:24] == First[55:32];
  end
  assign first = matching_q & ~(matching_q - 1'b1);
  always_comb begin
    offset = '0;
    for (int unsigned o = 0; o < 132; o++) if (first[o]) offset |= 8'(o);
  end
  assign found = hunts_q && matching_q != '0;
  assign slip = found ? 9'(offset) : '0;
  always_ff @(posedge clk_i) if (emits) matching_q <= hunts_q && !found ? matching : '0;

  // Rows since the marker's, of row_q.
  logic [CountBits-1:0] count_q;
  logic good;
  logic [2:0] misses_q;
  logic at_marker;
  assign at_marker = !hunts_q && count_q == '0;
  assign good = nibbles_wrong(row_q[63:0], First) <= 4'd3;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hunts_q  <= 1'b1;
      locked_o <= 1'b0;
      misses_q <= '0;
      count_q  <= '0;
    end else if (resync_i) begin
      hunts_q  <= 1'b1;
      locked_o <= 1'b0;
    end else if (emits) begin
      count_q <= count_q == CountBits'(Rows - 1) ? '0 : count_q + 1'b1;
      if (found) begin
        hunts_q  <= 1'b0;
        count_q  <= CountBits'(2);  // row_q is going to be the last one before the slip
        misses_q <= '0;
      end else if (at_marker) begin
        misses_q <= good ? '0 : misses_q + 1'b1;
        if (good) locked_o <= 1'b1;
        else if (!locked_o || misses_q == 3'd4) begin
          hunts_q  <= 1'b1;
          locked_o <= 1'b0;
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (emits && at_marker && good) begin
      for (int unsigned l = 0; l < 4; l++) if (nibbles_wrong(row_q[127:64], marker(l + 4)) <= 4'd3) number_o <= 2'(l);
    end
  end

  // Behind the check, so that a marker's row comes when it is known to be good.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= emits;
  end
  always_ff @(posedge clk_i) begin
    if (emits) begin
      row_o    <= row_q;
      marker_o <= at_marker && good;
    end
  end
endmodule
