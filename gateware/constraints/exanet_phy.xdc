# SPDX-License-Identifier: Apache-2.0
# For Vivado: what crosses between the clocks of exanet_phy. Read it for every instance, `read_xdc -ref exanet_phy exanet_phy.xdc`; the clocks are defined where
# they come from. The times are a period of the fastest clock that a transceiver of 10.3125 Gb/s has on 64 bits (6.206 ns), less a margin.
#
# Counts of the FIFOs: bits of a Gray code, each of which arrives before the next one changes.
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_written/meta_q_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_tx_fifo/u_freed/meta_q_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/write_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_written/meta_q_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/read_gray_q_reg[*]}] -to [get_cells {u_rx_fifo/u_freed/meta_q_reg[*]}] 6.000
# Words of the FIFOs stand still for two edges of the reader before they are read.
set_max_delay -datapath_only -from [get_cells {u_tx_fifo/memory_reg*}] -to [get_cells {u_tx_fifo/data_o_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {u_rx_fifo/memory_reg*}] -to [get_cells {u_rx_fifo/data_o_reg[*]}] 6.000
# Single bits.
set_max_delay -datapath_only -from [get_cells {u_words/count_q_reg[3]}] -to [get_cells {u_beat/meta_q_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {lost_q_reg}] -to [get_cells {u_lost/meta_q_reg[*]}] 6.000
set_max_delay -datapath_only -from [get_cells {down_q_reg}] -to [get_cells {u_asked/meta_q_reg[*]}] 6.000
set_false_path -to [get_cells {u_signal/meta_q_reg[*]}]
# Resets are asserted whenever they are, and released by the synchronisers.
set_false_path -to [get_pins {u_tx_reset/meta_q_reg/CLR u_tx_reset/release_q_reg/CLR u_rx_reset/meta_q_reg/CLR u_rx_reset/release_q_reg/CLR}]
