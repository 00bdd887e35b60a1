// SPDX-License-Identifier: Apache-2.0
// ni_dma_send and ni_dma_receive, one behind the other, under a DMA engine that keeps the rules of AXI4-Stream and a
// slave at any pace. Proved: what comes out is beat by beat what came in, without frames of one beat; both streams keep
// the rules (the modules' own assertions).
//
// TUSER's two beats have all their bytes and zeros above bit 175, a beat of payload has data, as the contract has it.
module dma_formal (
  input logic         clk_i,
  input logic         valid_i,
  input logic [127:0] data_i,
  input logic [15:0]  keep_i,
  input logic         last_i,
  input logic         ready_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The beat that is offered stays until it is taken; no beat of payload is without data, and zeros stand above TUSER.
  logic waits = 1'b0, last = 1'b0, valid, out_valid, out_last, taken, given;
  logic [127:0] data = '0, out_data;
  logic [15:0] keep = '0, out_keep;
  logic [175:0] user;
  logic [1:0] at_in = '0, at_out = '0;  // beats of the frame before this one, up to two
  assign valid = rst_n && valid_i;
  always_ff @(posedge clk_i) begin
    waits <= valid && !taken;
    {data, keep, last} <= {data_i, keep_i, last_i};
  end
  always_comb begin
    if (waits) assume (valid_i && {data_i, keep_i, last_i} == {data, keep, last});
    if (valid && at_in < 2'd2) assume (keep_i == '1);
    if (valid && at_in == 2'd1) assume (data_i[127:48] == '0);
    if (valid && at_in == 2'd2) assume (keep_i != '0);
  end

  logic between_valid, between_ready, between_last;
  logic [127:0] between_data;
  logic [15:0] between_keep;
  ni_dma_send u_send (
    .clk_i, .rst_ni(rst_n), .s_axis_tvalid(valid), .s_axis_tready(taken), .s_axis_tdata(data_i), .s_axis_tkeep(keep_i), .s_axis_tlast(last_i),
    .m_axis_tvalid(between_valid), .m_axis_tready(between_ready), .m_axis_tdata(between_data), .m_axis_tkeep(between_keep),
    .m_axis_tlast(between_last), .m_axis_tuser(user));
  ni_dma_receive u_receive (
    .clk_i, .rst_ni(rst_n), .s_axis_tvalid(between_valid), .s_axis_tready(between_ready), .s_axis_tdata(between_data), .s_axis_tkeep(between_keep),
    .s_axis_tlast(between_last), .s_axis_tuser(user),
    .m_axis_tvalid(out_valid), .m_axis_tready(ready_i), .m_axis_tdata(out_data), .m_axis_tkeep(out_keep), .m_axis_tlast(out_last));
  assign given = out_valid && ready_i;

  // What TUSER's beats were when they came.
  logic [255:0] header = '0;
  always_ff @(posedge clk_i) begin
    if (valid && taken) begin
      at_in <= last_i ? '0 : at_in == 2'd2 ? 2'd2 : at_in + 1'b1;
      if (at_in == 2'd0) header[127:0] <= data_i;
      if (at_in == 2'd1) header[255:128] <= data_i;
    end
    if (given) at_out <= out_last ? '0 : at_out == 2'd2 ? 2'd2 : at_out + 1'b1;
    if (!rst_n) {at_in, at_out} <= '0;
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      // The second beat of a frame without payload is under way while it is offered.
      if (out_valid && at_out == 2'd0) First: assert (out_data == header[127:0] && out_keep == '1 && !out_last);
      if (out_valid && at_out == 2'd1) Second: assert (out_data == (at_in == 2'd1 ? data_i : header[255:128]) && out_keep == '1);
      if (out_valid && at_out == 2'd1) Empty: assert (out_last == (at_in == 2'd1 && last_i));
      if (out_valid && at_out == 2'd2) Payload: assert ({out_data, out_keep, out_last} == {data_i, keep_i, last_i} && given == taken);
      if (out_valid) Behind: assert (at_in == 2'd2 || (at_in == 2'd1 && last_i));
      Waits: assert (at_out != 2'd1 || waits);
      States: assert (2'(u_send.state_q) == at_in && 2'(u_receive.state_q) == at_out);
      Kept: assert (u_send.user_q[127:0] == header[127:0] || at_in == '0);
      KeptUser: assert ({80'b0, u_send.user_q} == header || at_in != 2'd2);
      Counts: assert (at_in != 2'd3 && at_out != 2'd3);
      Follows: assert (at_out == '0 || at_in == 2'd2 || (at_out == 2'd1 && at_in == 2'd1 && last));
      Ends: cover (given && out_last && at_out == 2'd2);
      EndsEmpty: cover (given && out_last && at_out == 2'd1);
    end
  end
endmodule
