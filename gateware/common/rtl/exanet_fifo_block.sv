// SPDX-License-Identifier: Apache-2.0
// FIFO in block memory, whose read port is registered: the first word falls through to the output one clock edge after it was
// written, and one word an edge follows. Contract: as exanet_fifo. Holds Depth words and the one at the output.
module exanet_fifo_block #(
  parameter int unsigned Width = 128,
  parameter int unsigned Depth = 512  // a power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             write_i,
  input  logic [Width-1:0] data_i,
  input  logic             read_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  localparam int unsigned Bits = $clog2(Depth);
  if (Depth != 2 ** Bits) begin : gen_illegal_1
    $error("Depth must be a power of two");
  end

  (* ram_style = "block" *) logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, read_q;
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
    end
  end

`ifndef SYNTHESIS
  // Not properties, for which a simulator would copy all of this in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) NoOverflow : assert ((write_q - read_q) != (Bits + 1)'(Depth));
    if (rst_ni && read_i) NoUnderflow : assert (valid_o);
  end
`endif
endmodule
