// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_packetizer takes answers, which are priority, in a bounded time, whatever its port of messages, which are bulk, does. Under any
// stores, any answers, any registers and a port that takes frames at any pace or never. Proved: an answer that is offered waits for seven cycles at most, once
// the tables are clear. So it waits for nothing outside of the unit: an answer before it takes four cycles, a message that is given up three.
module packetizer_waits_formal #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Peers = 4096,
  localparam int unsigned ContextBits = $clog2(Contexts)
) (
  input logic                     clk_i,
  input exanet_pkg::ni_config_t   config_i,
  input logic [ContextBits-1:0]   context_i,
  input logic                     store_i,
  input logic [7:0]               line_i,
  input logic [127:0]             data_i,
  input logic [15:0]              strobe_i,
  input logic                     context_write_i,
  input exanet_pkg::ni_context_t  context_value_i,
  input logic                     launch_i,
  input logic [ContextBits+1:0] launch_slot_i,
  input exanet_pkg::nack_reason_e launch_reason_i,
  input logic                     ready_i,
  input logic                     answer_i,
  input exanet_pkg::ni_user_t     user_i
);
  import exanet_pkg::*;
  localparam logic [3:0] Most = 4'd7;
  localparam logic [1:0] Idle = 2'd0, Check = 2'd1, Apply = 2'd2;  // as ni_packetizer
  localparam logic [2:0] Look = 3'd1, Decide = 3'd2, GiveUp = 3'd4;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, enabled, valid, last, offered, taken, launched;
  logic [9:0] pdid;
  ni_status_t status;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  logic [31:0] sent, done, repeated, stale;
  assign offered = rst_n && answer_i;
  ni_packetizer #(.Contexts(Contexts), .Peers(Peers)) dut (
    .clk_i, .rst_ni(rst_n), .config_i, .ready_o(up), .context_i, .store_i(up && store_i), .line_i, .data_i, .strobe_i, .pdid_o(pdid),
    .enabled_o(enabled), .context_write_i(up && context_write_i), .context_value_i, .status_at_i('0), .status_o(status),
    .launch_valid_i(up && launch_i), .launch_taken_o(launched), .launch_slot_i, .launch_reason_i,
    .m_axis_tvalid(valid), .m_axis_tready(ready_i), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user),
    .s_axis_tvalid(offered), .s_axis_tready(taken), .s_axis_tuser(user_i), .sent_o(sent), .done_o(done), .repeated_o(repeated), .stale_o(stale));

  logic [3:0] waited = '0;  // cycles, of the answer that is offered
  always_ff @(posedge clk_i) waited <= offered && !taken && up ? waited + 4'(waited != '1) : '0;

  // Helps the proof: cycles that an answer has to wait at most from now on.
  logic [1:0] answers;
  logic [2:0] emits;
  logic [3:0] left;
  assign answers = 2'(dut.answer_state_q);
  assign emits = 3'(dut.emit_state_q);
  always_comb begin
    left = '0;
    if (answers == Check) left = dut.gives_up_q ? 4'd2 : emits == Look ? 4'd7 : emits == Decide ? 4'd6 : 4'd5;
    else if (answers == Apply) left = dut.gives_up_q ? 4'd1 : 4'd4;
    else if (emits == GiveUp) left = 4'd3;
  end
  logic counts_q = 1'b0;
  logic [3:0] left_q = '0;
  always_ff @(posedge clk_i) begin
    counts_q <= offered && !taken && up;
    left_q   <= left;
    Begin: assert (rst_n || {waited, counts_q} == '0);
    if (rst_n) begin
      Taken: assert (waited <= Most);
      Less: assert (!counts_q || left < left_q);
      Left: assert (waited + left <= Most);
      States: assert (answers <= Apply && emits <= GiveUp);
      GivesUp: assert (answers == Idle || !dut.gives_up_q || emits == GiveUp);
      Longest: cover (offered && taken && waited == Most && valid && !ready_i);
    end
  end
endmodule
