// SPDX-License-Identifier: Apache-2.0
// Bits of each slot in distributed memory, written by one unit and seen by several in the same cycle. A bit of each of
// two units makes a state that both change: it is whether they differ. Those of the four slots of one context are in
// registers, for who knows the context a cycle ahead.
module ni_flags #(
  parameter int unsigned Entries = 1024,
  parameter int unsigned Width = 1,
  parameter int unsigned Readers = 4,
  localparam int unsigned Bits = $clog2(Entries)
) (
  input  logic                          clk_i,
  input  logic                          write_i,
  input  logic [Bits-1:0]               at_i,
  input  logic [Width-1:0]              value_i,
  input  logic [Readers-1:0][Bits-1:0]  read_at_i,
  output logic [Readers-1:0][Width-1:0] value_o,
  input  logic [Bits-1:2]               context_i,  // of the next cycle
  output logic [3:0][Width-1:0]         slots_o
);
  logic [3:0][Readers-1:0][Width-1:0] found;
  for (genvar s = 0; s < 4; s++) begin : gen_slot
    (* ram_style = "distributed" *) logic [Width-1:0] memory[Entries/4];
    logic write;
    assign write = write_i && at_i[1:0] == s[1:0];
    always_ff @(posedge clk_i) begin
      if (write) memory[at_i[Bits-1:2]] <= value_i;
      slots_o[s] <= write && at_i[Bits-1:2] == context_i ? value_i : memory[context_i];
    end
    for (genvar r = 0; r < Readers; r++) begin : gen_reader
      assign found[s][r] = memory[read_at_i[r][Bits-1:2]];
    end
  end
  for (genvar r = 0; r < Readers; r++) begin : gen_value
    assign value_o[r] = found[read_at_i[r][1:0]][r];
  end
endmodule
