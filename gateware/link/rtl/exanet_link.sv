// SPDX-License-Identifier: Apache-2.0
// APElink transmission control: one inter-tile port of the router on one side, the words of a transceiver on the other.
// The line carries 64 bits a cycle, 10 Gb/s at 156.25 MHz, or 128: four lanes of 32, which keep up with the router. The
// transceiver may hold `tx_ready_i` low while it sends words of its own; it cannot stall the receive side. With four lanes
// it aligns their bits, whatever their skew.
module exanet_link #(
  parameter int unsigned LineBits = 64,  // or 128
  parameter int unsigned ReceiveTimeout = 4096,
  parameter int unsigned PayloadDepth = 512,  // of the router's pool behind this port, for each virtual channel
  parameter int unsigned HeaderDepth = 32,
  // payload words of the largest packet: the far end sends a bulk packet only while there is space for two of them
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // router
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o,
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t credit_i[2],  // freed in this node, reported to the far end
  output exanet_pkg::credit_t credit_o[2],  // freed at the far end
  // transceiver
  output logic                tx_valid_o,
  output logic [LineBits-1:0] tx_data_o,
  input  logic                tx_ready_i,
  input  logic                rx_valid_i,
  input  logic [LineBits-1:0] rx_data_i,
  // Bring-up of the channel (exanet_phy). Without an exanet_phy the inputs keep their defaults, and the outputs are open.
  input  logic                down_i = 1'b0,     // the channel is down: no words arrive
  input  logic                drain_i = 1'b0,    // discard outgoing words; finish the current packet and start no other
  output logic                drained_o,         // the line's register is empty, and no packet is in progress
  input  logic                restart_i = 1'b0,  // the far end was reset: set all totals to zero; only while down_i and drained_o
  output logic                clear_o,           // the pools here no longer hold a packet from before the restart
  // registers
  input  logic [11:0]         credit_threshold_i,
  input  logic [15:0]         credit_interval_i,
  input  exanet_pkg::health_t health_i,
  output exanet_pkg::health_t health_o,
  output logic                heard_o,  // a sound control word came
  output exanet_pkg::link_counters_t counters_o
);
  if (PayloadDepth > 512 || HeaderDepth < 2 || HeaderDepth > 64) begin : gen_illegal_1
    $error("a pool of up to 512 payload words and of 2 to 64 headers");
  end
  if ((PayloadDepth & (PayloadDepth - 1)) != 0 || (HeaderDepth & (HeaderDepth - 1)) != 0) begin : gen_illegal_4
    $error("depths are powers of two");
  end
  if (ReceiveTimeout < 64 || (ReceiveTimeout & (ReceiveTimeout - 1)) != 0) begin : gen_illegal_3
    $error("exanet_link: ReceiveTimeout is a power of two, 64 or more");
  end
  if (MostWords < 1 || MostWords > exanet_pkg::MaxPayloadWords || 2 * MostWords > PayloadDepth) begin : gen_illegal_2
    $error("a pool holds two of the largest packets, of 1 to 32 payload words each");
  end
  exanet_pkg::credit_t reclaim[2], reported[2];
  logic [1:0][10:0] sent_words;
  logic [1:0][6:0] sent_headers;
  logic whole;

  // The far end knows nothing of packets from before a restart, and gets no credit when they leave.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_o <= 1'b1;
    else clear_o <= !restart_i && (clear_o || whole);
  end
  for (genvar v = 0; v < 2; v++) begin : gen_reported
    assign reported[v] = clear_o ? credit_i[v] : '0;
  end

  link_tx #(.LineBits(LineBits), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth), .MostWords(MostWords)) u_tx (
    .clk_i, .rst_ni, .flit_i, .release_o, .credit_i(reported), .reclaim_i(reclaim), .drain_i, .drained_o, .restart_i,
    .sent_words_o(sent_words), .sent_headers_o(sent_headers), .health_i, .credit_threshold_i, .credit_interval_i,
    .valid_o(tx_valid_o), .data_o(tx_data_o), .ready_i(tx_ready_i),
    .packets_o(counters_o.tx_packets), .credits_o(counters_o.tx_credits), .stuffed_o(counters_o.tx_stuffed));

  link_rx #(.LineBits(LineBits), .ReceiveTimeout(ReceiveTimeout), .PayloadDepth(PayloadDepth), .HeaderDepth(HeaderDepth)) u_rx (
    .clk_i, .rst_ni, .valid_i(rx_valid_i), .data_i(rx_data_i), .down_i, .restart_i,
    .sent_words_i(sent_words), .sent_headers_i(sent_headers), .whole_o(whole), .unconfirmed_o(counters_o.tx_unconfirmed),
    .flit_o, .freed_i(credit_i), .credit_o, .reclaim_o(reclaim), .health_o, .heard_o,
    .packets_o(counters_o.rx_packets), .bad_headers_o(counters_o.rx_bad_headers),
    .bad_controls_o(counters_o.rx_bad_controls),
    .bad_payloads_o(counters_o.rx_bad_payloads), .cut_packets_o(counters_o.rx_cut_packets),
    .reclaimed_o(counters_o.rx_reclaimed), .stray_words_o(counters_o.rx_stray_words));
endmodule
