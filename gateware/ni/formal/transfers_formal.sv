// SPDX-License-Identifier: Apache-2.0
// ni_transfers with translation, under any stores, answers, reads and refusals; ni_translate is whatever keeps its contract (ni-translate proves that it
// does). In so many cycles from the reset: the word that tells a transfer's end goes to the frame that the last look has found, which was for the domain of
// the context that has handed the transfer over and for the page that this one names, and since the last invalidation; it goes to no page with a fault, and
// while it is offered it stays as it is, which ni-blocks counts on. The contract of ni_translate is kept.
//
// A transfer's token is any, comes back with its end, and nothing looks at it: here it says which domain and page are its own, and so the end does. Six bits
// of the page are in it; the others are bits as these.
module transfers_formal (
  input logic                            clk_i,
  input logic                            context_i,
  input logic                            store_i,
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
  input logic                            end_taken_i
);
  import exanet_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  ni_config_t ni_config;
  always_comb begin
    ni_config = '0;
    ni_config.y_shift = 4'd1;
    ni_config.z_shift = 4'd1;
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
  ni_transfers #(.Contexts(2), .Channels(2), .Peers(2), .Window(2)) dut (
    .clk_i, .rst_ni(rst_n), .config_i(ni_config), .ready_o(up), .context_i, .store_i(rst_n && store_i), .line_i, .data_i, .strobe_i, .pdid_i,
    .status_at_i(1'b0), .status_o(status), .serves_o(serves), .serve_valid_i(rst_n && serve_valid_i), .serve_i,
    .read_end_valid_i(rst_n && read_end_valid_i), .read_end_taken_o(read_end_taken), .read_end_i, .packet_valid_o(packet_valid),
    .packet_taken_i(rst_n && packet_taken_i), .packet_o(packet), .unread_valid_i(rst_n && unread_valid_i), .unread_taken_o(unread_taken), .unread_i,
    .s_axis_tvalid(rst_n && answer_valid_i), .s_axis_tready(tready), .s_axis_tuser(answer_i), .invalidates_i, .drained_o(drained), .look_o(look),
    .domain_o(domain), .page_o(page), .want_o(want), .known_i, .page_frame_i, .fault_i, .end_valid_o(end_valid),
    .end_taken_i(rst_n && end_taken_i), .end_word_o(end_word), .end_value_o(end_value), .packets_o(packets), .ended_o(ended),
    .repeated_o(repeated), .stale_o(stale));

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
    if (store_i && line_i == 8'd9) assume (stored.token == {stored.end_word[14:9], pdid_i});
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
endmodule
