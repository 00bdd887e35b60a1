// SPDX-License-Identifier: Apache-2.0
// Makes frames of an ni_port from those of a DMA engine that knows no TUSER: the first two beats of each hold it
// (ni_user_t, from bit 0 of the first beat, zeros above), what follows is payload. A frame that ends with its second
// beat is a packet without payload; one of a single beat is no packet, and is dropped.
module ni_dma_send (
  input  logic         clk_i,
  input  logic         rst_ni,
  // from the DMA engine
  input  logic         s_axis_tvalid,
  output logic         s_axis_tready,
  input  logic [127:0] s_axis_tdata,
  input  logic [15:0]  s_axis_tkeep,
  input  logic         s_axis_tlast,
  // to the ni_port
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic [127:0] m_axis_tdata,
  output logic [15:0]  m_axis_tkeep,
  output logic         m_axis_tlast,
  output logic [175:0] m_axis_tuser
);
  typedef enum logic [1:0] { First, Second, Payload } state_e;
  state_e state_q;
  logic [175:0] user_q;
  logic beat;

  assign beat = s_axis_tvalid && s_axis_tready;
  assign m_axis_tvalid = s_axis_tvalid && (state_q == Payload || (state_q == Second && s_axis_tlast));
  // Whether a beat is there is not asked: TREADY does not follow from TVALID.
  assign s_axis_tready = m_axis_tready || state_q == First || (state_q == Second && !s_axis_tlast);
  assign m_axis_tdata = s_axis_tdata;
  assign m_axis_tkeep = state_q == Payload ? s_axis_tkeep : '0;
  assign m_axis_tlast = s_axis_tlast;
  assign m_axis_tuser = state_q == Payload ? user_q : {s_axis_tdata[47:0], user_q[127:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= First;
    else if (beat) state_q <= s_axis_tlast ? First : state_q == First ? Second : Payload;
  end
  always_ff @(posedge clk_i) begin
    if (beat && state_q == First) user_q[127:0] <= s_axis_tdata;
    if (beat && state_q == Second) user_q[175:128] <= s_axis_tdata[47:0];
  end

  exanet_stream_check #(.Width(128 + 16 + 1 + 176)) u_check (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}), .ready_i(m_axis_tready));
endmodule
