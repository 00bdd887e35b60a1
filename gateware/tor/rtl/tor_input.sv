// SPDX-License-Identifier: Apache-2.0
// The buffer of an input of the top-of-rack switch: a queue for each output in one memory, as linked lists.
//
// A flit is counted in the third cycle after that on the wires: it is registered, its output worked out, and it is
// written. What has passed leaves the memory behind that: match_i and pass_i of a cycle are registers in the next one,
// which reads the list, and the flit is at flit_o three cycles later. Contract: a packet's flits come one behind the
// other, not between those of another, and no more than Depth - Ports flits are in the buffer.
//
// Each queue owns one free place, that of its next flit, so a list is never empty: what is read behind a flit was
// written with it. It takes Ports of the memory's places.
module tor_input #(
  parameter int unsigned Ports = 16,
  parameter int unsigned Depth = 1024  // a power of two
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  tor_pkg::route_config_t route_i,
  input  logic                   valid_i,
  input  tor_pkg::flit_t         flit_i,
  input  logic [Ports-1:0]       match_i,  // the packet that waits for this output gets it
  input  logic [Ports-1:0]       hold_i,  // the output that the packet holds which passes
  input  logic [Ports-1:0]       pass_i,  // a flit of it goes
  output logic [Ports-1:0]       waiting_o,  // a packet whose header is here waits for the output
  output logic [Ports-1:0]       readable_o,  // the next flit of the packet that holds the output is here
  output logic                   last_o,  // it is the packet's last
  output logic                   credit_o,
  output logic [Ports-1:0]       output_o,  // where flit_o goes to, if anywhere
  output tor_pkg::flit_t         flit_o
);
  localparam int unsigned Bits = unsigned'($clog2(Depth));
  if (Depth != 2 ** Bits || Depth < 2 * Ports) begin : gen_illegal_depth
    $error("Depth must be a power of two, and twice the ports at least");
  end
  if (Ports < 2 || Ports > 2 ** tor_pkg::PortBits) begin : gen_illegal_ports
    $error("Ports must be from 2 to 64");
  end

  // In: the flit, and where it goes.
  logic in_valid_q, put_valid_q, second_q;
  tor_pkg::flit_t in_q, put_q;
  logic [Ports-1:0] to_q, put;
  logic [tor_pkg::PortBits-1:0] port;
  logic [tor_pkg::LengthBits:0] rounded;
  assign port    = tor_pkg::route(route_i, in_q.data[tor_pkg::AddressLow+:tor_pkg::AddressBits]);
  assign put     = put_valid_q ? to_q : '0;
  assign rounded = {1'b0, put_q.data[tor_pkg::LengthLow+:tor_pkg::LengthBits]} + 11'd7;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q  <= 1'b0;
      put_valid_q <= 1'b0;
      second_q    <= 1'b0;
      to_q        <= '0;
      in_q        <= '0;
      put_q       <= '0;
    end else begin
      in_valid_q  <= valid_i;
      in_q        <= flit_i;
      put_valid_q <= in_valid_q;
      put_q       <= in_q;
      if (in_valid_q && in_q.first) to_q <= Ports'(1'b1) << port;
      if (put_valid_q) second_q <= put_q.first;
    end
  end

  // The lists. `place` is where the flit is written: the free place of its queue, which gets another one.
  logic [Bits-1:0] next_memory[Depth];
  logic [Bits-1:0] free_memory[Depth];
  logic [tor_pkg::IndexBits-1:0] index_memory[Depth];  // of a packet's last flit, at its first flit's place
  (* ram_style = "block" *) tor_pkg::flit_t flit_memory[Depth];
  logic [Ports-1:0][Bits-1:0] head_q, tail_q;
  logic [Bits-1:0] place, first_place_q, fresh, leaves, behind;
  logic [Bits:0] new_q;  // places that have never been used begin here, until there are none
  logic [Bits-1:0] freed_q, taken_q;  // of free_memory
  logic [Ports-1:0] pass_q, select_q;
  logic pop;

  always_comb begin
    place  = '0;
    leaves = '0;
    for (int unsigned o = 0; o < Ports; o++) begin
      if (to_q[o]) place |= tail_q[o];
      if (select_q[o]) leaves |= head_q[o];
    end
  end
  assign fresh  = new_q[Bits] ? free_memory[taken_q] : new_q[Bits-1:0];
  assign behind = next_memory[leaves];
  assign pop    = pass_q != '0;

  always_ff @(posedge clk_i) begin
    if (put_valid_q) begin
      next_memory[place] <= fresh;
      flit_memory[place] <= put_q;
    end
    if (put_valid_q && second_q) index_memory[first_place_q] <= 7'd3 + rounded[9:3];
    if (pop) free_memory[freed_q] <= leaves;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned o = 0; o < Ports; o++) begin
        head_q[o] <= Bits'(o);
        tail_q[o] <= Bits'(o);
      end
      new_q         <= (Bits + 1)'(Ports);
      freed_q       <= '0;
      taken_q       <= '0;
      first_place_q <= '0;
      pass_q        <= '0;
      select_q      <= '0;
    end else begin
      pass_q   <= pass_i;
      select_q <= match_i | hold_i;
      if (put_valid_q) begin
        first_place_q <= place;
        if (new_q[Bits]) taken_q <= taken_q + 1'b1;
        else new_q <= new_q + 1'b1;
      end
      if (pop) freed_q <= freed_q + 1'b1;
      for (int unsigned o = 0; o < Ports; o++) begin
        if (put[o]) tail_q[o] <= fresh;
        if (pass_q[o]) head_q[o] <= behind;
      end
    end
  end

  // Counts of each queue: flits, of which those that have passed in the last cycle are not yet taken off, and packets
  // with their header here that hold no output. Whether there is any is a register: a match begins with it.
  logic [Ports-1:0][Bits:0] flits_q;
  logic [Ports-1:0][Bits-1:0] packets_q;
  logic [Ports-1:0] match_q;
  always_comb begin
    for (int unsigned o = 0; o < Ports; o++)
      readable_o[o] = pass_q[o] ? flits_q[o] > (Bits + 1)'(1'b1) : flits_q[o] != '0;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flits_q   <= '0;
      packets_q <= '0;
      waiting_o <= '0;
      match_q   <= '0;
    end else begin
      match_q <= match_i;
      for (int unsigned o = 0; o < Ports; o++) begin
        flits_q[o]   <= flits_q[o] + (Bits + 1)'(put[o]) - (Bits + 1)'(pass_q[o]);
        packets_q[o] <= packets_q[o] + Bits'(put[o] && second_q) - Bits'(match_q[o]);
        waiting_o[o] <= (put[o] && second_q) || packets_q[o] > Bits'(1'b1) || (packets_q[o] != '0 && !match_q[o]);
      end
    end
  end

  // How far the packet is that passes. It has four flits at least, so its last one's index is there in time.
  logic [tor_pkg::IndexBits-1:0] index, index_q, before_q, passed_q;
  assign index = index_memory[leaves];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q  <= '0;
      before_q <= '0;
      passed_q <= '0;
    end else begin
      passed_q <= (match_q != '0 ? '0 : passed_q) + tor_pkg::IndexBits'(pop);
      if (match_q != '0) begin
        index_q  <= index;
        before_q <= index - 1'b1;
      end
    end
  end
  assign last_o = match_q == '0 && (pop ? passed_q == before_q : passed_q == index_q);

  // Out: the memory's register, another one, and the crossbar's behind that.
  logic [1:0][Ports-1:0] output_q;
  tor_pkg::flit_t read_q;
  always_ff @(posedge clk_i) begin
    read_q <= flit_memory[leaves];
    flit_o <= read_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      output_q <= '0;
      credit_o <= 1'b0;
    end else begin
      output_q <= {output_q[0], pass_q};
      credit_o <= pop;
    end
  end
  assign output_o = output_q[1];

`ifndef SYNTHESIS
  logic [Bits:0] held_q;  // flits in the buffer
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= '0;
    else held_q <= held_q + (Bits + 1)'(put_valid_q) - (Bits + 1)'(pop);
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NoOverflow : assert (!put_valid_q || held_q < (Bits + 1)'(Depth - Ports));
      OneQueue : assert ($onehot0(pass_q) && $onehot0(match_q));
    end
  end
  for (genvar o = 0; o < Ports; o++) begin : gen_check
    always_ff @(posedge clk_i) if (rst_ni) NoUnderflow : assert (!pass_q[o] || flits_q[o] != '0);
  end
`endif
endmodule
