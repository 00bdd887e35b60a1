// SPDX-License-Identifier: Apache-2.0
// A buffer of packets under a writer that commits or drops what it likes and a reader at any pace. Proved: a word is
// read if its packet was committed, once and in order, and no word of a dropped packet is ever seen; nothing is written
// over what waits; what is committed can be read two cycles later.
//
// Data takes no part in control, so one bit stands for any width: at most one committed word, any one, is marked, and
// the words before it are counted. In packets that are dropped later any number of words is marked: none of these marks
// may come out.
module buffer_formal #(
  parameter int unsigned Words = 4,
  parameter int unsigned Packets = 2
) (
  input logic clk_i,
  input logic write_i,
  input logic commit_i,
  input logic drop_i,
  input logic take_i,
  input logic read_i,
  input logic mark_i
);
  localparam int unsigned Bits = $clog2(Words) + 1;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic write, commit, drop, take, read, record_valid, valid, data, record;
  logic [Bits-1:0] held;
  logic [3:0] open = '0, ready = '0, packets = '0;  // words of the open packet, committed words, records
  assign drop = rst_n && drop_i;
  assign commit = rst_n && commit_i && !drop && packets != 4'(Packets);
  assign write = rst_n && write_i && 4'(held) < 4'(Words);
  assign read = rst_n && read_i && valid;
  assign take = rst_n && take_i && record_valid;
  // The word in a cycle belongs to the packet that is open behind its verdict.
  logic marked = 1'b0, in_open = 1'b0, gone = 1'b0, mark, passing;
  logic [3:0] ahead = '0;
  assign mark = mark_i && !marked;
  ni_buffer #(.Words(Words), .Packets(Packets), .Width(1), .RecordBits(1)) dut (
    .clk_i, .rst_ni(rst_n), .write_i(write), .data_i(mark), .commit_i(commit), .drop_i(drop), .record_i(1'b1), .held_o(held), .take_i(take),
    .record_valid_o(record_valid), .record_o(record), .read_i(read), .valid_o(valid), .data_o(data));

  // A mark in an open packet goes with it when it is dropped, and another word may be marked then.
  assign passing = marked && !in_open && !gone && ahead == '0;
  always_ff @(posedge clk_i) begin
    open    <= (commit || drop ? '0 : open) + 4'(write);
    ready   <= ready + (commit ? open : '0) - 4'(read);
    packets <= packets + 4'(commit) - 4'(take);
    if (write && mark) begin
      marked  <= 1'b1;
      in_open <= 1'b1;
      ahead   <= ready - 4'(read) + (commit || !drop ? open : '0);
    end else begin
      if (drop && in_open) {marked, in_open} <= '0;
      if (commit) in_open <= 1'b0;
      if (marked && read && ahead != '0) ahead <= ahead - 1'b1;
    end
    if (read && passing) gone <= 1'b1;
  end
  logic late = 1'b0;
  always_ff @(posedge clk_i) late <= commit && ready - 4'(read) == '0;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      InOrder: assert (!read || data == passing);
      AtOnce: assert (valid == (ready != '0 && !late));
      Held: assert (4'(held) == open + ready && held <= Bits'(Words));
      Records: assert (record_valid == (packets != '0));
      Dropped: cover (drop && open > 4'd1 && ready != '0);
      MarkPasses: cover (read && passing && open != '0);
      DroppedMark: cover (drop && in_open && write);
      Full: cover (held == Bits'(Words) && commit);
    end
  end
endmodule
