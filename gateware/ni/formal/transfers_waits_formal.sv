// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: ni_transfers with ni_gather, from answers, which are priority, to frames of blocks, which are
// bulk, and which may never be taken. Under any stores, answers, refusals, registers, memory and translation, which may
// never answer either, and ends of reads that come as ni_blocks hands them over, one in Apart cycles at most
// (blocks_waits_formal). Proved, once the tables are clear: an end of a read waits for five cycles at most, for the
// step that is under way and a scan; an answer for 277 at most, as packets that could not be read go before it, of
// which there are no more than those that have left the steps and not the gather: none is sent while an answer waits.
// So neither waits for anything outside of the unit.
module transfers_waits_formal #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Channels = 256,
  parameter int unsigned Peers = 4096,
  localparam int unsigned ContextBits = $clog2(Contexts)
) (
  input logic                            clk_i,
  input exanet_pkg::ni_config_t          config_i,
  input logic [ContextBits-1:0]          context_i,
  input logic                            store_i,
  input logic                            context_write_i,
  input logic [7:0]                      line_i,
  input logic [127:0]                    data_i,
  input logic [15:0]                     strobe_i,
  input logic [9:0]                      pdid_i,
  input logic                            serve_valid_i,
  input ni_pkg::serve_t                  serve_i,
  input logic                            read_end_i,
  input ni_pkg::read_end_t               read_end_value_i,
  input logic                            answer_i,
  input exanet_pkg::ni_user_t            user_i,
  input logic                            end_invalidates_i,
  input logic                            end_known_i,
  input logic [35:0]                     end_frame_i,
  input exanet_pkg::nack_reason_e        end_fault_i,
  input logic                            end_taken_i,
  input logic                            end_answered_i,
  input logic                            claim_taken_i,
  input logic                            claimed_i,
  input logic                            launch_taken_i,
  input logic                            invalidates_i,
  input logic                            known_i,
  input logic [35:0]                     page_frame_i,
  input exanet_pkg::nack_reason_e        fault_i,
  input logic                            arready_i,
  input logic [127:0]                    rdata_i,
  input logic [1:0]                      rresp_i,
  input logic                            rvalid_i,
  input logic                            ready_i
);
  import exanet_pkg::*;
  localparam logic [3:0] Apart = 4'd6;  // cycles between two ends of reads
  localparam logic [3:0] MostEnd = 4'd5;
  localparam logic [8:0] Most = 9'd277;
  // steps of ni_transfers; those before Answer send
  localparam logic [2:0] Emit = 3'd1, Begin = 3'd2, Answer = 3'd3, Scan = 3'd4;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, serves, packet_valid, packet_taken, unread_valid, unread_taken, answers_taken, ends_drained, ends_look, ends_want, end_valid;
  logic drained, look, want, arvalid, rready, valid, last, ends, ends_taken, offered;
  logic [9:0] ends_domain, domain;
  logic [35:0] ends_page, page;
  logic [44:0] end_word;
  logic [47:0] araddr;
  logic [7:0] arlen;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  transfer_end_t end_value;
  ni_transfer_status_t status;
  ni_pkg::write_packet_t packet;
  ni_pkg::unread_t unread;
  logic [31:0] packets, ended, repeated, stale;
  assign offered = rst_n && answer_i;
  assign ends = rst_n && read_end_i;
  logic claim_valid, launch_valid, end_message;
  logic [ContextBits+1:0] claim_slot, launch_slot;
  logic [9:0] claim_pdid;
  nack_reason_e claim_reason;
  ni_transfers #(.Contexts(Contexts), .Channels(Channels), .Peers(Peers)) dut (
    .clk_i, .rst_ni(rst_n), .config_i, .ready_o(up), .context_i, .store_i(rst_n && store_i), .context_write_i, .line_i, .data_i, .strobe_i, .pdid_i,
    .status_at_i('0), .status_o(status), .serves_o(serves), .serve_valid_i(rst_n && serve_valid_i), .serve_i,
    .read_end_valid_i(ends), .read_end_taken_o(ends_taken), .read_end_i(read_end_value_i), .packet_valid_o(packet_valid),
    .packet_taken_i(packet_taken), .packet_o(packet), .unread_valid_i(unread_valid), .unread_taken_o(unread_taken), .unread_i(unread),
    .s_axis_tvalid(offered), .s_axis_tready(answers_taken), .s_axis_tuser(user_i), .invalidates_i(end_invalidates_i), .drained_o(ends_drained),
    .look_o(ends_look), .domain_o(ends_domain), .page_o(ends_page), .want_o(ends_want), .known_i(end_known_i), .page_frame_i(end_frame_i),
    .fault_i(end_fault_i), .end_valid_o(end_valid), .end_taken_i(rst_n && end_taken_i), .end_word_o(end_word), .end_value_o(end_value),
    .end_message_o(end_message), .end_answered_i(rst_n && end_answered_i), .launch_valid_o(launch_valid),
    .launch_taken_i(rst_n && launch_taken_i), .launch_slot_o(launch_slot), .claim_valid_o(claim_valid),
    .claim_taken_i(rst_n && claim_taken_i), .claim_slot_o(claim_slot), .claim_pdid_o(claim_pdid), .claim_reason_o(claim_reason), .claimed_i,
    .packets_o(packets), .ended_o(ended), .repeated_o(repeated), .stale_o(stale));
  ni_gather gather (
    .clk_i, .rst_ni(rst_n), .config_i, .packet_valid_i(packet_valid), .packet_taken_o(packet_taken), .packet_i(packet),
    .unread_valid_o(unread_valid), .unread_taken_i(unread_taken), .unread_o(unread), .invalidates_i, .drained_o(drained), .look_o(look),
    .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i, .fault_i, .m_axi_araddr(araddr), .m_axi_arlen(arlen),
    .m_axi_arvalid(arvalid), .m_axi_arready(arready_i), .m_axi_rdata(rdata_i), .m_axi_rresp(rresp_i), .m_axi_rvalid(rvalid_i),
    .m_axi_rready(rready), .m_axis_tvalid(valid), .m_axis_tready(ready_i), .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last),
    .m_axis_tuser(user));

  // What is offered stays; the next end comes Apart cycles behind the last one at the earliest.
  logic clears, answer_stays = 1'b0, end_stays = 1'b0;
  logic [3:0] since = '0;  // cycles since an end was offered first
  logic [8:0] waited = '0;  // cycles, of the answer that is offered
  logic [3:0] end_waited = '0;
  assign clears = dut.clears;
  always_ff @(posedge clk_i) begin
    answer_stays <= offered && !answers_taken;
    end_stays    <= ends && !ends_taken;
    if (!rst_n || (ends && !end_stays)) since <= 4'd1;
    else if (since != Apart) since <= since + 4'd1;
    waited     <= offered && !answers_taken && !clears ? waited + 9'(waited != '1) : '0;
    end_waited <= ends && !ends_taken && !clears ? end_waited + 4'(end_waited != '1) : '0;
  end
  always_comb begin
    if (answer_stays) assume (answer_i);
    if (end_stays) assume (read_end_i);
    if (clears) assume (!read_end_i);
    if (read_end_i && !end_stays) assume (since == Apart);
  end

  // Helps the proof. What goes before an answer, in cycles: the rest of the step that is under way, and three for each
  // scan, end of a read and packet that could not be read. A scan comes every 16 cycles and an end every 6, so that 16
  // cycles of work are at least 5 less in each cycle.
  logic [1:0] phase, rest;
  logic pending, to_send, wraps;
  logic [3:0] clock;
  logic [3:0] unsent;
  logic [4:0] frames;
  logic [5:0] unread_left;
  logic [11:0] left;
  logic [3:0] end_left, end_left_q = '0;
  logic [11:0] left_q = '0;
  logic counts_q = 1'b0, end_counts_q = 1'b0;
  always_ff @(posedge clk_i) begin
    {left_q, end_left_q} <= {left, end_left};
    counts_q     <= offered && !answers_taken && !clears;
    end_counts_q <= ends && !ends_taken && !clears;
  end
  assign phase = dut.phase_q;
  assign rest = phase == 2'd0 ? 2'd0 : 2'd3 - phase;
  assign pending = dut.scan_pending_q;
  assign clock = dut.scan_clock_q;
  assign to_send = (phase == 2'd1 && dut.space1_q && 3'(dut.step1_q) < Answer) || (phase == 2'd2 && dut.space2_q && !(dut.answer2_q || dut.scan2_q));
  assign unread_left = 6'(dut.packets_q) + 6'(to_send) + 6'(gather.frames_q) + 6'(unread_valid);
  assign left = 12'd16 * (12'(rest) + 12'd3 * (12'(unread_left) + 12'(pending) + 12'(ends))) + 12'd3 * 12'(clock) +
      12'd8 * (ends && !end_stays ? 12'd0 : 12'(since));
  assign wraps = 5'(clock) + 5'(rest) >= 5'd16;  // before the step that is under way is over
  assign end_left = 4'(rest) + (pending || wraps ? 4'd3 : 4'd0);
  assign unsent = dut.u_packets.write_q - dut.u_packets.read_q;
  assign frames = gather.u_frames.write_q - gather.u_frames.read_q;
  always_ff @(posedge clk_i) begin
    Begins: assert (rst_n || {waited, end_waited, since, answer_stays, end_stays, counts_q, end_counts_q} == '0);
    if (rst_n) begin
      Taken: assert (waited <= Most);
      EndTaken: assert (end_waited <= MostEnd);
      Left: assert (clears || !answer_stays || 12'd5 * 12'(waited) + left <= 12'd1386);
      EndLeft: assert (clears || !ends || end_waited + end_left <= MostEnd);
      Less: assert (!counts_q || left + 12'd5 <= left_q);
      EndLess: assert (!end_counts_q || end_left < end_left_q);
      Clear: assert (!clears || (phase == 2'd0 && clock == '0 && !pending && waited == '0 && end_waited == '0 && !end_stays));
      First: assert ((answer_stays || waited == '0) && (end_stays || end_waited == '0));
      Phases: assert (phase != 2'd3 && (!dut.step3_q || phase == 2'd0) && (dut.step3_q || !dut.sends3_q));
      Pending: assert (!pending || 5'(clock) + 5'(rest) <= 5'd6);
      Sends: assert (!to_send || dut.packets_q < 4'd8);
      Emits: assert (phase != 2'd1 || dut.space1_q || (3'(dut.step1_q) != Emit && 3'(dut.step1_q) != Begin));
      EmitsThen: assert (phase != 2'd2 || dut.space2_q || !(dut.emit2_q || dut.begin2_q));
      KindComes: assert (phase != 2'd1 || 3'(dut.step1_q) <= Scan);
      Kind: assert (phase != 2'd2 || $onehot({dut.admit2_q, dut.begin2_q, dut.emit2_q, dut.answer2_q, dut.scan2_q}));
      KindFits: assert (phase != 2'd2 || (
          (!dut.facts2_q.may_begin || dut.admit2_q || dut.begin2_q) && (!dut.facts2_q.may_emit || dut.emit2_q) &&
          (!dut.facts2_q.fits || dut.answer2_q)));
      Packets: assert (dut.packets_q <= 4'd8 && unsent <= 4'd8 && dut.packets_q == unsent + 4'(dut.sends3_q));
      PacketValid: assert (packet_valid == (unsent != '0));
      Frames: assert (gather.frames_q <= 5'd16 && gather.frames_q == frames && gather.frame_valid == (frames != '0));
      Page: assert (2'(gather.page_q) == 2'd0 || (packet_valid && gather.frames_q < 5'd16));
      Flush: assert (!gather.flush_q || (gather.frame_valid && gather.in_memory));
      Since: assert (since != '0 && since <= Apart && (!end_stays || since == end_waited));
      EndWaits: cover (ends_taken && end_waited == 4'd2);
      BehindEnd: cover (offered && answers_taken && waited >= 9'd5);
      PortStands: cover (offered && answers_taken && waited >= 9'd5 && valid && !ready_i && ended == '0);
    end
  end
endmodule
