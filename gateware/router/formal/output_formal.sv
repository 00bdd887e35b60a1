// SPDX-License-Identifier: Apache-2.0
// One output between inputs that behave as input_formal proves of them, and a far end that gives space and slots back
// whenever it likes. With Multicast a packet that asks may go to other outputs first: its words pass by, and then its
// input asks again or does not. Proved: a granted packet goes through whole and is never interleaved with another;
// space and slots are conserved, so the far queues are never sent more than their pool holds; where somebody may be
// granted, somebody is; bulk leaves space for the largest priority packet and does not go where one can; with links
// first, of 16 grants in whose cycles the network interface could have gone, one is its.
module output_formal #(
  parameter bit          Multicast = 1'b0,
  parameter int unsigned Inputs = 3,  // of each class
  parameter int unsigned FarWords = 7,
  parameter int unsigned FarHeaders = 3,
  parameter int unsigned Slots = 2,
  parameter int unsigned MostPassed = 15,
  localparam int unsigned Legs = 2 * Inputs  // bulk, then priority
) (
  input logic                   clk_i,
  input logic                   fixed_i,
  input logic                   links_first_i,
  input logic [Legs-1:0]      ask_i,       // begins to ask, when idle
  input logic [Legs-1:0]      vc_i,
  input logic [Legs-1:0][1:0] length_i,
  input logic [Legs-1:0]      away_i,      // goes to other outputs alone
  input logic [Legs-1:0]      go_i,        // its next payload word is there
  input logic [Legs-1:0]      end_i,       // its footer is there in the next cycle
  input logic                   old_vc_i,    // channel that a header came on
  input logic [1:0][1:0][2:0]   free_words_i,    // of each class and channel
  input logic [1:0][1:0][1:0]   free_headers_i,
  input logic                   release_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Inputs: a request stands until it is granted, and what it asks is still seen in the cycle of its header, the next
  // one; then payload words and footer with gaps.
  localparam int unsigned MostWords = 3;
  router_pkg::request_t request[2][Inputs];
  router_pkg::word_t word[2][Inputs];
  logic [Legs-1:0] grant, last, ends, words, begins, asking = '0, head_due = '0, sending = '0, here = '0;
  logic [Legs-1:0] vc, vc_q = '0;
  logic [1:0][Inputs-1:0] grants, ending;
  assign grant = {grants[1], grants[0]};
  assign {ending[1], ending[0]} = ends;
  logic [Legs-1:0][1:0] length, length_q = '0, left = '0;
  for (genvar i = 0; i < Legs; i++) begin : gen_input
    localparam int unsigned Class = i / Inputs, Input = i % Inputs;
    logic valid, idle, foot = 1'b0;
    exanet_pkg::header_t data;
    assign data = '{vc: head_due[i] && old_vc_i, dmadd: 48'(i), default: '0};
    assign idle = !sending[i] || last[i];
    assign valid = rst_n && idle && (asking[i] || ask_i[i]);
    assign vc[i] = asking[i] || head_due[i] ? vc_q[i] : vc_i[i];
    assign length[i] = asking[i] || head_due[i] ? length_q[i] : length_i[i];
    assign request[Class][Input] = '{ports: router_pkg::MaxPorts'(valid), vcs: {router_pkg::MaxPorts{vc[i]}}, words: 6'(length[i])};
    assign begins[i] = grant[i] || (Multicast && valid && away_i[i]);
    assign word[Class][Input] = '{
      valid: sending[i] && (head_due[i] || (left[i] == '0 ? foot : go_i[i])), head: head_due[i], tail: !head_due[i] && left[i] == '0, data: data};
    assign words[i] = word[Class][Input].valid;
    assign last[i] = words[i] && word[Class][Input].tail;
    // The footer comes next behind the header or the last payload word, or has been waited for.
    assign ends[i] = sending[i] && end_i[i] && (left[i] == 2'(words[i] && !head_due[i])) && !last[i];
    always_ff @(posedge clk_i) begin
      foot <= ends[i];
      asking[i]   <= valid && !begins[i];
      vc_q[i]     <= vc[i];
      length_q[i] <= length[i];
      head_due[i] <= begins[i];
      if (begins[i]) begin
        here[i]    <= grant[i];
        sending[i] <= 1'b1;
        left[i]    <= length[i];
      end else if (last[i]) begin
        sending[i] <= 1'b0;
      end else if (words[i] && !head_due[i]) begin
        left[i] <= left[i] - 1'b1;
      end
    end
  end

  exanet_pkg::credit_t credit[2];
  exanet_pkg::flit_t flit;
  exanet_pkg::header_t header;
  assign header = flit.data;
  logic [Legs-1:0] past_words = '0;
  logic released;
  router_output #(.Inputs(Inputs), .LinkInputs(2), .Port(0), .Slots(Slots), .FarWords(FarWords), .FarHeaders(FarHeaders), .MostWords(MostWords),
    .MostPassed(MostPassed)) dut (
    .clk_i, .rst_ni(rst_n), .fixed_i, .links_first_i, .request_i(request), .word_i(word), .ends_i(ending), .grant_o(grants),
    .credit_i(credit), .release_i(released), .flit_o(flit));

  // The far end: what was granted and has not come back, of each class in each channel. A largest packet fits into what
  // bulk has left.
  logic [1:0][1:0][2:0] taken_words = '0, free_words;
  logic [1:0][1:0][1:0] taken_headers = '0, free_headers;
  logic [2:0] taken_slots = '0;
  logic [1:0][2:0] left_words;
  logic [1:0][1:0] left_headers;
  logic granted, granted_vc, granted_class, priority_waits, bulk_waits, may_go;
  logic [1:0] granted_length;
  always_comb begin
    granted = grant != '0;
    granted_class = grant[Legs-1:Inputs] != '0;
    {granted_vc, granted_length} = '0;
    for (int unsigned i = 0; i < Legs; i++) if (grant[i]) {granted_vc, granted_length} = {vc[i], length[i]};
    {priority_waits, bulk_waits} = '0;
    for (int unsigned i = 0; i < Inputs; i++) begin
      if (request[1][i].ports[0] && 32'(left_words[vc[Inputs+i]]) >= MostWords && left_headers[vc[Inputs+i]] != '0) priority_waits = 1'b1;
      if (request[0][i].ports[0] && 32'(left_words[vc[i]]) >= 2 * MostWords && 32'(left_headers[vc[i]]) >= 2) bulk_waits = 1'b1;
    end
    // No packet is on its way through the output, or the last word of one is, and the consumer has a slot.
    may_go = (priority_waits || bulk_waits) && (sending & here & ~last) == '0 && 32'(taken_slots) < Slots;
  end
  assign released = release_i && taken_slots != '0;
  for (genvar v = 0; v < 2; v++) begin : gen_far
    for (genvar c = 0; c < 2; c++) begin : gen_class
      logic takes;
      assign takes = granted && granted_vc == (v == 1) && granted_class == (c == 1);
      assign free_words[c][v] = free_words_i[c][v] <= taken_words[c][v] ? free_words_i[c][v] : '0;
      assign free_headers[c][v] = free_headers_i[c][v] <= taken_headers[c][v] ? free_headers_i[c][v] : '0;
      always_ff @(posedge clk_i) begin
        taken_words[c][v] <= taken_words[c][v] - free_words[c][v] + (takes ? 3'(granted_length) : '0);
        taken_headers[c][v] <= taken_headers[c][v] - free_headers[c][v] + 2'(takes);
      end
    end
    assign credit[v] = '{words: 12'(free_words[0][v]) + 12'(free_words[1][v]), headers: 8'(free_headers[0][v]) + 8'(free_headers[1][v])};
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        WordsFit:       assert (32'(taken_words[0][v]) + 32'(taken_words[1][v]) <= FarWords);
        HeadersFit:     assert (32'(taken_headers[0][v]) + 32'(taken_headers[1][v]) <= FarHeaders);
        BulkLeavesSpace: assert (32'(taken_words[0][v]) + MostWords <= FarWords && 32'(taken_headers[0][v]) < FarHeaders);
      end
    end
    // A packet that has just been granted is counted in the cycle behind.
    logic counts;
    assign counts = dut.fresh_q && dut.vc == (v == 1);
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        WordsKept:   assert (11'(left_words[v]) == dut.words_q[v] - (counts ? 11'(dut.taken) : '0));
        HeadersKept: assert (7'(left_headers[v]) == dut.headers_q[v] - 7'(counts));
      end
    end
    assign left_words[v] = 3'(FarWords) - taken_words[0][v] - taken_words[1][v];
    assign left_headers[v] = 2'(FarHeaders) - taken_headers[0][v] - taken_headers[1][v];
  end
  always_ff @(posedge clk_i) taken_slots <= taken_slots + 3'(granted) - 3'(released);

  // Grants to links in whose cycles the network interface, the last input, could have gone.
  logic [4:0] passed = '0;
  logic interface_went = 1'b0, interface_waits = 1'b0;  // at the grant in the cycle before
  always_ff @(posedge clk_i) begin
    interface_went <= grant[Inputs-1] || grant[Legs-1];
    interface_waits <= rst_n && links_first_i && !fixed_i && granted && dut.own != '0;
    if (fixed_i || !links_first_i || interface_went) passed <= '0;
    else if (interface_waits) passed <= passed + 1'b1;
  end

  // The packet that is going through.
  logic open = 1'b0, on_vc = 1'b0;
  logic [2:0] whose = '0;
  always_ff @(posedge clk_i) begin
    past_words <= words & here;
    if (flit.valid) begin
      open <= !flit.tail;
      if (flit.head) {whose, on_vc} <= {flit.data[2:0], flit.vc};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      OneAtATime:  assert ($onehot0(sending & here));
      NothingLost: assert (flit.valid == (past_words != '0) && (!flit.valid || past_words[flit.data[2:0]]));
      NotMixed:    assert (!flit.valid || (flit.head ? !open : open && flit.data[2:0] == whose && flit.vc == on_vc));
      SaysChannel: assert (!(flit.valid && flit.head) || header.vc == flit.vc);
      PriorityFirst: assert (!(granted && !granted_class && priority_waits));
      SlotsKept:   assert (taken_slots + 3'(dut.slots_q) - 3'(dut.fresh_q) == 3'(Slots));
      NeverIdle:   assert (granted || !may_go);
      InterfaceGoes: assert (passed <= 5'(MostPassed));
      PassedCounted: assert (5'(dut.passed_q) >= passed);
    end
  end

  // Reached: a priority packet goes where bulk waits, far pools are full of headers, a packet is through with all its
  // words.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Overtakes: cover (granted && granted_class && bulk_waits);
      FullThere: cover (32'(taken_headers[0][0]) + 32'(taken_headers[1][0]) == FarHeaders);
      Through: cover (flit.valid && flit.tail && open && released);
    end
  end
endmodule
