// SPDX-License-Identifier: Apache-2.0
// The FIFO between two clocks whose edges come whenever they like, with resets at any time. Proved: a word that was
// taken comes out once, in order, unchanged; one that comes when it is not ready changes nothing; a reset is released
// at its clock's second edge at the soonest; never more than it holds are in it; counts cross a bit at a time
// (assertions of the FIFO itself). Each synchroniser may see a change or not see it yet, as the edges are drawn. As in
// fifo_formal one bit stands for any width: at most one word is marked.
module fifo_async_formal #(
  parameter int unsigned Depth = 4
) (
  input logic write_clk_i,
  input logic read_clk_i,
  input logic rst_ni,
  input logic write_i,
  input logic mark_i,
  input logic read_i
);
  localparam int unsigned Bits = $clog2(Depth);
  logic write_rst_n, read_rst_n, ready, lost, valid, data, read, mark;
  exanet_reset_sync u_write_reset (.clk_i(write_clk_i), .rst_ni, .rst_no(write_rst_n));
  exanet_reset_sync u_read_reset (.clk_i(read_clk_i), .rst_ni, .rst_no(read_rst_n));

  // The first thing is a reset.
  logic write_begun = 1'b0, read_begun = 1'b0;
  always_ff @(posedge write_clk_i) write_begun <= 1'b1;
  always_ff @(posedge read_clk_i) read_begun <= 1'b1;
  always_comb if (!write_begun && !read_begun) assume (!rst_ni);

  logic [1:0] write_edges, read_edges;  // since the reset
  always_ff @(posedge write_clk_i or negedge rst_ni) begin
    if (!rst_ni) write_edges <= '0;
    else if (!write_edges[1]) write_edges <= write_edges + 1'b1;
  end
  always_ff @(posedge read_clk_i or negedge rst_ni) begin
    if (!rst_ni) read_edges <= '0;
    else if (!read_edges[1]) read_edges <= read_edges + 1'b1;
  end

  assign read = read_i && valid;
  assign lost = write_i && !ready;
  exanet_fifo_async #(.Width(1), .Depth(Depth)) dut (
    .write_clk_i, .write_rst_ni(write_rst_n), .write_i, .data_i(mark), .ready_o(ready),
    .read_clk_i, .read_rst_ni(read_rst_n), .read_i(read), .valid_o(valid), .data_o(data));

  // Words taken and words handed out, each counted in its clock, and which one is marked.
  logic [Bits+1:0] taken_q, read_q, held, mark_at_q;
  logic marked_q, gone_q;
  assign mark = mark_i && !marked_q;
  assign held = taken_q - read_q;
  always_ff @(posedge write_clk_i or negedge write_rst_n) begin
    if (!write_rst_n) begin
      taken_q  <= '0;
      marked_q <= 1'b0;
    end else if (write_i && !lost) begin
      taken_q <= taken_q + 1'b1;
      if (mark) marked_q <= 1'b1;
    end
  end
  always_ff @(posedge write_clk_i) begin
    if (write_i && !lost && mark) mark_at_q <= taken_q;
  end
  always_ff @(posedge read_clk_i or negedge read_rst_n) begin
    if (!read_rst_n) begin
      read_q <= '0;
      gone_q <= 1'b0;
    end else if (read) begin
      read_q <= read_q + 1'b1;
      if (marked_q && read_q == mark_at_q) gone_q <= 1'b1;
    end
  end

  always_comb begin
    if (write_rst_n && read_rst_n) begin
      Holds: assert (held <= (Bits + 2)'(Depth + 1));
      InOrder: assert (!valid || (held != '0 && data == (marked_q && !gone_q && read_q == mark_at_q)));
    end
  end

  // Helps the proof: who sees what of the other's count. In the order in which counts lie: what was read, what the
  // writer knows of it, and so on.
  localparam int unsigned Wide = Bits + 1;
  function automatic logic [Bits:0] count(logic [Bits:0] gray);
    logic [Bits:0] binary;
    for (int unsigned i = 0; i <= Bits; i++) binary[i] = ^(gray >> i);
    return binary;
  endfunction
  logic [Bits:0] in_it, seen_first, seen, used_seen, used_first;
  assign in_it = dut.write_q - dut.read_q;
  assign seen_first = count(dut.u_written.meta_q) - dut.read_q;
  assign seen = count(dut.u_written.sync_q) - dut.read_q;
  assign used_first = dut.write_q - count(dut.u_freed.meta_q);
  assign used_seen = dut.write_q - count(dut.u_freed.sync_q);
  always_comb begin
    Counts: assert (dut.write_q == taken_q[Bits:0] && dut.read_q == read_q[Bits:0] + Wide'(valid));
    Grays: assert (count(dut.write_gray_q) == dut.write_q && count(dut.read_gray_q) == dut.read_q);
    Steps: assert ($onehot0(dut.write_gray_q ^ dut.write_before_q) && $onehot0(dut.read_gray_q ^ dut.read_before_q));
    Seen: assert (seen <= seen_first && seen_first <= in_it);
    Used: assert (in_it <= used_first && used_first <= used_seen && used_seen <= Wide'(Depth));
    Sum: assert (held == (Bits + 2)'(in_it) + (Bits + 2)'(valid));
    Releasing: assert (u_write_reset.meta_q == (write_edges != '0) && u_read_reset.meta_q == (read_edges != '0));
    Released: assert (write_rst_n == write_edges[1] && read_rst_n == read_edges[1]);
    Edges: assert (write_edges != '1 && read_edges != '1);
    Together: assert (write_rst_n || {dut.write_q, dut.read_q, read_q, valid, gone_q, dut.u_written.meta_q, dut.u_written.sync_q} == '0);
    Marked: assert (gone_q || !marked_q || (Bits + 2)'(mark_at_q - read_q) < held);
    Gone: assert (!gone_q || marked_q);
  end
  for (genvar i = 0; i < Depth; i++) begin : gen_place
    logic stands, is_marked;  // a word stands there, and it is the marked one
    localparam logic [Bits-1:0] Place = i[Bits-1:0];
    logic [Bits-1:0] behind;  // so many words are to be read before it
    assign behind = Place - dut.read_q[Bits-1:0];
    assign stands = {1'b0, behind} < in_it;
    assign is_marked = marked_q && !gone_q && Place == mark_at_q[Bits-1:0] && (Bits + 2)'(mark_at_q - read_q) >= (Bits + 2)'(valid);
    always_comb Content: assert (!stands || dut.memory[i] == is_marked);
  end

  logic full_q;
  always_ff @(posedge write_clk_i or negedge write_rst_n) begin
    if (!write_rst_n) full_q <= 1'b0;
    else full_q <= full_q || lost;
  end
  always_ff @(posedge read_clk_i) begin
    if (read_rst_n) begin
      FullAndRead: cover (full_q && gone_q);
    end
  end
endmodule
