// SPDX-License-Identifier: Apache-2.0
// One queue of the router: takes the words of one class in one virtual channel of a port, asks for the front packet's output, and hands its words out.
//
// Headers, payloads and footers have their own memories, so the next header is seen while the packet before it is still leaving, and its
// grant falls into the cycle of that packet's last word: packets follow each other without a gap. Once granted a packet leaves at a word a
// cycle, as fast as its words are in; the output reserved room for all of it, so it is never stopped.
module router_input #(
  parameter int unsigned PayloadDepth = 512,
  parameter int unsigned HeaderDepth  = 32
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     write_i,
  input  exanet_pkg::flit_t        flit_i,
  input  router_pkg::request_t     route_i,   // of flit_i when it is a header; valid means there is a route
  output router_pkg::request_t     request_o,
  input  logic                     grant_i,
  output router_pkg::word_t        word_o,
  output logic                     last_o,    // the word in this cycle is the packet's last
  output exanet_pkg::credit_t      credit_o,
  output logic                     discarded_o
);
  typedef enum logic [1:0] { Idle, Header, Payload, Footer } state_e;
  state_e state_q, state_d;
  logic [5:0] left_q, left_d, words_q;
  logic head_valid, data_valid, foot_valid, head_read, data_read, foot_read, known, discard, discarding_q;
  logic [127:0] head, data, foot;
  router_pkg::request_t front;

  exanet_fifo #(.Width(128 + $bits(front)), .Depth(HeaderDepth)) u_headers (
    .clk_i, .rst_ni, .write_i(write_i && flit_i.head), .data_i({route_i, flit_i.data}),
    .read_i(head_read), .valid_o(head_valid), .data_o({front, head}));
  exanet_fifo_block #(.Width(128), .Depth(PayloadDepth)) u_payload (
    .clk_i, .rst_ni, .write_i(write_i && !flit_i.head && !flit_i.tail), .data_i(flit_i.data),
    .read_i(data_read), .valid_o(data_valid), .data_o(data));
  exanet_fifo #(.Width(128), .Depth(HeaderDepth)) u_footers (
    .clk_i, .rst_ni, .write_i(write_i && flit_i.tail), .data_i(flit_i.data),
    .read_i(foot_read), .valid_o(foot_valid), .data_o(foot));

  assign known = front.valid;
  assign head_read = state_q == Header;
  assign data_read = state_q == Payload && data_valid;
  assign foot_read = state_q == Footer && foot_valid;
  assign last_o = foot_read;

  // A packet without a route is granted by nobody and read out into nothing.
  assign discard = head_valid && !known && (state_q == Idle || last_o);
  always_comb begin
    request_o = front;
    request_o.valid = head_valid && known && (state_q == Idle || last_o);
  end

  always_comb begin
    word_o.valid = !discarding_q && (head_read || data_read || foot_read);
    word_o.head = state_q == Header;
    word_o.tail = state_q == Footer;
    case (state_q)
      Header:  word_o.data = head;
      Footer:  word_o.data = foot;
      default: word_o.data = data;
    endcase
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
    if (grant_i || discard) state_d = Header;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Idle;
      left_q       <= '0;
      words_q      <= '0;
      discarding_q <= 1'b0;
      discarded_o  <= 1'b0;
      credit_o     <= '0;
    end else begin
      state_q <= state_d;
      left_q  <= left_d;
      if (head_read) words_q <= front.words;
      if (grant_i || discard) discarding_q <= discard;
      discarded_o <= discard;
      credit_o <= last_o ? '{words: 12'(words_q), headers: 8'd1} : '0;
    end
  end
endmodule
