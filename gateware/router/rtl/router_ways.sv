// SPDX-License-Identifier: Apache-2.0
// Works out of a router's configuration what router_route compares a destination with, so that no arithmetic lies
// between a header and its route.
//
// Of the coordinates in a dimension, those above here up to half a ring away are upwards, and those below here that are
// nearer the other way round. Where a packet goes that is exactly half way round, router_route decides: hence two
// bounds of each.
module router_ways #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned FirstPort = 0  // of those that lead on in a dimension
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  exanet_pkg::router_config_t config_i,
  output router_pkg::way_t           ways_o[3]
);
  // The place of a dimension in the order in which offsets are consumed; 3 where it has none.
  function automatic logic [1:0] place(logic [2:0][1:0] order, logic [1:0] dimension);
    for (int unsigned i = 0; i < 3; i++) if (order[i] == dimension) return 2'(i);
    return 2'd3;
  endfunction

  function automatic logic there(logic [3:0] port);
    return 32'(port) < InterPorts && 32'(port) + 1 > FirstPort;
  endfunction

  // A port as it is compared with the one at which a packet comes, in three bits where they are enough: one that is not
  // there is like none that is.
  function automatic logic [3:0] known(logic [3:0] port);
    if (32'(port) >= InterPorts) return InterPorts < 8 ? 4'd7 : 4'd15;
    return InterPorts < 8 ? {1'b0, port[2:0]} : port;
  endfunction

  for (genvar d = 0; d < 3; d++) begin : gen_dimension
    router_pkg::way_t way;
    logic [8:0] side, half;
    logic [3:0] plus_port, minus_port;
    assign side = config_i.side[d];
    assign half = 9'(config_i.coordinate[d]) + 9'((side - 1'b1) >> 1) + 1'b1;
    assign plus_port = config_i.plus_port[d];
    assign minus_port = config_i.minus_port[d];
    always_comb begin
      way.here = config_i.coordinate[d];
      way.side = side;
      way.wraps = config_i.wraps;
      for (int unsigned even = 0; even < 2; even++) begin
        logic [8:0] bound;
        bound = half + 9'(even == 1 && !side[0]);
        way.above[even] = config_i.wraps ? bound : '1;
        way.below[even] = config_i.wraps && bound > side ? bound - side : '0;
      end
      way.plus_port = known(plus_port);
      way.minus_port = known(minus_port);
      way.plus_disabled = 32'(plus_port) < exanet_pkg::MaxInterPorts && config_i.disabled[plus_port];
      way.minus_disabled = 32'(minus_port) < exanet_pkg::MaxInterPorts && config_i.disabled[minus_port];
      way.plus_there = there(plus_port);
      way.minus_there = there(minus_port);
      way.ordered = place(config_i.order, 2'(d)) != 2'd3;
      // All round a ring, one half each way.
      way.most_plus = config_i.wraps ? side[8:1] : '1;
      way.most_minus = config_i.wraps ? 8'((side - 1'b1) >> 1) : '1;
      way.top = !config_i.wraps && 9'(config_i.coordinate[d]) + 1'b1 == side;
      way.bottom = !config_i.wraps && config_i.coordinate[d] == '0;
      for (int unsigned e = 0; e < 3; e++) way.after[e] = place(config_i.order, 2'(e)) < place(config_i.order, 2'(d));
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) ways_o[d] <= '0;
      else ways_o[d] <= way;
    end
  end
endmodule
