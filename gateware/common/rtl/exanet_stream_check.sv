// SPDX-License-Identifier: Apache-2.0
// Checks a stream by the rules of AXI4-Stream, and each channel of AXI4-Lite: a word that is offered stays, unchanged,
// until it is taken.
//
// Assertions alone, for simulation and for proofs; synthesis leaves nothing of it.
module exanet_stream_check #(
  parameter int unsigned Width = 64
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic [Width-1:0] data_i,
  input logic             ready_i
);
`ifndef SYNTHESIS
  logic waits_q;
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waits_q <= 1'b0;
    else waits_q <= valid_i && !ready_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i && !ready_i) data_q <= data_i;
  end

  // Not properties, for which a simulator would copy all of this in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && waits_q) Stays : assert (valid_i);
    if (rst_ni && waits_q) Unchanged : assert (data_i == data_q);
  end
`endif
endmodule
