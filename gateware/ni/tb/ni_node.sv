// SPDX-License-Identifier: Apache-2.0
// A node of the tests: network interface, router and links, with what goes on between them at its ports.
module ni_node #(
  parameter int unsigned Contexts = 16,
  parameter int unsigned Mailboxes = 32,
  parameter int unsigned Peers = 64,
  parameter int unsigned Channels = 64
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ni_rst_ni,  // of the interface alone
  input  exanet_pkg::router_config_t config_i,
  // processors
  input  logic [20:0]                s_axi_awaddr,
  input  logic [7:0]                 s_axi_awlen,
  input  logic [2:0]                 s_axi_awsize,
  input  logic [1:0]                 s_axi_awburst,
  input  logic                       s_axi_awvalid,
  output logic                       s_axi_awready,
  input  logic [127:0]               s_axi_wdata,
  input  logic [15:0]                s_axi_wstrb,
  input  logic                       s_axi_wlast,
  input  logic                       s_axi_wvalid,
  output logic                       s_axi_wready,
  output logic [1:0]                 s_axi_bresp,
  output logic                       s_axi_bvalid,
  input  logic                       s_axi_bready,
  input  logic [20:0]                s_axi_araddr,
  input  logic [7:0]                 s_axi_arlen,
  input  logic [2:0]                 s_axi_arsize,
  input  logic [1:0]                 s_axi_arburst,
  input  logic                       s_axi_arvalid,
  output logic                       s_axi_arready,
  output logic [127:0]               s_axi_rdata,
  output logic [1:0]                 s_axi_rresp,
  output logic                       s_axi_rlast,
  output logic                       s_axi_rvalid,
  input  logic                       s_axi_rready,
  // memory
  output logic [47:0]                m_axi_awaddr,
  output logic [7:0]                 m_axi_awlen,
  output logic                       m_axi_awvalid,
  input  logic                       m_axi_awready,
  output logic [127:0]               m_axi_wdata,
  output logic                       m_axi_wlast,
  output logic                       m_axi_wvalid,
  input  logic                       m_axi_wready,
  input  logic [1:0]                 m_axi_bresp,
  input  logic                       m_axi_bvalid,
  output logic                       m_axi_bready,
  output logic [47:0]                m_axi_dma_awaddr,
  output logic [7:0]                 m_axi_dma_awlen,
  output logic                       m_axi_dma_awvalid,
  input  logic                       m_axi_dma_awready,
  output logic [127:0]               m_axi_dma_wdata,
  output logic [15:0]                m_axi_dma_wstrb,
  output logic                       m_axi_dma_wlast,
  output logic                       m_axi_dma_wvalid,
  input  logic                       m_axi_dma_wready,
  input  logic [1:0]                 m_axi_dma_bresp,
  input  logic                       m_axi_dma_bvalid,
  output logic                       m_axi_dma_bready,
  output logic [47:0]                m_axi_dma_araddr,
  output logic [7:0]                 m_axi_dma_arlen,
  output logic                       m_axi_dma_arvalid,
  input  logic                       m_axi_dma_arready,
  input  logic [127:0]               m_axi_dma_rdata,
  input  logic [1:0]                 m_axi_dma_rresp,
  input  logic                       m_axi_dma_rvalid,
  output logic                       m_axi_dma_rready,
  output logic [47:0]                m_axi_walk_araddr,
  output logic                       m_axi_walk_arvalid,
  input  logic                       m_axi_walk_arready,
  input  logic [127:0]               m_axi_walk_rdata,
  input  logic [1:0]                 m_axi_walk_rresp,
  input  logic                       m_axi_walk_rvalid,
  output logic                       m_axi_walk_rready,
  // lines
  output logic [1:0]                 tx_valid_o,
  output logic [63:0]                tx_data_o[2],
  input  logic [1:0]                 tx_ready_i,
  input  logic [1:0]                 rx_valid_i,
  input  logic [63:0]                rx_data_i[2],
  input  logic [2:0]                 damages_i,  // the packet whose last word comes out of the router at this port
  // where somebody stands between router and interface: words to this, and slots back to that
  input  logic                       between_i,
  input  exanet_pkg::flit_t          put_i[3],
  input  logic [2:0]                 put_release_i,
  output logic [2:0]                 release_o,
  // what is seen: words into the router and out of it, and answers as they change a slot
  output exanet_pkg::flit_t          in_o[3],
  output exanet_pkg::flit_t          out_o[3],
  output logic                       freed_o,
  output logic                       refused_o,
  output logic [9:0]                 slot_o,
  output logic [3:0]                 reason_o,
  output logic                       pushed_o,  // a slot into the queue, and out of it
  output logic [9:0]                 pushed_slot_o,
  output logic                       popped_o,
  output logic [9:0]                 popped_slot_o,
  output logic                       framed_o,  // a frame of a slot's message is to go, and is out of the slot's memory
  output logic [9:0]                 framed_slot_o,
  output logic                       fetched_o,
  output logic [9:0]                 fetched_slot_o,
  output logic [31:0]                discarded_o
);
  exanet_pkg::flit_t [2:0] in, out;
  exanet_pkg::credit_t credit[3];
  logic [2:0] moved_on;

  exanet_ni #(.Contexts(Contexts), .Mailboxes(Mailboxes), .Peers(Peers), .Channels(Channels)) u_ni (
    .clk_i, .rst_ni(rst_ni && ni_rst_ni), .s_axi_awid('0), .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid,
    .s_axi_awready, .s_axi_wdata, .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bresp, .s_axi_bvalid,
    .s_axi_bready, .s_axi_arid('0), .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid, .s_axi_arready,
    .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready, .m_axi_awaddr, .m_axi_awlen,
    .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bresp, .m_axi_bvalid,
    .m_axi_bready, .m_axi_dma_awaddr, .m_axi_dma_awlen, .m_axi_dma_awvalid, .m_axi_dma_awready, .m_axi_dma_wdata, .m_axi_dma_wstrb,
    .m_axi_dma_wlast, .m_axi_dma_wvalid, .m_axi_dma_wready, .m_axi_dma_bresp, .m_axi_dma_bvalid, .m_axi_dma_bready, .m_axi_dma_araddr,
    .m_axi_dma_arlen, .m_axi_dma_arvalid, .m_axi_dma_arready, .m_axi_dma_rdata, .m_axi_dma_rresp, .m_axi_dma_rvalid, .m_axi_dma_rready,
    .m_axi_walk_araddr, .m_axi_walk_arvalid, .m_axi_walk_arready, .m_axi_walk_rdata, .m_axi_walk_rresp, .m_axi_walk_rvalid, .m_axi_walk_rready,
    .flit_o(in), .credit_i({credit[2], credit[1], credit[0]}), .flit_i(out), .release_o(moved_on));
  for (genvar p = 0; p < 3; p++) begin : gen_in
    assign in_o[p] = in[p];
    // As a link marks it.
    always_comb begin
      exanet_pkg::footer_t footer;
      out[p] = out_o[p];
      footer = out_o[p].data;
      footer.error = footer.error || damages_i[p];
      if (out_o[p].tail) out[p].data = footer;
      if (between_i) out[p] = put_i[p];
    end
  end
  assign release_o = moved_on;

  exanet_node #(.InterPorts(2), .IntraPorts(3), .Dimensions(2)) u_node (
    .clk_i, .rst_ni, .config_i, .credit_threshold_i('0), .credit_interval_i(16'd256), .health_i('0), .discarded_o, .flit_i(in_o), .credit_o(credit),
    .flit_o(out_o), .release_i(between_i ? put_release_i : moved_on), .tx_valid_o, .tx_data_o, .tx_ready_i, .rx_valid_i, .rx_data_i);

  assign freed_o = u_ni.u_packetizer.frees;
  assign refused_o = u_ni.u_packetizer.refuses;
  assign slot_o = 10'(u_ni.u_packetizer.answer_q);
  assign pushed_o = u_ni.u_packetizer.pushes;
  assign pushed_slot_o = 10'(u_ni.u_packetizer.push_slot);
  assign popped_o = u_ni.u_packetizer.pops;
  assign popped_slot_o = 10'(u_ni.u_packetizer.emit_q);
  assign framed_o = u_ni.u_packetizer.sends;
  assign framed_slot_o = 10'(u_ni.u_packetizer.emit_q);
  assign fetched_o = u_ni.u_packetizer.u_frames.approved_taken;
  assign fetched_slot_o = 10'(u_ni.u_packetizer.u_frames.approved.slot);
  assign reason_o = u_ni.u_packetizer.reason_q;
endmodule
