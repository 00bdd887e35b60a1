// SPDX-License-Identifier: Apache-2.0
// A node of the tests: messages, router and links, with what goes on between them at its ports.
module messages_node #(
  parameter int unsigned Contexts = 16,
  parameter int unsigned Mailboxes = 32,
  parameter int unsigned Peers = 64
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ni_rst_ni,  // of the messages alone
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
  // lines
  output logic [1:0]                 tx_valid_o,
  output logic [63:0]                tx_data_o[2],
  input  logic [1:0]                 tx_ready_i,
  input  logic [1:0]                 rx_valid_i,
  input  logic [63:0]                rx_data_i[2],
  // what is seen: words into the router and out of it, and answers as they change a slot
  output exanet_pkg::flit_t          in_o[2],
  output exanet_pkg::flit_t          out_o[2],
  output logic                       freed_o,
  output logic                       refused_o,
  output logic [9:0]                 slot_o,
  output logic [3:0]                 reason_o,
  output logic                       pushed_o,  // a slot into the queue, and out of it
  output logic [9:0]                 pushed_slot_o,
  output logic                       popped_o,
  output logic [9:0]                 popped_slot_o,
  output logic [31:0]                discarded_o
);
  exanet_pkg::flit_t [1:0] in;
  exanet_pkg::credit_t credit[2];
  logic [1:0] moved_on;

  exanet_messages #(.Contexts(Contexts), .Mailboxes(Mailboxes), .Peers(Peers)) u_messages (
    .clk_i, .rst_ni(rst_ni && ni_rst_ni), .s_axi_awid('0), .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid,
    .s_axi_awready, .s_axi_wdata, .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bresp, .s_axi_bvalid,
    .s_axi_bready, .s_axi_arid('0), .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid, .s_axi_arready,
    .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready, .m_axi_awaddr, .m_axi_awlen,
    .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bresp, .m_axi_bvalid,
    .m_axi_bready, .flit_o(in), .credit_i({credit[1], credit[0]}), .flit_i({out_o[1], out_o[0]}), .release_o(moved_on));
  assign in_o[0] = in[0];
  assign in_o[1] = in[1];

  exanet_node #(.InterPorts(2), .IntraPorts(2), .Dimensions(2)) u_node (
    .clk_i, .rst_ni, .config_i, .credit_threshold_i('0), .credit_interval_i(16'd256), .health_i('0), .discarded_o, .flit_i(in_o), .credit_o(credit),
    .flit_o(out_o), .release_i(moved_on), .tx_valid_o, .tx_data_o, .tx_ready_i, .rx_valid_i, .rx_data_i);

  assign freed_o = u_messages.u_packetizer.frees;
  assign refused_o = u_messages.u_packetizer.refuses;
  assign slot_o = 10'(u_messages.u_packetizer.answer_q);
  assign pushed_o = u_messages.u_packetizer.pushes;
  assign pushed_slot_o = 10'(u_messages.u_packetizer.push_slot);
  assign popped_o = u_messages.u_packetizer.pops;
  assign popped_slot_o = 10'(u_messages.u_packetizer.emit_q);
  assign reason_o = u_messages.u_packetizer.reason_q;
endmodule
