# SPDX-License-Identifier: Apache-2.0
"""SimGrid's time-independent format (exanet/trace/simgrid.py, exanet/trace/simgrid_read.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, directory: Path, choices: Choices) -> LeftOut:
    from exanet.trace import simgrid

    return simgrid.write(trace, directory, choices.collectives, choices.rules)


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace import simgrid_read

    return simgrid_read.read(file, directory)


def _found(place: Path) -> Path | None:
    from exanet.trace import simgrid_read

    return simgrid_read.found(place)


FORMAT = Format(
    suffix=".simgrid",
    name="SimGrid",
    title="what SimGrid replays",
    read_by="smpirun",
    becomes="SimGrid's time-independent format, for `smpirun -replay ranks.txt` in that folder: computing for hosts of 1 Gflop/s, "
    "collectives as messages as in GOAL, waits by source, destination and tag.",
    cannot_hold="Left out are probes, messages of a rank to itself, what making communicators sends, and one-sided calls; a collective "
    "without blocking waits where it begins; receives from any rank or by any tag, and cancelled requests, are refused",
    write=_write,
    is_folder=True,
    is_schedule=True,
    found=_found,
    read=_read,
    source="a time-independent trace of SimGrid's (TI)",
    read_from="its calls, from the list of files, one a rank, that `smpirun -trace-ti` writes, from one file with all ranks, or from the "
    "folder around one list. An operation of computing takes a nanosecond (a host of 1 Gflop/s); `exanet replay --compute` scales that. "
    "Names in a list are relative to it. A test finds nothing, and its message is waited for later. An exchange (`sendRecv`) has no tag "
    "in the format, and takes 0, as in SimGrid's replay. Refused are splits of communicators, whose collectives have no mark in it, "
    "messages without a tag (SimGrid before 3.20), and actions that it does not know",
    read_example="smpi_simgrid.txt",
)
