// SPDX-License-Identifier: Apache-2.0
// Sending half of the link: frames packets into 64-bit words, and tells the far end what room has come back here.
//
// A packet is Magic, Start, then two link words for each router word, lower half first. A credit is Magic, Credit. A data word that equals
// Magic is sent twice, so the far end never takes data for control. Start carries the same counts as Credit: a busy link spends nothing on
// credits, an idle one sends them when `credit_threshold_i` words came back, and every `credit_interval_i` cycles. After every 63 packets, and in
// every other interval, Account tells what was sent, so that the far end can give back the room of packets that the line has lost.
module link_tx #(
  parameter int unsigned Depth = 128  // of the buffer: two of the largest packets, rounded up
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o,      // a packet has come to the wire
  input  exanet_pkg::credit_t credit_i[2],    // room that came back in this node's FIFOs
  input  exanet_pkg::credit_t reclaim_i[2],   // room in them whose packets were lost on the way here
  input  exanet_pkg::health_t health_i,
  input  logic [11:0]         credit_threshold_i,
  input  logic [15:0]         credit_interval_i,
  output logic                valid_o,
  output logic [63:0]         data_o,
  input  logic                ready_i,
  output logic [31:0]         packets_o,
  output logic [31:0]         credits_o,
  output logic [31:0]         stuffed_o
);
  import exanet_pkg::*;
  typedef enum logic [2:0] { Boundary, Start, Credit, Account, Lower, Upper } state_e;
  state_e state_q, state_d;

  logic buffer_valid, buffer_read, tail, vc, stuffed_q, stuff, moved, due;
  logic [127:0] word;
  logic [1:0][11:0] words_q;
  logic [1:0][7:0] headers_q;
  logic [1:0][11:0] sent_words_q;
  logic [1:0][7:0] sent_headers_q;
  logic account_due, turn_q, head_q;
  logic [5:0] since_q;
  logic [11:0] unsent;
  logic [11:0] reported_q;
  logic [15:0] timer_q;
  logic [3:0] number_q;
  control_t control;

  exanet_fifo #(.Width(130), .Depth(Depth)) u_buffer (
    .clk_i, .rst_ni, .write_i(flit_i.valid), .data_i({flit_i.vc, flit_i.tail, flit_i.data}),
    .read_i(buffer_read), .valid_o(buffer_valid), .data_o({vc, tail, word}));

  // Both channels' words together; a packet without payload waits for the interval.
  assign unsent = words_q[0] + words_q[1] - reported_q;
  assign due = unsent >= credit_threshold_i || timer_q == '0;
  assign account_due = since_q == '1 || (turn_q && timer_q == '0 && !buffer_valid);
  assign moved = valid_o && ready_i;
  assign stuff = data_o == MagicWord && !stuffed_q;
  assign release_o = state_q == Start && moved;

  always_comb begin
    control = '0;
    control.kind = state_q == Start ? ControlKindStart : state_q == Account ? ControlKindAccount : ControlKindCredit;
    control.vc = state_q == Start && vc;
    control.number = number_q;
    control.health = health_i;
    control.freed_headers = state_q == Account ? sent_headers_q : headers_q;
    control.freed_words = state_q == Account ? sent_words_q : words_q;
    control.ecc = exanet_code_pkg::control_ecc(control[56:0]);
  end

  always_comb begin
    state_d = state_q;
    buffer_read = 1'b0;
    case (state_q)
      Boundary: begin
        valid_o = buffer_valid || due || account_due;
        data_o = MagicWord;
        if (ready_i && valid_o) state_d = account_due ? Account : buffer_valid ? Start : Credit;
      end
      Start, Credit, Account: begin
        valid_o = 1'b1;
        data_o = control;
        if (ready_i) state_d = state_q == Start ? Lower : Boundary;
      end
      Lower: begin
        valid_o = buffer_valid;
        data_o = word[63:0];
        if (ready_i && buffer_valid && !stuff) state_d = Upper;
      end
      default: begin
        valid_o = buffer_valid;
        data_o = word[127:64];
        if (ready_i && buffer_valid && !stuff) begin
          buffer_read = 1'b1;
          state_d = tail ? Boundary : Lower;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= Boundary;
      stuffed_q  <= 1'b0;
      words_q    <= '0;
      headers_q  <= '0;
      reported_q <= '0;
      timer_q    <= '1;
      number_q   <= '0;
      since_q    <= '0;
      turn_q     <= 1'b0;
      head_q     <= 1'b0;
      sent_words_q   <= '0;
      sent_headers_q <= '0;
      packets_o  <= '0;
      credits_o  <= '0;
      stuffed_o  <= '0;
    end else begin
      state_q <= state_d;
      for (int unsigned v = 0; v < 2; v++) begin
        words_q[v]   <= words_q[v] + credit_i[v].words + reclaim_i[v].words;
        headers_q[v] <= headers_q[v] + credit_i[v].headers + reclaim_i[v].headers;
      end
      if (release_o) sent_headers_q[vc] <= sent_headers_q[vc] + 1'b1;
      if (buffer_read && !head_q && !tail) sent_words_q[vc] <= sent_words_q[vc] + 1'b1;
      if (release_o) head_q <= 1'b1;
      else if (buffer_read) head_q <= 1'b0;
      if (release_o) since_q <= since_q + 1'b1;
      else if (state_q == Account && moved) since_q <= '0;
      if (moved && (state_q == Credit || state_q == Account)) turn_q <= state_q == Credit;
      if (moved && (state_q == Lower || state_q == Upper)) begin
        stuffed_q <= stuff;
        stuffed_o <= stuffed_o + 32'(stuff);
      end
      if (moved && (state_q == Start || state_q == Credit)) begin
        reported_q <= words_q[0] + words_q[1];
        timer_q    <= credit_interval_i;
      end else if (moved && state_q == Account) begin
        timer_q <= credit_interval_i;
      end else if (timer_q != '0) begin
        timer_q <= timer_q - 1'b1;
      end
      if (release_o) begin
        number_q  <= number_q + 1'b1;
        packets_o <= packets_o + 1'b1;
      end
      if (state_q == Credit && moved) credits_o <= credits_o + 1'b1;
    end
  end
endmodule
