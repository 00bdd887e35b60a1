// SPDX-License-Identifier: Apache-2.0
// The FIFOs, fed by a sender that counts credits: never written when full nor read when empty (their own assertions),
// and what goes in comes out once, in order. Data takes no part in control, so one bit stands for any width: at most
// one word, any one, is marked, and the words before it are counted.
module fifo_formal #(
  parameter bit          Block = 1'b0,   // exanet_fifo_block
  parameter bit          Bypass = 1'b0,  // exanet_fifo_bypass
  parameter int unsigned Depth = 4
) (
  input logic clk_i,
  input logic write_i,
  input logic read_i,
  input logic mark_i
);
  logic rst_n = 1'b0;
  logic [3:0] space = 4'(Depth), ahead = '0, held;
  logic marked = 1'b0, late = 1'b0;
  logic write, read, valid, data, mark;

  assign write = rst_n && write_i && space != '0;
  assign read = rst_n && read_i && valid;
  assign mark = mark_i && !marked;

  if (Block) begin : gen_block
    exanet_fifo_block #(.Width(1), .Depth(Depth)) dut (
      .keep_i(1'b0), .rewind_i(1'b0),
      .clk_i, .rst_ni(rst_n), .write_i(write), .data_i(mark), .read_i(read), .valid_o(valid), .data_o(data));
  end else if (Bypass) begin : gen_bypass
    logic more;
    exanet_fifo_bypass #(.Width(1), .Depth(Depth)) dut (
      .back_i(1'b0), .more_o(more),
      .clk_i, .rst_ni(rst_n), .write_i(write), .data_i(mark), .read_i(read), .valid_o(valid), .data_o(data));
    always_ff @(posedge clk_i) if (rst_n) More : assert (!valid || more == (held > 4'd1));
  end else begin : gen_registers
    exanet_fifo #(.Width(1), .Depth(Depth)) dut (
      .clk_i, .rst_ni(rst_n), .write_i(write), .data_i(mark), .read_i(read), .valid_o(valid), .data_o(data));
  end

  // Words before the marked one; until there is one, words altogether.
  assign held = 4'(Depth) - space;
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    space  <= space - 4'(write) + 4'(read);
    late  <= write && held - 4'(read) == '0;
    if (write && mark) begin
      marked <= 1'b1;
      ahead  <= held - 4'(read);
    end else if (marked && read) begin
      ahead <= ahead - 1'b1;
    end
  end
  logic gone = 1'b0;
  always_ff @(posedge clk_i) if (marked && read && ahead == '0) gone <= 1'b1;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      InOrder: assert (!read || data == (marked && !gone && ahead == '0));
      // A word is there at the next edge, in block memory at the one after when nothing was before it.
      AtOnce: assert (valid == (held != '0 && !(Block && late)));
    end
  end

  // Reached: it is full behind the marked word, and empty again.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      FullAgain: cover (gone && held == 4'(Depth));
      EmptyAgain: cover (gone && held == '0);
    end
  end
endmodule
