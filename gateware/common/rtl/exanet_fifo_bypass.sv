// SPDX-License-Identifier: Apache-2.0
// FIFO in block memory with the timing of exanet_fifo: what is written at one clock edge can be read after it. Memory is
// read a cycle ahead, at the address at which the next cycle's word is; a word that is written to that address in the
// same cycle is not in what was read, and comes from a register that holds the word written last.
//
// back_i goes back to the word that was read last, which the sender then still counts as held. Contract: as exanet_fifo,
// back_i not with a read.
module exanet_fifo_bypass #(
  parameter int unsigned Width = 128,
  parameter int unsigned Depth = 64  // a power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             write_i,
  input  logic [Width-1:0] data_i,
  input  logic             read_i,
  input  logic             back_i,
  output logic             valid_o,
  output logic             more_o,  // than one word, when there is one
  output logic [Width-1:0] data_o
);
  localparam int unsigned Bits = $clog2(Depth);
  if (Depth != 2 ** Bits) begin : gen_illegal_1
    $error("Depth must be a power of two");
  end

  (* ram_style = "block" *) logic [Width-1:0] memory[Depth];
  logic [Bits:0] write_q, read_q, read_d, next;
  logic [Width-1:0] stored_q, written_q;
  logic bypass_q;

  assign next = read_q + 1'b1;
  assign read_d = read_i ? next : back_i ? read_q - 1'b1 : read_q;
  assign more_o = write_q != next;
  assign data_o = bypass_q ? written_q : stored_q;

  // Without an enable: FIFOs that are fed with the same words share the register.
  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_q[Bits-1:0]] <= data_i;
    stored_q  <= memory[read_d[Bits-1:0]];
    written_q <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q  <= '0;
      read_q   <= '0;
      bypass_q <= 1'b0;
      valid_o  <= 1'b0;
    end else begin
      if (write_i) write_q <= write_q + 1'b1;
      read_q   <= read_d;
      bypass_q <= write_i && write_q == read_d;
      valid_o  <= write_i || back_i || (read_i ? more_o : valid_o);
    end
  end

`ifndef SYNTHESIS
  // Not properties, for which a simulator would copy all of this in every cycle.
  always_ff @(posedge clk_i) begin
    if (rst_ni && write_i) NoOverflow : assert ((write_q - read_q) != (Bits + 1)'(Depth));
    if (rst_ni && read_i) NoUnderflow : assert (valid_o && !back_i);
    if (rst_ni) ValidIsNotEmpty : assert (valid_o == (write_q != read_q));
  end
`endif
endmodule
