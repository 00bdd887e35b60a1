// SPDX-License-Identifier: Apache-2.0
// Brings the channel of a link up, reports when it is down, and restarts both ends when one of them was reset. In the
// core's clock.
//
// Each end reports its flags to the other (phy_pkg), in the stream of words, whenever they change and every `Refresh`
// cycles; these control words are the gaps that absorb differences of clocks. The channel is up while words arrive, both
// ends hear each other, and neither asks for a restart. While it is down, the link's words wait.
//
// An end that was reset asks for a restart. The other end discards the packet that it is sending, returns the credits of
// all packets that it has sent, sets its totals to zero, and answers. The end that asked accepts no answer for `Quiet`
// cycles: by then nothing from before its reset is on the line. Space for new packets is free when the earlier packets
// have left the pools, and only then may the far end send (`clear`). It would wait for that space anyway, so this adds
// no dependency, and routes stay free of cycles. A line that was lost without a reset continues: the totals of the next
// control words correct what is missing.
module phy_channel #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned Refresh = 1024,
  parameter int unsigned Silence = 48,  // cycles without a beat of eight words after which the line counts as silent
  parameter int unsigned Quiet = 2048   // more than the line's round-trip latency
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // link
  input  logic                link_valid_i,
  input  logic [LineBits-1:0] link_data_i,
  output logic                link_ready_o,
  output logic                link_valid_o,
  output logic [LineBits-1:0] link_data_o,
  output logic                drain_o,      // the words that the link sends are discarded; it stops after a packet
  input  logic                drained_i,
  output logic                restart_o,    // the link sets its totals to zero
  input  logic                clear_i,
  // transmit and receive FIFOs
  output logic                tx_valid_o,
  output logic                tx_control_o,
  output logic [LineBits-1:0] tx_data_o,
  input  logic                tx_ready_i,
  input  logic                rx_valid_i,
  input  logic                rx_control_i,
  input  logic [LineBits-1:0] rx_data_i,
  input  logic                beat_i,
  output logic                up_o
);
  import phy_pkg::*;
  localparam int unsigned SilenceBits = $clog2(Silence + 1), QuietBits = $clog2(Quiet + 1), RefreshBits = $clog2(Refresh);

  logic beat_q, hears_q, known_q, restart_q, begun_q, fresh_q, due;
  logic [SilenceBits-1:0] silence_q;
  logic [QuietBits-1:0] quiet_q;
  logic [RefreshBits-1:0] refresh_q;
  flags_t flags, reported_q, far_q, came;
  assign came = flags_t'(rx_data_i[3:0]);

  assign flags = '{hears: known_q, restart: restart_q, begun: begun_q, clear: clear_i};
  assign up_o = known_q && far_q.hears && !restart_q && !far_q.restart;
  assign drain_o = known_q && far_q.restart && !fresh_q;
  assign restart_o = drain_o && drained_i;

  // Flags go before words: behind them stands what they say.
  assign due = flags != reported_q || refresh_q == '0;
  assign tx_valid_o = due || (up_o && far_q.clear && link_valid_i);
  assign tx_control_o = due;
  assign tx_data_o = due ? LineBits'(flags) : link_data_i;
  assign link_ready_o = drain_o || (up_o && far_q.clear && !due && tx_ready_i);
  assign link_valid_o = rx_valid_i && !rx_control_i && up_o;
  assign link_data_o = rx_data_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q    <= 1'b0;
      silence_q <= '0;
      hears_q   <= 1'b0;
      known_q   <= 1'b0;
      far_q     <= '0;
      restart_q <= 1'b1;
      begun_q   <= 1'b0;
      fresh_q   <= 1'b1;
      quiet_q   <= QuietBits'(Quiet);
      refresh_q <= '0;
      reported_q    <= '0;
    end else begin
      beat_q <= beat_i;
      // One beat, and the flags with it, may be from before the recovered clock stood still.
      if (beat_i != beat_q) silence_q <= SilenceBits'(Silence);
      else if (silence_q != '0) silence_q <= silence_q - 1'b1;
      hears_q <= silence_q != '0 && (hears_q || beat_i != beat_q);
      if (rx_valid_i && rx_control_i) begin
        far_q   <= came;
        known_q <= hears_q;
      end else if (!hears_q) begin
        known_q <= 1'b0;
      end

      if (quiet_q != '0) quiet_q <= quiet_q - 1'b1;
      else if (rx_valid_i && rx_control_i && came.begun) restart_q <= 1'b0;
      if (known_q) begun_q <= far_q.restart && fresh_q;
      if (restart_o) fresh_q <= 1'b1;
      else if (up_o) fresh_q <= 1'b0;

      if (due && tx_ready_i) begin
        reported_q    <= flags;
        refresh_q <= '1;
      end else if (refresh_q != '0) begin
        refresh_q <= refresh_q - 1'b1;
      end
    end
  end
endmodule
