// SPDX-License-Identifier: Apache-2.0
// Two channels of transfers to two nodes, of any processes and reads, with any answers, ends of reads and reports. Proved
// without bound: an answer that the unit takes for one of a block under way has the block's number, and comes from the
// node that the block was sent to.
//
// What the unit keeps of a transfer is its node's place in the tables of peers. With these shifts a node's place is its
// address. That the place that an order has is that of its node is proved here from the store on. What is read from a
// FIFO was written to it before (the proof `fifo`): so what is asserted of each entry that is written is assumed of each
// that is read.
module answers_formal (
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
  localparam int unsigned SlotBits = 3;
  localparam logic [2:0] Admit = 3'd0, Emit = 3'd1, Begin = 3'd2, Answer = 3'd3;  // steps of ni_transfers
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = config_i;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
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

  logic [Channels-1:0] written = '0;  // channels that a transfer has been given

  // ni_blocks gives the places of nodes that read here; ni_gather reports packets of transfers, whose nodes have a place.
  always_comb begin
    assume (22'(serve_i.peer) == serve_i.dcid && serve_i.dcid[21:1] == '0);
    assume (read_end_i.peer[11:1] == '0);
    assume (unread_i.dcid[21:1] == '0);
    // What FIFOs give.
    assume (!dut.u_submit.own_valid ||
            (22'(dut.u_submit.own_peer) == dut.u_submit.own_submission.transfer.dcid && !dut.u_submit.own_submission.serves));
    assume (!dut.u_submit.serve_waits || (22'(dut.u_submit.serve.peer) == dut.u_submit.serve.dcid && dut.u_submit.serve.dcid[21:1] == '0));
    assume (!dut.begin_taken || written[dut.begin_channel]);
    assume (!dut.emit_taken || written[dut.emit_slot[SlotBits-1]]);
  end

  // The answer that a step takes, as it came, in the step's second and third cycle.
  logic [21:0] from1, from2;
  logic [23:0] number1, number2;
  always_ff @(posedge clk_i) begin
    if (dut.starts) begin
      from1 <= read_end_taken ? 22'(read_end_i.peer) : unread_taken ? unread_i.dcid : answer_i.source_dcid;
      number1 <= read_end_taken ? read_end_i.end_of.number : unread_taken ? unread_i.number : answer_i.number;
    end
    if (dut.phase_q == 2'd1) {from2, number2} <= {from1, number1};
  end

  // What is kept of a channel: whether the place of its order is that of the node, and whether there is none.
  localparam int unsigned OrderBits = $bits(ni_pkg::transfer_order_t) + 1;
  localparam int unsigned StateBits = $bits(ni_pkg::transfer_state_t);
  logic [Channels-1:0] placed, idle;
  ni_pkg::transfer_state_t kept;
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      placed[c] = 22'(dut.u_orders.memory[c][0]) == dut.u_orders.memory[c][OrderBits-1-:22];
      kept = dut.u_states.memory[c][StateBits-1:0];
      idle[c] = kept == '0;
    end
  end
  logic slot1_at, slot2_at;
  assign slot1_at = dut.slot1_q[SlotBits-1];
  assign slot2_at = dut.slot2_q[SlotBits-1];
  always_ff @(posedge clk_i) begin
    if (dut.admits3_q) written[dut.channel3_q] <= 1'b1;
    Reset: assert (rst_n || written == '0);
    if (rst_n) begin
      // The property.
      FromItsNode: assert (!(dut.phase_q == 2'd2 && dut.fits) || dut.order2_q.order.dcid == from2);
      OfItsNumber: assert (!(dut.phase_q == 2'd2 && dut.fits) || dut.block2_q.psn == number2);
      Taken: assert (!(dut.starts && 3'(dut.step) == Answer) || read_end_taken || unread_taken || (answer_valid_i && tready));
      Fits: cover (dut.phase_q == 2'd2 && dut.fits);
      // Helps the proof: orders, from the store to the table.
      StoredPlace: assert (!dut.u_submit.claims || 22'(dut.u_submit.peer) == dut.u_submit.submission_next.transfer.dcid);
      Own: assert (!dut.u_submit.submission_next.serves);
      FirstPlace: assert (dut.phase_q != 2'd1 || 3'(dut.step1_q) != Admit ||
                          22'(dut.submission_peer1_q) == dut.submission1_q.transfer.dcid);
      SecondPlace: assert (dut.phase_q != 2'd2 || !dut.admit2_q || 22'(dut.order2_q.peer) == dut.order2_q.order.dcid);
      ThirdPlace: assert (!dut.admits3_q || 22'(dut.order3_q.peer) == dut.order3_q.order.dcid);
      // Steps, and what they read.
      Phases: assert (dut.phase_q != 2'd3 && (!dut.step3_q || dut.phase_q == 2'd0) && (!dut.clears || dut.phase_q == 2'd0));
      Admits: assert (!dut.admits3_q || dut.step3_q);
      KindComes: assert (dut.phase_q != 2'd1 || 3'(dut.step1_q) <= 3'd4);
      OneKind: assert (dut.phase_q != 2'd2 || $onehot({dut.admit2_q, dut.begin2_q, dut.emit2_q, dut.answer2_q, dut.scan2_q}));
      Begins1: assert (dut.phase_q != 2'd1 || !(3'(dut.step1_q) == Begin || 3'(dut.step1_q) == Emit) || written[slot1_at]);
      Begins2: assert (dut.phase_q != 2'd2 || !(dut.begin2_q || dut.emit2_q) || written[slot2_at]);
      Order1: assert (dut.phase_q != 2'd1 || !written[slot1_at] || 22'(dut.order1.peer) == dut.order1.order.dcid);
      Order2: assert (dut.phase_q != 2'd2 || !written[slot2_at] || 22'(dut.order2_q.peer) == dut.order2_q.order.dcid);
      State1: assert (dut.phase_q != 2'd1 || written[slot1_at] || dut.state1.transfer == '0);
      State2: assert (dut.phase_q != 2'd2 || dut.admit2_q || written[slot2_at] || (dut.state2_q.transfer == '0 && !dut.facts2_q.more));
      State3: assert (!dut.step3_q || dut.admits3_q || written[dut.channel3_q] || dut.state3_q.transfer == '0);
      Queued: assert (!(dut.begin_pushes_q || dut.emit_pushes_q) || dut.admits3_q || written[dut.channel3_q]);
      MayBegin: assert (dut.phase_q != 2'd2 || !dut.facts2_q.may_begin || dut.admit2_q || dut.begin2_q);
      // Answers.
      Came: assert (dut.phase_q != 2'd1 || 3'(dut.step1_q) != Answer || !dut.answer1_q.known || 22'(dut.answer1_q.from) == from1);
      Number: assert (dut.phase_q != 2'd1 || 3'(dut.step1_q) != Answer || dut.answer1_q.psn == number1);
      Compared: assert (dut.phase_q != 2'd2 || !dut.facts2_q.fits ||
                        (dut.answer2_q && 22'(dut.order2_q.peer) == from2 && dut.block2_q.psn == number2));
      Shifts: assert (dut.u_submit.u_peer.no_low_q == '1 << 1 && dut.u_submit.u_peer.no_y_q == '1 && dut.u_submit.u_peer.no_z_q == '1 &&
                      dut.u_answer_peer.no_low_q == '1 << 1 && dut.u_answer_peer.no_y_q == '1 && dut.u_answer_peer.no_z_q == '1);
    end
  end
  for (genvar c = 0; c < Channels; c++) begin : gen_channel
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Placed: assert (!written[c] || placed[c]);
        Idle: assert (written[c] || idle[c] || dut.clear_q <= 4'($unsigned(c)));
      end
    end
  end
endmodule
