# SPDX-License-Identifier: Apache-2.0
"""Traces to GOAL, the schedules that LogGOPSim and ATLAHS simulate; goal_read.py has the way back.

Source: Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language" (2009). A schedule says of each rank which
calculations (in nanoseconds), sends and receives there are, and which of them requires which. So collectives become
messages of their algorithms; a blocking call is what all later ones require; what a wait completes is required from
there on. Schedules are text, or binary (goal_binary.py).

Limits: all messages of a schedule have one space of tags, so a call that receives by any tag, among messages of several
communicators, has no counterpart in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from exanet._core import TraceReader
from exanet.errors import InputError
from exanet.trace import goal_binary
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED


class _Form(Protocol):
    """How a schedule is written: rank after rank, each with its operations."""

    def begin(self, rank: int) -> None: ...

    def add(self, kind: str, size: int, peer: int, tag: int, required: Iterable[int], begun: Iterable[int] = ()) -> int:
        """A calculation ("calc") of `size` nanoseconds, or a message ("send", "recv"), from any rank or by any tag
        where that is -1.

        It waits for the ends of `required` and the starts of `begun`. Returns the label by which later ones require it.
        """

    def end(self) -> None: ...


class _Text:
    """A schedule as text."""

    def __init__(self, out: BinaryIO, ranks: int) -> None:
        self._out = out
        self._out.write(f"num_ranks {ranks}\n".encode())

    def begin(self, rank: int) -> None:
        self._labels = 0
        self._out.write(f"\nrank {rank} {{\n".encode())

    def add(self, kind: str, size: int, peer: int, tag: int, required: Iterable[int], begun: Iterable[int] = ()) -> int:
        self._labels = label = self._labels + 1
        what = f"calc {size}" if kind == "calc" else f"{kind} {size}b {'to' if kind == 'send' else 'from'} {peer} tag {tag}"
        lines = [f"l{label}: {what}\n", *(f"l{label} requires l{earlier}\n" for earlier in required)]
        self._out.write("".join((*lines, *(f"l{label} irequires l{earlier}\n" for earlier in begun))).encode())
        return label

    def end(self) -> None:
        self._out.write(b"}\n")


@dataclass
class _Rank:
    """A rank's part of the schedule while it is written."""

    number: int
    out: _Form
    tags: dict[Any, int]
    left_out: Counter[str]
    required: list[int] = field(default_factory=list)  # labels that what follows requires
    requests: dict[int, list[int]] = field(default_factory=dict)
    persistent: dict[int, Any] = field(default_factory=dict)
    passed_ps: int = 0  # computing that is not yet a calculation
    graph: list[int] = field(default_factory=list)  # labels of the operations of the present graph
    last: dict[int, None] = field(default_factory=dict)  # those of them that no other requires

    def calculation(self, ns: int, required: Iterable[int]) -> int:
        return self.out.add("calc", ns, 0, 0, required)

    def compute(self, ps: int) -> None:
        self.passed_ps += ps
        if whole_ns := self.passed_ps // 1000:
            self.passed_ps -= whole_ns * 1000
            self.required = [self.calculation(whole_ns, self.required)]

    def join(self, labels: list[int]) -> list[int]:
        return labels if len(labels) < 2 else [self.calculation(0, labels)]

    def send_or_receive(self, sends: bool, peer: int, size: int, tag: Any, required: Iterable[int]) -> int:
        number = self.tags.setdefault(tag, len(self.tags))
        return self.out.add("send" if sends else "recv", size, peer, number, required)

    def message(self, message: Any, where: str) -> list[int]:
        sends, peer, tag, size, communicator = message
        if peer == -2:
            return []
        if peer == self.number:
            self.left_out["messages of a rank to itself"] += 1
            return []
        if tag == -1:
            raise InputError(
                f"{where}: it receives with any tag, and GOAL does not separate the tags of communicators and collectives; "
                "convert a program that does not"
            )
        return [self.send_or_receive(sends, peer, size, (communicator, tag), self.required)]

    def collective(self, call: Mapping[str, Any]) -> list[int]:
        required = self.required
        for stage in call["stages"]:
            tag = ("collective", call["communicator"], call["number"])
            required = self.join([self.send_or_receive(sends, peer, size, tag, required) for sends, peer, size in stage])
        return required

    def operation(self, call: Mapping[str, Any]) -> None:
        """One operation of a graph, with the requirements that it has."""
        after = [self.graph[-distance] for distance in call["after"]]
        begun = [self.graph[-distance] for distance in call["beside"]]
        required = after if after or begun else self.required
        if call["call"] == "compute":
            label = self.out.add("calc", round(call["compute_ps"] / 1000), 0, 0, required, begun)
        else:
            sends, peer, tag, size, communicator = call["messages"][0]
            number = -1 if tag == -1 else self.tags.setdefault((communicator, tag), len(self.tags))
            label = self.out.add("send" if sends else "recv", size, peer, number, required, begun)
        self.graph.append(label)
        for earlier in (*after, *begun):
            self.last.pop(earlier, None)
        self.last[label] = None

    def take(self, call: Mapping[str, Any], where: str) -> None:
        """One call of MPI, or one operation."""
        name = call["call"]
        if "after" in call:
            self.operation(call)
            return
        if self.graph and (name != "Finalize" or call["compute_ps"]):
            self.required = self.join([*self.last])
            self.graph.clear()
            self.last.clear()
        self.compute(call["compute_ps"])
        if "stages" in call:
            self._began(self.collective(call), 0 if call["waits"] else call["request"])
        elif name.endswith("_init"):
            self.persistent[call["request"]] = call["messages"][0]
        elif name in ("Start", "Startall"):
            for request in call["requests"]:
                if request not in self.persistent:
                    raise InputError(f"{where}: it starts request {request}, which is not persistent: the stream is damaged")
                self.requests[request] = self.message(self.persistent[request], where)
        elif "messages" in call:
            waits = name in ("Send", "Bsend", "Ssend", "Rsend", "Recv", "Mrecv") or name.startswith("Sendrecv")
            labels = [label for message in call["messages"] for label in self.message(message, where)]
            if waits:
                self.required = self.join(labels) or self.required
            elif call["request"]:
                self.requests[call["request"]] = labels
        elif name == "Cancel":
            raise InputError(f"{where}: it cancels a message, which GOAL cannot express; convert a program that cancels none")
        elif name == "Request_free":
            for request in call["requests"]:
                self.requests.pop(request, None)
        elif "requests" in call and name != "Request_get_status":
            done = [label for request in call["requests"] for label in self.requests.pop(request, [])]
            self.required = self.join(self.required + done) if done else self.required
        elif name.lower().endswith("probe"):
            self.left_out["probes"] += 1
        elif f"MPI_{name}" in ONE_SIDED:
            self.left_out["one-sided calls"] += 1
        elif name.startswith(("Comm_", "Cart_", "Graph_", "Dist_", "Intercomm_")):
            self.left_out["calls that make communicators"] += 1

    def _began(self, labels: list[int], request: int) -> None:
        if request:
            self.requests[request] = labels
        else:
            self.required = labels


def write(trace: Trace, file: Path, collectives: Mapping[str, str], rules: str, *, binary: bool) -> dict[str, int]:
    """Writes the schedule. Returns what it does not hold, by what that is. Raises InputError, OSError."""
    left_out: Counter[str] = Counter()
    tags: dict[Any, int] = {}
    try:
        reader = TraceReader([str(stream) for stream in trace.streams], dict(collectives), rules)
        with file.open("wb") as out:
            schedule: _Form = (goal_binary.Writer if binary else _Text)(out, trace.about.ranks)
            for number in range(trace.about.ranks):
                schedule.begin(number)
                rank = _Rank(number, schedule, tags, left_out)
                count = 0
                while (call := reader.next(number)) is not None:
                    count += 1
                    rank.take(call, f"{trace.folder}: rank {number}, call {count}, MPI_{call['call']}")
                schedule.end()
    except ValueError as error:
        raise InputError(str(error)) from None
    return dict(left_out)
