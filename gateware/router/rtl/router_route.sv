// SPDX-License-Identifier: Apache-2.0
// Output, virtual channel and length of a packet from its header: dimension order, virtual channel by the sign of the
// offset.
//
// The rule is that of core/topology/dimension_order.hpp, which says why it cannot deadlock. A packet that comes along
// the dimension in which it goes on goes straight on: without disabled ports that is the rule's own way, and with them
// it never turns back. Where a packet enters a ring by way of a disabled port it goes the other way round, and all the
// way. A channel is still left at the wrap-around link alone, so the argument holds
// (gateware/router/tb/disabled_test.cpp looks at the channels of rings and tori without one or two links).
//
// With Qfdb a node is one of the four of a QFDB (core/topology/qfdb_torus.hpp), and the coordinates are those of the
// QFDB. Ports 0 to 2 lead to the three others in ascending order. A packet for another QFDB goes to node 0, whose
// further ports are those of the torus; one for this QFDB goes to its node. The virtual channel inside a QFDB follows
// the sign as well. No packet goes from one link inside a QFDB to another: so a link into a QFDB is followed by one
// inside it at most, and one inside it by links of the torus alone.
//
// A packet has no route, and is discarded by its input, where all ports that it may take are disabled or not there,
// where its destination is outside of the machine, where it would turn back, and as long as the router is not enabled.
module router_route #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 1,
  parameter bit          Qfdb = 1'b0,
  // split of the destination's 22 bits, the node of the QFDB and then the first dimension lowest
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  parameter int unsigned Port = 0,  // at which the packet comes
  localparam int unsigned PortBits = $clog2(InterPorts + IntraPorts)
) (
  input  router_pkg::way_t     ways_i[3],
  input  logic                 enabled_i,
  input  logic [1:0]           qfdb_node_i,
  input  logic [2:0]           disabled_i,  // ports inside the QFDB
  input  logic [15:0][1:0]     type_port_i,
  input  exanet_pkg::header_t  header_i,
  output logic [PortBits-1:0]  port_o,
  output logic                 vc_o,
  output logic                 known_o,  // there is a route
  output logic [5:0]           words_o   // payload words
);
  localparam int unsigned NodeBits = Qfdb ? 2 : 0;
  localparam int unsigned Shift[3] = '{NodeBits, NodeBits + XBits, NodeBits + XBits + YBits};
  localparam int unsigned Bits[3] = '{XBits, YBits, 22 - Shift[2]};

  logic [2:0][7:0] there;
  logic [2:0] differs, above, outside;  // a coordinate that no node has: such a packet would go round for ever
  logic [2:0] chosen, goes;  // the dimension in which it goes on, and those in which it may
  logic [2:0][3:0] ports;
  logic [3:0] port;
  logic [1:0] intra, node;  // of its QFDB
  logic parity;

  // A packet exactly half way round goes up when the lowest bits of here and of the destination's other coordinates,
  // its node among them, have an even sum.
  assign node = header_i.dcid[1:0];
  assign parity = there[0][0] ^ there[1][0] ^ there[2][0] ^ (Qfdb && node[0]);

  for (genvar d = 0; d < 3; d++) begin : gen_dimension
    if (d < Dimensions) begin : gen_used
      router_pkg::way_t way;
      // rising: the packet comes from below; falling: from above
      logic half, up, round, plus, rising, falling, use_plus;
      assign way = ways_i[d];
      assign there[d] = 8'(header_i.dcid[Shift[d]+:Bits[d]]);
      assign differs[d] = there[d] != way.here;
      assign outside[d] = {1'b0, there[d]} >= way.side;
      assign above[d] = there[d] > way.here;
      assign half = !(parity ^ there[d][0] ^ way.here[0]);
      // Either serves: above is known no sooner.
      assign up = {1'b0, there[d]} < way.above[half];
      assign round = {1'b0, there[d]} < way.below[half];
      assign plus = above[d] ? up : round;
      assign rising = Port < InterPorts && way.minus_port == 4'(Port);
      assign falling = Port < InterPorts && way.plus_port == 4'(Port);
      assign use_plus = way.wraps && (rising || falling) ? rising : plus ^ (way.wraps && (plus ? way.plus_disabled : way.minus_disabled));
      // It never goes where it came from.
      assign goes[d] = use_plus ? way.plus_there && !way.plus_disabled && !falling : way.minus_there && !way.minus_disabled && !rising;
      assign ports[d] = use_plus ? way.plus_port : way.minus_port;
      assign chosen[d] = differs[d] && way.ordered && (differs & way.after) == '0;
    end else begin : gen_unused
      assign {there[d], differs[d], above[d], goes[d], chosen[d], ports[d]} = '0;
      assign outside[d] = header_i.dcid[Shift[d]+:Bits[d]] != '0;
    end
  end

  // On in the QFDB's mesh. A packet for another QFDB goes to node 0, from each of the others by port 0 and on the lower
  // channel.
  logic mesh, mesh_vc, mesh_goes, higher;
  logic [1:0] mesh_port;
  assign higher = node > qfdb_node_i;
  assign mesh = Qfdb && (differs != '0 ? qfdb_node_i != '0 : node != qfdb_node_i);
  assign mesh_vc = differs == '0 && higher;
  assign mesh_port = differs != '0 ? '0 : node - 2'(higher);
  assign mesh_goes = Port > 2 && (differs != '0 ? !disabled_i[0] : !disabled_i[mesh_port]);

  assign vc_o = mesh ? mesh_vc : (chosen & above) != '0;
  assign intra = type_port_i[header_i.kind];
  always_comb begin
    port = '0;
    for (int unsigned d = 0; d < 3; d++) port |= chosen[d] ? ports[d] : '0;
    if (mesh) begin
      port_o  = PortBits'(mesh_port);
      known_o = enabled_i && outside == '0 && mesh_goes;
    end else if (differs != '0) begin
      port_o  = PortBits'(port);
      known_o = enabled_i && outside == '0 && (chosen & goes) != '0;
    end else begin
      port_o  = PortBits'(InterPorts + 32'(intra));
      known_o = enabled_i && outside == '0 && 32'(intra) < IntraPorts;
    end
  end

  assign words_o = 6'((header_i.length + 10'd15) >> 4);
endmodule
