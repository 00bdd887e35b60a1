# SPDX-License-Identifier: Apache-2.0
"""GOAL schedules in binary form (exanet/trace/goal_binary.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, file: Path, choices: Choices) -> LeftOut:
    from exanet.trace import goal

    return goal.write(trace, file, choices.collectives, choices.rules, binary=True)


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace import goal_read

    return goal_read.read(file, directory)


def _found(place: Path) -> Path | None:
    from exanet.trace import goal_binary

    return place if place.is_file() and goal_binary.is_schedule(place) else None


FORMAT = Format(
    suffix=".bin",
    name="GOAL",
    title="GOAL, the schedules of LogGOPSim and ATLAHS",
    read_by="LogGOPSim",
    becomes="the same schedule in GOAL's binary form, which LogGOPSim runs as it is: what its `txt2bin` makes of the text, to the byte.",
    cannot_hold="As of the text",
    write=_write,
    remark="GOAL, binary",
    is_schedule=True,
    holds_graphs=True,
    found=_found,
    read=_read,
    source="a GOAL schedule (text or binary)",
)
