# SPDX-License-Identifier: Apache-2.0
"""What framing leaves of a link, by a full link of the packet simulator: the Trenz boards' link, changed as each row
says."""

from __future__ import annotations

import functools

from exanet.machine import located
from exanet.validate.full_link import full_link_of
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_BASE = "trenz-2x2"
_NO_PAUSES = {"links.link.pause_every": "0 words"}
_WINDOW_PS = 10**9
"""Some two thousand packets, so that the one at its end does not count."""
_WIDE = {"links.link.word": "128 bit"}


@functools.cache
def _percent(runner: Runner, payload: int, changes: tuple[tuple[str, str], ...]) -> float:
    """Payload on a full link, in percent of the link's rate."""
    machine = runner.machine(_BASE, located.values({"router.max_payload": f"{payload} B", **dict(changes)}, "exanet validate"))
    rate = machine.model.links["link"].rate.value
    return float(full_link_of(machine, payload, _WINDOW_PS)["payload_gbytes_per_s"]) * 8e11 / rate


def _measured(runner: Runner, payload: int, changes: dict[str, str], remark: str) -> Measured:
    return Measured(_percent(runner, payload, tuple(changes.items())), f"packets of {payload} B on a full link of {_BASE}, {remark}")


@experiment("D05", kind="structural")
def link_ceiling(runner: Runner) -> Measured:
    return _measured(runner, 512, _NO_PAUSES, "without pauses")


@experiment("D06", kind="structural")
def wide_link_ceiling(runner: Runner) -> Measured:
    return _measured(runner, 512, _NO_PAUSES | _WIDE, "words of 128 bits; in the gateware Magic and Start share one")


@experiment("D07", kind="structural")
def paused_link_ceiling(runner: Runner) -> Measured:
    return _measured(runner, 512, {}, "with the machine's pauses")


@experiment("D08", kind="structural")
def small_packets_ceiling(runner: Runner) -> Measured:
    return _measured(runner, 256, _NO_PAUSES, "without pauses")
