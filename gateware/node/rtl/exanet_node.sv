// SPDX-License-Identifier: Apache-2.0
// The network IP of one node: a router with a link at each inter-tile port. Intra-tile ports connect to network
// interfaces, the ports tx_* and rx_* to transceivers.
module exanet_node #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 1,
  parameter bit          Qfdb = 1'b0,  // a node of a QFDB, or a point of a grid
  parameter bit          Multicast = 1'b0,  // packets with header.multicast go to several nodes (router_copies)
  parameter int unsigned XBits = 8,  // split of addresses (router_route)
  parameter int unsigned YBits = 7,
  parameter int unsigned PayloadDepth = 512,
  parameter int unsigned HeaderDepth = 32,
  parameter int unsigned IntraDepth = 4096,
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords,  // payload of the largest packet that is sent
  parameter int unsigned IntraSlots = 8,
  parameter int unsigned LineBits = 64,  // of a link: 64, or 128 for four lanes
  parameter int unsigned Patience = 0,  // deprecated alias of ReceiveTimeout, for one release
  parameter int unsigned ReceiveTimeout = Patience != 0 ? Patience : 4096  // cycles
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  exanet_pkg::router_config_t config_i,
  input  logic [11:0]                credit_threshold_i,
  input  logic [15:0]                credit_interval_i,
  input  exanet_pkg::health_t        health_i,
  output logic [31:0]                discarded_o,
  input  exanet_pkg::flit_t          flit_i[IntraPorts],
  output exanet_pkg::credit_t        credit_o[IntraPorts],
  output exanet_pkg::flit_t          flit_o[IntraPorts],
  input  logic [IntraPorts-1:0]      release_i,
  output logic [InterPorts-1:0]      tx_valid_o,
  output logic [LineBits-1:0]        tx_data_o[InterPorts],
  input  logic [InterPorts-1:0]      tx_ready_i,
  input  logic [InterPorts-1:0]      rx_valid_i,
  input  logic [LineBits-1:0]        rx_data_i[InterPorts],
  // bring-up of channels, as of exanet_link
  input  logic [InterPorts-1:0]      down_i = '0,
  input  logic [InterPorts-1:0]      drain_i = '0,
  output logic [InterPorts-1:0]      drained_o,
  input  logic [InterPorts-1:0]      restart_i = '0,
  output logic [InterPorts-1:0]      clear_o,
  output exanet_pkg::health_t        health_o[InterPorts],
  output logic [InterPorts-1:0]      heard_o,
  output exanet_pkg::link_counters_t counters_o[InterPorts]
);
  if (Patience != 0) begin : gen_renamed
    $warning("exanet_node: Patience is named ReceiveTimeout now; the next release drops the old name");
  end
  localparam int unsigned Ports = InterPorts + IntraPorts;
  exanet_pkg::flit_t in[Ports], out[Ports];
  exanet_pkg::credit_t freed[Ports][2], returned[Ports][2];
  logic [Ports-1:0] moved_on;

  exanet_router #(
    .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .Multicast(Multicast), .XBits(XBits), .YBits(YBits),
    .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders),
    .MostWords(MostWords), .IntraSlots(IntraSlots)
  ) u_router (
    .clk_i, .rst_ni, .config_i, .flit_i(in), .credit_o(freed), .flit_o(out), .credit_i(returned), .release_i(moved_on), .discarded_o);

  for (genvar p = 0; p < InterPorts; p++) begin : gen_link
    exanet_link #(.LineBits(LineBits), .ReceiveTimeout(ReceiveTimeout), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth),
                  .MostWords(MostWords)) u_link (
      .clk_i, .rst_ni, .flit_i(out[p]), .release_o(moved_on[p]), .flit_o(in[p]), .credit_i(freed[p]), .credit_o(returned[p]),
      .tx_valid_o(tx_valid_o[p]), .tx_data_o(tx_data_o[p]), .tx_ready_i(tx_ready_i[p]),
      .rx_valid_i(rx_valid_i[p]), .rx_data_i(rx_data_i[p]),
      .down_i(down_i[p]), .drain_i(drain_i[p]), .drained_o(drained_o[p]), .restart_i(restart_i[p]), .clear_o(clear_o[p]),
      .credit_threshold_i, .credit_interval_i, .health_i, .health_o(health_o[p]), .heard_o(heard_o[p]),
      .counters_o(counters_o[p]));
  end
  for (genvar i = 0; i < IntraPorts; i++) begin : gen_intra
    assign in[InterPorts+i] = flit_i[i];
    assign flit_o[i] = out[InterPorts+i];
    assign credit_o[i] = freed[InterPorts+i][0];
    assign moved_on[InterPorts+i] = release_i[i];
    assign returned[InterPorts+i] = '{default: '0};
  end
endmodule
