# SPDX-License-Identifier: Apache-2.0
"""GOAL schedules as text (exanet/trace/goal.py, goal_read.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, file: Path, choices: Choices) -> LeftOut:
    from exanet.trace import goal

    return goal.write(trace, file, choices.collectives, choices.rules, binary=False)


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace import goal_read

    return goal_read.read(file, directory)


FORMAT = Format(
    suffix=".goal",
    name="GOAL",
    title="GOAL, the schedules of LogGOPSim and ATLAHS",
    read_by="LogGOPSim's txt2bin and ATLAHS",
    becomes="a [GOAL](https://htor.inf.ethz.ch/research/LogGOPSim/) schedule as text: computing in nanoseconds, and messages with "
    "what they require. Collectives are the messages of their algorithms (`--collective`, without `LLF` and `GLF`).",
    cannot_hold="Left out are probes, messages of a rank to itself, what making communicators sends, and one-sided calls; "
    "receives by any tag, and cancelled requests, are refused",
    write=_write,
    is_schedule=True,
    holds_graphs=True,
    read=_read,
    source="a GOAL schedule (text or binary)",
    read_from="its operations as a graph, for `exanet replay`: an operation begins when those that it requires have ended (`requires`) or "
    "begun (`irequires`), whatever the others do. Sends and receives go before computing, which takes the rank's one processor (`cpu` is "
    "left out) in the order in which it became possible. A receive from rank -1 or by tag -1 takes any. "
    "Each rank has a section, if an empty one. The content "
    "distinguishes text from binary. A binary schedule whose parts do not fit each other is refused, and so is one that "
    "LogGOPSim has used up (`--save-mem`)",
    read_example="lulesh.goal",
    takes_any=True,
)
