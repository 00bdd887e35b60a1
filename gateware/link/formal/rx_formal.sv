// SPDX-License-Identifier: Apache-2.0
// The receiver under whatever may come on a line: any words, at any time, and with the channel going down and beginning
// anew at any time. Proved: what it hands to the router is always a header, exactly the payload that the header
// announces, and a footer, on one channel; and never more than the router's FIFOs have space for.
module rx_formal #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned PayloadDepth = 512,
  parameter int unsigned HeaderDepth = 32
) (
  input logic            clk_i,
  input logic            valid_i,
  input logic [LineBits-1:0] data_i,
  input logic            down_i,
  input logic            restart_i,
  input logic [1:0][10:0] sent_words_i,
  input logic [1:0][6:0]  sent_headers_i,
  input logic [1:0][5:0] freed_words_i,
  input logic [1:0]      freed_header_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  exanet_pkg::flit_t flit;
  logic whole;
  exanet_pkg::header_t header;
  exanet_pkg::credit_t freed[2], credit[2], reclaim[2];
  exanet_pkg::health_t health;
  logic heard;
  exanet_pkg::link_counters_t counters;
  link_rx #(.LineBits(LineBits), .ReceiveTimeout(4), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth)) dut (
    .clk_i, .rst_ni(rst_n), .valid_i, .data_i, .down_i, .restart_i,
    .sent_words_i, .sent_headers_i, .whole_o(whole), .flit_o(flit), .freed_i(freed), .credit_o(credit), .reclaim_o(reclaim),
    .health_o(health), .heard_o(heard),
    .unconfirmed_o(counters.tx_unconfirmed), .packets_o(counters.rx_packets), .bad_headers_o(counters.rx_bad_headers),
    .bad_controls_o(counters.rx_bad_controls), .bad_payloads_o(counters.rx_bad_payloads), .cut_packets_o(counters.rx_cut_packets),
    .reclaimed_o(counters.rx_reclaimed), .stray_words_o(counters.rx_stray_words));
  assign header = flit.data;

  // The router's FIFOs: what was written and has not left.
  logic open = 1'b0, vc = 1'b0;
  logic [5:0] left = '0;
  logic [1:0][9:0] held_words = '0;
  logic [1:0][6:0] held_headers = '0;
  for (genvar v = 0; v < 2; v++) begin : gen_held
    logic in;
    assign in = flit.valid && flit.vc == (v == 1);
    assign freed[v].words = 12'(freed_words_i[v]) <= 12'(held_words[v]) ? 12'(freed_words_i[v]) : '0;
    assign freed[v].headers = 8'(freed_header_i[v] && held_headers[v] != '0);
    always_ff @(posedge clk_i) begin
      held_words[v]   <= held_words[v] + 10'(in && !flit.head && !flit.tail) - 10'(freed[v].words);
      held_headers[v] <= held_headers[v] + 7'(in && flit.head) - 7'(freed[v].headers);
    end
  end
  always_ff @(posedge clk_i) begin
    if (flit.valid && flit.head) begin
      open <= 1'b1;
      vc   <= flit.vc;
      left <= 6'((header.length + 10'd15) >> 4);
    end else if (flit.valid) begin
      open <= !flit.tail;
      left <= left - 1'b1;
    end
  end

  // Helps the proof: the state of the receiver is where the packet is behind its output register.
  localparam logic [2:0] Payload = 3'd2, Footer = 3'd3, FillPayload = 3'd4, FillFooter = 3'd5;  // as link_rx
  logic [2:0] state;
  logic open_next, vc_next;
  logic [5:0] left_next;
  assign state = 3'(dut.state_q);
  assign open_next = flit.valid ? !flit.tail : open;
  assign vc_next = flit.valid && flit.head ? flit.vc : vc;
  assign left_next = flit.valid && flit.head ? 6'((header.length + 10'd15) >> 4) : left - 6'(flit.valid && !flit.tail);

  // The codes and the length of a header are those of the word behind the first stage.
  localparam logic [2:0] Header = 3'd1;
  localparam logic [1:0] HeaderWords = 2'(128 / LineBits);
  logic [1:0] seen;  // line words of the header in the first stage and behind it
  if (LineBits == 64) begin : gen_halves
    assign seen = 2'(dut.data_valid_q) + 2'(dut.gen_halves.upper_q);
  end else begin : gen_whole
    assign seen = 2'(dut.data_valid_q);
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      InStep: assert (state != Header || dut.opens || dut.heads_q + seen == HeaderWords);
      Opens: assert (!dut.start || dut.heads_q == HeaderWords);
      Length: assert (!(dut.whole && state == Header) ||
                      (dut.length_words_q == 6'((dut.header.length + 10'd15) >> 4) && (!dut.legal_q || dut.header.length <= 10'd512)));
    end
  end

  for (genvar v = 0; v < 2; v++) begin : gen_space
    logic [9:0] coming;
    assign coming = (flit.valid && !flit.head && !flit.tail && flit.vc == (v == 1) ? 10'd1 : '0) +
        (open_next && vc_next == (v == 1) ? 10'(left_next) : '0);
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Words: assert (12'(dut.free_words_q[v]) + 12'(held_words[v]) + 12'(coming) == 12'(PayloadDepth));
        Headers: assert (9'(dut.free_headers_q[v]) + 9'(held_headers[v]) + 9'(flit.valid && flit.head && flit.vc == (v == 1)) == 9'(HeaderDepth));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {open, held_words, held_headers} == '0);
    if (rst_n) begin
      States: assert (open_next == (state == Payload || state == Footer || state == FillPayload || state == FillFooter));
      Channel: assert (!open_next || vc_next == dut.vc_q);
      Left: assert (!open_next || left_next == (state == Payload || state == FillPayload ? dut.left_q : '0));
      Some: assert (!(state == Payload || state == FillPayload) || dut.left_q != '0);
      HeadFirst:   assert (!flit.valid || flit.head == !open);
      DataOrControl: assert (!(dut.data_valid_q && dut.control_valid_q));
      OneKind:     assert (!(flit.head && flit.tail));
      OneChannel:  assert (!flit.valid || flit.head || flit.vc == vc);
      WholeLength: assert (!flit.valid || flit.head || flit.tail == (left == '0));
      Whole: assert (!whole || {held_words, held_headers} == '0);
      LegalLength: assert (!(flit.valid && flit.head) || header.length <= 10'd512);
      WordsFit:    assert (held_words[0] <= 10'(PayloadDepth) && held_words[1] <= 10'(PayloadDepth));
      HeadersFit:  assert (held_headers[0] <= 7'(HeaderDepth) && held_headers[1] <= 7'(HeaderDepth));
    end
  end

  // Reached: a sound packet with payload, one that is cut, one that is not handed on, and then a sound one.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Sound: cover (counters.rx_packets != '0 && counters.rx_bad_payloads == '0 && held_words[1] != '0);
      Cut: cover (counters.rx_cut_packets != '0);
      BehindBad: cover (counters.rx_bad_headers != '0 && flit.valid && flit.head);
    end
  end
endmodule
