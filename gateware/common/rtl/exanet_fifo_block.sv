// SPDX-License-Identifier: Apache-2.0
// FIFO in block memory, whose read port is registered: the first word falls through to the output one clock edge after
// it was written, and one word an edge follows. Contract: as exanet_fifo. Holds Depth words and the one at the output.
//
// With Rewind words that have been read stay until keep_i says that they are not wanted any more; rewind_i goes back to
// the first of them, which is at the output two edges later. Then it holds Depth words in all, and neither comes with a
// read.
module exanet_fifo_block #(
  parameter int unsigned Width = 128,
  parameter int unsigned Depth = 512,  // a power of two
  parameter bit          Rewind = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             write_i,
  input  logic [Width-1:0] data_i,
  input  logic             read_i,
  input  logic             keep_i,
  input  logic             rewind_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  localparam int unsigned Bits = $clog2(Depth);
  if (Depth != 2 ** Bits) begin : gen_illegal_1
    $error("Depth must be a power of two");
  end

  (* ram_style = "block" *) logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, read_q, first_q, first;  // first: of the words that stay
  logic fetch;

  assign fetch = write_q != read_q && (!valid_o || read_i);

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_q[Bits-1:0]] <= data_i;
    if (fetch) data_o <= memory[read_q[Bits-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      if (write_i) write_q <= write_q + 1'b1;
      if (fetch) read_q <= read_q + 1'b1;
      valid_o <= fetch || (valid_o && !read_i);
      if (Rewind && rewind_i) begin
        read_q  <= first_q;
        valid_o <= 1'b0;
      end
    end
  end

  assign first = Rewind ? first_q : read_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= '0;
    else if (Rewind && keep_i) first_q <= read_q - (Bits + 1)'(valid_o);
  end

`ifndef SYNTHESIS
  // Not properties, for which a simulator would copy all of this in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) NoOverflow : assert ((write_q - first) != (Bits + 1)'(Depth));
    if (rst_ni && read_i) NoUnderflow : assert (valid_o);
    if (rst_ni && Rewind) NotWithRead : assert (!read_i || !(keep_i || rewind_i));
  end
`endif
endmodule
