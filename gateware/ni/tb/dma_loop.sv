// SPDX-License-Identifier: Apache-2.0
// What a DMA engine sends, through both adapters of ni_port, back to it: dma_test.cpp drives it.
module dma_loop (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         s_axis_tvalid,
  output logic         s_axis_tready,
  input  logic [127:0] s_axis_tdata,
  input  logic [15:0]  s_axis_tkeep,
  input  logic         s_axis_tlast,
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic [127:0] m_axis_tdata,
  output logic [15:0]  m_axis_tkeep,
  output logic         m_axis_tlast,
  output logic [175:0] user_o
);
  logic valid, ready, last;
  logic [127:0] data;
  logic [15:0] keep;
  ni_dma_send u_send (
    .clk_i, .rst_ni, .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast,
    .m_axis_tvalid(valid), .m_axis_tready(ready), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user_o));
  ni_dma_receive u_receive (
    .clk_i, .rst_ni, .s_axis_tvalid(valid), .s_axis_tready(ready), .s_axis_tdata(data), .s_axis_tkeep(keep), .s_axis_tlast(last),
    .s_axis_tuser(user_o), .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast);
endmodule
