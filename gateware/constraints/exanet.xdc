# SPDX-License-Identifier: Apache-2.0
# For Vivado, when the core is synthesised by itself: what exanet.sdc says, in the file that Vivado reads. In a design the clock is defined where it
# comes from, and this file is not used.
create_clock -name exanet -period 6.400 [get_ports clk_i]
