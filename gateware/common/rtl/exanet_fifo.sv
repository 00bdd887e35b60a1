// SPDX-License-Identifier: Apache-2.0
// FIFO in distributed memory: what is written at one clock edge can be read after it, without a further edge.
// Contract: no write when full (the sender holds credits), no read when empty.
module exanet_fifo #(
  parameter int unsigned Width = 128,
  parameter int unsigned Depth = 64  // a power of two
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

  (* ram_style = "distributed" *) logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, read_q;
  logic more;  // than one word

  assign more = write_q != (Bits + 1)'(read_q + 1'b1);
  assign data_o  = memory[read_q[Bits-1:0]];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_q[Bits-1:0]] <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      if (write_i) write_q <= write_q + 1'b1;
      if (read_i) read_q <= read_q + 1'b1;
      valid_o <= write_i || (read_i ? more : valid_o);
    end
  end

`ifndef SYNTHESIS
  // Not properties, for which a simulator would copy all of this in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) NoOverflow : assert ((write_q - read_q) != (Bits + 1)'(Depth));
    if (rst_ni && read_i) NoUnderflow : assert (valid_o);
    if (rst_ni) ValidIsNotEmpty : assert (valid_o == (write_q != read_q));
  end
`endif
endmodule
