// SPDX-License-Identifier: Apache-2.0
// Takes the packets of reductions in: a part to the place of its branch, a result to that of its tree, if the tree
// waits for it. Each waits for a step of the unit behind its last beat, and for nothing else.
module ni_reduce_receive (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         hold_i,  // none begins
  output logic                         idle_o,
  input  logic                         s_axis_tvalid,
  output logic                         s_axis_tready,
  input  logic [127:0]                 s_axis_tdata,
  input  logic [15:0]                  s_axis_tkeep,
  input  logic                         s_axis_tlast,
  input  exanet_pkg::ni_user_t         s_axis_tuser,
  // its tree
  output ni_reduce_pkg::tree_t         tree_o,
  input  logic                         enabled_i,
  input  exanet_pkg::ni_reduce_tree_t  place_i,
  input  ni_reduce_pkg::state_t        state_i,
  // vectors
  output logic                         write_part_o,
  output logic                         write_result_o,
  output logic [11:0]                  write_at_o,  // tree, branch, word
  output logic [127:0]                 data_o,
  // what has come
  output logic                         valid_o,
  output ni_reduce_pkg::arrival_t      arrival_o,
  input  logic                         taken_i
);
  import exanet_pkg::*;
  import ni_reduce_pkg::*;
  typedef enum logic [1:0] { Idle, Take, Skip, Report } state_e;
  state_e state_q;
  reduce_address_t address;
  logic part, result, current, own, follows, reported_q, keeps_q, fits_q, beat;
  logic [4:0] word_q;
  logic [9:0] bytes;
  arrival_t arrival_q;

  assign address = s_axis_tuser.dmadd;
  assign tree_o = address.tree;
  assign current = enabled_i && s_axis_tuser.number == {place_i.epoch, state_i.round} && s_axis_tuser.reason == '0;
  assign result = s_axis_tuser.kind == PacketTypeReductionResult;
  assign part = s_axis_tuser.kind == PacketTypeReductionPart;
  assign own = s_axis_tuser.pdid == place_i.pdid;
  // The step of the packet before decides in this cycle: what it has taken is not in the state yet.
  assign follows = reported_q && arrival_q.tree == address.tree && arrival_q.result == result && (result || arrival_q.branch == address.branch);
  assign beat = state_q == Take && s_axis_tvalid;
  assign s_axis_tready = state_q == Take || state_q == Skip;
  assign idle_o = state_q == Idle;
  assign bytes = {1'b0, word_q, 4'd0} + 10'(ni_pkg::bytes_kept(s_axis_tkeep));

  assign write_part_o = beat && keeps_q && !arrival_q.result && s_axis_tkeep != '0;
  assign write_result_o = beat && keeps_q && arrival_q.result && s_axis_tkeep != '0;
  assign write_at_o = {arrival_q.tree, arrival_q.branch, word_q};
  assign data_o = s_axis_tdata;
  assign valid_o = state_q == Report;
  always_comb begin
    arrival_o = arrival_q;
    arrival_o.kept = keeps_q && fits_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      keeps_q <= 1'b0;
      reported_q  <= 1'b0;
    end else begin
      reported_q <= state_q == Report && taken_i && keeps_q && fits_q;
      case (state_q)
        Idle:
        if (s_axis_tvalid && !hold_i) begin
          state_q <= own && !follows ? Take : Skip;
          keeps_q <= current && (result ? state_i.phase == Await
              : part && state_i.phase == Gather && place_i.branches[address.branch] && !place_i.locals[address.branch] &&
                !state_i.come[address.branch]);
        end
        Report: if (taken_i) state_q <= Idle;
        default: if (s_axis_tvalid && s_axis_tlast) state_q <= part || result ? Report : Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      arrival_q <= '{tree: address.tree, branch: address.branch, result: result, number: s_axis_tuser.number, pdid: s_axis_tuser.pdid,
                     reason: s_axis_tuser.reason, shape: {address.bytes, address.element, address.operation}, kept: 1'b0};
      word_q <= '0;
    end
    if (beat) word_q <= word_q + 1'b1;
    if (state_q == Skip) fits_q <= 1'b0;
    else if (beat) fits_q <= bytes == arrival_q.shape.bytes;
  end
endmodule
