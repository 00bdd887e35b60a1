// SPDX-License-Identifier: Apache-2.0
// The route of any packet that comes at one port, whatever the registers say, as long as they stay: it never goes back
// to where it came from, nor by a disabled port, and it is handed out at its destination alone. Inside a QFDB it never
// goes from one link to another, goes into the torus from node 0 alone, and has the channel of the sign: what
// core/topology/qfdb_torus.hpp needs to have no cycle of channels.
module route_formal #(
  parameter int unsigned InterPorts = 9,
  parameter int unsigned IntraPorts = 2,
  parameter int unsigned Dimensions = 3,
  parameter bit          Qfdb = 1'b1,
  parameter int unsigned Port = 0
) (
  input logic                       clk_i,
  input exanet_pkg::router_config_t config_i,
  input exanet_pkg::header_t        header_i
);
  localparam int unsigned PortBits = $clog2(InterPorts + IntraPorts);
  localparam int unsigned MeshPorts = Qfdb ? exanet_pkg::QfdbNodes - 1 : 0;
  localparam int unsigned NodeBits = Qfdb ? 2 : 0;

  logic rst_n = 1'b0;
  logic settled = 1'b0;
  exanet_pkg::router_config_t config_q;
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    settled <= rst_n;
    config_q <= config_i;
  end

  router_pkg::way_t ways[3];
  router_ways #(.InterPorts(InterPorts), .FirstPort(MeshPorts)) u_ways (.clk_i, .rst_ni(rst_n), .config_i, .ways_o(ways));
  logic [PortBits-1:0] port;
  logic vc, known;
  logic [5:0] words;
  router_route #(.InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .Port(Port)) dut (
    .ways_i(ways), .enabled_i(config_i.enabled), .qfdb_node_i(config_i.qfdb_node), .disabled_i(config_i.disabled[2:0]),
    .type_port_i(config_i.type_port), .header_i, .port_o(port), .vc_o(vc), .known_o(known), .words_o(words));

  logic [1:0] node, beyond, intra;
  logic [7:0] x, y, z;
  logic at_home, in_qfdb, to_link;
  assign node = Qfdb ? header_i.dcid[1:0] : '0;
  assign x = header_i.dcid[NodeBits+:8];
  assign y = 8'(header_i.dcid[NodeBits+8+:7]);
  assign z = 8'(header_i.dcid[21:NodeBits+15]);
  assign in_qfdb = x == config_i.coordinate[0] && y == config_i.coordinate[1] && z == config_i.coordinate[2];
  assign at_home = in_qfdb && (!Qfdb || node == config_i.qfdb_node);
  assign intra = config_i.type_port[header_i.kind];
  assign to_link = known && 32'(port) < InterPorts;
  assign beyond = 2'(port) + 2'(2'(port) >= config_i.qfdb_node);  // the node behind a port inside the QFDB

  always_ff @(posedge clk_i) begin
    Stays: assume (!rst_n || config_i == config_q);
    // Coordinates of dimensions that are not built are zero.
    Placed: assume (Dimensions > 1 || config_i.coordinate[1] == '0);
    PlacedDeep: assume (Dimensions > 2 || config_i.coordinate[2] == '0);
    if (settled) begin
      NotBack: assert (!known || 32'(port) != Port || Port >= InterPorts);
      NotDisabled: assert (!to_link || !config_i.disabled[port]);
      Home: assert (!known || to_link || (at_home && 32'(port) == InterPorts + 32'(intra) && 32'(intra) < IntraPorts));
      NotBeyond: assert (!to_link || !at_home);
      Enabled: assert (!known || config_i.enabled);
      if (Qfdb) begin
        OneLinkInside: assert (!to_link || 32'(port) >= MeshPorts || Port >= MeshPorts);
        TorusFromFirst: assert (!to_link || 32'(port) < MeshPorts || (config_i.qfdb_node == '0 && !in_qfdb));
        ToItsNode: assert (!to_link || 32'(port) >= MeshPorts || beyond == (in_qfdb ? node : 2'd0));
        BySign: assert (!to_link || 32'(port) >= MeshPorts || vc == (beyond > config_i.qfdb_node));
      end
    end
  end

  // Reached: packets go on by a link, and are handed out.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      GoesOn: cover (settled && to_link);
      HandsOut: cover (settled && known && !to_link);
    end
  end
endmodule
