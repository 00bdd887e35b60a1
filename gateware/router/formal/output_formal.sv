// SPDX-License-Identifier: Apache-2.0
// One output between inputs that behave as input_formal proves of them, and a far end that gives room and slots back whenever it likes.
// Proved: a granted packet goes through whole and is never interleaved with another; room and slots are conserved, so the far FIFO is
// never sent more than it holds; where somebody may be granted, somebody is; with links first, of 16 grants in whose cycles the
// network interface could have gone, one is its.
module output_formal #(
  parameter int unsigned Inputs = 3,
  parameter int unsigned FarWords = 5,
  parameter int unsigned FarHeaders = 3,
  parameter int unsigned Slots = 2
) (
  input logic                   clk_i,
  input logic                   fixed_i,
  input logic                   links_first_i,
  input logic [Inputs-1:0]      ask_i,       // begins to ask, when idle
  input logic [Inputs-1:0]      vc_i,
  input logic [Inputs-1:0]      high_i,
  input logic [Inputs-1:0][1:0] length_i,
  input logic [Inputs-1:0]      go_i,        // its next word is there
  input logic                   old_vc_i,    // channel that a header came on
  input logic [1:0][2:0]        free_words_i,
  input logic [1:0][1:0]        free_headers_i,
  input logic                   release_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Inputs: a request stands until it is granted; header in the next cycle, then payload words and footer with gaps.
  router_pkg::request_t request[Inputs];
  router_pkg::word_t word[Inputs];
  logic [Inputs-1:0] grant, last, asking = '0, head_due = '0, sending = '0;
  logic [Inputs-1:0] vc, high, vc_q = '0, high_q = '0;
  logic [Inputs-1:0][1:0] length, length_q = '0, left = '0;
  for (genvar i = 0; i < Inputs; i++) begin : gen_input
    logic valid, idle;
    exanet_pkg::header_t data;
    assign data = '{vc: head_due[i] && old_vc_i, dmadd: 48'(i), default: '0};
    assign idle = !sending[i] || last[i];
    assign valid = rst_n && idle && (asking[i] || ask_i[i]);
    assign vc[i] = asking[i] ? vc_q[i] : vc_i[i];
    assign high[i] = asking[i] ? high_q[i] : high_i[i];
    assign length[i] = asking[i] ? length_q[i] : length_i[i];
    assign request[i] = '{valid: valid, port: '0, vc: vc[i], high_priority: high[i], words: 6'(length[i])};
    assign word[i] = '{
      valid: sending[i] && (head_due[i] || go_i[i]), head: head_due[i], tail: !head_due[i] && left[i] == '0, data: data};
    assign last[i] = word[i].valid && word[i].tail;
    always_ff @(posedge clk_i) begin
      asking[i]   <= valid && !grant[i];
      vc_q[i]     <= vc[i];
      high_q[i]   <= high[i];
      length_q[i] <= length[i];
      head_due[i] <= grant[i];
      if (grant[i]) begin
        sending[i] <= 1'b1;
        left[i]    <= length[i];
      end else if (last[i]) begin
        sending[i] <= 1'b0;
      end else if (word[i].valid && !head_due[i]) begin
        left[i] <= left[i] - 1'b1;
      end
    end
  end

  exanet_pkg::credit_t credit[2];
  exanet_pkg::flit_t flit;
  exanet_pkg::header_t header;
  assign header = flit.data;
  logic [Inputs-1:0] past_words = '0;
  logic released;
  router_output #(.Inputs(Inputs), .LinkInputs(2), .Port(0), .Slots(Slots), .FarWords(FarWords), .FarHeaders(FarHeaders), .MostWords(3)) dut (
    .clk_i, .rst_ni(rst_n), .fixed_i, .links_first_i, .request_i(request), .word_i(word), .last_i(last), .grant_o(grant),
    .credit_i(credit), .release_i(released), .flit_o(flit));

  // The far end: what was granted and has not come back.
  logic [1:0][2:0] taken_words = '0, free_words;
  logic [1:0][1:0] taken_headers = '0, free_headers;
  logic [2:0] taken_slots = '0;
  logic granted, granted_vc;
  logic [1:0] granted_length;
  always_comb begin
    granted = grant != '0;
    {granted_vc, granted_length} = '0;
    for (int unsigned i = 0; i < Inputs; i++) if (grant[i]) {granted_vc, granted_length} = {vc[i], length[i]};
  end
  assign released = release_i && taken_slots != '0;
  for (genvar v = 0; v < 2; v++) begin : gen_far
    assign free_words[v] = free_words_i[v] <= taken_words[v] ? free_words_i[v] : '0;
    assign free_headers[v] = free_headers_i[v] <= taken_headers[v] ? free_headers_i[v] : '0;
    assign credit[v] = '{words: 12'(free_words[v]), headers: 8'(free_headers[v])};
    always_ff @(posedge clk_i) begin
      taken_words[v] <= taken_words[v] - free_words[v] + (granted && granted_vc == (v == 1) ? 3'(granted_length) : '0);
      taken_headers[v] <= taken_headers[v] - free_headers[v] + 2'(granted && granted_vc == (v == 1));
    end
  end
  always_ff @(posedge clk_i) taken_slots <= taken_slots + 3'(granted) - 3'(released);

  // Grants to links in whose cycles the network interface, the last input, could have gone.
  logic [4:0] passed = '0;
  always_ff @(posedge clk_i) begin
    if (fixed_i || !links_first_i || grant[Inputs-1]) passed <= '0;
    else if (granted && dut.own != '0) passed <= passed + 1'b1;
  end

  // The packet that is going through.
  logic open = 1'b0, on_vc = 1'b0;
  logic [1:0] whose = '0;
  logic [Inputs-1:0] words;
  for (genvar i = 0; i < Inputs; i++) begin : gen_words
    assign words[i] = word[i].valid;
  end
  always_ff @(posedge clk_i) begin
    past_words <= words;
    if (flit.valid) begin
      open <= !flit.tail;
      if (flit.head) {whose, on_vc} <= {flit.data[1:0], flit.vc};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      OneAtATime:  assert ($onehot0(sending));
      NothingLost: assert (flit.valid == (past_words != '0) && (!flit.valid || past_words[flit.data[1:0]]));
      NotMixed:    assert (!flit.valid || (flit.head ? !open : open && flit.data[1:0] == whose && flit.vc == on_vc));
      SaysChannel: assert (!(flit.valid && flit.head) || header.vc == flit.vc);
      WordsKept: assert (11'(taken_words[0]) + dut.words_q[0] == 11'(FarWords) && 11'(taken_words[1]) + dut.words_q[1] == 11'(FarWords));
      HeadersKept: assert (7'(taken_headers[0]) + dut.headers_q[0] == 7'(FarHeaders) && 7'(taken_headers[1]) + dut.headers_q[1] == 7'(FarHeaders));
      SlotsKept:   assert (taken_slots + 3'(dut.slots_q) == 3'(Slots));
      NeverIdle:   assert (granted || dut.asks == '0);
      InterfaceGoes: assert (passed <= 5'd15);
      PassedCounted: assert (5'(dut.passed_q) >= passed);
    end
  end
endmodule
