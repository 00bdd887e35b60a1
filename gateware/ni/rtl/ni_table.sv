// SPDX-License-Identifier: Apache-2.0
// Table in block memory: one write and one read in a cycle, what was read a cycle later. With Same a read sees what is
// written at its own edge; without it there is no write to an entry while it is read.
module ni_table #(
  parameter int unsigned Entries = 1024,
  parameter int unsigned Width = 32,
  parameter bit          Same = 1'b0,
  localparam int unsigned Bits = $clog2(Entries)
) (
  input  logic             clk_i,
  input  logic             rst_ni,  // for the assertion alone: memories have no reset
  input  logic             write_i,
  input  logic [Bits-1:0]  write_at_i,
  input  logic [Width-1:0] data_i,
  input  logic             read_i,
  input  logic [Bits-1:0]  read_at_i,
  output logic [Width-1:0] data_o
);
  (* ram_style = "block" *) logic [Width-1:0] memory[Entries];
  logic [Width-1:0] read_q, written_q;
  logic same, same_q;

  assign same = write_i && read_i && write_at_i == read_at_i;
  assign data_o = Same && same_q ? written_q : read_q;
  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_at_i] <= data_i;
    if (read_i) begin
      read_q    <= memory[read_at_i];
      written_q <= data_i;
      same_q    <= same;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni) NotAtOnce : assert (Same || !same);
`endif
endmodule
