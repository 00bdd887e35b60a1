// SPDX-License-Identifier: Apache-2.0
// Consumer of one intra-tile port: takes every packet, checks its codes and its length, gives its slot back, and
// counts.
//
// A slot is free with the packet's footer; of a packet to be echoed with its answer. `stuck_i` keeps slots back, until
// the router stops.
module karma_consumer #(
  parameter int unsigned IntraSlots = 8
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         now_i,
  input  logic                clear_i,
  input  logic                stuck_i,
  input  logic                echo_i,
  input  logic                trips_i,      // ping-pong: every packet answers the one that went out last
  input  logic                sent_head_i,  // the generator's header is on the wire
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o,
  input  logic                answered_i,
  output logic                arrived_o,
  output exanet_pkg::header_t header_o,     // of the packet that arrived
  output logic [31:0]         received_o,
  output logic [31:0]         received_bytes_o,
  output logic [31:0]         bad_o,
  output logic [31:0]         first_head_o,
  output logic [31:0]         first_tail_o,
  output logic [31:0]         last_tail_o,
  output logic [31:0]         trip_min_o,
  output logic [31:0]         trip_max_o,
  output logic [31:0]         trip_sum_o
);
  import exanet_pkg::*;
  localparam int unsigned HeldBits = $clog2(IntraSlots + 1);

  header_t header_q;
  footer_t footer;
  logic [127:0] covered;
  logic [31:0] crc_q, crc_next, sent_at_q, trip, head_at_q;
  logic [5:0] words_q;
  logic [HeldBits-1:0] held_q;
  logic tail, wrong;

  assign tail = flit_i.valid && flit_i.tail;
  assign footer = flit_i.data;
  always_comb begin
    covered = flit_i.data;
    if (flit_i.tail) begin
      covered[31:0] = '0;
      covered[127] = 1'b0;
    end
  end
  assign crc_next = exanet_code_pkg::crc_word(crc_q, covered);
  assign wrong = footer.error || footer.crc32 != ~crc_next || words_q != 6'((header_q.length + 10'd15) >> 4) ||
      !exanet_code_pkg::header_sound(header_q);
  assign trip = now_i - sent_at_q;

  assign arrived_o = tail;
  assign header_o = header_q;
  assign release_o = held_q != '0 && !stuck_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      header_q  <= '0;
      crc_q     <= '1;
      words_q   <= '0;
      held_q    <= '0;
      sent_at_q <= '0;
      head_at_q <= '0;
    end else begin
      if (sent_head_i) sent_at_q <= now_i;
      held_q <= held_q + HeldBits'(echo_i ? answered_i : tail) - HeldBits'(release_o);
      if (flit_i.valid && flit_i.head) begin
        header_q  <= flit_i.data;
        crc_q     <= exanet_code_pkg::crc_header(flit_i.data);
        words_q   <= '0;
        head_at_q <= now_i;
      end else if (flit_i.valid) begin
        crc_q   <= crc_next;
        words_q <= words_q + 6'(words_q != '1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {received_o, received_bytes_o, bad_o, first_head_o, first_tail_o, last_tail_o, trip_max_o, trip_sum_o} <= '0;
      trip_min_o <= '1;
    end else if (clear_i) begin
      {received_o, received_bytes_o, bad_o, first_head_o, first_tail_o, last_tail_o, trip_max_o, trip_sum_o} <= '0;
      trip_min_o <= '1;
    end else if (tail) begin
      received_o       <= received_o + 1'b1;
      received_bytes_o <= received_bytes_o + 32'(header_q.length);
      bad_o            <= bad_o + 32'(wrong);
      last_tail_o      <= now_i;
      if (received_o == '0) begin
        first_head_o <= head_at_q;
        first_tail_o <= now_i;
      end
      if (trips_i) begin
        trip_sum_o <= trip_sum_o + trip;
        if (trip < trip_min_o) trip_min_o <= trip;
        if (trip > trip_max_o) trip_max_o <= trip;
      end
    end
  end
endmodule
