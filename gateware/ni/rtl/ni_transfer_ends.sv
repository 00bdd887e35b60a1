// SPDX-License-Identifier: Apache-2.0
// Ends of ni_transfers, one after the other: each is written where that is wanted, then its channel is free.
//
// The message that stays behind a transfer is claimed first: one that is stored by who has seen the end stays. An end
// whose page is not to be written is not; where addresses are translated its page is looked up when it is its turn.
// Limits: an end waits for the one before it, for its page, for memory to take its word, and for space among 32
// messages that are to be launched (ni_launches).
module ni_transfer_ends #(
  parameter int unsigned Channels = 256,
  parameter int unsigned ContextBits = 8,
  localparam int unsigned ChannelBits = $clog2(Channels)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  exanet_pkg::ni_config_t  config_i,
  // a transfer is admitted to this channel, and how its end is to be reported; or has ended there
  input  logic                    admits_i,
  input  logic                    ended_i,
  input  logic [ChannelBits-1:0]  channel_i,
  input  ni_pkg::transfer_ending_t ending_i,
  input  logic [ContextBits+1:0]  message_slot_i,
  input  logic                    serves_i,
  input  exanet_pkg::nack_reason_e failure_i,
  // this channel is free again
  output logic                    release_o,
  output logic [ChannelBits-1:0]  released_o,
  output logic                    released_serves_o,
  // ends that are to be written, and the translation of where
  input  logic                    invalidates_i,  // nothing more is looked up
  output logic                    drained_o,  // no end has been
  output logic                    look_o,
  output logic [9:0]              domain_o,
  output logic [35:0]             page_o,
  output logic                    want_o,
  input  logic                    known_i,
  input  logic [35:0]             page_frame_i,
  input  exanet_pkg::nack_reason_e fault_i,
  output logic                    end_valid_o,
  input  logic                    end_taken_i,
  output logic [44:0]             end_word_o,
  output exanet_pkg::transfer_end_t end_value_o,
  output logic                    end_message_o,  // memory's answer to it is waited for
  input  logic                    end_answered_i,  // to one of these
  // messages that stay behind a transfer: as of ni_packetizer
  output logic                    claim_valid_o,
  input  logic                    claim_taken_i,
  output logic [ContextBits+1:0]  claim_slot_o,
  output logic [9:0]              claim_pdid_o,
  output exanet_pkg::nack_reason_e claim_reason_o,
  input  logic                    claimed_i,
  output logic                    launch_valid_o,
  input  logic                    launch_taken_i,
  output logic [ContextBits+1:0]  launch_slot_o,
  output logic [31:0]             ended_o  // since reset; it wraps
);
  import exanet_pkg::*;
  import ni_pkg::*;
  logic offers_q, looked_q, translates_q, end_known;
  logic ended_valid;
  nack_reason_e ended_failure;
  transfer_ending_t ending;
  logic [ContextBits+1:0] message_slot;
  logic launch_space, asked_q, settled_q, claimed_q, may_end;
  exanet_fifo #(.Width(ChannelBits + 5), .Depth(Channels)) u_ends (
    .clk_i, .rst_ni, .write_i(ended_i), .data_i({channel_i, serves_i, failure_i}), .read_i(release_o),
    .valid_o(ended_valid), .data_o({released_o, released_serves_o, ended_failure}));
  ni_table #(.Entries(Channels), .Width($unsigned($bits(transfer_ending_t)) + ContextBits + 2), .Same(1'b1)) u_endings (
    .clk_i, .rst_ni, .write_i(admits_i), .write_at_i(channel_i), .data_i({ending_i, message_slot_i}), .read_i(!offers_q), .read_at_i(released_o),
    .data_o({ending, message_slot}));
  assign look_o = offers_q && ending.notify && translates_q && !looked_q && !invalidates_i;
  assign domain_o = ending.pdid;
  assign page_o = ending.word[44:9];
  assign want_o = looked_q;
  assign drained_o = !looked_q;
  assign end_known = looked_q && known_i;
  assign end_valid_o = offers_q && may_end && ending.notify && (!translates_q || (end_known && fault_i == NackReasonNone));
  assign end_word_o = translates_q ? {page_frame_i, ending.word[8:0]} : ending.word;
  assign end_value_o = '{done: 1'b1, failure: ended_failure, token: ending.token, default: '0};
  assign claim_valid_o = offers_q && ending.message && !asked_q;
  assign {claim_slot_o, claim_pdid_o, claim_reason_o} = {message_slot, ending.pdid, ended_failure};
  assign may_end = !ending.message || settled_q;
  assign end_message_o = claimed_q;
  assign release_o = offers_q && may_end && (end_taken_i || !ending.notify || (end_known && fault_i != NackReasonNone));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      offers_q <= 1'b0;
      looked_q <= 1'b0;
      ended_o  <= '0;
      {translates_q, asked_q, settled_q, claimed_q} <= '0;
    end else begin
      if (!offers_q) translates_q <= config_i.translate;
      looked_q <= (looked_q || look_o) && !release_o;
      ended_o  <= ended_o + 32'(release_o);
      offers_q <= offers_q ? !release_o : ended_valid && launch_space;
      asked_q  <= (asked_q || claim_taken_i) && !release_o;
      settled_q <= asked_q && !release_o;
      claimed_q <= (asked_q && !settled_q ? claimed_i : claimed_q) && !release_o;
    end
  end

  ni_launches #(.SlotBits(ContextBits + 2)) u_launches (
    .clk_i, .rst_ni, .space_o(launch_space), .ended_i(release_o && claimed_q), .written_i(end_taken_i), .slot_i(message_slot),
    .answered_i(end_answered_i), .launch_valid_o, .launch_taken_i, .launch_slot_o);

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      TakenIsOffered : assert (!end_taken_i || end_valid_o);
      ClaimedInTurn : assert ((offers_q || !asked_q) && (asked_q || !settled_q) && (settled_q || !claimed_q));
      LooksForItsEnd : assert (!looked_q || offers_q);
    end
  end
`endif
endmodule
