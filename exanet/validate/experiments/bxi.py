# SPDX-License-Identifier: Apache-2.0
"""The BXI-like fat tree (machines/bxi-256.yaml): rate of its links and clock of its interfaces."""

from __future__ import annotations

from exanet.validate.full_link import full_link
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_MACHINE = "bxi-256"


@experiment("R01", kind="calibrated")
def interface_rate(runner: Runner) -> Measured:
    """Words on a full link from a node to its switch."""
    found = full_link(runner, _MACHINE, 2048)
    payload = 8 * found["payload_gbytes_per_s"]
    return Measured(
        found["gbps"],
        f"words on a full link, {payload:.0f} Gb/s of them payload of {found['packet_bytes']} B packets; fixes links.link.rate. The packet "
        "rate is no constant of the machine",
        data=found,
    )


@experiment("R02", kind="calibrated")
def interface_clock(runner: Runner) -> Measured:
    """The clock of the machine's switches, which the source has for the interface."""
    cycle_ps = runner.machine(_MACHINE).resolve()["router"]["cycle_ps"]
    return Measured(1e6 / cycle_ps, "fixes router.clock; nothing of BXI is synthesized here")
