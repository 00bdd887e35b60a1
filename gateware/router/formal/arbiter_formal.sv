// SPDX-License-Identifier: Apache-2.0
// The arbiter starves nobody of a class, even where he can ask at times alone: a packet asks while there is room in its virtual channel, which a grant
// to the same channel may take away for any time, and while no priority packet asks, if it is bulk. One who waits sees each other input of his class and
// channel go at most twice before him, and, with Alone where there always is room and no other class, two of them once alone: the pointer stands behind who
// went last, whenever packets come. Fixed priority is the lowest input's, and promises nothing to the others.
module arbiter_formal #(
  parameter int unsigned Inputs = 5,
  parameter bit          Fixed = 1'b0,
  parameter bit          Alone = 1'b0
) (
  input logic              clk_i,
  input logic [1:0][Inputs-1:0] wait_i,  // of each class: has a packet, which stays until it is granted
  input logic [1:0][Inputs-1:0] vc_i,    // of that packet
  input logic [1:0]        room_i,    // room returns
  input logic              class_i,   // who asks in this cycle is of this class
  input logic [Inputs-1:0] watched_i,       // the input under watch: any, and always the same
  input logic              watched_class_i  // and its class
);
  logic rst_n = 1'b0;
  logic [1:0][Inputs-1:0] waiting, waits = '0, vc, vc_q, granted;
  logic [Inputs-1:0] request, grant, watched_q;
  logic [1:0] room, room_q = '0;
  logic [3:0] passed_over = '0;  // grants to others of his class and channel since the watched one waits
  logic class_now, watched_class_q, watched_vc;
  assign class_now = Alone ? watched_class_i : class_i;

  for (genvar i = 0; i < Inputs; i++) begin : gen_input
    for (genvar c = 0; c < 2; c++) begin : gen_class
      assign waiting[c][i] = waits[c][i] || wait_i[c][i];
      assign vc[c][i] = waits[c][i] ? vc_q[c][i] : vc_i[c][i];
      assign granted[c][i] = grant[i] && class_now == (c == 1);
    end
    assign request[i] = waiting[class_now][i] && room[vc[class_now][i]];
  end
  assign room = Alone ? '1 : room_q | room_i;
  assign watched_vc = (vc[watched_class_i] & watched_i) != '0;
  router_arbiter #(.Inputs(Inputs)) dut (
    .clk_i, .rst_ni(rst_n), .fixed_i(Fixed), .class_i(class_now), .request_i(request), .grant_o(grant));

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    watched_q <= watched_i;
    watched_class_q <= watched_class_i;
    vc_q <= vc;
    for (int unsigned c = 0; c < 2; c++) waits[c] <= rst_n ? waiting[c] & ~granted[c] : '0;
    room_q <= room & ~{(granted & vc) != '0, (granted & ~vc) != '0};
    if (!rst_n || (waiting[watched_class_i] & watched_i) == '0 || (granted[watched_class_i] & watched_i) != '0) passed_over <= '0;
    else if (granted[watched_class_i] != '0 && (Alone || ((granted[watched_class_i] & vc[watched_class_i]) != '0) == watched_vc))
      passed_over <= passed_over + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    OneWatched: assume ($onehot(watched_i) && (!rst_n || (watched_i == watched_q && watched_class_i == watched_class_q)));
    if (rst_n) begin
      if (Fixed) begin
        LowestFirst: assert ((grant & watched_i) == '0 || (request & (watched_i - 1'b1)) == '0);
      end else begin
        StarvesNobody: assert (passed_over <= 4'(2 * (Inputs - 1) - 2 * 32'(Alone)));
      end
    end
  end
endmodule
