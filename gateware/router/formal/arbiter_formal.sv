// SPDX-License-Identifier: Apache-2.0
// The arbiter starves nobody of a class, even where he can ask at times alone: a packet asks while there is space in
// its virtual channel, which a grant to the same channel may take away for any time, and while no priority packet asks,
// if it is bulk. One who waits sees each other input of his class and channel go at most twice before him, and, with
// Alone where there always is space and no other class, two of them once alone: the pointer stands behind who went
// last, whenever packets come. With Links the first inputs are links and the others network interfaces, and either go
// first, drawn for each cycle as an output may choose: then an input sees each other one of its own kind, class and
// channel go at most twice before it. Fixed priority is the lowest input's, and promises nothing to the others. In the
// cycle behind a grant nobody asks.
module arbiter_formal #(
  parameter int unsigned Inputs = 5,
  parameter bit          Fixed = 1'b0,
  parameter bit          Alone = 1'b0,
  parameter int unsigned Links = 0  // the first inputs; 0: nobody goes first
) (
  input logic              clk_i,
  input logic [1:0][Inputs-1:0] wait_i,  // of each class: has a packet, which stays until it is granted
  input logic [1:0][Inputs-1:0] vc_i,    // of that packet
  input logic [1:0]        space_i,    // space returns
  input logic              links_i,   // with Links: they go first in this cycle, else the others
  input logic              class_i,   // who asks in this cycle is of this class
  input logic [Inputs-1:0] watched_i,       // the input under watch: any, and always the same
  input logic              watched_class_i  // and its class
);
  logic rst_n = 1'b0;
  logic [1:0][Inputs-1:0] waiting, waits = '0, vc, vc_q, granted;
  logic [1:0][Inputs-1:0] request, grants;
  logic [Inputs-1:0] grant, watched_q;
  logic pauses = 1'b0;  // a packet has been granted in the cycle before
  logic [1:0] space, space_q = '0;
  logic [3:0] passed_over = '0;  // grants to others of his class and channel since the watched one waits
  logic class_now, watched_class_q, watched_vc, watched_q_vc;
  localparam logic [Inputs-1:0] FromLinks = (Inputs)'((1 << Links) - 1);
  logic [Inputs-1:0] first, kind;  // kind: the watched one's
  assign first = Links == 0 ? '0 : links_i ? FromLinks : ~FromLinks;
  assign kind = Links == 0 ? '1 : (watched_i & FromLinks) != '0 ? FromLinks : ~FromLinks;
  assign class_now = Alone ? watched_class_i : class_i;

  for (genvar i = 0; i < Inputs; i++) begin : gen_input
    for (genvar c = 0; c < 2; c++) begin : gen_class
      assign waiting[c][i] = waits[c][i] || wait_i[c][i];
      assign vc[c][i] = waits[c][i] ? vc_q[c][i] : vc_i[c][i];
      assign granted[c][i] = grant[i] && class_now == (c == 1);
    end
    for (genvar c = 0; c < 2; c++) begin : gen_request
      assign request[c][i] = !pauses && class_now == (c == 1) && waiting[c][i] && space[vc[c][i]];
    end
  end
  assign grant = grants[class_now];
  assign space = Alone ? '1 : space_q | space_i;
  assign watched_vc = (vc[watched_class_i] & watched_i) != '0;
  router_arbiter #(.Inputs(Inputs)) dut (
    .clk_i, .rst_ni(rst_n), .fixed_i(Fixed), .first_i(first), .request_i(request), .grant_o(grants));

  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    pauses <= rst_n && grant != '0;
    watched_q <= watched_i;
    watched_class_q <= watched_class_i;
    vc_q <= vc;
    for (int unsigned c = 0; c < 2; c++) waits[c] <= rst_n ? waiting[c] & ~granted[c] : '0;
    space_q <= space & ~{(granted & vc) != '0, (granted & ~vc) != '0};
    if (!rst_n || (waiting[watched_class_i] & watched_i) == '0 || (granted[watched_class_i] & watched_i) != '0) passed_over <= '0;
    else if ((granted[watched_class_i] & kind) != '0 && (Alone || ((granted[watched_class_i] & vc[watched_class_i]) != '0) == watched_vc))
      passed_over <= passed_over + 1'b1;
  end

  // Why it holds, for proofs by induction. The state is looked at as the dut has it when what it was last granted is
  // counted.
  logic [Inputs-1:0] due, behind, last;
  logic [4:0] others, may_pass;  // inputs of the watched one's kind but itself; grants to them before it is granted
  logic [Inputs-1:0] kind_q;
  assign kind_q = Links == 0 ? '1 : (watched_q & FromLinks) != '0 ? FromLinks : ~FromLinks;
  assign others = 5'((Links == 0 ? Inputs : (watched_q & FromLinks) != '0 ? Links : Inputs - Links) - 1);
  assign due = pauses && dut.class_q == watched_class_q ? dut.due & ~dut.grant_q : dut.due_q[watched_class_q];
  assign behind = pauses ? ~(dut.grant_q | (dut.grant_q - 1'b1)) : dut.behind_q;
  assign last = ~behind & {1'b1, behind[Inputs-1:1]};  // who was granted last; the highest before the first grant
  assign watched_q_vc = (vc_q[watched_class_q] & watched_q) != '0;

  if (Alone) begin : gen_alone
    // Those who are due have all asked since. They go in the order from the pointer on; the watched one becomes due
    // behind the last of them, and goes when the pointer comes to him.
    always_comb begin
      may_pass = '0;
      for (int unsigned w = 0; w < Inputs; w++) begin
        if (watched_q[w]) begin
          logic [4:0] pointer, final_one;
          {pointer, final_one} = '0;
          for (int unsigned d = 1; d < Inputs; d++) if (last[(w+d)%Inputs]) pointer = 5'(d);
          if (due[w]) begin
            for (int unsigned d = 1; d < Inputs; d++) if (due[(w+d)%Inputs] && 5'(d) > pointer) may_pass = may_pass + 1'b1;
          end else begin
            final_one = pointer;
            for (int unsigned d = 1; d < Inputs; d++) if (due[(w+d)%Inputs] && 5'(d) > pointer) final_one = 5'(d);
            for (int unsigned d = 1; d < Inputs; d++) if (due[(w+d)%Inputs] && 5'(d) < pointer) final_one = 5'(d);
            may_pass = 5'(Inputs - 1) - final_one;
            for (int unsigned i = 0; i < Inputs; i++) may_pass = may_pass + 5'(due[i]);
          end
        end
      end
    end
  end else begin : gen_others
    // Others who are due go once each, but those whose packet is of another channel, and once again when he has become
    // due with them.
    always_comb begin
      may_pass = (due & watched_q) == '0 ? others : '0;
      for (int unsigned i = 0; i < Inputs; i++)
        if (due[i] && kind_q[i] && !watched_q[i] && (!waits[watched_class_q][i] || vc_q[watched_class_q][i] == watched_q_vc))
          may_pass = may_pass + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    OneWatched: assume ($onehot(watched_i) && (!rst_n || (watched_i == watched_q && watched_class_i == watched_class_q)));
    if (rst_n) begin
      PausesBehind: assert (pauses == (dut.grant_q != '0) && $onehot0(dut.grant_q));
      if (Fixed) begin
        LowestFirst: assert ((grant & watched_i) == '0 || (request[class_now] & (watched_i - 1'b1)) == '0);
      end else begin
        OneWatchedBefore: assert ($onehot(watched_q));
        PassedWhileWaits: assert ((waits[watched_class_q] & watched_q) != '0 || passed_over == '0);
        PointerIsOne: assert ($onehot(last) && ((last - 1'b1) & behind) == '0);
        DueHaveAsked: assert (!Alone || ((due & ~waits[watched_class_q]) == '0 && (due & last) == '0 && (!pauses || dut.class_q == watched_class_q)));
        NonePassed: assert (!Alone || (watched_q & last) == '0 || passed_over == '0);
        Remaining: assert ((waits[watched_class_q] & watched_q) == '0 || 5'(passed_over) + may_pass <= 5'(2 * others) - 5'(2 * 32'(Alone)));
        StarvesNobody: assert (5'(passed_over) <= 5'(2 * others) - 5'(2 * 32'(Alone)));
        FirstGo: assert ((request[class_now] & first) == '0 || (grant & first) != '0);
      end
    end
  end

  // Reached: others go before the watched one as often as they may, and he goes.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      PassedOver: cover (32'(passed_over) == (Links == 0 ? Inputs : 2) && (grant & watched_i) != '0 && class_now == watched_class_i);
    end
  end
endmodule
