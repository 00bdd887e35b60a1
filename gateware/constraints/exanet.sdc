# SPDX-License-Identifier: Apache-2.0
# The one clock of exanet_ip, exanet_node, exanet_router and exanet_link: 156.25 MHz. gateware/place.py places against it.
#
# There is no exception: every path is one cycle long. rst_ni acts at once and is to be released in step with clk_i, by a synchroniser of the
# board's, so its recovery counts as a path. Ports of the core lead to registers of whoever uses it, in the same clock; where they lead to pins,
# their delays are the board's to add.
create_clock -name exanet -period 6.4 [get_ports clk_i]
