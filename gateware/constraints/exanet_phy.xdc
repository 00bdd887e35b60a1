# SPDX-License-Identifier: Apache-2.0
# For Vivado: what crosses between the clocks of exanet_phy. Read it for every instance, `read_xdc -ref exanet_phy exanet_phy.xdc`; the clocks are defined where
# they come from, and the times follow from them: the shorter period of the two clocks of a crossing, less a margin of 4 %.
#
set core_ns [get_property -min PERIOD [get_clocks -of_objects [get_ports clk_i]]]
set transmit_ns [expr {0.96 * min($core_ns, [get_property -min PERIOD [get_clocks -of_objects [get_ports tx_clk_i]]])}]
set recovered_ns [expr {0.96 * min($core_ns, [get_property -min PERIOD [get_clocks -of_objects [get_ports rx_clk_i]]])}]
# Counts of the FIFOs: bits of a Gray code, each of which arrives before the next one changes.
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_written/meta_q_reg[*]}] $transmit_ns
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_freed/meta_q_reg[*]}] $transmit_ns
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_written/meta_q_reg[*]}] $recovered_ns
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_freed/meta_q_reg[*]}] $recovered_ns
# Words of the FIFOs stand still for two edges of the reader before they are read.
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/memory_reg*}] -to [get_cells {u_tx_fifo/data_o_reg[*]}] $transmit_ns
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/memory_reg*}] -to [get_cells {u_rx_fifo/data_o_reg[*]}] $recovered_ns
# Single bits.
set_max_delay -datapath_only -from [get_cells {u_words/count_q_reg[3]}] -to [get_cells {u_beat/meta_q_reg[*]}] $recovered_ns
set_max_delay -datapath_only -from [get_cells {lost_q_reg}] -to [get_cells {u_lost/meta_q_reg[*]}] $recovered_ns
set_max_delay -datapath_only -from [get_cells {down_q_reg}] -to [get_cells {u_asked/meta_q_reg[*]}] $recovered_ns
set_false_path -to [get_cells {u_signal/meta_q_reg[*]}]
# Resets are asserted whenever they are, and released by the synchronisers.
set_false_path -to [get_pins {u_tx_reset/meta_q_reg/CLR u_tx_reset/release_q_reg/CLR u_rx_reset/meta_q_reg/CLR u_rx_reset/release_q_reg/CLR}]
