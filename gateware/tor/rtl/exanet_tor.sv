// SPDX-License-Identifier: Apache-2.0
// The top-of-rack switch of the ExaNeSt prototype (Microprocessors and Microsystems 61, 2018, section 2.3): wormhole
// switching of 70-bit flits, virtual output queues at the inputs, routing by arithmetic alone, a credit for each flit.
//
// A flit on an input's wires can pass three cycles later; one that passes is on the output's wires four cycles later,
// and its credit on the input's two cycles later. These seven cycles are the model's latency of 6 cycles and the cycle
// that a flit takes on the link. A header waits for its second flit.
// Contract of the neighbour: as of tor_input; it has Depth - Ports credits at the start, and so has this switch.
module exanet_tor #(
  parameter int unsigned Ports = 16,
  parameter int unsigned Depth = 1024  // flits of an input's memory
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  tor_pkg::route_config_t      route_i,
  input  logic [Ports-1:0]            rx_valid_i,
  input  tor_pkg::flit_t [Ports-1:0]  rx_flit_i,
  output logic [Ports-1:0]            rx_credit_o,
  output logic [Ports-1:0]            tx_valid_o,
  output tor_pkg::flit_t [Ports-1:0]  tx_flit_o,
  input  logic [Ports-1:0]            tx_credit_i
);
  localparam int unsigned Bits = unsigned'($clog2(Depth));
  logic [Ports-1:0][Ports-1:0] waiting, readable, match, hold, pass, to;
  logic [Ports-1:0] last, credit;
  tor_pkg::flit_t [Ports-1:0] flits;

  for (genvar i = 0; i < Ports; i++) begin : gen_input
    tor_input #(
      .Ports(Ports),
      .Depth(Depth)
    ) u_input (
      .clk_i, .rst_ni, .route_i, .valid_i(rx_valid_i[i]), .flit_i(rx_flit_i[i]), .match_i(match[i]), .hold_i(hold[i]),
      .pass_i(pass[i]), .waiting_o(waiting[i]), .readable_o(readable[i]), .last_o(last[i]), .credit_o(rx_credit_o[i]),
      .output_o(to[i]), .flit_o(flits[i]));
  end

  tor_match #(
    .Ports(Ports)
  ) u_match (
    .clk_i, .rst_ni, .waiting_i(waiting), .readable_i(readable), .last_i(last), .credit_i(credit), .match_o(match),
    .hold_o(hold), .pass_o(pass));

  for (genvar o = 0; o < Ports; o++) begin : gen_output
    // Credits, of which that of a flit that has passed in the last cycle is not yet taken off.
    logic [Bits-1:0] credits_q;
    logic [Ports-1:0] passes, pass_q, comes;
    tor_pkg::flit_t flit;
    always_comb begin
      flit = '0;
      for (int unsigned i = 0; i < Ports; i++) begin
        passes[i] = pass[i][o];
        comes[i]  = to[i][o];
        if (comes[i]) flit |= flits[i];
      end
    end
    assign credit[o] = pass_q != '0 ? credits_q > Bits'(1'b1) : credits_q != '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        credits_q     <= Bits'(Depth - Ports);
        pass_q        <= '0;
        tx_valid_o[o] <= 1'b0;
        tx_flit_o[o]  <= '0;
      end else begin
        credits_q     <= credits_q + Bits'(tx_credit_i[o]) - Bits'(pass_q != '0);
        pass_q        <= passes;
        tx_valid_o[o] <= comes != '0;
        tx_flit_o[o]  <= flit;
      end
    end
`ifndef SYNTHESIS
    logic inside_q;  // of a packet
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) inside_q <= 1'b0;
      else if (tx_valid_o[o]) inside_q <= !tx_flit_o[o].last;
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        NoInterleaving : assert (!tx_valid_o[o] || tx_flit_o[o].first == !inside_q);
        CreditsFit : assert (credits_q <= Bits'(Depth - Ports));
      end
    end
`endif
  end
endmodule
