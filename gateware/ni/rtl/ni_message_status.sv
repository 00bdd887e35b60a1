// SPDX-License-Identifier: Apache-2.0
// What a process reads of its context's messages: refusals by its stores, failures by answers, and its free slots,
// looked at one after the other, four cycles after it was asked for the context.
module ni_message_status #(
  parameter int unsigned Contexts = 256,
  localparam int unsigned ContextBits = $clog2(Contexts)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clears_i,  // tables, this entry
  input  logic [ContextBits-1:0]  clear_at_i,
  // a store of a context is refused
  input  logic                    refuses_i,
  input  logic [ContextBits-1:0]  refused_at_i,
  input  exanet_pkg::store_refusal_e refusal_i,
  // a slot is freed, and why, where its message has failed
  input  logic                    frees_i,
  input  logic [ContextBits+1:0]  freed_slot_i,
  input  exanet_pkg::nack_reason_e reason_i,
  // the context that is read, and one of its slots
  input  logic [ContextBits-1:0]  status_at_i,
  output logic [ContextBits+1:0]  slot_o,
  input  logic                    free_i,
  input  logic [1:0]              fill_i,  // the one that stores go to
  output exanet_pkg::ni_status_t  status_o
);
  import exanet_pkg::*;
  (* ram_style = "distributed" *) logic [19:0] refusals[Contexts];
  (* ram_style = "distributed" *) logic [29:0] failures[Contexts];
  logic [ContextBits-1:0] failed_at;
  logic [19:0] refusals_of;
  logic [29:0] failures_of;
  logic fails;
  assign fails = frees_i && reason_i != NackReasonNone;
  assign failed_at = freed_slot_i[ContextBits+1:2];
  assign refusals_of = refusals[refused_at_i];
  assign failures_of = failures[failed_at];
  always_ff @(posedge clk_i) begin
    if (clears_i) refusals[clear_at_i] <= '0;
    else if (refuses_i) refusals[refused_at_i] <= {refusals_of[19:4] + 16'd1, refusal_i};
    if (clears_i) failures[clear_at_i] <= '0;
    else if (fails) failures[failed_at] <= {10'(freed_slot_i), failures_of[19:4] + 16'd1, reason_i};
  end

  logic [1:0] report_q;
  logic [3:0] free_q;
  assign slot_o = {status_at_i, report_q};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      report_q <= '0;
      free_q   <= '0;
    end else begin
      report_q         <= report_q + 1'b1;
      free_q[report_q] <= free_i;
    end
  end
  always_comb begin
    status_o = '0;
    status_o.free_slots = free_q;
    status_o.fill = fill_i;
    {status_o.refused, status_o.refusal} = refusals[status_at_i];
    {status_o.failed_channel, status_o.failed, status_o.failure} = failures[status_at_i];
  end
endmodule
