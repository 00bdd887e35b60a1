// SPDX-License-Identifier: Apache-2.0
// The network IP as a whole: a node with its registers on AXI4-Lite (spec/node.rdl; docs/reference/registers.md).
//
// After a reset a node discards every packet until its registers are written.
// Ports are packed arrays, which plain Verilog connects as vectors (gateware/tops.py).
module exanet_ip #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 2,
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
  parameter int unsigned LineBits = 64  // of a link: 64, or 128 for four lanes
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // registers
  output logic                  s_axil_awready,
  input  logic                  s_axil_awvalid,
  input  logic [9:0]            s_axil_awaddr,
  input  logic [2:0]            s_axil_awprot,
  output logic                  s_axil_wready,
  input  logic                  s_axil_wvalid,
  input  logic [31:0]           s_axil_wdata,
  input  logic [3:0]            s_axil_wstrb,
  input  logic                  s_axil_bready,
  output logic                  s_axil_bvalid,
  output logic [1:0]            s_axil_bresp,
  output logic                  s_axil_arready,
  input  logic                  s_axil_arvalid,
  input  logic [9:0]            s_axil_araddr,
  input  logic [2:0]            s_axil_arprot,
  input  logic                  s_axil_rready,
  output logic                  s_axil_rvalid,
  output logic [31:0]           s_axil_rdata,
  output logic [1:0]            s_axil_rresp,
  // network interfaces
  input  exanet_pkg::flit_t [IntraPorts-1:0]   flit_i,
  output exanet_pkg::credit_t [IntraPorts-1:0] credit_o,
  output exanet_pkg::flit_t [IntraPorts-1:0]   flit_o,
  input  logic [IntraPorts-1:0] release_i,
  // transceivers
  output logic [InterPorts-1:0] tx_valid_o,
  output logic [InterPorts-1:0][LineBits-1:0] tx_data_o,
  input  logic [InterPorts-1:0] tx_ready_i,
  input  logic [InterPorts-1:0] rx_valid_i,
  input  logic [InterPorts-1:0][LineBits-1:0] rx_data_i,
  // bring-up of channels, as at exanet_link; without an exanet_phy the inputs keep their defaults
  input  logic [InterPorts-1:0] down_i = '0,
  input  logic [InterPorts-1:0] drain_i = '0,
  output logic [InterPorts-1:0] drained_o,
  input  logic [InterPorts-1:0] restart_i = '0,
  output logic [InterPorts-1:0] clear_o,
  input  logic [InterPorts-1:0] overflow_i = '0,
  input  logic                  ni_beat_i = 1'b0,  // a pulse is a heartbeat of the network interface, as a write to beat.ni is (node_lofamo)
  output logic                  interrupt_o  // a level: 1 until software has cleared the interrupts that it enabled
);
  if (IntraSlots < 1 || IntraSlots > 64) begin : gen_illegal_1
    $error("an interface takes 1 to 64 packets before it releases a slot");
  end
  node_registers_pkg::node_registers__in_t status;
  node_registers_pkg::node_registers__out_t written;
  exanet_pkg::router_config_t router_config;
  exanet_pkg::health_t health, far_health[InterPorts];
  logic [InterPorts-1:0] heard, silent, far_host, far_ni;
  exanet_pkg::link_counters_t counters[InterPorts];
  logic [31:0] discarded;

  node_registers u_registers (
    .clk(clk_i), .arst_n(rst_ni),
    .s_axil_awready, .s_axil_awvalid, .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot, .s_axil_wready, .s_axil_wvalid, .s_axil_wdata, .s_axil_wstrb,
    .s_axil_bready, .s_axil_bvalid, .s_axil_bresp, .s_axil_arready, .s_axil_arvalid, .s_axil_araddr(s_axil_araddr), .s_axil_arprot,
    .s_axil_rready, .s_axil_rvalid, .s_axil_rdata, .s_axil_rresp,
    .hwif_in(status), .hwif_out(written));
  exanet_axil_check #(.AddressBits(10)) u_check (
    .clk_i, .rst_ni,
    .awready_i(s_axil_awready), .awvalid_i(s_axil_awvalid), .awaddr_i(s_axil_awaddr), .awprot_i(s_axil_awprot),
    .wready_i(s_axil_wready), .wvalid_i(s_axil_wvalid), .wdata_i(s_axil_wdata), .wstrb_i(s_axil_wstrb),
    .bready_i(s_axil_bready), .bvalid_i(s_axil_bvalid), .bresp_i(s_axil_bresp),
    .arready_i(s_axil_arready), .arvalid_i(s_axil_arvalid), .araddr_i(s_axil_araddr), .arprot_i(s_axil_arprot),
    .rready_i(s_axil_rready), .rvalid_i(s_axil_rvalid), .rdata_i(s_axil_rdata), .rresp_i(s_axil_rresp));

  always_comb begin
    router_config = '0;
    for (int unsigned d = 0; d < 3; d++) begin
      router_config.coordinate[d] = written.dimension[d].coordinate.value;
      router_config.side[d] = written.dimension[d].side.value;
      router_config.plus_port[d] = written.dimension[d].plus_port.value;
      router_config.minus_port[d] = written.dimension[d].minus_port.value;
    end
    router_config.order = {written.routing.order_2.value, written.routing.order_1.value, written.routing.order_0.value};
    router_config.wraps = written.routing.wraps.value;
    router_config.fixed_priority = written.routing.fixed_priority.value;
    router_config.links_first = written.routing.links_first.value;
    router_config.enabled = written.routing.enabled.value;
    router_config.disabled = written.routing.disabled.value;
    router_config.qfdb_node = written.qfdb.node.value;
    for (int unsigned t = 0; t < 16; t++) router_config.type_port[t] = written.type_port.ports.value[2*t+:2];
  end

  assign status.shape.inter_ports.next = 4'(InterPorts);
  assign status.shape.intra_ports.next = 4'(IntraPorts);
  assign status.shape.dimensions.next = 2'(Dimensions);
  assign status.shape.qfdb.next = Qfdb;
  assign status.shape.multicast.next = Multicast;
  assign status.shape.x_bits.next = 4'(XBits);
  assign status.shape.y_bits.next = 4'(YBits);
  assign status.discarded.count.next = discarded;

  // Channels are down in the reset: one that comes up behind it has come up.
  logic [InterPorts-1:0] up_q, came_up;
  assign came_up = ~up_q & ~down_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) up_q <= '0;
    else up_q <= ~down_i;
  end
  assign status.channels.up.next = 9'(up_q);
  assign status.interrupts.went_down.next = 9'(up_q & down_i);
  assign status.interrupts.came_up.next = 9'(came_up);
  assign status.interrupts.overflow.next = 9'(overflow_i);
  assign interrupt_o = written.interrupts.intr;
  for (genvar p = 0; p < exanet_pkg::MaxInterPorts; p++) begin : gen_link
    exanet_pkg::link_counters_t now;
    exanet_pkg::health_t far;
    if (p < InterPorts) begin : gen_used
      assign now = counters[p];
      assign far = far_health[p];
    end else begin : gen_unused
      assign now = '0;
      assign far = '0;
    end
    node_registers_link u_answers (
      .request_i(written.link[p]), .far_health_i(far), .tx_packets_i(now.tx_packets), .tx_credits_i(now.tx_credits),
      .tx_stuffed_i(now.tx_stuffed), .rx_packets_i(now.rx_packets), .rx_bad_headers_i(now.rx_bad_headers),
      .rx_bad_controls_i(now.rx_bad_controls), .rx_bad_payloads_i(now.rx_bad_payloads), .rx_cut_packets_i(now.rx_cut_packets),
      .rx_reclaimed_i(now.rx_reclaimed), .rx_stray_words_i(now.rx_stray_words), .tx_unconfirmed_i(now.tx_unconfirmed), .answer_o(status.link[p]));
  end

  exanet_pkg::flit_t sent[IntraPorts], received[IntraPorts];
  exanet_pkg::credit_t freed[IntraPorts];
  logic [LineBits-1:0] tx_data[InterPorts], rx_data[InterPorts];
  for (genvar i = 0; i < IntraPorts; i++) begin : gen_intra
    assign sent[i] = flit_i[i];
    assign flit_o[i] = received[i];
    assign credit_o[i] = freed[i];
  end
  for (genvar p = 0; p < InterPorts; p++) begin : gen_line
    assign tx_data_o[p] = tx_data[p];
    assign rx_data[p] = rx_data_i[p];
  end

  node_lofamo #(.InterPorts(InterPorts)) u_lofamo (
    .clk_i, .rst_ni, .host_period_i(written.host_watchdog.period.value), .ni_period_i(written.ni_watchdog.period.value),
    .host_beat_i(written.beat.host.value), .ni_beat_i(written.beat.ni.value || ni_beat_i), .silence_i(written.silence.period.value),
    .disabled_i(written.routing.disabled.value[InterPorts-1:0]), .heard_i(heard), .down_i, .own_i(written.health.own.value),
    .far_health_i(far_health), .health_o(health), .host_fault_o(status.faults.host.next), .ni_fault_o(status.faults.ni.next),
    .silent_o(silent), .far_host_o(far_host), .far_ni_o(far_ni), .host_changed_o(status.interrupts.host.next),
    .ni_changed_o(status.interrupts.ni.next), .neighbour_changed_o(status.interrupts.neighbour.next),
    .link_changed_o(status.interrupts.silent.next));
  assign status.health.sent.next = health;
  assign status.faults.silent.next = 9'(silent);
  assign status.neighbours.host.next = 9'(far_host);
  assign status.neighbours.ni.next = 9'(far_ni);

  exanet_node #(
    .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .Multicast(Multicast), .XBits(XBits), .YBits(YBits),
    .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders),
    .MostWords(MostWords), .IntraSlots(IntraSlots), .LineBits(LineBits)
  ) u_node (
    .clk_i, .rst_ni, .config_i(router_config), .credit_threshold_i(written.credit.threshold.value), .credit_interval_i(written.credit.interval.value),
    .health_i(health), .discarded_o(discarded), .flit_i(sent), .credit_o(freed), .flit_o(received), .release_i,
    .tx_valid_o, .tx_data_o(tx_data), .tx_ready_i, .rx_valid_i, .rx_data_i(rx_data),
    .down_i, .drain_i, .drained_o, .restart_i, .clear_o, .health_o(far_health), .heard_o(heard), .counters_o(counters));
endmodule
