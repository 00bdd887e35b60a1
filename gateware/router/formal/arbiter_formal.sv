// SPDX-License-Identifier: Apache-2.0
// Round robin starves nobody: an input that goes on asking is granted after at most one grant to each other. Fixed priority is the lowest
// input's, and promises nothing to the others.
module arbiter_formal #(
  parameter int unsigned Inputs = 7,
  parameter bit          Fixed = 1'b0
) (
  input logic              clk_i,
  input logic [Inputs-1:0] request_i,
  input logic [Inputs-1:0] watched_i  // the input under watch: any, and always the same
);
  logic rst_n = 1'b0;
  logic [Inputs-1:0] grant, watched_q;
  logic [3:0] passed_over = '0;

  router_arbiter #(.Inputs(Inputs)) dut (.clk_i, .rst_ni(rst_n), .fixed_i(Fixed), .request_i, .grant_o(grant));

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    watched_q <= watched_i;
    if (!rst_n || (request_i & watched_i) == '0 || (grant & watched_i) != '0) passed_over <= '0;
    else if (grant != '0) passed_over <= passed_over + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    OneWatched: assume ($onehot(watched_i) && (!rst_n || watched_i == watched_q));
    if (rst_n) begin
      if (Fixed) begin
        LowestFirst: assert ((grant & watched_i) == '0 || (request_i & (watched_i - 1'b1)) == '0);
      end else begin
        StarvesNobody: assert (passed_over < 4'(Inputs));
      end
    end
  end
endmodule
