// SPDX-License-Identifier: Apache-2.0
// Four lanes of the receiver, each with its own delay, in their order and side by side: a codeword's first row is the first
// one behind the reset. step_o says that there is a row.
//
// Lanes wait for each other in FIFOs from a marker on. Depth rows are more than the 180 ns that the standard allows
// between lanes: 4641 bits, or 36 rows. Where lanes began at different markers, or are further apart, a FIFO fills up, and
// the alignment begins again; so it does when a lane loses its marker, or with resync_i.
module eth_lanes_align #(
  parameter int unsigned Width = 132,
  parameter int unsigned Depth = 64  // rows, a power of two
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  resync_i,
  input  logic [3:0]            valid_i,
  input  logic [3:0]            marker_i,
  input  logic [3:0]            locked_i,
  input  logic [3:0][1:0]       number_i,
  input  logic [3:0][Width-1:0] row_i,
  output logic                  aligned_o,  // low while what comes behind is to be reset
  output logic                  step_o,
  output logic [3:0][Width-1:0] rows_o
);
  localparam int unsigned Bits = unsigned'($clog2(Depth));
  logic [3:0] started_q, full, there;
  logic [3:0][Width-1:0] queued;
  logic [3:0][1:0] number_q;
  logic apart, fails;
  for (genvar l = 0; l < 4; l++) begin : gen_lanes
    logic write;
    logic [Bits:0] held_q;
    assign write = aligned_o && valid_i[l] && (started_q[l] || marker_i[l]) && !full[l];
    assign full[l] = held_q[Bits];
    exanet_fifo #(.Width(Width), .Depth(Depth)) u_wait (
      .clk_i,
      .rst_ni (aligned_o),
      .write_i(write),
      .data_i (row_i[l]),
      .read_i (step_o),
      .valid_o(there[l]),
      .data_o (queued[l])
    );
    always_ff @(posedge clk_i or negedge aligned_o) begin
      if (!aligned_o) begin
        held_q       <= '0;
        started_q[l] <= 1'b0;
      end else begin
        held_q <= held_q + (Bits + 1)'(write) - (Bits + 1)'(step_o);
        if (write) started_q[l] <= 1'b1;
      end
    end
  end
  assign step_o = &there;

  // Each lane once.
  assign apart = number_i[0] != number_i[1] && number_i[0] != number_i[2] && number_i[0] != number_i[3] && number_i[1] != number_i[2]
      && number_i[1] != number_i[3] && number_i[2] != number_i[3];
  assign fails = !(&locked_i) || !apart || full != '0 || resync_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) aligned_o <= 1'b0;
    else aligned_o <= !fails;
  end
  always_ff @(posedge clk_i) if (!aligned_o) number_q <= number_i;
  always_comb begin
    rows_o = '0;
    for (int unsigned l = 0; l < 4; l++) for (int unsigned from = 0; from < 4; from++) if (number_q[from] == 2'(l)) rows_o[l] |= queued[from];
  end
endmodule
