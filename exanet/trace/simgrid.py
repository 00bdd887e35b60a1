# SPDX-License-Identifier: Apache-2.0
"""Traces as SimGrid replays them (`smpirun -replay`): its time-independent format, a line an action, a file a rank.

Source: SimGrid's documentation of offline simulation (SMPI). Computing is given in floating-point operations, one a
nanosecond, as a host of 1 Gflop/s computes; collectives are the messages of their algorithms, as in GOAL, so that both
simulators send the same. A wait names its message by source, destination and tag; a tag stands for a communicator and a
tag in it, as the format has no communicators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from exanet._core import TraceReader
from exanet.errors import InputError
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED

LIST = "ranks.txt"
"""The file that `smpirun -replay` is given: the names of the others, a line each."""


@dataclass
class _Rank:
    """A rank's actions while they are written."""

    number: int
    out: TextIO
    tags: dict[Any, int]
    left_out: Counter[str]
    requests: dict[int, list[str]] = field(default_factory=dict)  # what a wait for each says
    persistent: dict[int, Any] = field(default_factory=dict)
    freed: bool = False  # some message is under way that nobody waits for

    def add(self, text: str) -> None:
        self.out.write(f"{self.number} {text}\n")

    def post(self, sends: bool, peer: int, size: int, tag: Any, *, waits: bool = False) -> list[str]:
        """A message, and what a wait for it says: nothing if it waits itself."""
        number = self.tags.setdefault(tag, len(self.tags))
        self.add(f"{'' if waits else 'i'}{'send' if sends else 'recv'} {peer} {number} {size}")
        ends = (self.number, peer) if sends else (peer, self.number)
        return [] if waits else [f"wait {ends[0]} {ends[1]} {number}"]

    def wait(self, waits: list[str]) -> None:
        """For these, which are none of `requests`."""
        every = len(waits) > 1 and not self.freed and not any(self.requests.values())
        for text in ("waitall",) if every else waits:
            self.add(text)

    def message(self, message: Any, where: str, *, waits: bool = False) -> list[str]:
        sends, peer, tag, size, communicator = message
        if peer == -2:
            return []
        if peer == self.number:
            self.left_out["messages of a rank to itself"] += 1
            return []
        if peer == -1 or tag == -1:
            raise InputError(
                f"{where}: it receives from any rank or with any tag, and SimGrid's format cannot express the wait for that; "
                "convert a program without such receives"
            )
        return self.post(sends, peer, size, (communicator, tag), waits=waits)

    def collective(self, call: Mapping[str, Any]) -> None:
        """Of one that does not wait the messages are sent and awaited where it begins."""
        self.left_out["collectives without blocking, which wait where they begin"] += not call["waits"]
        tag = ("collective", call["communicator"], call["number"])
        for stage in call["stages"]:
            self.wait([text for sends, peer, size in stage for text in self.post(sends, peer, size, tag)])

    def take(self, call: Mapping[str, Any], where: str) -> None:
        """One call of MPI."""
        name = call["call"]
        if call["compute_ps"]:
            self.add(f"compute {call['compute_ps'] / 1000:.3f}")
        if "stages" in call:
            self.collective(call)
        elif name.endswith("_init"):
            self.persistent[call["request"]] = call["messages"][0]
        elif name in ("Start", "Startall"):
            for request in call["requests"]:
                if request not in self.persistent:
                    raise InputError(f"{where}: it starts request {request}, which is not persistent: the stream is damaged")
                self.requests[request] = self.message(self.persistent[request], where)
        elif name.startswith("Sendrecv"):
            self.wait([text for message in call["messages"] for text in self.message(message, where)])
        elif "messages" in call:
            waits = name in ("Send", "Bsend", "Ssend", "Rsend", "Recv", "Mrecv")
            awaited = self.message(call["messages"][0], where, waits=waits)
            if call["request"]:
                self.requests[call["request"]] = awaited
            else:
                self.freed |= bool(awaited)
        elif name == "Cancel":
            raise InputError(f"{where}: it cancels a message, which SimGrid's format cannot express; convert a program that cancels none")
        elif name == "Request_free":
            for request in call["requests"]:
                self.freed |= bool(self.requests.pop(request, None))
        elif "requests" in call and name != "Request_get_status":
            self.wait([text for request in call["requests"] for text in self.requests.pop(request, [])])
        elif name.lower().endswith("probe"):
            self.left_out["probes"] += 1
        elif f"MPI_{name}" in ONE_SIDED:
            self.left_out["one-sided calls"] += 1
        elif name.startswith(("Comm_", "Cart_", "Graph_", "Dist_", "Intercomm_")):
            self.left_out["calls that make communicators"] += 1


def write(trace: Trace, directory: Path, collectives: Mapping[str, str], rules: str) -> dict[str, int]:
    """Writes the files into a folder that is there. Returns what they do not hold, by what that is. Raises
    InputError, OSError."""
    left_out: Counter[str] = Counter()
    tags: dict[Any, int] = {}
    names = [f"rank-{number:06d}.txt" for number in range(trace.about.ranks)]
    try:
        reader = TraceReader([str(stream) for stream in trace.streams], dict(collectives), rules)
        for number, name in enumerate(names):
            with (directory / name).open("w", encoding="utf-8") as out:
                rank = _Rank(number, out, tags, left_out)
                rank.add("init")
                count = 0
                while (call := reader.next(number)) is not None:
                    count += 1
                    rank.take(call, f"{trace.folder}: rank {number}, call {count}, MPI_{call['call']}")
                rank.add("finalize")
    except ValueError as error:
        raise InputError(str(error)) from None
    (directory / LIST).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return dict(left_out)
