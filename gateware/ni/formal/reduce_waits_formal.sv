// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_reduce takes parts and results, which are priority, whatever its port of parts and results and
// memory do, which may never move. Under any stores, packets, memory, and rates. Proved: a packet waits for six cycles
// at most, for the step of the packet before it, besides those in which the opening of a tree by the kernel holds
// packets up. What such an opening waits for then is steps of the unit, and none of these waits for anything.
module reduce_waits_formal (
  input logic                  clk_i,
  input logic                  store_i,
  input logic [19:4]           line_i,
  input logic [127:0]          data_i,
  input logic [15:0]           strobe_i,
  input logic                  valid_i,
  input logic [127:0]          word_i,
  input logic [15:0]           keep_i,
  input logic                  last_i,
  input exanet_pkg::ni_user_t  user_i,
  input logic                  ready_i,
  input logic                  awready_i,
  input logic                  wready_i,
  input logic                  bvalid_i,
  input logic [1:0]            bresp_i
);
  import exanet_pkg::*;
  localparam logic [2:0] Most = 3'd6;
  localparam logic [1:0] Idle = 2'd0, Report = 2'd3;  // as ni_reduce_receive
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, offered, tready, valid, last, awvalid, wvalid, wlast, bready;
  logic [127:0] data, wdata;
  logic [15:0] keep, wstrb;
  ni_user_t user;
  logic [47:0] awaddr;
  logic [7:0] awlen;
  logic [31:0] ended, failed, repeated, dropped;
  logic [15:0] at_work;
  logic stores;
  assign offered = rst_n && valid_i;
  ni_reduce dut (
    .clk_i, .rst_ni(rst_n), .ready_o(up), .store_i(rst_n && up && store_i), .line_i, .data_i, .strobe_i, .s_axis_tvalid(offered),
    .s_axis_tready(tready), .s_axis_tdata(word_i), .s_axis_tkeep(keep_i), .s_axis_tlast(last_i), .s_axis_tuser(user_i), .m_axis_tvalid(valid),
    .m_axis_tready(ready_i), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user), .m_axi_awaddr(awaddr),
    .m_axi_awlen(awlen), .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
    .m_axi_wvalid(wvalid), .m_axi_wready(wready_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(rst_n && bvalid_i), .m_axi_bready(bready),
    .at_work_o(at_work), .stores_o(stores), .ended_o(ended), .failed_o(failed), .repeated_o(repeated), .dropped_o(dropped));

  // Cycles of the packet that is offered, and whether the opening of a tree is all that holds it up.
  logic stays = 1'b0, held;
  logic [2:0] waited = '0;
  logic [1:0] state;
  assign state = 2'(dut.u_receive.state_q);
  assign held = state == Idle && dut.hold_q;
  always_ff @(posedge clk_i) begin
    stays  <= offered && !tready;
    waited <= offered && !tready ? waited + 3'(!held && waited != '1) : '0;
  end
  always_comb if (stays) assume (valid_i);

  // Helps the proof: cycles that are left; a scan comes when the clock's low bits are 0, and no other step in the cycle
  // before.
  logic [3:0] clock;
  logic [2:0] left;
  assign clock = dut.clock_q[3:0];
  always_comb begin
    left = '0;
    if (state == Idle) left = 3'd1;
    if (state == Report) begin
      left = dut.decides_q ? 3'd3 : 3'd2;
      if (clock == 4'd14 && dut.decides_q) left = 3'd6;
      if (clock == 4'd15) left = 3'd5;
      if (clock == 4'd0) left = 3'd4;
      if (clock == 4'd1) left = 3'd3;
    end
  end
  logic counts_q = 1'b0;
  logic [2:0] left_q = '0;
  always_ff @(posedge clk_i) begin
    counts_q <= offered && !tready && !held;
    left_q   <= left;
    Begin: assert (rst_n || {stays, counts_q, waited} == '0);
    if (rst_n) begin
      Taken: assert (waited <= Most);
      Less: assert (!counts_q || left < left_q);
      Left: assert (4'(waited) + 4'(left) <= 4'(Most));
      Waits: assert (stays || waited == '0);
      Scans: assert (clock != 4'd0 || !dut.decides_q);
      Longest: cover (offered && tready && waited == Most);
      Held: cover (offered && held);
    end
  end
endmodule
