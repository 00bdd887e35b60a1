// SPDX-License-Identifier: Apache-2.0
// The outputs of any multicast packet that comes at one port, whatever the registers say, as long as they stay: it
// never goes back to where it came from, nor by a disabled port; it is handed out once if it comes by a link, and not
// by the source. It takes dimensions in their order, straight on in one; the upper channel never crosses the
// wrap-around link upwards, and the lower one never leaves the first node of a ring, and the other way round downwards.
// Inside a QFDB it never goes from one link to another, and goes into the torus from node 0 alone, on the channel of
// the sign.
module copies_formal #(
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
  localparam int unsigned Ports = InterPorts + IntraPorts;
  localparam int unsigned MeshPorts = Qfdb ? exanet_pkg::QfdbNodes - 1 : 0;

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
  logic [Ports-1:0] ports, vcs;
  logic known;
  router_copies #(.InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .Port(Port)) dut (
    .ways_i(ways), .enabled_i(config_i.enabled), .qfdb_node_i(config_i.qfdb_node), .disabled_i(config_i.disabled[2:0]),
    .type_port_i(config_i.type_port), .header_i, .ports_o(ports), .vcs_o(vcs), .known_o(known));

  // The place of a dimension in the order.
  function automatic logic [1:0] place(logic [2:0][1:0] order, logic [1:0] dimension);
    for (int unsigned i = 0; i < 3; i++) if (order[i] == dimension) return 2'(i);
    return 2'd3;
  endfunction

  // Dimensions of a sound machine have ports of their own.
  logic sound;
  always_comb begin
    sound = 1'b1;
    for (int unsigned d = 0; d < Dimensions; d++) begin
      if (config_i.plus_port[d] == config_i.minus_port[d]) sound = 1'b0;
      for (int unsigned e = 0; e < d; e++) begin
        if (config_i.plus_port[d] == config_i.plus_port[e] || config_i.plus_port[d] == config_i.minus_port[e]) sound = 1'b0;
        if (config_i.minus_port[d] == config_i.plus_port[e] || config_i.minus_port[d] == config_i.minus_port[e]) sound = 1'b0;
      end
    end
  end

  // Whether it may go on along a dimension upwards or downwards: it begins, goes straight on, or comes along one that
  // is earlier in the order.
  logic [2:0] may_rise, may_fall, up, down, up_vc, down_vc, top, bottom;
  always_comb begin
    for (int unsigned d = 0; d < 3; d++) begin
      logic begins;
      begins = Port >= InterPorts || Port < MeshPorts;
      for (int unsigned e = 0; e < 3; e++)
        if (place(config_i.order, 2'(e)) < place(config_i.order, 2'(d)) && (config_i.plus_port[e] == 4'(Port) || config_i.minus_port[e] == 4'(Port)))
          begins = 1'b1;
      may_rise[d] = begins || config_i.minus_port[d] == 4'(Port);
      may_fall[d] = begins || config_i.plus_port[d] == 4'(Port);
      {up[d], down[d], up_vc[d], down_vc[d]} = '0;
      for (int unsigned p = MeshPorts; p < InterPorts; p++) begin
        if (d < Dimensions && config_i.plus_port[d] == 4'(p)) {up[d], up_vc[d]} = {ports[p], vcs[p]};
        if (d < Dimensions && config_i.minus_port[d] == 4'(p)) {down[d], down_vc[d]} = {ports[p], vcs[p]};
      end
      top[d] = config_i.wraps && 9'(config_i.coordinate[d]) + 1'b1 == config_i.side[d];
      bottom[d] = config_i.wraps && config_i.coordinate[d] == '0;
    end
  end

  logic [IntraPorts-1:0] own;
  assign own = ports[Ports-1:InterPorts];
  always_ff @(posedge clk_i) begin
    Stays: assume (!rst_n || config_i == config_q);
    Inside: assume (9'(config_i.coordinate[0]) < config_i.side[0] && 9'(config_i.coordinate[1]) < config_i.side[1] &&
                    9'(config_i.coordinate[2]) < config_i.side[2]);
    if (settled) begin
      NotBack: assert (Port >= InterPorts || !ports[Port]);
      NotDisabled: assert ((ports[InterPorts-1:0] & config_i.disabled[InterPorts-1:0]) == '0);
      HandedOut: assert ($onehot0(own) && (own == '0 || Port < InterPorts));
      ToTheInterface: assert (!known || Port >= InterPorts || own != '0 || 32'(config_i.type_port[header_i.kind]) >= IntraPorts);
      Enabled: assert (config_i.enabled || !known);
      SaysWhether: assert (known == (ports != '0));
      if (sound) begin
        InOrderUp:   assert ((up & ~may_rise) == '0);
        InOrderDown: assert ((down & ~may_fall) == '0);
        DatelineUp:   assert ((up & top & up_vc) == '0 && (up & bottom & ~up_vc) == '0);
        DatelineDown: assert ((down & bottom & ~down_vc) == '0 && (down & top & down_vc) == '0);
      end
      if (Qfdb) begin
        OneLinkInside:  assert (Port >= MeshPorts || ports[2:0] == '0);
        TorusFromFirst: assert (config_i.qfdb_node == '0 || ports[InterPorts-1:3] == '0);
        BySign: assert ((ports[2:0] & (vcs[2:0] ^ {2'd2 >= config_i.qfdb_node, 2'd1 >= config_i.qfdb_node, config_i.qfdb_node == '0})) == '0);
      end
    end
  end

  // Reached: three copies at once, one of them to this node.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Three: cover (settled && sound && 32'($countones(ports)) >= 3 && own != '0);
    end
  end
endmodule
