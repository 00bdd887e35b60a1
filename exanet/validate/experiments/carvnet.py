# SPDX-License-Identifier: Apache-2.0
"""The links of caRVnet (machines/carvnet.yaml). What else is published of it is beside the network interface:
interface.py."""

from __future__ import annotations

from exanet.validate.full_link import full_link
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_PACKET_BYTES = 512


@experiment("R37", kind="calibrated")
def link_rate(runner: Runner) -> Measured:
    found = full_link(runner, "carvnet", _PACKET_BYTES)
    gbps = found["payload_gbytes_per_s"] * 8
    return Measured(
        found["gbps"],
        f"words on a full link, {gbps:.1f} Gb/s of them payload of {_PACKET_BYTES} B packets. This figure fixes the machine's "
        "links.link.rate and router.clock; no FPGA has that clock, and the gateware's line at 156.25 MHz carries a tenth (K13), with four "
        "lanes a fifth",
        data=found,
    )
