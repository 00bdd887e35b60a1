// SPDX-License-Identifier: Apache-2.0
// Packets of transfers as frames of an ni_port: reads the payload of each from memory, bytes from any address on, and
// puts them at the frame's first.
//
// Reads of later packets are asked for while the data of earlier ones come, 16 packets ahead. A read does not cross 4
// KiB: a packet may take two. Memory answers in order. A packet whose read memory answers with an error gets the shape
// of a frame that ni_inject does not send, and is reported. A fence and a request have their payload with them, and are
// frames between the others.
//
// Where addresses are translated a packet stays until its page, or both of them, are known, and those behind it do. One
// of which a page is not to be read asks for nothing; it takes its turn among the frames, and is reported.
module ni_gather (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  exanet_pkg::ni_config_t config_i,
  input  logic                  packet_valid_i,
  output logic                  packet_taken_o,
  input  ni_pkg::write_packet_t packet_i,
  output logic                  unread_valid_o,
  input  logic                  unread_taken_i,
  output ni_pkg::unread_t       unread_o,
  // translation
  input  logic                  invalidates_i,  // nothing more is taken
  output logic                  drained_o,  // nothing waits for memory
  output logic                  look_o,
  output logic [9:0]            domain_o,
  output logic [35:0]           page_o,
  output logic                  want_o,
  input  logic                  known_i,
  input  logic [35:0]           page_frame_i,
  input  exanet_pkg::nack_reason_e fault_i,
  // memory
  output logic [47:0]           m_axi_araddr,
  output logic [7:0]            m_axi_arlen,
  output logic                  m_axi_arvalid,
  input  logic                  m_axi_arready,
  input  logic [127:0]          m_axi_rdata,
  input  logic [1:0]            m_axi_rresp,
  input  logic                  m_axi_rvalid,
  output logic                  m_axi_rready,
  // frames
  output logic                  m_axis_tvalid,
  input  logic                  m_axis_tready,
  output logic [127:0]          m_axis_tdata,
  output logic [15:0]           m_axis_tkeep,
  output logic                  m_axis_tlast,
  output exanet_pkg::ni_user_t  m_axis_tuser
);
  import exanet_pkg::*;
  import ni_pkg::*;
  localparam int unsigned Ahead = 16;

  // --- Pages, then reads that are asked for: lines up to the end of the page, then the rest.
  typedef enum logic [1:0] { None, First, Second } page_e;
  page_e page_q;  // which one is awaited
  logic [5:0] lines_q, near_q;  // of the second read, and of the first but one
  logic [43:0] line_q;
  logic [35:0] rest_page, rest_page_q;
  logic asks_q, rest_q, asked;  // rest_q: the second one
  logic [4:0] frames_q;
  logic frame_valid, frame_done, hands, translates, can_take, resolved;
  write_packet_t frame;
  nack_reason_e fault, frame_fault;
  logic [5:0] last_word;  // of the frame
  assign hands = has_bytes(packet_i.kind, packet_i.place.fence);
  assign translates = config_i.translate && !hands;
  assign can_take = packet_valid_i && page_q == None && !asks_q && frames_q < 5'(Ahead) && !invalidates_i;
  assign rest_page = packet_i.payload[47:12] + 36'd1;
  assign fault = page_q != None ? fault_i : NackReasonNone;
  assign resolved = page_q != None && known_i && (page_q == Second || !packet_i.crosses || fault != NackReasonNone);
  assign packet_taken_o = (can_take && !translates) || resolved;
  assign look_o = (can_take && translates) || (page_q == First && known_i && !resolved);
  assign domain_o = packet_i.pdid;
  assign page_o = page_q == First ? rest_page_q : packet_i.payload[47:12];
  assign want_o = page_q != None;
  assign drained_o = page_q == None && !asks_q && frames_q == '0;
  assign m_axi_arvalid = asks_q;
  assign m_axi_araddr = {line_q, 4'd0};
  assign m_axi_arlen = rest_q ? 8'(lines_q) - 8'd1 : 8'(near_q);
  assign asked = m_axi_arvalid && m_axi_arready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      page_q   <= None;
      asks_q   <= 1'b0;
      rest_q   <= 1'b0;
      frames_q <= '0;
    end else begin
      if (resolved) page_q <= None;
      else if (look_o) page_q <= page_q == First ? Second : First;
      frames_q <= frames_q + 5'(packet_taken_o) - 5'(frame_done);
      asks_q   <= (packet_taken_o && !hands && fault == NackReasonNone) || (asks_q && !(asked && (rest_q || lines_q == '0)));
      rest_q   <= asks_q && (rest_q || (asked && lines_q != '0)) && !(rest_q && asked);
    end
  end
  always_ff @(posedge clk_i) begin
    if (can_take) begin
      line_q <= packet_i.payload[47:4];
      near_q <= packet_i.crosses ? ~packet_i.payload[9:4] : packet_i.last_line;
      lines_q <= packet_i.crosses ? packet_i.last_line + packet_i.payload[9:4] + 6'd1 : '0;
      rest_page_q <= rest_page;
    end else if (page_q == First && known_i) begin
      line_q[43:8] <= page_frame_i;
    end else if (page_q == Second && known_i) begin
      rest_page_q <= page_frame_i;
    end else if (asked) begin
      line_q <= {rest_page_q, 8'd0};
    end
  end
  exanet_fifo #(.Width($bits(write_packet_t) + 10), .Depth(Ahead)) u_frames (
    .clk_i, .rst_ni, .write_i(packet_taken_o), .data_i({packet_i, fault, 6'((packet_i.bytes - 10'd1) >> 4)}), .read_i(frame_done),
    .valid_o(frame_valid), .data_o({frame, frame_fault, last_word}));

  // --- Data that come: a word of a frame is out of two beats, where the address is not one of a line.
  logic [3:0] skip;
  logic [5:0] beat_q, word_q;
  logic at_hand, in_memory, gives_up, space, flush_q, beat, emits, final_word, failed_q, failed;
  logic [127:0] previous_q, low, high;
  logic [9:0] bytes_left;
  assign at_hand = has_bytes(frame.kind, frame.place.fence);
  assign in_memory = !at_hand && frame_fault == NackReasonNone;
  assign gives_up = frame_valid && frame_fault != NackReasonNone && !unread_valid_o;
  assign skip = at_hand ? '0 : frame.payload[3:0];
  assign space = !m_axis_tvalid || m_axis_tready;
  assign failed = failed_q || (beat && m_axi_rresp[1]);
  assign m_axi_rready = frame_valid && in_memory && !flush_q && space && !unread_valid_o;
  assign beat = m_axi_rvalid && m_axi_rready;
  assign emits = (beat && (skip == '0 || beat_q != '0 || frame.last_line == '0)) ||
      ((flush_q || (frame_valid && at_hand)) && space && !unread_valid_o);
  assign low = at_hand ? {32'd0, frame.payload[79:48], frame.place.fence ? frame.payload[63:48] : 16'd0, frame.payload[47:0]}
      : flush_q || (skip != '0 && beat_q != '0) ? previous_q : m_axi_rdata;
  assign high = m_axi_rdata;
  assign final_word = word_q == last_word;
  assign frame_done = (emits && final_word) || gives_up;
  assign bytes_left = frame.bytes - {word_q, 4'd0};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q         <= '0;
      word_q         <= '0;
      flush_q        <= 1'b0;
      failed_q       <= 1'b0;
      unread_valid_o <= 1'b0;
      m_axis_tvalid  <= 1'b0;
      m_axis_tkeep   <= '0;
      m_axis_tlast   <= 1'b0;
      m_axis_tuser   <= '0;
    end else begin
      if (frame_done) beat_q <= '0;
      else if (beat) beat_q <= beat_q + 1'b1;
      if (emits) word_q <= final_word ? '0 : word_q + 1'b1;
      // What is left behind the last beat is a word of its own.
      if (frame_done) flush_q <= 1'b0;
      else if (beat && beat_q == frame.last_line) flush_q <= 1'b1;
      failed_q <= failed && !frame_done;
      if (gives_up || (frame_done && failed)) unread_valid_o <= 1'b1;
      else if (unread_taken_i) unread_valid_o <= 1'b0;
      if (emits) begin
        m_axis_tvalid <= 1'b1;
        for (int unsigned i = 0; i < 16; i++) m_axis_tkeep[i] <= bytes_left > 10'(i);
        if (final_word && failed) m_axis_tkeep <= 16'h0002;  // a hole
        m_axis_tlast <= final_word;
        m_axis_tuser <= '{dmadd: frame.target, dcid: frame.dcid, pdid: frame.pdid, source_dcid: config_i.dcid, kind: frame.kind,
                          high_priority: 1'b0, multicast: 1'b0, number: frame.number, source_pdid: frame.pdid, channel: frame.slot,
                          block: frame.place, reason: '0, last: frame.final_packet, ack_request: frame.final_packet, reserved: '0};
      end else if (m_axis_tready) begin
        m_axis_tvalid <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (beat) previous_q <= m_axi_rdata;
    if (emits) m_axis_tdata <= 128'({high, low} >> {skip, 3'd0});
    if (frame_done)
      unread_o <= '{dcid: frame.dcid, slot: frame.slot, number: frame.number, reason: gives_up ? frame_fault : NackReasonMemory};
  end

  exanet_stream_check #(.Width(48 + 8)) u_check_reads (
    .clk_i, .rst_ni, .valid_i(m_axi_arvalid), .data_i({m_axi_araddr, m_axi_arlen}), .ready_i(m_axi_arready));
  exanet_stream_check #(.Width(128 + 16 + 1 + $bits(ni_user_t))) u_check_frames (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}), .ready_i(m_axis_tready));
endmodule
