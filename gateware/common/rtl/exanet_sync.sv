// SPDX-License-Identifier: Apache-2.0
// Brings bits of another clock into this one, through two registers of which the first may be metastable. Contract:
// bits of one vector that belong together change one at a time (a Gray code); each comes from a register. A change
// shows two edges later, or three when it falls into the first register's set-up time.
module exanet_sync #(
  parameter int unsigned Width = 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);
  // The constraints find the first register by its name: gateware/constraints.
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] meta_q;
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] sync_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      meta_q <= '0;
      sync_q <= '0;
    end else begin
      meta_q <= data_i;
      sync_q <= meta_q;
    end
  end
  assign data_o = sync_q;
endmodule
