// SPDX-License-Identifier: Apache-2.0
// The alignment of four lanes whose rows, markers, locks and numbers are anything. Proved: rows that leave together came as
// many rows behind the markers of their lanes, each lane once, and no FIFO is written when full or read when empty (the
// assertions inside exanet_fifo).
module lanes_align_formal #(
  parameter int unsigned Depth = 4
) (
  input logic            clk_i,
  input logic            resync_i,
  input logic [3:0]      valid_i,
  input logic [3:0]      marker_i,
  input logic [3:0]      locked_i,
  input logic [3:0][1:0] number_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A row is its lane's number and how many came before since the marker, modulo 16.
  logic [3:0][5:0] row, rows;
  logic [3:0][3:0] count;
  logic [3:0] started = '0;
  logic aligned, step;
  logic [3:0] left = '0;  // rows that have left
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    assign row[l] = {number_i[l], started[l] ? count[l] : 4'd0};
    always_ff @(posedge clk_i) begin
      if (!aligned) started[l] <= 1'b0;
      else if (valid_i[l] && (started[l] || marker_i[l])) begin
        started[l] <= 1'b1;
        count[l]   <= row[l][3:0] + 1'b1;
      end
    end
  end
  for (genvar l = 0; l < 4; l++) begin : gen_checks
    always_ff @(posedge clk_i) if (rst_n && step) Together: assert (rows[l] == {2'(l), left});
  end
  always_ff @(posedge clk_i) left <= aligned ? left + 4'(step) : '0;

  eth_lanes_align #(.Width(6), .Depth(Depth)) u_align (
    .clk_i,
    .rst_ni   (rst_n),
    .resync_i,
    .valid_i,
    .marker_i,
    .locked_i,
    .number_i,
    .row_i    (row),
    .aligned_o(aligned),
    .step_o   (step),
    .rows_o   (rows)
  );

  // A lane's number stays while it is locked, as eth_lane_rx has it.
  logic [3:0][1:0] number_q;
  always_ff @(posedge clk_i) begin
    number_q <= number_i;
    if (rst_n && aligned) NumberStays: assume (number_i == number_q);
    Steps: cover (rst_n && left == 4'd3);
  end
endmodule
