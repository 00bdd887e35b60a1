# SPDX-License-Identifier: Apache-2.0
# For Vivado: the reset into exanet_reset_sync may change at any time, so its paths to the two registers are not timed. Read it for every instance,
# `read_xdc -ref exanet_reset_sync exanet_reset_sync.xdc`; in exanet_phy it says again what exanet_phy.xdc says.
set_false_path -to [get_pins {meta_q_reg/CLR release_q_reg/CLR}]
