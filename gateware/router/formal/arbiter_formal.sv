// SPDX-License-Identifier: Apache-2.0
// The arbiter starves nobody, even where he can ask at times alone: a packet asks while there is room in its virtual channel, which a grant to the
// same channel may take away for any time. One who waits sees each other input of his channel go at most twice before him. Fixed priority is the lowest input's, and promises nothing to the others.
module arbiter_formal #(
  parameter int unsigned Inputs = 5,
  parameter bit          Fixed = 1'b0
) (
  input logic              clk_i,
  input logic [Inputs-1:0] wait_i,    // has a packet, which stays until it is granted
  input logic [Inputs-1:0] vc_i,      // of that packet
  input logic [1:0]        room_i,    // room returns
  input logic [Inputs-1:0] watched_i  // the input under watch: any, and always the same
);
  logic rst_n = 1'b0;
  logic [Inputs-1:0] waiting, waits = '0, vc, vc_q, request, grant, watched_q;
  logic [1:0] room, room_q = '0;
  logic [3:0] passed_over = '0;  // grants to others of his channel since the watched one waits
  logic watched_vc;

  for (genvar i = 0; i < Inputs; i++) begin : gen_input
    assign waiting[i] = waits[i] || wait_i[i];
    assign vc[i] = waits[i] ? vc_q[i] : vc_i[i];
    assign request[i] = waiting[i] && room[vc[i]];
  end
  assign room = room_q | room_i;
  assign watched_vc = (vc & watched_i) != '0;
  router_arbiter #(.Inputs(Inputs)) dut (.clk_i, .rst_ni(rst_n), .fixed_i(Fixed), .request_i(request), .grant_o(grant));

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    watched_q <= watched_i;
    vc_q <= vc;
    waits <= rst_n ? waiting & ~grant : '0;
    room_q <= room & ~{(grant & vc) != '0, (grant & ~vc) != '0};
    if (!rst_n || (waiting & watched_i) == '0 || (grant & watched_i) != '0) passed_over <= '0;
    else if (grant != '0 && ((grant & vc) != '0) == watched_vc) passed_over <= passed_over + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    OneWatched: assume ($onehot(watched_i) && (!rst_n || watched_i == watched_q));
    if (rst_n) begin
      if (Fixed) begin
        LowestFirst: assert ((grant & watched_i) == '0 || (request & (watched_i - 1'b1)) == '0);
      end else begin
        StarvesNobody: assert (passed_over <= 4'(2 * (Inputs - 1)));
      end
    end
  end
endmodule
