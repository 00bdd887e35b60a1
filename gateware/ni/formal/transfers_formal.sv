// SPDX-License-Identifier: Apache-2.0
// ni_transfers with translation, under any stores, answers, reads, refusals and registers; ni_translate is whatever
// keeps its contract (ni-translate proves that it does). Proved: the word that reports a transfer's end goes to the
// frame that the last look has found, which was for the domain of the context that has handed the transfer over and for
// the page that this one names, and since the last invalidation; it goes to no page with a fault, and while it is
// offered it stays as it is, which ni-blocks counts on. The contract of ni_translate is kept. An acknowledgement, and
// the end of a read, counts for a block that was sent to the node which it comes from, and has the block's number
// (Counts).
//
// A transfer's token is any, comes back with its end, and nothing looks at it: here it says which domain and page are
// its own, and so the end does. Six bits of the page are in it; the others are bits as these. That no FIFO is written
// when it is full is taken for granted by the proof, and is looked at with all the rest (Counts), for so many cycles
// from the reset.
module transfers_formal #(
  parameter bit Counts = 1'b0
) (
  input logic                            clk_i,
  input exanet_pkg::ni_config_t          config_i,
  input logic                            context_i,
  input logic                            store_i,
  input logic                            context_write_i,
  input logic [7:0]                      line_i,
  input logic [127:0]                    data_i,
  input logic [15:0]                     strobe_i,
  input logic [9:0]                      pdid_i,
  input logic                            serve_valid_i,
  input ni_pkg::serve_t                  serve_i,
  input logic                            read_end_valid_i,
  input ni_pkg::read_end_t               read_end_i,
  input logic                            packet_taken_i,
  input logic                            unread_valid_i,
  input ni_pkg::unread_t                 unread_i,
  input logic                            answer_valid_i,
  input exanet_pkg::ni_user_t            answer_i,
  input logic                            invalidates_i,
  input logic                            known_i,
  input logic [35:0]                     page_frame_i,
  input exanet_pkg::nack_reason_e        fault_i,
  input logic                            end_taken_i,
  input logic                            end_answered_i,
  input logic                            claim_taken_i,
  input logic                            claimed_i,
  input logic                            launch_taken_i
);
  import exanet_pkg::*;
  localparam int unsigned Channels = 2;
  localparam logic [2:0] Admit = 3'd0;  // a step of ni_transfers
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = config_i;
    if (Counts) begin
      ni_config = '0;
      ni_config.y_shift = 4'd1;
      ni_config.z_shift = 4'd1;
    end
    ni_config.translate = 1'b1;
  end

  logic up, serves, read_end_taken, packet_valid, unread_taken, tready, drained, look, want, end_valid;
  logic [9:0] domain;
  logic [35:0] page;
  logic [44:0] end_word;
  transfer_end_t end_value;
  ni_transfer_status_t status;
  ni_pkg::write_packet_t packet;
  logic [31:0] packets, ended, repeated, stale;
  logic claim_valid, launch_valid, end_message;
  logic [2:0] claim_slot, launch_slot;
  logic [9:0] claim_pdid;
  nack_reason_e claim_reason;
  ni_transfers #(.Contexts(2), .Channels(Channels), .Peers(2), .Window(2)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .context_i, .store_i(rst_n && store_i),
    .context_write_i, .line_i, .data_i, .strobe_i, .pdid_i,
    .status_at_i(1'b0), .status_o(status), .serves_o(serves), .serve_valid_i(rst_n && serve_valid_i), .serve_i,
    .read_end_valid_i(rst_n && read_end_valid_i), .read_end_taken_o(read_end_taken), .read_end_i, .packet_valid_o(packet_valid),
    .packet_taken_i(rst_n && packet_taken_i), .packet_o(packet), .unread_valid_i(rst_n && unread_valid_i), .unread_taken_o(unread_taken), .unread_i,
    .s_axis_tvalid(rst_n && answer_valid_i), .s_axis_tready(tready), .s_axis_tuser(answer_i), .invalidates_i, .drained_o(drained), .look_o(look),
    .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i, .fault_i, .end_valid_o(end_valid),
    .end_taken_i(rst_n && end_taken_i), .end_word_o(end_word), .end_value_o(end_value), .end_message_o(end_message),
    .end_answered_i(rst_n && end_answered_i), .claim_valid_o(claim_valid), .claim_taken_i(rst_n && claim_taken_i), .claim_slot_o(claim_slot),
    .claim_pdid_o(claim_pdid), .claim_reason_o(claim_reason), .claimed_i, .launch_valid_o(launch_valid), .launch_taken_i(rst_n && launch_taken_i),
    .launch_slot_o(launch_slot), .packets_o(packets), .ended_o(ended),
    .repeated_o(repeated), .stale_o(stale));

  // What a token says is so: of a store, and of what the unit keeps.
  function automatic logic is_stored(logic [44:0] word, logic [15:0] token, logic [9:0] pdid);
    return token == {word[14:9], pdid};
  endfunction
  typedef struct packed {
    logic [44:0] word;
    logic notify;
    logic [15:0] token;
    logic [9:0] pdid;
    logic message;
    logic [2:0] message_slot;
  } ending_t;
  function automatic logic is_sound(ending_t ending);
    return !ending.notify || is_stored(ending.word, ending.token, ending.pdid);
  endfunction

  // The last look; it is of use until an invalidation.
  logic looked = 1'b0, waits = 1'b0, answered = 1'b0, serves_q = 1'b0;
  logic [9:0] domain_q = '0;
  logic [35:0] page_q = '0, frame_q = '0;
  nack_reason_e fault_q = NackReasonNone;
  logic [44:0] word_q = '0;
  transfer_end_t value_q = '0;
  always_ff @(posedge clk_i) begin
    looked <= rst_n && (look || (looked && !(invalidates_i && drained)));
    if (look) {domain_q, page_q} <= {domain, page};
    answered <= rst_n && want && known_i && !look;
    {frame_q, fault_q} <= {page_frame_i, fault_i};
    waits <= rst_n && end_valid && !end_taken_i;
    {word_q, value_q} <= {end_word, end_value};
    serves_q <= rst_n && serves;
  end
  transfer_t stored;
  assign stored = {data_i, 128'd0};
  always_comb begin
    if (store_i && line_i == 8'd9) assume (is_stored(stored.end_word, stored.token, pdid_i));
    // ni_translate keeps what it has answered until the next look; ends are taken, as packets, where they are offered.
    if (answered) assume (known_i && page_frame_i == frame_q && fault_i == fault_q);
    assume (fault_i == NackReasonNone || ni_pkg::is_page_fault(fault_i));
    assume (!end_taken_i || end_valid);
    assume (!packet_taken_i || packet_valid);
    assume (!serve_valid_i || serves_q);
    assume (!store_i || up);
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      OfTheDomain: assert (!end_valid || (looked && want && known_i && fault_i == NackReasonNone && end_value.token[9:0] == domain_q));
      OfThePage: assert (!end_valid || end_value.token[15:10] == page_q[5:0]);
      InItsFrame: assert (!end_valid || end_word[44:9] == page_frame_i);
      Stays: assert (!waits || (end_valid && end_word == word_q && end_value == value_q));
      Asks: assert (!look || !(want && !known_i));
      Holds: assert (!(invalidates_i && drained) || !(want || look));
      Looked: assert (!want || looked);
      Ends: cover (end_valid && end_taken_i);
      Another: cover (end_valid && $past(ended) == 32'd1 && end_value.token[9:0] != $past(end_value.token[9:0], 2));
      Faulted: cover (want && known_i && fault_i != NackReasonNone && dut.release_channel);
    end
  end

  // An answer frees a block that was sent to the node that answers, and has its number; so does the end of a read, and
  // the report of a packet that was not to be read. The step is in its third cycle. With these shifts a node's place is
  // its address; ni_blocks gives both of those that read here, and ni_gather reports packets of transfers, whose nodes
  // have a place.
  if (Counts) begin : gen_answers
    logic answers1 = 1'b0, answers2 = 1'b0, ends1 = 1'b0, ends2 = 1'b0, reports1 = 1'b0, reports2 = 1'b0;
    logic [21:0] from1, from2;
    logic [23:0] number1, number2;
    always_comb begin
      assume (22'(serve_i.peer) == serve_i.dcid && serve_i.peer[11:1] == '0);
      assume (read_end_i.peer[11:1] == '0);
      assume (unread_i.dcid[21:1] == '0);
    end
    always_ff @(posedge clk_i) begin
      {answers1, answers2} <= {rst_n && answer_valid_i && tready, answers1};
      {ends1, ends2} <= {rst_n && read_end_taken, ends1};
      {reports1, reports2} <= {rst_n && unread_taken, reports1};
      {from1, from2} <= {read_end_taken ? 22'(read_end_i.peer) : unread_taken ? unread_i.dcid : answer_i.source_dcid, from1};
      {number1, number2} <= {read_end_taken ? read_end_i.end_of.number : unread_taken ? unread_i.number : answer_i.number, number1};
      if (rst_n && (answers2 || ends2 || reports2) && dut.fits) begin
        FromItsNode: assert (dut.order2_q.order.dcid == from2);
        OfItsNumber: assert (dut.block2_q.psn == number2);
      end
    end
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Answered: cover (answers2 && dut.fits);
        ReportFits: cover (reports2 && dut.fits);
      end
    end
  end

  // No FIFO is written that is full, and so none holds more than it has space for.
  logic not_full, fits;
  logic [5:0] serving;
  logic [1:0] ends, spare, beginning;
  logic [3:0] submissions, emitting, packets_ahead;
  assign submissions = dut.u_submit.u_submissions.write_q - dut.u_submit.u_submissions.read_q;
  assign ends = dut.u_finish.u_ends.write_q - dut.u_finish.u_ends.read_q;
  assign serving = dut.u_submit.u_serves.write_q - dut.u_submit.u_serves.read_q;
  assign spare = dut.u_spare.write_q - dut.u_spare.read_q;
  assign beginning = dut.u_begin.write_q - dut.u_begin.read_q;
  assign emitting = dut.u_emit.write_q - dut.u_emit.read_q;
  assign packets_ahead = dut.u_packets.write_q - dut.u_packets.read_q;
  assign not_full = !(dut.u_submit.u_submissions.write_i && submissions == 4'd8) && !(dut.u_finish.u_ends.write_i && ends == 2'd2) &&
      !(dut.u_submit.u_serves.write_i && serving == 6'd32) &&
      !(dut.u_spare.write_i && spare == 2'd2) && !(dut.u_begin.write_i && beginning == 2'd2) && !(dut.u_emit.write_i && emitting == 4'd8) &&
      !(dut.u_packets.write_i && packets_ahead == 4'd8);
  assign fits = submissions <= 4'd8 && ends <= 2'd2 && serving <= 6'd32 && spare <= 2'd2 && beginning <= 2'd2 && emitting <= 4'd8 &&
      packets_ahead <= 4'd8;
  if (Counts) begin : gen_counts
    always_ff @(posedge clk_i) if (rst_n) NoOverflow : assert (not_full && fits);
  end else begin : gen_proof
    always_comb if (rst_n) assume (not_full);
    always_ff @(posedge clk_i) if (rst_n) Fits : assert (fits);
    // Helps the proof: what is kept of each transfer says what its token does.
    localparam int unsigned BehindActive = $bits(ni_pkg::transfer_state_t) - 1;  // bits of the state, in which it is the first one
    logic [Channels-1:0] written = '0;  // entries that a transfer has been given
    ending_t [Channels-1:0] endings;
    logic [Channels-1:0] active;
    always_comb begin
      for (int unsigned c = 0; c < Channels; c++) begin
        endings[c] = dut.u_finish.u_endings.memory[c];
        active[c] = dut.u_states.memory[c][BehindActive];
      end
    end
    ending_t ending, ending2, ending3, ending_first;
    assign ending_first = {dut.ending1, dut.message_slot1};
    assign ending = {dut.u_finish.ending, dut.u_finish.message_slot};
    assign ending2 = {dut.ending2_q, dut.message_slot2_q};
    assign ending3 = {dut.ending3_q, dut.message_slot3_q};
    always_ff @(posedge clk_i) begin
      if (dut.admits3_q) written[dut.channel3_q] <= 1'b1;
      Begins: assert (rst_n || written == '0);
      if (rst_n) begin
        Handed: assert (!dut.u_submit.hands_q ||
                        is_stored(dut.u_submit.transfer_q.end_word, dut.u_submit.transfer_q.token, dut.u_submit.hands_pdid_q));
        Second: assert (dut.phase_q != 2'd1 ||
                        (3'(dut.step1_q) == Admit ? is_sound(ending_first) : !dut.state1.transfer.active || written[dut.slot1_q[2]]));
        Third: assert (dut.phase_q != 2'd2 ||
                       (dut.admit2_q ? is_sound(ending2) : !dut.state2_q.transfer.active || written[dut.slot2_q[2]]));
        Admitted: assert (!dut.admits3_q || is_sound(ending3));
        Written: assert (!(dut.step3_q && dut.state3_q.transfer.active) || dut.admits3_q || written[dut.channel3_q]);
        Ended: assert (!dut.ends3_q || dut.admits3_q || written[dut.channel3_q]);
        Translates: assert (!dut.u_finish.offers_q || dut.u_finish.translates_q);
        Offered: assert (!dut.u_finish.offers_q || (is_sound(ending) && dut.u_finish.u_ends.valid_o));
        Wanted: assert (!want || (dut.u_finish.offers_q && ending.notify && domain_q == ending.pdid && page_q == ending.word[44:9]));
      end
    end
    for (genvar c = 0; c < Channels; c++) begin : gen_channel
      always_ff @(posedge clk_i) begin
        if (rst_n) begin
          Sound: assert (!written[c] || is_sound(endings[c]));
          Active: assert (!active[c] || written[c] || dut.clear_q <= 4'($unsigned(c)));
        end
      end
    end
    // Entries of FIFOs that are written and not read.
    localparam int unsigned SubmissionBits = $bits(transfer_t) + $bits(transfer_fence_t) + 14;
    for (genvar i = 0; i < 8; i++) begin : gen_submission
      logic [2:0] at;
      logic [SubmissionBits-1:0] kept;
      transfer_t transfer;
      logic serves_here;  // which one that was stored never does
      assign serves_here = kept[12];
      assign at = 3'(dut.u_submit.u_submissions.read_q + 4'($unsigned(i)));
      assign kept = dut.u_submit.u_submissions.memory[at];
      assign transfer = kept[SubmissionBits-1-:$bits(transfer_t)];
      always_ff @(posedge clk_i)
        if (rst_n) Kept : assert (4'($unsigned(i)) >= submissions || (!serves_here && is_stored(transfer.end_word, transfer.token, kept[11:2])));
    end
    for (genvar i = 0; i < Channels; i++) begin : gen_ends
      logic at;
      logic [5:0] kept;
      assign at = 1'(dut.u_finish.u_ends.read_q + 2'($unsigned(i)));
      assign kept = dut.u_finish.u_ends.memory[at];
      always_ff @(posedge clk_i) if (rst_n) Waits : assert (2'($unsigned(i)) >= ends || written[kept[5]]);
    end
  end

  // Memory answers the words of transfers that have claimed a message, each once; claims and launches are taken where
  // they are asked for.
  logic [5:0] unanswered = '0;
  always_ff @(posedge clk_i) unanswered <= rst_n ? unanswered + 6'(end_taken_i && end_message) - 6'(end_answered_i) : '0;
  always_comb begin
    assume (!end_answered_i || unanswered != '0);
    assume (!claim_taken_i || claim_valid);
    assume (!launch_taken_i || launch_valid);
  end

  // Messages that wait for their launch, of which the next end's finds space.
  logic [5:0] launching;
  assign launching = dut.u_finish.u_launches.u_waiting.write_q - dut.u_finish.u_launches.u_waiting.read_q;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Launching: assert (launching == dut.u_finish.u_launches.waiting_q && launching <= 6'd32 &&
                         !(dut.u_finish.offers_q && launching == 6'd32));
    end
  end
endmodule
