// SPDX-License-Identifier: Apache-2.0
// One queue of the router: takes the words of one class in one virtual channel of a port, asks for the front packet's
// output, and hands its words out.
//
// Routes have a memory of their own, so the next packet's is seen while the one before it is still leaving, and its
// grant falls into the cycle of that packet's last word: packets follow each other without a gap. Payloads have another
// one, and headers with footers, which leave in turn, a third. Once
// granted a packet leaves at a word a cycle, as fast as its words are in; the output reserved space for all of it, so
// it is never stopped.
//
// With Multicast a packet may ask for several outputs at once. Each grants when it can. Those that do in one cycle get
// the packet's words together; if some are left, it stays, is read again from its header, and asks for these as soon as
// its last word is out. It gives its space back when the last copy has left.
module router_input #(
  parameter int unsigned Ports = router_pkg::MaxPorts,
  parameter bit          Multicast = 1'b0,
  parameter int unsigned PayloadDepth = 512,
  parameter int unsigned HeaderDepth  = 32
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     write_i,
  input  exanet_pkg::flit_t        flit_i,
  input  router_pkg::route_t       route_i,   // of flit_i when it is a header
  output router_pkg::request_t     request_o,
  input  logic                     granted_i,  // by an output
  input  logic [Ports-1:0]         grant_i,    // of each output; looked at with Multicast alone
  output router_pkg::word_t        word_o,
  output logic                     ends_o,    // the word in the next cycle is the packet's last
  output exanet_pkg::credit_t      credit_o,
  output logic                     discarded_o
);
  typedef enum logic [1:0] { Idle, Header, Payload, Footer } state_e;
  state_e state_q, state_d;
  logic [5:0] left_q, left_d, words_q;
  logic head_valid, data_valid, end_valid, end_more, foot_valid, head_read, data_read, foot_read, known, discard, discarding_q;
  logic [127:0] data, ends;  // ends: header or footer
  logic final_d, final_q;  // final: this passage is the packet's last one
  logic last_q, turn_q;  // the word in this cycle is the packet's last; the front's turn to ask
  router_pkg::request_t front;
  logic [router_pkg::MaxPorts-1:0] served_q;  // outputs that have their copy

  // One output is kept as its number, several as a mask.
  localparam int unsigned PortBits = $clog2(Ports);
  localparam int unsigned RouteBits = Multicast ? 2 * Ports + 7 : PortBits + 8;
  logic [RouteBits-1:0] stored, kept;
  if (Multicast) begin : gen_masks
    assign stored = {route_i.valid, route_i.words, route_i.ports[Ports-1:0], route_i.vcs[Ports-1:0]};
    assign front.ports = router_pkg::MaxPorts'(kept[Ports+:Ports]);
    assign front.vcs = router_pkg::MaxPorts'(kept[0+:Ports]);
  end else begin : gen_number
    assign stored = {route_i.valid, route_i.words, PortBits'(route_i.port), route_i.vc};
    assign front.ports = router_pkg::MaxPorts'(1'b1) << kept[1+:PortBits];
    assign front.vcs = {router_pkg::MaxPorts{kept[0]}};
  end
  assign {known, front.words} = kept[RouteBits-1-:7];

  exanet_fifo #(.Width(RouteBits), .Depth(HeaderDepth)) u_routes (
    .clk_i, .rst_ni, .write_i(write_i && flit_i.head), .data_i(stored),
    .read_i(head_read && final_d), .valid_o(head_valid), .data_o(kept));
  exanet_fifo_block #(.Width(128), .Depth(PayloadDepth), .Rewind(Multicast)) u_payload (
    .clk_i, .rst_ni, .write_i(write_i && !flit_i.head && !flit_i.tail), .data_i(flit_i.data),
    .read_i(data_read), .keep_i(last_q && final_q), .rewind_i(last_q && !final_q), .valid_o(data_valid), .data_o(data));
  exanet_fifo_bypass #(.Width(128), .Depth(2 * HeaderDepth)) u_ends (
    .clk_i, .rst_ni, .write_i(write_i && (flit_i.head || flit_i.tail)), .data_i(flit_i.data),
    .read_i(head_read || (foot_read && final_q)), .back_i(foot_read && !final_q), .valid_o(end_valid), .more_o(end_more), .data_o(ends));

  assign head_read = state_q == Header;
  assign data_read = state_q == Payload && data_valid;
  assign foot_read = last_q;

  // A packet without a route is granted by nobody and read out into nothing.
  assign discard = head_valid && !known && turn_q;
  always_comb begin
    request_o.ports = head_valid && known && turn_q ? front.ports & ~served_q : '0;
    request_o.vcs = front.vcs;
    request_o.words = front.words;
  end

  if (Multicast) begin : gen_copies
    logic [router_pkg::MaxPorts-1:0] grant_q, served;
    assign served = served_q | grant_q;
    assign final_d = (front.ports & ~served) == '0 || discarding_q;  // in the header's cycle
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        grant_q  <= '0;
        served_q <= '0;
        final_q  <= 1'b1;
      end else begin
        if (granted_i || discard) grant_q <= router_pkg::MaxPorts'(grant_i);
        if (head_read) begin
          served_q <= final_d ? '0 : served;
          final_q  <= final_d;
        end
      end
    end
  end else begin : gen_one
    assign served_q = '0;
    assign {final_d, final_q} = '1;
  end

  always_comb begin
    word_o.valid = !discarding_q && (head_read || data_read || foot_read);
    word_o.head = state_q == Header;
    word_o.tail = state_q == Footer;
    word_o.data = state_q == Payload ? data : ends;
  end

  always_comb begin
    state_d = state_q;
    left_d  = left_q;
    case (state_q)
      Header: begin
        left_d  = front.words;
        state_d = front.words == '0 ? Footer : Payload;
      end
      Payload:
      if (data_read) begin
        left_d = left_q - 1'b1;
        if (left_q == 6'd1) state_d = Footer;
      end
      Footer:  if (foot_read) state_d = Idle;
      default: ;
    endcase
    if (granted_i || discard) state_d = Header;
  end

  // A footer is read in the first cycle in which the words before it have been read and it is in: so a cycle before
  // that says that it will be.
  logic footer_next;
  assign footer_next = (state_q == Header && front.words == '0) || (data_read && left_q == 6'd1) || (state_q == Footer && !last_q);
  assign foot_valid = state_q == Header ? end_more : end_valid;
  assign ends_o = footer_next && (foot_valid || (write_i && flit_i.tail));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Idle;
      last_q       <= 1'b0;
      turn_q       <= 1'b1;
      left_q       <= '0;
      words_q      <= '0;
      discarding_q <= 1'b0;
      discarded_o  <= 1'b0;
      credit_o     <= '0;
    end else begin
      state_q <= state_d;
      last_q  <= ends_o;
      turn_q  <= turn_q ? !(granted_i || discard) : ends_o;
      left_q  <= left_d;
      if (head_read) words_q <= front.words;
      if (granted_i || discard) discarding_q <= discard;
      discarded_o <= discard;
      credit_o <= last_q && final_q ? '{words: 12'(words_q), headers: 8'd1} : '0;
    end
  end
endmodule
