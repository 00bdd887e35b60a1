// SPDX-License-Identifier: Apache-2.0
// The network interfaces of a node as one part: messages and transfers at three intra-tile ports of its router,
// reductions at the fourth, with what node library sees of them. Buses take one store a cycle each; memory takes
// whatever it is offered, and answers on command.
module node_interfaces #(
  parameter int unsigned NodeBits = 0,
  parameter int unsigned IntraDepth = 4096,
  parameter int unsigned IntraHeaders = 64
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // stores: to the interface, and to the unit that reduces
  input  logic [1:0]          store_valid_i,
  input  logic [20:0]         store_address_i[2],
  input  logic [127:0]        store_data_i[2],
  input  logic [15:0]         store_strobe_i[2],
  output logic [1:0]          store_ready_o,  // as it is with no store offered, too
  // memory: mailboxes, what is read and written for transfers, ends of reductions
  output logic [2:0]          write_valid_o,  // an address
  output logic [47:0]         write_address_o[3],
  output logic [2:0]          data_valid_o,
  output logic [2:0]          data_last_o,
  output logic [127:0]        data_o[3],
  output logic [15:0]         data_strobe_o[3],
  input  logic [2:0]          written_i,
  output logic [2:0]          written_ready_o,
  output logic                read_valid_o,
  output logic [47:0]         read_address_o,
  output logic [7:0]          read_beats_o,  // less one
  input  logic                read_valid_i,
  input  logic [127:0]        read_data_i,
  output logic                read_ready_o,
  // router
  output exanet_pkg::flit_t   flit_o[4],
  input  exanet_pkg::credit_t credit_i[4],
  input  exanet_pkg::flit_t   flit_i[4],
  output logic [3:0]          release_o,
  // what is seen: tables are clear; a slot that is free for good, into the queue, or out of it; a read that is served
  // from now on
  output logic                ready_o,
  output logic                freed_o,
  output logic [9:0]          freed_slot_o,
  // a frame of a slot's message is to go, and (fetched) is out of the slot's memory
  output logic                framed_o,
  output logic [9:0]          framed_slot_o,
  output logic                fetched_o,
  output logic [9:0]          fetched_slot_o,
  output logic                pushed_o,
  output logic [9:0]          pushed_slot_o,
  output logic                popped_o,
  output logic [9:0]          popped_slot_o,
  output logic                served_o,
  output logic [47:0]         served_address_o
);
  exanet_pkg::flit_t [2:0] in, out;
  logic [2:0] moved_on;
  assign out = {flit_i[2], flit_i[1], flit_i[0]};
  for (genvar p = 0; p < 3; p++) begin : gen_port
    assign flit_o[p] = in[p];
  end
  assign release_o[2:0] = moved_on;

  exanet_ni #(.Channels(256), .NodeBits(NodeBits), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders)) u_ni (
    .clk_i, .rst_ni, .s_axi_awid('0), .s_axi_awaddr(store_address_i[0]), .s_axi_awlen('0), .s_axi_awsize(3'd4), .s_axi_awburst(2'b01),
    .s_axi_awvalid(store_valid_i[0]), .s_axi_wdata(store_data_i[0]), .s_axi_wstrb(store_strobe_i[0]), .s_axi_wlast(1'b1),
    .s_axi_wvalid(store_valid_i[0]), .s_axi_bready(1'b1), .s_axi_arid('0), .s_axi_araddr('0), .s_axi_arlen('0), .s_axi_arsize(3'd4),
    .s_axi_arburst(2'b01), .s_axi_arvalid(1'b0), .s_axi_rready(1'b1),
    .m_axi_awaddr(write_address_o[0]), .m_axi_awvalid(write_valid_o[0]), .m_axi_awready(1'b1), .m_axi_wdata(data_o[0]), .m_axi_wstrb(data_strobe_o[0]),
    .m_axi_wlast(data_last_o[0]), .m_axi_wvalid(data_valid_o[0]), .m_axi_wready(1'b1), .m_axi_bresp('0), .m_axi_bvalid(written_i[0]),
    .m_axi_bready(written_ready_o[0]),
    .m_axi_dma_awaddr(write_address_o[1]), .m_axi_dma_awvalid(write_valid_o[1]), .m_axi_dma_awready(1'b1), .m_axi_dma_wdata(data_o[1]),
    .m_axi_dma_wstrb(data_strobe_o[1]), .m_axi_dma_wlast(data_last_o[1]), .m_axi_dma_wvalid(data_valid_o[1]), .m_axi_dma_wready(1'b1),
    .m_axi_dma_bresp('0), .m_axi_dma_bvalid(written_i[1]), .m_axi_dma_bready(written_ready_o[1]),
    .m_axi_dma_araddr(read_address_o), .m_axi_dma_arlen(read_beats_o), .m_axi_dma_arvalid(read_valid_o), .m_axi_dma_arready(1'b1),
    .m_axi_dma_rdata(read_data_i), .m_axi_dma_rresp('0), .m_axi_dma_rvalid(read_valid_i), .m_axi_dma_rready(read_ready_o),
    .m_axi_walk_arready(1'b0), .m_axi_walk_rdata('0), .m_axi_walk_rresp('0), .m_axi_walk_rvalid(1'b0),
    .flit_o(in), .credit_i({credit_i[2], credit_i[1], credit_i[0]}), .flit_i(out), .release_o(moved_on));

  exanet_reduce #(.IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders)) u_reduce (
    .clk_i, .rst_ni, .s_axi_awid('0), .s_axi_awaddr(store_address_i[1][19:0]), .s_axi_awlen('0), .s_axi_awsize(3'd4), .s_axi_awburst(2'b01),
    .s_axi_awvalid(store_valid_i[1]), .s_axi_wdata(store_data_i[1]), .s_axi_wstrb(store_strobe_i[1]), .s_axi_wlast(1'b1),
    .s_axi_wvalid(store_valid_i[1]), .s_axi_bready(1'b1), .s_axi_arid('0), .s_axi_araddr('0), .s_axi_arlen('0), .s_axi_arsize(3'd4),
    .s_axi_arburst(2'b01), .s_axi_arvalid(1'b0), .s_axi_rready(1'b1),
    .m_axi_awaddr(write_address_o[2]), .m_axi_awvalid(write_valid_o[2]), .m_axi_awready(1'b1), .m_axi_wdata(data_o[2]), .m_axi_wstrb(data_strobe_o[2]),
    .m_axi_wlast(data_last_o[2]), .m_axi_wvalid(data_valid_o[2]), .m_axi_wready(1'b1), .m_axi_bresp('0), .m_axi_bvalid(written_i[2]),
    .m_axi_bready(written_ready_o[2]), .flit_o(flit_o[3]), .credit_i(credit_i[3]), .flit_i(flit_i[3]), .release_o(release_o[3]));

  // Without a store that is offered ready is low: what it depends on is the registers' alone.
  assign store_ready_o = {u_reduce.u_stores.space_q, u_ni.u_stores.space_q};
  assign ready_o = u_ni.ready && u_reduce.ready;
  assign freed_o = u_ni.u_packetizer.frees;
  assign freed_slot_o = 10'(u_ni.u_packetizer.answer_q);
  assign pushed_o = u_ni.u_packetizer.pushes;
  assign pushed_slot_o = 10'(u_ni.u_packetizer.push_slot);
  assign popped_o = u_ni.u_packetizer.pops;
  assign popped_slot_o = 10'(u_ni.u_packetizer.emit_q);
  assign framed_o = u_ni.u_packetizer.sends;
  assign framed_slot_o = 10'(u_ni.u_packetizer.emit_q);
  assign fetched_o = u_ni.u_packetizer.u_frames.approved_taken;
  assign fetched_slot_o = 10'(u_ni.u_packetizer.u_frames.approved.slot);
  assign served_o = u_ni.gen_transfers.serve_valid;
  assign served_address_o = u_ni.gen_transfers.serve.from;
endmodule
