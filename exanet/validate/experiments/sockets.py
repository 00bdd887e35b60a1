# SPDX-License-Identifier: Apache-2.0
"""TCP sockets of programs over the simulated network (docs/sockets.md)."""

from __future__ import annotations

from typing import Any

from exanet.validate.registry import Measured, experiment
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
_WRITE_BYTES = 128 << 10
"""What the program writes at once, as iperf3 does (programs/tcp_rate.py)."""
_REPORT_BYTES = 65536
"""What a receiver reads before it reports that (runtime/sockets/transfer.c), by a segment of its own."""


def _run(runner: Runner, machine: str, changes: str = "") -> dict[str, Any]:
    return runner.run("tcp_rate", machine, (0, 1), _BYTES, mpi="none", changes=changes, options=("--sockets", "fabric"))


@experiment("R04", kind="calibrated")
def rate(runner: Runner) -> Measured:
    payload = _JUMBO - _HEADERS
    segments = -(-_WRITE_BYTES // payload)
    reports = segments / -(-_REPORT_BYTES // payload)
    expected = 8 * _WRITE_BYTES / ((segments + reports) * _HOST_NS)
    found = _run(runner, "bxi-256-portals", _BXI)["gbps"]
    return Measured(
        found,
        f"a stream of {_BYTES >> 20} MiB over links of 100 Gb/s, written {_WRITE_BYTES >> 10} KiB at a time. A host takes {_HOST_NS} ns for "
        f"each segment of up to {_JUMBO} B, and for each report of what has been read: {expected:.1f} Gb/s by arithmetic",
        data={"by_arithmetic_gbps": expected},
    )


@experiment("R63", kind="beside")
def cost(runner: Runner) -> Measured:
    machine = "exanest"
    run = _run(runner, machine)["run"]
    clock = runner.machine(machine).hardware.core_clock.value
    busiest_ps = max(rank["library_ps"] for rank in run["ranks"])
    return Measured(
        busiest_ps * 1e-12 * clock / (8 * _BYTES),
        "the busier host of a stream of segments of 1500 B. What a segment takes is Linux's published time with all its optimisations and "
        "9000 B (docs/sockets.md), on a quicker core than the prototype's; the rule is older than these",
    )
