// SPDX-License-Identifier: Apache-2.0
// Four lanes of the receiver, each with its bits and its delay, in their order and side by side: rows of the codeword's
// first step behind the reset first. step_o says that there is one.
//
// Lanes wait for each other in FIFOs from a marker on. Depth rows are more than the 180 ns that the standard allows
// between lanes: 4641 bits, or 36 rows. Where lanes began at different markers, or are further apart, a FIFO fills up, and
// the alignment begins again; so it does when a lane loses its marker, or with resync_i.
module eth_lanes_align #(
  parameter int unsigned Period = 4096,
  parameter int unsigned Depth = 64
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              resync_i,
  input  logic [3:0][127:0] lanes_i,
  output logic              aligned_o,  // low while what comes behind is to be reset
  output logic              step_o,
  output logic [3:0][131:0] rows_o
);
  logic [3:0] valid, marker, locked, started_q, full, there;
  logic [3:0][131:0] row, queued;
  logic [3:0][1:0] number, number_q;
  logic apart, fails;
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    logic write;
    logic [$clog2(Depth):0] held_q;
    eth_lane_rx #(.Period(Period)) u_lane (
      .clk_i,
      .rst_ni,
      .resync_i,
      .data_i  (lanes_i[l]),
      .valid_o (valid[l]),
      .marker_o(marker[l]),
      .row_o   (row[l]),
      .locked_o(locked[l]),
      .number_o(number[l])
    );
    assign write = aligned_o && valid[l] && (started_q[l] || marker[l]) && !full[l];
    assign full[l] = held_q[$clog2(Depth)];
    exanet_fifo #(.Width(132), .Depth(Depth)) u_wait (
      .clk_i,
      .rst_ni (aligned_o),
      .write_i(write),
      .data_i (row[l]),
      .read_i (step_o),
      .valid_o(there[l]),
      .data_o (queued[l])
    );
    always_ff @(posedge clk_i or negedge aligned_o) begin
      if (!aligned_o) begin
        held_q       <= '0;
        started_q[l] <= 1'b0;
      end else begin
        held_q <= held_q + ($bits(held_q))'(write) - ($bits(held_q))'(step_o);
        if (write) started_q[l] <= 1'b1;
      end
    end
  end
  assign step_o = &there;

  // Each lane once.
  assign apart = number[0] != number[1] && number[0] != number[2] && number[0] != number[3] && number[1] != number[2]
      && number[1] != number[3] && number[2] != number[3];
  assign fails = !(&locked) || !apart || full != '0 || resync_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) aligned_o <= 1'b0;
    else aligned_o <= !fails;
  end
  always_ff @(posedge clk_i) if (!aligned_o) number_q <= number;
  always_comb begin
    rows_o = '0;
    for (int unsigned l = 0; l < 4; l++) for (int unsigned from = 0; from < 4; from++) if (number_q[from] == 2'(l)) rows_o[l] |= queued[from];
  end
endmodule
