// SPDX-License-Identifier: Apache-2.0
// Synchronises a reset with a clock: asserted at once, whether the clock runs or not, and released at the second edge
// after it is released at the input.
module exanet_reset_sync (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no
);
  (* ASYNC_REG = "TRUE" *) logic meta_q;
  (* ASYNC_REG = "TRUE" *) logic release_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      meta_q    <= 1'b0;
      release_q <= 1'b0;
    end else begin
      meta_q    <= 1'b1;
      release_q <= meta_q;
    end
  end
  assign rst_no = release_q;
endmodule
