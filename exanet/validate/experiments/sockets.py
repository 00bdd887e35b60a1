# SPDX-License-Identifier: Apache-2.0
"""TCP sockets of programs over the simulated network (docs/sockets.md)."""

from __future__ import annotations

from typing import Any

from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

_BYTES = 40 << 20
_JUMBO, _HEADERS, _HOST_NS = 9000, 52, 745
_BXI = f"""
links:
  link:
    rate: 100 Gb/s
ni:
  ip_mtu: {_JUMBO} B
  ip_send: {_HOST_NS} ns
  ip_receive: {_HOST_NS} ns
"""
_WRITE_BYTES, _LONG_WRITE_BYTES = 64 << 10, 128 << 10
"""What the program writes at once: as where the machine's constant was fitted (bxi-100-ip.yaml), and as iperf3."""
_REPORT_BYTES = 65536
"""What a receiver reads before it reports that (runtime/sockets/transfer.c), by a segment of its own."""


def _run(runner: Runner, machine: str, changes: str = "", write: int = _WRITE_BYTES) -> dict[str, Any]:
    return runner.run("tcp_rate", machine, (0, 1), _BYTES, write, mpi="none", changes=changes, options=("--sockets", "fabric"))


@experiment("R04", kind="calibrated")
def rate(runner: Runner) -> Measured:
    payload = _JUMBO - _HEADERS
    a_report = -(-_REPORT_BYTES // payload)  # segments
    cut = -(-_WRITE_BYTES // payload)
    by_arithmetic = {
        "short_writes": 8 * _WRITE_BYTES / (cut * (1 + 1 / a_report) * _HOST_NS),
        "whole_segments": 8 * payload / ((1 + 1 / a_report) * _HOST_NS),
    }
    found, long = (_run(runner, "bxi-256-portals", _BXI, write)["gbps"] for write in (_WRITE_BYTES, _LONG_WRITE_BYTES))
    return Measured(
        found,
        f"a stream of {_BYTES >> 20} MiB over links of 100 Gb/s. A host takes {_HOST_NS} ns for each segment of up to {_JUMBO} B and "
        f"each report of what has been read. Writes of {_WRITE_BYTES >> 10} KiB, for which that was fitted, end in a shorter segment: "
        f"{by_arithmetic['short_writes']:.1f} Gb/s by arithmetic. Of {_LONG_WRITE_BYTES >> 10} KiB, as iperf3's, nearly all segments are "
        f"whole: {long:.1f} Gb/s here, {by_arithmetic['whole_segments']:.1f} by arithmetic",
        readings=(Reading(f"writes of {_LONG_WRITE_BYTES >> 10} KiB, as iperf3's", long, 80),),
        data={"by_arithmetic_gbps": by_arithmetic, "long_writes_gbps": long},
    )


@experiment("R63", kind="beside")
def cost(runner: Runner) -> Measured:
    machine = "exanest"
    run = _run(runner, machine)["run"]
    hardware = runner.machine(machine).model.hardware
    assert hardware is not None
    busiest_ps = max(rank["library_ps"] for rank in run["ranks"])
    return Measured(
        busiest_ps * 1e-12 * hardware.core_clock.value / (8 * _BYTES),
        "the busier host of a stream of segments of 1500 B. What a segment takes is Linux's published time with all its optimisations and "
        "9000 B (docs/sockets.md), on a quicker core than the prototype's; the rule is older than these",
    )
