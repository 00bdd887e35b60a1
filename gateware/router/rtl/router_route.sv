// SPDX-License-Identifier: Apache-2.0
// Output, virtual channel and length of a packet from its header: dimension order, virtual channel by the sign of the offset.
//
// The rule is that of core/topology/dimension_order.hpp, which says why it cannot deadlock. A packet that comes along the dimension in which it
// goes on goes straight on: without disabled ports that is the rule's own way, and with them it never turns back. Where a packet enters a ring
// by way of a disabled port it goes the other way round, and all the way. A channel is still left at the wrap-around link alone, so the argument holds
// (gateware/router/tb/disabled_test.cpp looks at the channels of rings and tori without one or two links).
//
// A packet has no route, and is discarded by its input, where all ports that it may take are disabled or not there, where its destination is outside
// of the machine, where it would turn back, and as long as the router is not enabled.
module router_route #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 1,
  parameter int unsigned Port = 0,  // at which the packet comes
  parameter int unsigned DimensionBits[3] = '{8, 7, 7},  // split of the destination's 22 bits, first dimension lowest
  localparam int unsigned PortBits = $clog2(InterPorts + IntraPorts)
) (
  input  exanet_pkg::router_config_t config_i,
  input  exanet_pkg::header_t        header_i,
  output logic [PortBits-1:0]        port_o,
  output logic                       vc_o,
  output logic                       known_o,  // there is a route
  output logic [5:0]                 words_o   // payload words
);
  localparam int unsigned Shift[3] = '{0, DimensionBits[0], DimensionBits[0] + DimensionBits[1]};

  logic [2:0][7:0] there;
  logic [2:0] differs, above, plus, outside;  // a coordinate that no node has: such a packet would go round for ever
  logic [2:0] rising, falling;  // the packet comes from below, from above
  logic [1:0] chosen;
  logic parity, straight, use_plus, turns_back;
  logic [2:0] port;
  logic [2:0] plus_port, minus_port;
  logic [1:0] intra;

  for (genvar d = 0; d < 3; d++) begin : gen_dimension
    assign rising[d] = Port < InterPorts && config_i.minus_port[d] == 3'(Port);
    assign falling[d] = Port < InterPorts && config_i.plus_port[d] == 3'(Port);
    if (d < Dimensions) begin : gen_used
      logic [8:0] up, offset;
      assign there[d] = 8'(header_i.dcid[Shift[d]+:DimensionBits[d]]);
      assign differs[d] = there[d] != config_i.coordinate[d];
      assign outside[d] = {1'b0, there[d]} >= config_i.side[d];
      assign above[d] = there[d] > config_i.coordinate[d];
      assign offset = {1'b0, there[d]} - {1'b0, config_i.coordinate[d]};
      assign up = above[d] ? offset : offset + config_i.side[d];
      assign plus[d] = !config_i.wraps ? above[d]
          : {up, 1'b0} < {1'b0, config_i.side[d]} || ({up, 1'b0} == {1'b0, config_i.side[d]} && !(parity ^ there[d][0] ^ config_i.coordinate[d][0]));
    end else begin : gen_unused
      assign {there[d], differs[d], above[d], plus[d]} = '0;
      assign outside[d] = header_i.dcid[Shift[d]+:DimensionBits[d]] != '0;
    end
  end

  // A packet exactly half way round goes up when the lowest bits of here and of the other dimensions' destinations have an even sum.
  assign parity = there[0][0] ^ there[1][0] ^ there[2][0];

  assign chosen = differs[config_i.order[0]] ? config_i.order[0] : differs[config_i.order[1]] ? config_i.order[1] : config_i.order[2];
  assign vc_o = above[chosen];
  assign plus_port = config_i.plus_port[chosen];
  assign minus_port = config_i.minus_port[chosen];
  assign intra = config_i.type_port[header_i.kind];

  assign straight = rising[chosen] || falling[chosen];
  always_comb begin
    use_plus = plus[chosen];
    if (config_i.wraps && straight) use_plus = rising[chosen];
    else if (config_i.wraps && config_i.disabled[plus[chosen] ? plus_port : minus_port]) use_plus = !plus[chosen];
  end
  assign port = use_plus ? plus_port : minus_port;
  assign turns_back = 32'(port) == Port || (straight && use_plus != rising[chosen]);

  always_comb begin
    if (differs != '0) begin
      port_o  = PortBits'(port);
      known_o = config_i.enabled && outside == '0 && differs[chosen] && 32'(port) < InterPorts && !config_i.disabled[port] && !turns_back;
    end else begin
      port_o  = PortBits'(InterPorts + 32'(intra));
      known_o = config_i.enabled && outside == '0 && 32'(intra) < IntraPorts;
    end
  end

  assign words_o = 6'((header_i.length + 10'd15) >> 4);
endmodule
