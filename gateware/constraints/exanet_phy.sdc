# SPDX-License-Identifier: Apache-2.0
# What crosses between the clocks of exanet_phy, for tools that read SDC: what exanet_phy.xdc says. It is a template, with exanet_phy as the top: in a design,
# put the path of the instance in front of the cell names, and leave out create_clock, since the clocks are defined where they come from. SDC has no
# -datapath_only: a path has the whole time from edge to edge, and hold, which has no meaning between these clocks, is taken out. Do not also declare the
# clocks asynchronous, which would take these times out.
# Set the three periods before this file is read where they are others; the times of the crossings follow from them: the shorter period of the two clocks,
# less a margin of 4 %. 6.206 ns is that of a transceiver of 10.3125 Gb/s on 64 bits.
if {![info exists core_period]} {set core_period 6.4}
if {![info exists transmit_period]} {set transmit_period 6.206}
if {![info exists recovered_period]} {set recovered_period 6.206}
set transmit_ns [expr {0.96 * min($core_period, $transmit_period)}]
set recovered_ns [expr {0.96 * min($core_period, $recovered_period)}]
create_clock -name exanet -period $core_period [get_ports clk_i]
create_clock -name transmit -period $transmit_period [get_ports tx_clk_i]
create_clock -name recovered -period $recovered_period [get_ports rx_clk_i]
set_max_delay $transmit_ns -from [get_cells {u_tx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_written/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {u_tx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_written/meta_q_reg[*]}]
set_max_delay $transmit_ns -from [get_cells {u_tx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_freed/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {u_tx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_freed/meta_q_reg[*]}]
set_max_delay $recovered_ns -from [get_cells {u_rx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_written/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {u_rx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_written/meta_q_reg[*]}]
set_max_delay $recovered_ns -from [get_cells {u_rx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_freed/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {u_rx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_freed/meta_q_reg[*]}]
# Words of the FIFOs stand still for two edges of the reader before they are read.
set_max_delay $transmit_ns -from [get_cells {u_tx_fifo/memory_reg*}] -to [get_cells {u_tx_fifo/data_o_reg[*]}]
set_false_path -hold -from [get_cells {u_tx_fifo/memory_reg*}] -to [get_cells {u_tx_fifo/data_o_reg[*]}]
set_max_delay $recovered_ns -from [get_cells {u_rx_fifo/memory_reg*}] -to [get_cells {u_rx_fifo/data_o_reg[*]}]
set_false_path -hold -from [get_cells {u_rx_fifo/memory_reg*}] -to [get_cells {u_rx_fifo/data_o_reg[*]}]
# Single bits.
set_max_delay $recovered_ns -from [get_cells {u_words/count_q_reg[3]}] -to [get_cells {u_beat/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {u_words/count_q_reg[3]}] -to [get_cells {u_beat/meta_q_reg[*]}]
set_max_delay $recovered_ns -from [get_cells {lost_q_reg}] -to [get_cells {u_lost/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {lost_q_reg}] -to [get_cells {u_lost/meta_q_reg[*]}]
set_max_delay $recovered_ns -from [get_cells {down_q_reg}] -to [get_cells {u_asked/meta_q_reg[*]}]
set_false_path -hold -from [get_cells {down_q_reg}] -to [get_cells {u_asked/meta_q_reg[*]}]
set_false_path -to [get_cells {u_signal/meta_q_reg[*]}]
# Resets are asserted whenever they are, and released by the synchronisers.
set_false_path -to [get_pins {u_tx_reset/meta_q_reg/CLR u_tx_reset/release_q_reg/CLR u_rx_reset/meta_q_reg/CLR u_rx_reset/release_q_reg/CLR}]
