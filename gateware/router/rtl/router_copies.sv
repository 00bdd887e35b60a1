// SPDX-License-Identifier: Apache-2.0
// Outputs of a multicast packet, and its virtual channel behind each: a tree in dimension order that needs no table
// (docs/adr/0013-multicast.md).
//
// Its destinations are a box around its source: dcid holds for each dimension how many hops away from the source copies
// go, up and down, half way round a ring at most. A packet that comes along a dimension goes straight on while it is
// not that far from its source, and starts out both ways in each dimension that comes later in the order; one from a
// network interface starts out in all. So each node of the box is come to by one way alone. All but the source hand it
// out. In machines of QFDBs all four nodes of a QFDB belong to a box that holds it: the source sends to the three
// others, a packet that comes by the torus goes to the three others as well, one that comes to node 0 by a link inside
// the QFDB into the torus.
//
// The virtual channel along a dimension is that of a packet to one node (router_route), the last one to which the
// copies go there.
//
// Ports that are disabled or not there are left out, and with them what lies behind. A packet is discarded when no
// output is left, when its source is outside of the machine, and as long as the router is not enabled.
module router_copies #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 1,
  parameter bit          Qfdb = 1'b0,
  parameter int unsigned XBits = 8,  // split of addresses (router_route)
  parameter int unsigned YBits = 7,
  parameter int unsigned Port = 0,  // at which the packet comes
  localparam int unsigned Ports = InterPorts + IntraPorts
) (
  input  router_pkg::way_t     ways_i[3],
  input  logic                 enabled_i,
  input  logic [1:0]           qfdb_node_i,
  input  logic [2:0]           disabled_i,  // ports inside the QFDB
  input  logic [15:0][1:0]     type_port_i,
  input  exanet_pkg::header_t  header_i,
  output logic [Ports-1:0]     ports_o,
  output logic [Ports-1:0]     vcs_o,
  output logic                 known_o  // there is an output
);
  localparam int unsigned NodeBits = Qfdb ? 2 : 0;
  localparam int unsigned Shift[3] = '{NodeBits, NodeBits + XBits, NodeBits + XBits + YBits};
  localparam int unsigned Bits[3] = '{XBits, YBits, 22 - Shift[2]};
  localparam bit Mesh = Qfdb && Port < exanet_pkg::QfdbNodes - 1;  // it comes by a link inside the QFDB
  localparam bit Own = Port >= InterPorts;

  logic [2:0] along;  // it comes along this dimension
  logic [2:0] outside, plus, minus, plus_vc, minus_vc;

  for (genvar d = 0; d < 3; d++) begin : gen_dimension
    if (d < Dimensions) begin : gen_used
      router_pkg::way_t way;
      logic [7:0] source, reach, most_up, most_down;
      logic [8:0] above, below;  // hops that it has made, upwards or downwards
      logic rising, falling, starts, on, up, down;
      assign way = ways_i[d];
      assign source = 8'(header_i.source_dcid[Shift[d]+:Bits[d]]);
      assign reach = 8'(header_i.dcid[Shift[d]+:Bits[d]]);
      assign outside[d] = {1'b0, source} >= way.side;
      assign rising = !Own && !Mesh && way.minus_port == 4'(Port);
      assign falling = !Own && !Mesh && way.plus_port == 4'(Port);
      assign along[d] = rising || falling;
      assign starts = Own || Mesh || (along & way.after) != '0;
      assign above = 9'(way.here) - 9'(source) + (way.here < source ? way.side : '0);
      assign below = 9'(source) - 9'(way.here) + (source < way.here ? way.side : '0);
      assign most_up = reach < way.most_plus ? reach : way.most_plus;
      assign most_down = reach < way.most_minus ? reach : way.most_minus;
      assign on = (!Qfdb || qfdb_node_i == '0) && way.ordered;
      // It starts where its source is, whatever a sender wrote: else its channel might change on the way, and close a
      // cycle.
      assign up = ((starts && above == '0) || rising) && above < 9'(most_up);
      assign down = ((starts && below == '0) || falling) && below < 9'(most_down);
      assign plus[d] = on && up && way.plus_there && !way.plus_disabled && !way.top;
      assign minus[d] = on && down && way.minus_there && !way.minus_disabled && !way.bottom;
      // Whether the last node is above this one: upwards unless the wrap-around link is still to come, downwards if it
      // is.
      assign plus_vc[d] = !way.wraps || way.here < source || 9'(source) + 9'(most_up) < way.side;
      assign minus_vc[d] = way.wraps && way.here <= source && most_down > source;
    end else begin : gen_unused
      assign {along[d], plus[d], minus[d], plus_vc[d], minus_vc[d]} = '0;
      assign outside[d] = header_i.source_dcid[Shift[d]+:Bits[d]] != '0;
    end
  end

  logic [1:0] intra;
  logic [Ports-1:0] ports;
  assign intra = type_port_i[header_i.kind];
  always_comb begin
    ports = '0;
    vcs_o = '0;
    for (int unsigned p = 0; p < Ports; p++) begin
      if (p >= InterPorts) begin
        ports[p] = !Own && 32'(intra) == p - InterPorts;
      end else if (Qfdb && p < exanet_pkg::QfdbNodes - 1) begin
        ports[p] = !Mesh && !disabled_i[2'(p)];
        vcs_o[p] = 2'(p) >= qfdb_node_i;
      end else begin
        for (int unsigned d = 0; d < Dimensions; d++) begin
          if (plus[d] && ways_i[d].plus_port == 4'(p)) {ports[p], vcs_o[p]} = {1'b1, plus_vc[d]};
          if (minus[d] && ways_i[d].minus_port == 4'(p)) {ports[p], vcs_o[p]} = {1'b1, minus_vc[d]};
        end
        if (p == Port) ports[p] = 1'b0;  // it never goes where it came from
      end
    end
  end
  assign known_o = enabled_i && outside == '0 && ports != '0;
  assign ports_o = known_o ? ports : '0;
endmodule
