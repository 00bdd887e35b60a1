// SPDX-License-Identifier: Apache-2.0
// Ports of what zcu102.sv uses of the vendor's, so that it can be linted and elaborated without the vendor's tool,
// which does not read this file. Clock buffers: UG974. zcu102_gth: a core of the UltraScale FPGAs Transceivers Wizard
// (PG182) for one GTH channel. zcu102_system: the wrapper of a block design.

(* blackbox *)
module IBUFDS_GTE4 (
  input  logic I,
  input  logic IB,
  input  logic CEB,
  output logic O,
  output logic ODIV2
);
endmodule

(* blackbox *)
module BUFG_GT (
  input  logic       I,
  input  logic       CE,
  input  logic       CEMASK,
  input  logic       CLR,
  input  logic       CLRMASK,
  input  logic [2:0] DIV,
  output logic       O
);
endmodule

(* blackbox *)
module zcu102_gth (
  input  logic        gtwiz_userclk_tx_reset_in,
  output logic        gtwiz_userclk_tx_srcclk_out,
  output logic        gtwiz_userclk_tx_usrclk_out,
  output logic        gtwiz_userclk_tx_usrclk2_out,  // of gtwiz_userdata_tx_in: 161.13 MHz
  output logic        gtwiz_userclk_tx_active_out,
  input  logic        gtwiz_userclk_rx_reset_in,
  output logic        gtwiz_userclk_rx_srcclk_out,
  output logic        gtwiz_userclk_rx_usrclk_out,
  output logic        gtwiz_userclk_rx_usrclk2_out,  // of gtwiz_userdata_rx_out: recovered
  output logic        gtwiz_userclk_rx_active_out,
  input  logic        gtwiz_reset_clk_freerun_in,
  input  logic        gtwiz_reset_all_in,
  input  logic        gtwiz_reset_tx_pll_and_datapath_in,
  input  logic        gtwiz_reset_tx_datapath_in,
  input  logic        gtwiz_reset_rx_pll_and_datapath_in,
  input  logic        gtwiz_reset_rx_datapath_in,
  output logic        gtwiz_reset_rx_cdr_stable_out,
  output logic        gtwiz_reset_tx_done_out,
  output logic        gtwiz_reset_rx_done_out,
  input  logic [63:0] gtwiz_userdata_tx_in,
  output logic [63:0] gtwiz_userdata_rx_out,
  input  logic        gtrefclk00_in,
  output logic        qpll0outclk_out,
  output logic        qpll0outrefclk_out,
  input  logic        gthrxn_in,
  input  logic        gthrxp_in,
  output logic        gthtxn_out,
  output logic        gthtxp_out,
  output logic        gtpowergood_out,
  output logic        rxpmaresetdone_out,
  output logic        txpmaresetdone_out
);
endmodule

(* blackbox *)
module zcu102_system (
  output logic         pl_clk_o,     // 100 MHz of the processors, for the transceiver's start
  output logic         pl_resetn_o,
  input  logic         core_clk_i,   // of all that follows
  input  logic         core_resetn_i,
  input  logic         interrupt_i,
  input  logic         m_axil_awready,
  output logic         m_axil_awvalid,
  output logic [9:0]   m_axil_awaddr,
  output logic [2:0]   m_axil_awprot,
  input  logic         m_axil_wready,
  output logic         m_axil_wvalid,
  output logic [31:0]  m_axil_wdata,
  output logic [3:0]   m_axil_wstrb,
  output logic         m_axil_bready,
  input  logic         m_axil_bvalid,
  input  logic [1:0]   m_axil_bresp,
  input  logic         m_axil_arready,
  output logic         m_axil_arvalid,
  output logic [9:0]   m_axil_araddr,
  output logic [2:0]   m_axil_arprot,
  output logic         m_axil_rready,
  input  logic         m_axil_rvalid,
  input  logic [31:0]  m_axil_rdata,
  input  logic [1:0]   m_axil_rresp,
  output logic         mm2s_tvalid,
  input  logic         mm2s_tready,
  output logic [127:0] mm2s_tdata,
  output logic [15:0]  mm2s_tkeep,
  output logic         mm2s_tlast,
  input  logic         s2mm_tvalid,
  output logic         s2mm_tready,
  input  logic [127:0] s2mm_tdata,
  input  logic [15:0]  s2mm_tkeep,
  input  logic         s2mm_tlast
);
endmodule
