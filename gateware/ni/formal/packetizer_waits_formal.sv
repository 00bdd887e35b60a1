// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_packetizer takes answers, which are priority, in a bounded time, whatever its port of
// messages, which are bulk, does. Under any stores, any answers, any registers and a port that takes frames at any pace
// or never. Proved: an answer that is offered waits for seven cycles at most, once the tables are clear. So it waits
// for nothing outside of the unit: an answer before it takes four cycles, a message that is given up three. Stores,
// which come one a cycle as long as they may, hold up nothing else: a claim waits for 10 cycles at most, a message that
// is launched for 13, and one that is due for 42, where there is a cycle between two launches (launches_formal).
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
  input logic                     claim_i,
  input logic [ContextBits+1:0] claim_slot_i,
  input logic [9:0]               claim_pdid_i,
  input exanet_pkg::nack_reason_e claim_reason_i,
  input logic                     launch_i,
  input logic [ContextBits+1:0] launch_slot_i,
  input logic                     ready_i,
  input logic                     answer_i,
  input exanet_pkg::ni_user_t     user_i
);
  import exanet_pkg::*;
  localparam logic [3:0] Most = 4'd7;
  localparam logic [5:0] MostClaim = 6'd10, MostLaunch = 6'd13, MostDue = 6'd42;
  localparam logic [1:0] Idle = 2'd0, Check = 2'd1, Apply = 2'd2;  // as ni_packetizer
  localparam logic [2:0] Look = 3'd1, Decide = 3'd2, Again = 3'd3, GiveUp = 3'd4;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, on, enabled, valid, last, offered, taken, claim_taken, claimed, launched;
  logic [9:0] pdid;
  ni_status_t status;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  logic [31:0] sent, done, repeated, stale;
  assign offered = rst_n && answer_i;
  // The tables are clear; a store comes two cycles later than that it may.
  logic [1:0] comes_q = '0;
  assign on = rst_n && !dut.clears;
  always_ff @(posedge clk_i) comes_q <= rst_n ? {comes_q[0], up} : '0;
  ni_packetizer #(.Contexts(Contexts), .Peers(Peers)) dut (
    .clk_i, .rst_ni(rst_n), .config_i, .ready_o(up), .context_i, .store_i(comes_q[1] && store_i), .line_i, .data_i, .strobe_i, .pdid_o(pdid),
    .enabled_o(enabled), .context_write_i(comes_q[1] && context_write_i), .context_value_i, .status_at_i('0), .status_o(status),
    .claim_valid_i(on && claim_i), .claim_taken_o(claim_taken), .claim_slot_i, .claim_pdid_i, .claim_reason_i, .claimed_o(claimed),
    .launch_valid_i(on && launch_i), .launch_taken_o(launched), .launch_slot_i,
    .m_axis_tvalid(valid), .m_axis_tready(ready_i), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user),
    .s_axis_tvalid(offered), .s_axis_tready(taken), .s_axis_tuser(user_i), .sent_o(sent), .done_o(done), .repeated_o(repeated), .stale_o(stale));

  logic [3:0] waited = '0;  // cycles, of the answer that is offered
  always_ff @(posedge clk_i) waited <= offered && !taken && on ? waited + 4'(waited != '1) : '0;

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
    counts_q <= offered && !taken && on;
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

  // Claims and launches stay until they are taken; the next launch comes a cycle later at the earliest.
  logic claims_q = 1'b0, asks_q = 1'b0, launched_q = 1'b0, due, due_q = 1'b0, sends;
  always_ff @(posedge clk_i) begin
    claims_q   <= on && claim_i && !claim_taken;
    asks_q     <= on && launch_i && !launched;
    launched_q <= launched;
    due_q      <= due && !dut.scan_pushes;
  end
  always_comb begin
    if (claims_q) assume (claim_i);
    if (asks_q) assume (launch_i);
    if (launched_q) assume (!launch_i);
  end
  assign due = on && dut.scan_checks_q && dut.due;
  assign sends = dut.send;
  logic [5:0] claim_waited = '0, launch_waited = '0, due_waited = '0;
  always_ff @(posedge clk_i) begin
    claim_waited  <= on && claim_i && !claim_taken ? claim_waited + 6'(claim_waited != '1) : '0;
    launch_waited <= on && launch_i && !launched ? launch_waited + 6'(launch_waited != '1) : '0;
    due_waited    <= due && !dut.scan_pushes ? due_waited + 6'(due_waited != '1) : '0;
  end

  // Helps the proof. What goes before them, in cycles: stores that send, until none comes (store_left), and messages
  // that find no number, which come three cycles after the last one at the earliest (emit_in). Without a store, what is
  // due waits for two of these or of launches at most, or three (between).
  logic [3:0] store_left;
  logic [1:0] emit_in;
  logic [5:0] launch_left, due_left, between, launch_left_q = '0, due_left_q = '0;
  always_comb begin
    store_left = dut.passed_q != '1 ? 4'd9 - {1'b0, dut.passed_q} : {3'd0, comes_q[0]} + {3'd0, comes_q[1]};
    case (emits)
      Look: emit_in = 2'd2;
      Decide: emit_in = 2'd1;
      Again: emit_in = 2'd0;
      default: emit_in = 2'd3;
    endcase
    launch_left = store_left < {2'd0, emit_in} ? {2'd0, store_left} : {2'd0, store_left} + 6'd1 + ({2'd0, store_left} - {4'd0, emit_in}) / 6'd3;
    if (dut.way_q == '1 && emits == Again) launch_left = MostLaunch;  // stores come again
    between = 6'd0;
    if (emit_in == 2'd0) between = 6'd2;
    else if (!launched_q) between = emit_in == 2'd1 ? 6'd3 : 6'd1;
    due_left = due_waited >= {4'd0, dut.way_q} ? {store_left, 2'd0} + between : 6'd42 - {4'd0, dut.way_q} + 6'd1;
  end
  always_ff @(posedge clk_i) begin
    {launch_left_q, due_left_q} <= {launch_left, due_left};
    if (rst_n) begin
      Claimed: assert (claim_waited <= MostClaim && claims_q == (claim_waited != '0));
      ClaimLeft: assert (!claims_q || (dut.claim_looked_q && 7'(claim_waited) + 7'(store_left) <= 7'(MostClaim)));
      ClaimInTheWay: assert (claim_waited <= 6'd1 || dut.way_q == '0);
      Launched: assert (launch_waited <= MostLaunch);
      LaunchLess: assert (!asks_q || launch_left < launch_left_q);
      LaunchLeft: assert (!(on && launch_i) || 7'(launch_waited) + 7'(launch_left) <= 7'(MostLaunch));
      InTheWay: assert (!asks_q || dut.way_q == '0 || emits != Again);
      Due: assert (due_waited <= MostDue);
      DueLess: assert (!due_q || !due || due_left < due_left_q);
      DueLeft: assert (!due || 7'(due_waited) + 7'(due_left) <= 7'(MostDue));
      DueInTheWay: assert (!due_q || !due || due_waited < {4'd0, dut.way_q} || between + {4'd0, dut.way_q} <= 6'd3);
      Since: assert (asks_q == (launch_waited != '0) && due_q == (due_waited != '0));
      Way: assert (dut.way_q == '0 || (dut.passed_q == '1 && !comes_q[0] && (dut.way_q == 2'd1 || !comes_q[1])));
    end
  end
endmodule
