// SPDX-License-Identifier: Apache-2.0
// A node on AMD's ZCU102: the processors reach its registers by AXI4-Lite and its network interface by a DMA engine;
// its one link is the cage SFP0. Two boards with a cable between the cages are a network.
//
// Three clocks: 156.25 MHz of the board's Si570, which is the transceiver's reference and, over a buffer, the core's;
// and the transceiver's two. The processors, their clock and the DMA engine are in the block design `zcu102_system`
// (build.tcl makes it, and `zcu102_gth`); what of the vendor's is used here is declared in vendor.sv.
module zcu102 (
  input  logic       mgt_refclk_p,
  input  logic       mgt_refclk_n,
  output logic       sfp0_tx_p,
  output logic       sfp0_tx_n,
  input  logic       sfp0_rx_p,
  input  logic       sfp0_rx_n,
  output logic       sfp0_tx_disable_b,
  output logic [1:0] led  // block lock; an interrupt of the node waits
);
  logic refclk, refclk_fabric, clk, rst_n, board_rst_n, free_clk, interrupt;
  assign sfp0_tx_disable_b = 1'b1;

  IBUFDS_GTE4 u_refclk (.I(mgt_refclk_p), .IB(mgt_refclk_n), .CEB(1'b0), .O(refclk), .ODIV2(refclk_fabric));
  BUFG_GT u_clk (.I(refclk_fabric), .CE(1'b1), .CEMASK(1'b0), .CLR(1'b0), .CLRMASK(1'b0), .DIV(3'b000), .O(clk));
  exanet_reset_sync u_reset (.clk_i(clk), .rst_ni(board_rst_n), .rst_no(rst_n));

  // Processors and DMA engine.
  logic awready, awvalid, wready, wvalid, bready, bvalid, arready, arvalid, rready, rvalid;
  logic [9:0] awaddr, araddr;
  logic [2:0] awprot, arprot;
  logic [31:0] wdata, rdata;
  logic [3:0] wstrb;
  logic [1:0] bresp, rresp;
  logic out_valid, out_ready, out_last, in_valid, in_ready, in_last;
  logic [127:0] out_data, in_data;
  logic [15:0] out_keep, in_keep;
  zcu102_system u_system (
    .pl_clk_o(free_clk), .pl_resetn_o(board_rst_n), .core_clk_i(clk), .core_resetn_i(rst_n), .interrupt_i(interrupt),
    .m_axil_awready(awready), .m_axil_awvalid(awvalid), .m_axil_awaddr(awaddr), .m_axil_awprot(awprot),
    .m_axil_wready(wready), .m_axil_wvalid(wvalid), .m_axil_wdata(wdata), .m_axil_wstrb(wstrb),
    .m_axil_bready(bready), .m_axil_bvalid(bvalid), .m_axil_bresp(bresp),
    .m_axil_arready(arready), .m_axil_arvalid(arvalid), .m_axil_araddr(araddr), .m_axil_arprot(arprot),
    .m_axil_rready(rready), .m_axil_rvalid(rvalid), .m_axil_rdata(rdata), .m_axil_rresp(rresp),
    .mm2s_tvalid(out_valid), .mm2s_tready(out_ready), .mm2s_tdata(out_data), .mm2s_tkeep(out_keep), .mm2s_tlast(out_last),
    .s2mm_tvalid(in_valid), .s2mm_tready(in_ready), .s2mm_tdata(in_data), .s2mm_tkeep(in_keep), .s2mm_tlast(in_last));

  // TUSER travels in a frame's first two beats where the DMA engine has it.
  logic send_valid, send_ready, send_last, receive_valid, receive_ready, receive_last;
  logic [127:0] send_data, receive_data;
  logic [15:0] send_keep, receive_keep;
  logic [175:0] send_user, receive_user;
  ni_dma_send u_send (
    .clk_i(clk), .rst_ni(rst_n),
    .s_axis_tvalid(out_valid), .s_axis_tready(out_ready), .s_axis_tdata(out_data), .s_axis_tkeep(out_keep), .s_axis_tlast(out_last),
    .m_axis_tvalid(send_valid), .m_axis_tready(send_ready), .m_axis_tdata(send_data), .m_axis_tkeep(send_keep), .m_axis_tlast(send_last),
    .m_axis_tuser(send_user));
  ni_dma_receive u_receive (
    .clk_i(clk), .rst_ni(rst_n),
    .s_axis_tvalid(receive_valid), .s_axis_tready(receive_ready), .s_axis_tdata(receive_data), .s_axis_tkeep(receive_keep),
    .s_axis_tlast(receive_last), .s_axis_tuser(receive_user),
    .m_axis_tvalid(in_valid), .m_axis_tready(in_ready), .m_axis_tdata(in_data), .m_axis_tkeep(in_keep), .m_axis_tlast(in_last));

  // The node.
  logic tx_clk, rx_clk, rx_done, cdr_stable, rx_locked;
  logic [63:0] tx_data, rx_data;
  exanet_endpoint #(.InterPorts(1), .IntraPorts(1), .Dimensions(1)) u_node (
    .clk_i(clk), .rst_ni(board_rst_n), .interrupt_o(interrupt),
    .s_axil_awready(awready), .s_axil_awvalid(awvalid), .s_axil_awaddr(awaddr), .s_axil_awprot(awprot),
    .s_axil_wready(wready), .s_axil_wvalid(wvalid), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
    .s_axil_bready(bready), .s_axil_bvalid(bvalid), .s_axil_bresp(bresp),
    .s_axil_arready(arready), .s_axil_arvalid(arvalid), .s_axil_araddr(araddr), .s_axil_arprot(arprot),
    .s_axil_rready(rready), .s_axil_rvalid(rvalid), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
    .s_axis_tvalid(send_valid), .s_axis_tready(send_ready), .s_axis_tdata(send_data), .s_axis_tkeep(send_keep), .s_axis_tlast(send_last),
    .s_axis_tuser(send_user),
    .m_axis_tvalid(receive_valid), .m_axis_tready(receive_ready), .m_axis_tdata(receive_data), .m_axis_tkeep(receive_keep),
    .m_axis_tlast(receive_last), .m_axis_tuser(receive_user),
    .sent_o(), .refused_o(), .received_o(), .dropped_o(),
    .tx_clk_i(tx_clk), .tx_data_o(tx_data), .rx_clk_i(rx_clk), .rx_signal_i(rx_done && cdr_stable), .rx_data_i(rx_data), .rx_locked_o(rx_locked));
  assign led = {interrupt, rx_locked};

  // The transceiver: raw, 64 bits each way, lowest bit first. It starts by itself when the reset of the processors is
  // released.
  zcu102_gth u_gth (
    .gtwiz_userclk_tx_reset_in(1'b0), .gtwiz_userclk_tx_srcclk_out(), .gtwiz_userclk_tx_usrclk_out(), .gtwiz_userclk_tx_usrclk2_out(tx_clk),
    .gtwiz_userclk_tx_active_out(),
    .gtwiz_userclk_rx_reset_in(1'b0), .gtwiz_userclk_rx_srcclk_out(), .gtwiz_userclk_rx_usrclk_out(), .gtwiz_userclk_rx_usrclk2_out(rx_clk),
    .gtwiz_userclk_rx_active_out(),
    .gtwiz_reset_clk_freerun_in(free_clk), .gtwiz_reset_all_in(!board_rst_n),
    .gtwiz_reset_tx_pll_and_datapath_in(1'b0), .gtwiz_reset_tx_datapath_in(1'b0),
    .gtwiz_reset_rx_pll_and_datapath_in(1'b0), .gtwiz_reset_rx_datapath_in(1'b0),
    .gtwiz_reset_rx_cdr_stable_out(cdr_stable), .gtwiz_reset_tx_done_out(), .gtwiz_reset_rx_done_out(rx_done),
    .gtwiz_userdata_tx_in(tx_data), .gtwiz_userdata_rx_out(rx_data),
    .gtrefclk00_in(refclk), .qpll0outclk_out(), .qpll0outrefclk_out(),
    .gthrxn_in(sfp0_rx_n), .gthrxp_in(sfp0_rx_p), .gthtxn_out(sfp0_tx_n), .gthtxp_out(sfp0_tx_p),
    .gtpowergood_out(), .rxpmaresetdone_out(), .txpmaresetdone_out());
endmodule
