// SPDX-License-Identifier: Apache-2.0
// FIFO between two clocks that have nothing to do with each other. Each side counts in its own clock, and sees the
// other's count through a synchroniser; counts cross as a Gray code, so that a count that is caught in the middle of
// its change is the one before or the one after. Each side so sees the other late: the FIFO may seem full or empty for
// some edges when it is not, never the other way round.
//
// The words stand still while they cross: a word is read two edges of the reader or more after it was written. Memory
// and output have no reset. A word that is written when the FIFO is not ready is dropped. Holds Depth words and the one
// at the output. Contract: both resets are asserted together, each is released in its own clock (exanet_reset_sync).
module exanet_fifo_async #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 8  // a power of two, 4 at least
) (
  input  logic             write_clk_i,
  input  logic             write_rst_ni,
  input  logic             write_i,
  input  logic [Width-1:0] data_i,
  output logic             ready_o,
  input  logic             read_clk_i,
  input  logic             read_rst_ni,
  input  logic             read_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  localparam int unsigned Bits = $clog2(Depth);
  if (Depth != 2 ** Bits || Depth < 4) begin : gen_illegal_1
    $error("Depth must be a power of two, 4 at least");
  end

  // The constraints find these registers by their names: gateware/constraints.
  (* ram_style = "distributed" *) logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, write_gray_q, write_next, written_gray;  // written: as the reader sees it
  logic [Bits:0] read_q, read_gray_q, read_next, freed_gray;  // freed: as the writer sees what was read
  logic write, fetch;

  assign ready_o = write_gray_q != (freed_gray ^ {2'b11, {(Bits - 1) {1'b0}}});
  assign write = write_i && ready_o;
  assign write_next = write_q + 1'b1;
  always_ff @(posedge write_clk_i) begin
    if (write) memory[write_q[Bits-1:0]] <= data_i;
  end
  always_ff @(posedge write_clk_i or negedge write_rst_ni) begin
    if (!write_rst_ni) begin
      write_q      <= '0;
      write_gray_q <= '0;
    end else if (write) begin
      write_q      <= write_next;
      write_gray_q <= write_next ^ (write_next >> 1);
    end
  end
  exanet_sync #(.Width(Bits + 1)) u_freed (.clk_i(write_clk_i), .rst_ni(write_rst_ni), .data_i(read_gray_q), .data_o(freed_gray));

  assign fetch = written_gray != read_gray_q && (!valid_o || read_i);
  assign read_next = read_q + 1'b1;
  always_ff @(posedge read_clk_i) begin
    if (fetch) data_o <= memory[read_q[Bits-1:0]];
  end
  always_ff @(posedge read_clk_i or negedge read_rst_ni) begin
    if (!read_rst_ni) begin
      read_q      <= '0;
      read_gray_q <= '0;
      valid_o     <= 1'b0;
    end else begin
      if (fetch) begin
        read_q      <= read_next;
        read_gray_q <= read_next ^ (read_next >> 1);
      end
      valid_o <= fetch || (valid_o && !read_i);
    end
  end
  exanet_sync #(.Width(Bits + 1)) u_written (.clk_i(read_clk_i), .rst_ni(read_rst_ni), .data_i(write_gray_q), .data_o(written_gray));

`ifndef SYNTHESIS
  // Not properties, for which a simulator would copy all of this in every cycle.
  logic [Bits:0] write_before_q, read_before_q;
  always_ff @(posedge write_clk_i or negedge write_rst_ni) begin
    if (!write_rst_ni) write_before_q <= '0;
    else write_before_q <= write_gray_q;
  end
  always_ff @(posedge read_clk_i or negedge read_rst_ni) begin
    if (!read_rst_ni) read_before_q <= '0;
    else read_before_q <= read_gray_q;
  end
  always_ff @(posedge write_clk_i) begin
    if (write_rst_ni) WriteByOneBit : assert ($onehot0(write_gray_q ^ write_before_q));
  end
  always_ff @(posedge read_clk_i) begin
    if (read_rst_ni) ReadByOneBit : assert ($onehot0(read_gray_q ^ read_before_q));
    if (read_rst_ni && read_i) NoUnderflow : assert (valid_o);
  end
`endif
endmodule
