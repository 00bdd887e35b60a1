// SPDX-License-Identifier: Apache-2.0
// ni_gather with translation, between a sender of packets, a memory that answers its reads with data or any error, and
// a port at any rate; ni_translate is whatever keeps its contract (ni-translate proves that it does). Proved: a read of
// memory goes to the frame that was found for the packet's own domain and page, without a fault, since the last
// invalidation; it stays in that page, and what it reads is what the packet has there. A fence and a request read
// nothing. A packet of which memory has answered some beat with an error, SLVERR or DECERR, or whose page is not to be
// read, is reported once with its node, slot and number, and leaves no frame that is sent. Reads and frames keep the rules of
// AXI (the module's own assertions).
//
// Limits: packets are as ni_transfers makes them; how many beats memory gives to a read is the memory's part of the
// contract.
module gather_formal (
  input logic                     clk_i,
  input logic                     packet_valid_i,
  input ni_pkg::write_packet_t    packet_i,
  input logic                     unread_taken_i,
  input logic                     invalidates_i,
  input logic                     known_i,
  input logic [35:0]              page_frame_i,
  input exanet_pkg::nack_reason_e fault_i,
  input logic                     arready_i,
  input logic [127:0]             rdata_i,
  input logic [1:0]               rresp_i,
  input logic                     rvalid_i,
  input logic                     ready_i
);
  import exanet_pkg::*;
  import ni_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = '0;
    ni_config.translate = 1'b1;
  end
  logic taken, unread_valid, drained, look, want, arvalid, rready, valid, last;
  unread_t unread;
  logic [9:0] domain;
  logic [35:0] page;
  logic [47:0] araddr;
  logic [7:0] arlen;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  ni_gather dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .packet_valid_i(rst_n && packet_valid_i), .packet_taken_o(taken), .packet_i,
    .unread_valid_o(unread_valid), .unread_taken_i(rst_n && unread_taken_i), .unread_o(unread), .invalidates_i, .drained_o(drained),
    .look_o(look), .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i, .fault_i, .m_axi_araddr(araddr),
    .m_axi_arlen(arlen), .m_axi_arvalid(arvalid), .m_axi_arready(arready_i), .m_axi_rdata(rdata_i), .m_axi_rresp(rresp_i),
    .m_axi_rvalid(rst_n && rvalid_i), .m_axi_rready(rready), .m_axis_tvalid(valid), .m_axis_tready(ready_i), .m_axis_tdata(data),
    .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tuser(user));

  // A packet stays until it is taken, and is as ni_transfers makes them. What ni_translate has answered stays until the
  // next look.
  logic waits = 1'b0, answered = 1'b0, hands;
  write_packet_t packet_q = '0;
  logic [35:0] frame_q = '0;
  nack_reason_e fault_q = NackReasonNone;
  logic [5:0] last_line;
  assign last_line = 6'((11'(packet_i.payload[3:0]) + 11'(packet_i.bytes) - 11'd1) >> 4);
  assign hands = has_bytes(packet_i.kind, packet_i.place.fence);
  always_ff @(posedge clk_i) begin
    waits <= rst_n && packet_valid_i && !taken;
    packet_q <= packet_i;
    answered <= rst_n && want && known_i && !look;
    {frame_q, fault_q} <= {page_frame_i, fault_i};
  end
  always_comb begin
    if (waits) assume (packet_valid_i && packet_i == packet_q);
    assume (packet_i.bytes != '0 && packet_i.bytes <= 10'd512 && packet_i.last_line == last_line);
    assume (packet_i.crosses == (9'(packet_i.payload[11:4]) + 9'(last_line) > 9'd255));
    if (answered) assume (known_i && page_frame_i == frame_q && fault_i == fault_q);
    assume (fault_i == NackReasonNone || is_page_fault(fault_i));
  end

  // What was found for the packet that asks: a frame for each of its pages, by looks for its domain and these pages.
  logic clears, looked = 1'b0, found_first = 1'b0, found_second = 1'b0;
  logic [9:0] looked_domain = '0;
  logic [35:0] looked_page = '0, first_frame = '0, second_frame = '0, own_page, next_page;
  write_packet_t asks = '0;  // the packet whose reads are asked for
  assign clears = invalidates_i && drained;
  assign own_page = packet_i.payload[47:12];
  assign next_page = own_page + 36'd1;
  logic finds_first, finds_second;
  assign finds_first = want && known_i && fault_i == NackReasonNone && looked && looked_domain == packet_i.pdid && looked_page == own_page;
  assign finds_second = want && known_i && fault_i == NackReasonNone && looked && looked_domain == packet_i.pdid && looked_page == next_page;
  always_ff @(posedge clk_i) begin
    looked <= rst_n && (look || (looked && !clears));
    if (look) {looked_domain, looked_page} <= {domain, page};
    // A packet that is taken leaves what was found for it; the next one begins anew.
    if (finds_first && 2'(dut.page_q) == 2'd1) first_frame <= page_frame_i;
    if (finds_second && 2'(dut.page_q) == 2'd2) second_frame <= page_frame_i;
    if (!rst_n || clears) {found_first, found_second} <= '0;
    else begin
      if (look && 2'(dut.page_q) == 2'd0) {found_first, found_second} <= '0;
      if (finds_first && 2'(dut.page_q) == 2'd1) found_first <= 1'b1;
      if (finds_second && 2'(dut.page_q) == 2'd2) found_second <= 1'b1;
    end
    if (taken) asks <= packet_i;
  end

  // Memory's answers to the packet whose data come.
  logic bad_q = 1'b0, bad, beat, frame_fails, failed_q = 1'b0, sends_last = 1'b0;
  logic [21:0] dcid_q = '0;
  logic [9:0] slot_q = '0;
  logic [23:0] number_q = '0;
  nack_reason_e reason_q = NackReasonNone;
  assign beat = rst_n && rvalid_i && rready;
  assign bad = bad_q || (beat && (rresp_i == 2'b10 || rresp_i == 2'b11));
  assign frame_fails = dut.frame_done && (bad || dut.frame_fault != NackReasonNone);
  always_ff @(posedge clk_i) begin
    bad_q <= rst_n && bad && !dut.frame_done;
    failed_q <= rst_n && frame_fails;
    sends_last <= rst_n && dut.frame_done && bad;
    {dcid_q, slot_q, number_q, reason_q} <= {dut.frame.dcid, dut.frame.slot, dut.frame.number,
                                             dut.frame_fault != NackReasonNone ? dut.frame_fault : NackReasonMemory};
  end

  logic [5:0] lines;
  assign lines = 6'((11'(asks.payload[3:0]) + 11'(asks.bytes) - 11'd1) >> 4);
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      ReadsWhatWasFound: assert (!arvalid || (dut.rest_q ? found_second && araddr[47:12] == second_frame
                                                         : found_first && araddr[47:12] == first_frame));
      InItsPage: assert (!arvalid || 13'(araddr[11:0]) + {1'b0, arlen, 4'd0} < 13'd4096);
      ItsLines: assert (!arvalid || dut.rest_q || (araddr[11:0] == {asks.payload[11:4], 4'd0} &&
                                                   9'(arlen) == (asks.crosses ? 9'd255 - 9'(asks.payload[11:4]) : 9'(lines))));
      ItsOtherLines: assert (!arvalid || !dut.rest_q || (asks.crosses && araddr[11:0] == '0 &&
                                                         9'(arlen) == 9'(asks.payload[11:4]) + 9'(lines) - 9'd256));
      NothingAtHand: assert (!arvalid || !has_bytes(asks.kind, asks.place.fence));
      Reported: assert (!failed_q || (unread_valid && unread.dcid == dcid_q && unread.slot == slot_q && unread.number == number_q &&
                                      unread.reason == reason_q));
      OnlyFailures: assert (unread_valid == (failed_q || $past(unread_valid && !unread_taken_i)) || !$past(rst_n));
      Hole: assert (!sends_last || (valid && last && keep == 16'h0002));
      Reads: cover (arvalid && dut.rest_q && second_frame != first_frame + 36'd1);
      Errors: cover (sends_last && reason_q == NackReasonMemory);
      Faults: cover (failed_q && reason_q == NackReasonReadOnly);
      Sends: cover (valid && last && keep == 16'h00ff && user.kind == PacketTypeWrite);
    end
  end

  // Helps the proof.
  logic [1:0] state;
  assign state = 2'(dut.page_q);
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      States: assert (state <= 2'd2 && (state == 2'd0 || (packet_valid_i && !dut.asks_q && !hands && looked)));
      LookedFirst: assert (state != 2'd1 || (looked_domain == packet_i.pdid && looked_page == own_page && dut.rest_page_q == next_page));
      LookedSecond: assert (state != 2'd2 || (packet_i.crosses && looked_domain == packet_i.pdid && looked_page == next_page && found_first &&
                                              dut.line_q[43:8] == first_frame));
      Asks: assert (!dut.asks_q || !drained);
      Space: assert (state == 2'd0 || dut.frames_q < 5'd16);
      FirstKept: assert (!dut.asks_q || (found_first && (dut.lines_q == '0 || found_second) && (dut.rest_q ? dut.line_q[43:8] == second_frame
          : dut.line_q[43:8] == first_frame && (dut.lines_q == '0 || dut.rest_page_q == second_frame))));
      AskedLines: assert (!dut.asks_q || (dut.lines_q == (asks.crosses ? lines + asks.payload[9:4] + 6'd1 : 6'd0) &&
                                          dut.near_q == (asks.crosses ? ~asks.payload[9:4] : lines) && (asks.crosses || !dut.rest_q)));
      AskedPlace: assert (!dut.asks_q || dut.line_q[7:0] == (dut.rest_q ? 8'd0 : asks.payload[11:4]));
      AskedPacket: assert (!dut.asks_q || (asks.bytes != '0 && asks.bytes <= 10'd512 && !has_bytes(asks.kind, asks.place.fence) &&
                                           asks.crosses == (9'(asks.payload[11:4]) + 9'(lines) > 9'd255)));
      Taking: assert (state == 2'd0 || (dut.near_q == (packet_i.crosses ? ~packet_i.payload[9:4] : packet_i.last_line) &&
                                        dut.lines_q == (packet_i.crosses ? packet_i.last_line + packet_i.payload[9:4] + 6'd1 : 6'd0) &&
                                        dut.line_q[7:0] == packet_i.payload[11:4]));
      Failed: assert (dut.failed_q == bad_q);
      Flush: assert (!dut.flush_q || (dut.frame_valid && dut.in_memory));
      Bad: assert (!bad_q || (dut.frame_valid && dut.in_memory));
      Counted: assert (dut.frames_q == 5'(dut.u_frames.write_q - dut.u_frames.read_q) && dut.frames_q <= 5'd16 &&
                       dut.frame_valid == (dut.frames_q != '0));
    end
  end
endmodule
