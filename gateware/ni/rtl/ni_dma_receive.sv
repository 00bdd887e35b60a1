// SPDX-License-Identifier: Apache-2.0
// Makes frames for a DMA engine that knows no TUSER from those of an ni_port: two beats with it (ni_user_t, from bit 0
// of the first beat, zeros above), then the payload. What ni_dma_send takes apart.
module ni_dma_receive (
  input  logic         clk_i,
  input  logic         rst_ni,
  // from the ni_port
  input  logic         s_axis_tvalid,
  output logic         s_axis_tready,
  input  logic [127:0] s_axis_tdata,
  input  logic [15:0]  s_axis_tkeep,
  input  logic         s_axis_tlast,
  input  logic [175:0] s_axis_tuser,
  // to the DMA engine
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic [127:0] m_axis_tdata,
  output logic [15:0]  m_axis_tkeep,
  output logic         m_axis_tlast
);
  typedef enum logic [1:0] { First, Second, Payload } state_e;
  state_e state_q;
  logic empty;

  assign empty = s_axis_tkeep == '0;  // the one beat of a packet without payload
  assign m_axis_tvalid = s_axis_tvalid;
  assign m_axis_tdata = state_q == First ? s_axis_tuser[127:0] : state_q == Second ? {80'b0, s_axis_tuser[175:128]} : s_axis_tdata;
  assign m_axis_tkeep = state_q == Payload ? s_axis_tkeep : '1;
  assign m_axis_tlast = state_q == Payload ? s_axis_tlast : state_q == Second && empty;
  assign s_axis_tready = m_axis_tready && (state_q == Payload || (state_q == Second && empty));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= First;
    else if (m_axis_tvalid && m_axis_tready) state_q <= m_axis_tlast ? First : state_q == First ? Second : Payload;
  end

  exanet_stream_check #(.Width(128 + 16 + 1)) u_check (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i({m_axis_tdata, m_axis_tkeep, m_axis_tlast}), .ready_i(m_axis_tready));
endmodule
