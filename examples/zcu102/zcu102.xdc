# SPDX-License-Identifier: Apache-2.0
# Pins of zcu102.sv on a ZCU102 (XCZU9EG-FFVB1156-2). Where each comes from: the board's user guide (UG1182) has the tables "SFP/SFP+", "GTH" and "user LEDs";
# it was not at hand. Each pin below is what public designs for this board use: those marked (two) were found in two or more that do not share their files,
# those marked (one) in one. Compare them with UG1182 before a board is powered.

# Reference clock: USER_MGT_SI570_CLOCK2, 156.25 MHz unless it is programmed otherwise, MGTREFCLK0 of bank 230 (two).
set_property PACKAGE_PIN C8 [get_ports mgt_refclk_p]
set_property PACKAGE_PIN C7 [get_ports mgt_refclk_n]
create_clock -name mgt_refclk -period 6.400 [get_ports mgt_refclk_p]

# Cage SFP0: channel 0 of bank 230, GTHE4_CHANNEL_X1Y12. Transmit and receive, positive (two); negative (one).
set_property PACKAGE_PIN E4 [get_ports sfp0_tx_p]
set_property PACKAGE_PIN E3 [get_ports sfp0_tx_n]
set_property PACKAGE_PIN D2 [get_ports sfp0_rx_p]
set_property PACKAGE_PIN D1 [get_ports sfp0_rx_n]

# High lets the module in the cage send (one).
set_property -dict {PACKAGE_PIN A12 IOSTANDARD LVCMOS33} [get_ports sfp0_tx_disable_b]

# Light-emitting diodes 0 and 1 (two).
set_property -dict {PACKAGE_PIN AG14 IOSTANDARD LVCMOS33} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AF13 IOSTANDARD LVCMOS33} [get_ports {led[1]}]
set_false_path -to [get_ports {led[*] sfp0_tx_disable_b}]

# Vivado derives the clocks of the transceiver and of the processors from their cores. What crosses between them within the phy is bounded in
# exanet_phy.xdc, which build.tcl reads for each instance. The reset of the processors is released by synchronisers.
set_false_path -to [get_pins -hierarchical -filter {NAME =~ *u_reset/meta_q_reg/CLR || NAME =~ *u_reset/release_q_reg/CLR}]
