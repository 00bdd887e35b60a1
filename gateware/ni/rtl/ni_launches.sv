// SPDX-License-Identifier: Apache-2.0
// Messages that transfers have claimed: each is launched when its transfer has ended, in the order of the ends, and
// when memory has answered the word that was written for its transfer, if one was. So who finds the message finds the
// word. One at a time is launched, with a cycle between two.
module ni_launches #(
  parameter int unsigned SlotBits = 10,
  parameter int unsigned Ahead = 32  // a power of two; as many as words wait for memory's answers
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  // a transfer has ended that has claimed the message in this slot
  output logic                     space_o,  // for one more
  input  logic                     ended_i,
  input  logic                     written_i,  // its word was
  input  logic [SlotBits-1:0]      slot_i,
  input  logic                     answered_i,  // by memory: the first word that was not
  output logic                     launch_valid_o,
  input  logic                     launch_taken_i,
  output logic [SlotBits-1:0]      launch_slot_o
);
  localparam int unsigned CountBits = $clog2(Ahead) + 1;
  typedef struct packed {
    logic written;
    logic [SlotBits-1:0] slot;
  } launch_t;
  launch_t first;
  logic waits, read;
  logic [CountBits-1:0] waiting_q, answered_q;  // words that memory has answered, of those that wait
  assign space_o = !waiting_q[CountBits-1];
  assign read = waits && !launch_valid_o && (!first.written || answered_q != '0);
  exanet_fifo #(.Width($bits(launch_t)), .Depth(Ahead)) u_waiting (
    .clk_i, .rst_ni, .write_i(ended_i), .data_i({written_i, slot_i}), .read_i(read), .valid_o(waits), .data_o(first));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      launch_valid_o <= 1'b0;
      waiting_q      <= '0;
      answered_q     <= '0;
    end else begin
      waiting_q  <= waiting_q + CountBits'(ended_i) - CountBits'(read);
      answered_q <= answered_q + CountBits'(answered_i) - CountBits'(read && first.written);
      if (read) launch_valid_o <= 1'b1;
      else if (launch_taken_i) launch_valid_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read) launch_slot_o <= first.slot;
  end
endmodule
