// SPDX-License-Identifier: Apache-2.0
// A bit an entry in distributed memory, written by one unit and seen by several in the same cycle. Two of them make a state that two units change:
// it is whether they differ.
module ni_flags #(
  parameter int unsigned Entries = 1024,
  parameter int unsigned Readers = 4,
  localparam int unsigned Bits = $clog2(Entries)
) (
  input  logic                         clk_i,
  input  logic                         write_i,
  input  logic [Bits-1:0]              at_i,
  input  logic                         value_i,
  input  logic [Readers-1:0][Bits-1:0] read_at_i,
  output logic [Readers-1:0]           value_o
);
  (* ram_style = "distributed" *) logic memory[Entries];
  always_ff @(posedge clk_i) begin
    if (write_i) memory[at_i] <= value_i;
  end
  for (genvar r = 0; r < Readers; r++) begin : gen_reader
    assign value_o[r] = memory[read_at_i[r]];
  end
endmodule
