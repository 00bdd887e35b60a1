// SPDX-License-Identifier: Apache-2.0
// Connects a link to its transceivers: the line's code, the channel's bring-up, and FIFOs between the core's clock and
// those of the transceivers. With Lanes 0 the code is 64b/66b on one lane with a bus of 64 bits. Otherwise it is 8b/10b
// on Lanes lanes, each with its part of a word on the bus, ten bits for eight; the lanes share a recovered clock, as
// transceivers with elastic buffers provide it. The three clocks are unrelated; only FIFOs, synchronisers of single bits
// and resets cross between them.
//
// rst_ni acts at once in all three clocks. It is released in step with tx_clk_i and rx_clk_i by synchronisers in here;
// whoever drives it releases it in step with clk_i (exanet_reset_sync), as for the rest of the core.
module exanet_phy #(
  parameter int unsigned LineBits = 64,  // of a word of the link: 64, or 128, which is for lanes of 8b/10b alone
  parameter int unsigned Lanes = 0,      // of 8b/10b: 2 or 4 of a word of 64 bits, 4 or 8 of one of 128
  parameter int unsigned Quiet = 2048,   // cycles: more than the line's latency there and back (phy_channel)
  localparam int unsigned BusBits = Lanes == 0 ? 64 : LineBits / 8 * 10
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // link, and the bring-up ports of exanet_link
  input  logic                link_valid_i,
  input  logic [LineBits-1:0] link_data_i,
  output logic                link_ready_o,
  output logic                link_valid_o,
  output logic [LineBits-1:0] link_data_o,
  output logic                down_o,
  output logic                drain_o,
  input  logic                drained_i,
  output logic                restart_o,
  input  logic                clear_i,
  // a received word was lost in the FIFO, because the core's clock is too slow
  output logic                overflow_o,
  // transceiver
  input  logic                tx_clk_i,
  output logic [BusBits-1:0] tx_data_o,   // lane 0 lowest
  input  logic                rx_clk_i,    // recovered
  input  logic                rx_signal_i,  // 1 while the transceiver receives; of any clock, synchronised here
  input  logic [BusBits-1:0] rx_data_i,
  output logic                rx_locked_o  // the boundaries of words are found; in the recovered clock
);
  if (Lanes == 0 ? LineBits != 64 : (LineBits != 64 && LineBits != 128) || (LineBits != 16 * Lanes && LineBits != 32 * Lanes)) begin : gen_illegal
    $error("exanet_phy: LineBits is 64, with Lanes 0, 2 or 4, or 128, with Lanes 4 or 8");
  end
  if (Quiet < 1) begin : gen_illegal_2
    $error("exanet_phy: Quiet is more than the line's latency there and back");
  end

  logic tx_rst_n, rx_rst_n;
  exanet_reset_sync u_tx_reset (.clk_i(tx_clk_i), .rst_ni, .rst_no(tx_rst_n));
  exanet_reset_sync u_rx_reset (.clk_i(rx_clk_i), .rst_ni, .rst_no(rx_rst_n));

  // Transmit.
  logic tx_valid, tx_control, tx_ready, pcs_valid, pcs_control, pcs_read;
  logic [LineBits-1:0] tx_data, pcs_data;
  exanet_fifo_async #(.Width(LineBits + 1), .Depth(8)) u_tx_fifo (
    .write_clk_i(clk_i), .write_rst_ni(rst_ni), .write_i(tx_valid && tx_ready), .data_i({tx_control, tx_data}), .ready_o(tx_ready),
    .read_clk_i(tx_clk_i), .read_rst_ni(tx_rst_n), .read_i(pcs_read), .valid_o(pcs_valid), .data_o({pcs_control, pcs_data}));

  // The line's code, both ways.
  logic signal, word, word_control;
  logic [LineBits-1:0] word_data;
  exanet_sync u_signal (.clk_i(rx_clk_i), .rst_ni(rx_rst_n), .data_i(rx_signal_i), .data_o(signal));
  if (Lanes == 0) begin : gen_64b66b
    pcs_tx u_pcs_tx (
      .clk_i(tx_clk_i), .rst_ni(tx_rst_n), .valid_i(pcs_valid), .control_i(pcs_control), .data_i(pcs_data), .read_o(pcs_read), .data_o(tx_data_o));
    pcs_rx u_pcs_rx (
      .clk_i(rx_clk_i), .rst_ni(rx_rst_n), .signal_i(signal), .data_i(rx_data_i), .valid_o(word), .control_o(word_control), .data_o(word_data),
      .locked_o(rx_locked_o));
  end else begin : gen_8b10b
    pcs8b10b_tx #(.Lanes(Lanes), .Bytes(LineBits / 8 / Lanes)) u_pcs_tx (
      .clk_i(tx_clk_i), .rst_ni(tx_rst_n), .valid_i(pcs_valid), .control_i(pcs_control), .data_i(pcs_data), .read_o(pcs_read), .data_o(tx_data_o));
    pcs8b10b_rx #(.Lanes(Lanes), .Bytes(LineBits / 8 / Lanes)) u_pcs_rx (
      .clk_i(rx_clk_i), .rst_ni(rx_rst_n), .signal_i(signal), .data_i(rx_data_i), .valid_o(word), .control_o(word_control), .data_o(word_data),
      .locked_o(rx_locked_o));
  end

  // Receive.
  logic beat, beat_here, down_q, asked, came, came_ready, dropped_q, rx_valid, rx_control;
  logic [LineBits-1:0] rx_data;
  exanet_sync u_asked (.clk_i(rx_clk_i), .rst_ni(rx_rst_n), .data_i(down_q), .data_o(asked));
  pcs_words u_words (
    .clk_i(rx_clk_i), .rst_ni(rx_rst_n), .locked_i(rx_locked_o), .asked_i(asked), .valid_i(word), .control_i(word_control), .flags_i(word_data[3:0]),
    .valid_o(came), .lost_i(dropped_q), .beat_o(beat));
  exanet_fifo_async #(.Width(LineBits + 1), .Depth(16)) u_rx_fifo (
    .write_clk_i(rx_clk_i), .write_rst_ni(rx_rst_n), .write_i(came), .data_i({word_control, word_data}), .ready_o(came_ready),
    .read_clk_i(clk_i), .read_rst_ni(rst_ni), .read_i(rx_valid), .valid_o(rx_valid), .data_o({rx_control, rx_data}));
  exanet_sync u_beat (.clk_i, .rst_ni, .data_i(beat), .data_o(beat_here));

  // A loss turns a bit, which the core sees turn.
  logic lost_q, lost_here, lost_before_q;
  always_ff @(posedge rx_clk_i or negedge rx_rst_n) begin
    if (!rx_rst_n) begin
      dropped_q <= 1'b0;
      lost_q    <= 1'b0;
    end else begin
      dropped_q <= came && !came_ready;
      lost_q    <= lost_q ^ dropped_q;
    end
  end
  exanet_sync u_lost (.clk_i, .rst_ni, .data_i(lost_q), .data_o(lost_here));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lost_before_q <= 1'b0;
      down_q        <= 1'b1;
    end else begin
      lost_before_q <= lost_here;
      down_q        <= down_o;
    end
  end
  assign overflow_o = lost_here != lost_before_q;

  logic up;
  phy_channel #(.LineBits(LineBits), .Quiet(Quiet)) u_channel (
    .clk_i, .rst_ni, .link_valid_i, .link_data_i, .link_ready_o, .link_valid_o, .link_data_o, .drain_o, .drained_i, .restart_o, .clear_i,
    .tx_valid_o(tx_valid), .tx_control_o(tx_control), .tx_data_o(tx_data), .tx_ready_i(tx_ready),
    .rx_valid_i(rx_valid), .rx_control_i(rx_control), .rx_data_i(rx_data), .beat_i(beat_here), .up_o(up));
  assign down_o = !up;
endmodule
