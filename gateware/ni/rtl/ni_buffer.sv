// SPDX-License-Identifier: Apache-2.0
// Buffer of whole packets: words are written one by one, and seen by the reader only when their packet is committed,
// with a record of it. One that is dropped leaves nothing behind.
//
// Words are in block memory with a registered read port, records in distributed memory. A word can be read two cycles
// after its packet's commit, the record one cycle after it. A commit or drop ends the packet of the words written
// before its cycle; a word written in its cycle is the next one's. Contract: no write without space for a word, no
// commit without space for a record, no read of what is not there.
module ni_buffer #(
  parameter int unsigned Words = 256,  // powers of two
  parameter int unsigned Packets = 8,
  parameter int unsigned Width = 128,
  parameter int unsigned RecordBits = 184
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  write_i,
  input  logic [Width-1:0]      data_i,
  input  logic                  commit_i,
  input  logic                  drop_i,
  input  logic [RecordBits-1:0] record_i,
  output logic [$clog2(Words):0] held_o,  // words that take space, those of an open packet among them
  input  logic                  take_i,   // the front record is not needed any more
  output logic                  record_valid_o,
  output logic [RecordBits-1:0] record_o,
  input  logic                  read_i,
  output logic                  valid_o,
  output logic [Width-1:0]      data_o
);
  localparam int unsigned Bits = $clog2(Words);
  if (Words != 2 ** Bits) begin : gen_illegal_1
    $error("Words must be a power of two");
  end

  exanet_fifo #(.Width(RecordBits), .Depth(Packets)) u_records (
    .clk_i, .rst_ni, .write_i(commit_i), .data_i(record_i), .read_i(take_i), .valid_o(record_valid_o), .data_o(record_o));

  (* ram_style = "block" *) logic [Width-1:0] memory[Words];
  logic [Bits:0] write_q, write, committed_q, read_q;
  logic fetch;

  assign write  = drop_i ? committed_q : write_q;
  assign fetch  = committed_q != read_q && (!valid_o || read_i);
  assign held_o = write_q - read_q + (Bits + 1)'(valid_o);

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write[Bits-1:0]] <= data_i;
    if (fetch) data_o <= memory[read_q[Bits-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q     <= '0;
      committed_q <= '0;
      read_q      <= '0;
      valid_o     <= 1'b0;
    end else begin
      write_q <= write + (Bits + 1)'(write_i);
      if (commit_i) committed_q <= write_q;
      if (fetch) read_q <= read_q + 1'b1;
      valid_o <= fetch || (valid_o && !read_i);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) NoOverflow : assert ((write - read_q) != (Bits + 1)'(Words));
    if (rst_ni && read_i) NoUnderflow : assert (valid_o);
    if (rst_ni) OneVerdict : assert (!(commit_i && drop_i));
  end
`endif
endmodule
