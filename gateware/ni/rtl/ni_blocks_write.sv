// SPDX-License-Identifier: Apache-2.0
// Packets of ni_blocks on their way to memory, those that go nowhere, and ends of transfers, one burst after the other.
//
// A packet is at most two behind the decision on it. Its words are shifted from their place in the packet to that in
// memory's lines, so it may have a beat more than words; one that is not written takes its words out of the FIFO. An
// end is a word of 8 bytes, and goes between two packets where it waits. Limits: a burst waits for space among the
// answers of memory that are awaited (space_i), for its words, and for memory to take its address and beats, which it
// may do in any order.
module ni_blocks_write #(
  parameter int unsigned TagBits = 8  // of what goes with a packet to its answer
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // a packet is decided on
  input  logic                decides_i,
  input  logic                writes_i,
  input  logic [47:0]         address_i,
  input  logic [9:0]          bytes_i,
  input  logic [TagBits-1:0]  tag_i,
  output logic                full_o,  // two wait
  // its words
  input  logic                word_valid_i,
  input  logic [127:0]        word_i,
  output logic                word_read_o,
  // words of 8 bytes
  input  logic                end_valid_i,
  output logic                end_taken_o,
  input  logic [44:0]         end_word_i,
  input  logic [63:0]         end_value_i,
  // what is written now, and is done
  input  logic                space_i,
  output logic                done_o,  // a packet
  output logic                ends_o,  // it is an end that is written
  output logic                writing_o,  // memory answers it
  output logic [TagBits-1:0]  tag_o,
  // memory
  output logic [47:0]         m_axi_awaddr,
  output logic [7:0]          m_axi_awlen,
  output logic                m_axi_awvalid,
  input  logic                m_axi_awready,
  output logic [127:0]        m_axi_wdata,
  output logic [15:0]         m_axi_wstrb,
  output logic                m_axi_wlast,
  output logic                m_axi_wvalid,
  input  logic                m_axi_wready
);
  typedef struct packed {
    logic writes;
    logic [47:0] address;
    logic [3:0] last_byte;  // of its last beat
    logic empty;
    logic spills;  // it has a beat more than words
    logic [5:0] final_beat;  // to memory, or where it goes nowhere its last word
    logic [TagBits-1:0] tag;
  } job_t;
  job_t job, job_next;
  logic [3:0] shift;
  logic [5:0] beat_q;
  logic [1:0] jobs_q;
  logic ends_q, job_valid, address_sent_q, data_sent_q, address_sent, data_sent, begun, has_word, waits_for_word, data_beat;
  logic [127:0] previous_q;
  logic [15:0] first_bytes, last_bytes;
  exanet_fifo #(.Width($bits(job_t)), .Depth(2)) u_jobs (
    .clk_i, .rst_ni, .write_i(decides_i), .data_i(job_next), .read_i(done_o), .valid_o(job_valid), .data_o(job));
  assign full_o = jobs_q[1];
  assign {ends_o, tag_o} = {ends_q, job.tag};
  assign shift = job.address[3:0];
  always_comb begin
    job_next.writes = writes_i;
    job_next.address = address_i;
    job_next.last_byte = 4'(address_i[3:0] + bytes_i[3:0] - 4'd1);
    job_next.empty = bytes_i == '0;
    job_next.final_beat = 6'((11'(writes_i ? address_i[3:0] : 4'd0) + 11'(bytes_i) - 11'd1) >> 4);
    job_next.spills = job_next.final_beat == 6'((bytes_i + 10'd15) >> 4);
    job_next.tag = tag_i;
  end
  assign first_bytes = 16'hffff << shift;
  assign last_bytes = 16'hffff >> (4'd15 - job.last_byte);
  // ends_q: the end is what is written. It goes before the next packet where it waits.
  assign begun = (ends_q ? 1'b1 : job_valid) && space_i;
  assign writing_o = begun && (ends_q || job.writes);
  assign m_axi_awvalid = writing_o && !address_sent_q;
  assign m_axi_awaddr = ends_q ? {end_word_i[44:1], 4'd0} : {job.address[47:4], 4'd0};
  assign m_axi_awlen = ends_q ? '0 : 8'(job.final_beat);
  // The last beat has no word of its own where the packet's last bytes go beyond a line.
  assign has_word = !job.empty && !(job.spills && beat_q == job.final_beat);
  assign waits_for_word = !ends_q && has_word && !word_valid_i;
  assign m_axi_wvalid = writing_o && !data_sent_q && !waits_for_word;
  assign m_axi_wlast = ends_q || beat_q == job.final_beat;
  assign m_axi_wdata = ends_q ? {end_value_i, end_value_i}
      : 128'({has_word ? word_i : 128'd0, previous_q} >> (8'd128 - {1'b0, shift, 3'd0}));
  always_comb begin
    m_axi_wstrb = (beat_q == '0 ? first_bytes : '1) & (m_axi_wlast ? last_bytes : '1);
    if (ends_q) m_axi_wstrb = end_word_i[0] ? 16'hff00 : 16'h00ff;
  end
  assign data_beat = (m_axi_wvalid && m_axi_wready) || (begun && !ends_q && !job.writes && word_valid_i && has_word);
  assign word_read_o = data_beat && !ends_q && has_word;
  assign address_sent = address_sent_q || !writing_o || (m_axi_awvalid && m_axi_awready);
  assign data_sent = data_sent_q || (data_beat && m_axi_wlast) || (begun && !ends_q && !job.writes && job.empty);
  assign done_o = begun && !ends_q && address_sent && data_sent;
  // The same of an end, which waits for no word.
  assign end_taken_o = ends_q && space_i && (address_sent_q || m_axi_awready) && (data_sent_q || m_axi_wready);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      jobs_q         <= '0;
      beat_q         <= '0;
      address_sent_q <= 1'b0;
      data_sent_q    <= 1'b0;
      ends_q         <= 1'b0;
    end else begin
      jobs_q         <= jobs_q + 2'(decides_i) - 2'(done_o);
      beat_q         <= done_o || end_taken_o ? '0 : beat_q + 6'(data_beat);
      address_sent_q <= begun && writing_o && address_sent && !done_o && !end_taken_o;
      data_sent_q    <= begun && data_sent && !done_o && !end_taken_o;
      // Between bursts alone, in turn.
      if (end_taken_o) ends_q <= 1'b0;
      else if (!ends_q && end_valid_i && (done_o || !job_valid)) ends_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (data_beat) previous_q <= word_i;
    if (done_o || end_taken_o) previous_q <= '0;
  end

  exanet_stream_check #(.Width(48 + 8)) u_check_addresses (
    .clk_i, .rst_ni, .valid_i(m_axi_awvalid), .data_i({m_axi_awaddr, m_axi_awlen}), .ready_i(m_axi_awready));
  exanet_stream_check #(.Width(128 + 16 + 1)) u_check_words (
    .clk_i, .rst_ni, .valid_i(m_axi_wvalid), .data_i({m_axi_wdata, m_axi_wstrb, m_axi_wlast}), .ready_i(m_axi_wready));
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      JobsCounted : assert (jobs_q <= 2'd2 && job_valid == (jobs_q != '0));
      NotBothSent : assert (!(address_sent_q && data_sent_q));
      SentOfAJob : assert (job_valid || ends_q || !(address_sent_q || data_sent_q));
    end
  end
`endif
endmodule
