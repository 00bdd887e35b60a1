// SPDX-License-Identifier: Apache-2.0
// One FIFO of the router between a sender that keeps the credit rule and two outputs that grant whenever they like.
// Proved: a packet that is granted comes out whole, in order and not mixed with another; a request stands until it is
// granted or the packet goes to the other output; each output that a packet is for gets it once, and no other; the
// space given back, when it has gone to all, is what was taken, once; a packet that waits asks from the second cycle of
// its header in the queue on, and one that is granted leaves at a word a cycle once it is whole there, so its output is
// held for its length.
module input_formal #(
  parameter bit          Multicast = 1'b0,
  parameter int unsigned PayloadDepth = 4,
  parameter int unsigned HeaderDepth = 2
) (
  input logic       clk_i,
  input logic       send_i,    // the sender's next word comes in this cycle, if it may
  input logic [1:0] length_i,  // payload words of the packet that begins
  input logic [1:0] ports_i,   // outputs that it is for; none: it has no route
  input logic       mark_i,    // all its words are marked: at most one packet, any one
  input logic [1:0] grant_i
);
  localparam int unsigned HeaderBits = $clog2(HeaderDepth) + 1, PayloadBits = $clog2(PayloadDepth) + 1;
  localparam logic [1:0] Idle = 2'd0, Header = 2'd1, Payload = 2'd2, Footer = 2'd3;  // as router_input
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Sender: words of a packet one after the other, with gaps; a packet begins when there is space for all of it.
  logic open = 1'b0, marking = 1'b0, marked = 1'b0;
  logic [1:0] left = '0, ports;
  logic [3:0] words = 4'(PayloadDepth), headers = 4'(HeaderDepth);
  logic send, start, mark;
  exanet_pkg::flit_t flit;
  exanet_pkg::credit_t credit;
  router_pkg::route_t route;
  router_pkg::request_t request;
  router_pkg::word_t word;
  logic ends, last = 1'b0, discarded;  // last: the packet's last word is read, as was said a cycle ahead
  logic [1:0] grant, asks;

  assign start = send && !open;
  assign send = rst_n && send_i && (open || (headers != '0 && words >= 4'(length_i)));
  assign mark = start ? mark_i && !marked : marking;
  assign ports = Multicast || ports_i != 2'b11 ? ports_i : 2'b01;
  assign route = '{valid: ports != '0, port: 4'(ports[1]), ports: router_pkg::MaxPorts'(ports), words: 6'(length_i), default: '0};
  assign flit = '{valid: send, head: start, tail: open && left == '0, data: 128'(mark), default: '0};
  assign asks = request.ports[1:0];
  assign grant = grant_i & asks;

  always_ff @(posedge clk_i) begin
    words   <= words - (start ? 4'(length_i) : '0) + 4'(credit.words);
    headers <= headers - 4'(start) + 4'(credit.headers);
    if (start) begin
      open    <= 1'b1;
      left    <= length_i;
      marking <= mark;
      marked  <= marked || mark;
    end else if (send) begin
      open <= left != '0;
      left <= left - 1'b1;
    end
  end

  router_input #(.Ports(2), .Multicast(Multicast), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth)) dut (
    .clk_i, .rst_ni(rst_n), .write_i(send), .flit_i(flit), .route_i(route), .request_o(request), .granted_i(grant != '0), .grant_i(grant),
    .word_o(word), .ends_o(ends), .credit_o(credit), .discarded_o(discarded));

  // Output: the word that has to come next, and who gets it.
  logic granted = 1'b0, head_due = 1'b0, whose = 1'b0;
  logic [1:0] due = '0, asked = '0, asked_words = '0, to = '0;
  always_ff @(posedge clk_i) begin
    last <= ends;
    head_due <= grant != '0;
    if (grant != '0) begin
      granted <= 1'b1;
      due     <= request.words[1:0];
      to      <= grant;
    end else if (last) begin
      granted <= 1'b0;
    end else if (word.valid && !word.head) begin
      due <= due - 1'b1;
    end
    if (word.valid && word.head) whose <= word.data[0];
    asked <= grant == '0 ? asks : '0;
    asked_words <= request.words[1:0];
  end

  // Packets in the FIFO before the marked one; until there is one, packets altogether. Space that is taken.
  logic [3:0] ahead = '0, held_words = '0, held_headers = '0;
  logic over = 1'b0, gone;
  assign gone = last && dut.final_q;  // with its last copy
  always_ff @(posedge clk_i) begin
    held_words   <= held_words + (start ? 4'(length_i) : '0) - 4'(credit.words);
    held_headers <= held_headers + 4'(start) - 4'(credit.headers);
    if (!marked) ahead <= ahead + 4'(start && !mark) - 4'(gone);
    else if (gone && !over) begin
      ahead <= ahead - 1'b1;
      over  <= ahead == '0;
    end
  end

  // The marked packet: outputs that it is for, and those that have had its header.
  logic [1:0] wanted = '0, had = '0;
  logic heads;
  assign heads = word.valid && word.head && word.data[0];
  always_ff @(posedge clk_i) begin
    if (start && mark) wanted <= ports;
    if (heads) had <= had | to;
  end

  // How full each memory is, from the outside and by its pointers. These follow from nothing that is to be proved, but
  // they are what makes the proof short.
  logic [1:0] state;
  assign state = 2'(dut.state_q);
  logic [3:0] in_headers, in_payload, in_ends, in_footers, packets, read_words;
  logic popped, read;  // the front's header, for good; in this passage
  assign in_headers = 4'(HeaderBits'(dut.u_routes.write_q - dut.u_routes.read_q));
  assign in_ends = 4'((HeaderBits + 1)'(dut.u_ends.write_q - dut.u_ends.read_q));  // headers and footers
  assign read = state == Payload || state == Footer;
  assign in_footers = in_ends - (packets - 4'(read));
  assign in_payload = 4'(PayloadBits'(dut.u_payload.write_q - dut.u_payload.read_q)) + 4'(dut.u_payload.valid_o);
  assign packets = held_headers - 4'(credit.headers);
  assign popped = read && dut.final_q;
  assign read_words = state == Payload ? 4'(dut.words_q) - 4'(dut.left_q) : state == Footer ? 4'(dut.words_q) : '0;

  // Cycles before this one in which a packet was there that nobody has been granted, or in which the granted one was
  // there whole.
  logic waited = 1'b0, whole = 1'b0;
  always_ff @(posedge clk_i) begin
    waited <= rst_n && state == Idle && in_headers != '0;
    whole  <= rst_n && in_footers != '0 && !last;
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Asks:    assert (!(waited && state == Idle) || asks != '0 || dut.discard);
      KeepsOn: assert (!(granted && whole) || word.valid);
      Headers: assert (in_headers == packets - 4'(popped));
      Ends:    assert (in_ends == packets + packets - 4'(open) - 4'(read));
      Front:   assert (in_ends == '0 || dut.ends == dut.u_ends.memory[dut.u_ends.read_q[HeaderBits-1:0]]);
      Words:   assert (in_payload == held_words - 4'(credit.words) - (open ? 4'(left) : '0) - read_words);
      States:  assert (granted == (state != Idle && !dut.discarding_q));
      Left:    assert (!granted || state == Header || due == (state == Payload ? dut.left_q[1:0] : '0));
      HeadFirst:    assert (head_due == (word.valid && word.head));
      WordsGranted: assert (!word.valid || granted);
      NotMixed:     assert (!word.valid || word.head || word.data[0] == whose);
      InOrder:      assert (!(word.valid && word.head) || word.data[0] == (marked && !over && ahead == '0));
      Discards:     assert (!(discarded && granted));
      WholeLength:  assert (!word.valid || word.head || word.tail == (due == '0));
      TailIsLast:   assert (!granted || last == (word.valid && word.tail));
      RequestHolds: assert ((asked & ~asks) == '0 && (asked == '0 || request.words[1:0] == asked_words));
      StillShown: assert (!head_due || request.words[1:0] == asked_words);
      SpaceKept:     assert (words + held_words == 4'(PayloadDepth) && headers + held_headers == 4'(HeaderDepth));
      NoMoreThanTaken: assert (4'(credit.words) <= held_words && 4'(credit.headers) <= held_headers);
      NotTwice:     assert (!heads || (had & to) == '0);
      NotElsewhere: assert (!heads || (to & ~wanted) == '0);
      ToAll:        assert (!over || had == wanted);
      TogetherWithNone: assert (Multicast || (dut.final_q && $onehot0(asks)));
    end
  end

  // Reached: the marked packet has gone to all its outputs, behind another one; a packet without a route goes while
  // another waits.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      OverBehind: cover (over && wanted == {Multicast, 1'b1} && due != '0);
      DiscardsFirst: cover (discarded && held_headers == 4'(HeaderDepth));
    end
  end
endmodule
