# SPDX-License-Identifier: Apache-2.0
"""Traces to and from GOAL, the schedules that LogGOPSim and ATLAHS simulate.

Source: Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language" (2009). A schedule says of each rank which calculations (in
nanoseconds), sends and receives there are, and which of them requires which. So collectives become messages of their algorithms; a blocking
call is what all later ones require; what a wait completes is required from there on. Schedules are text, or binary (goal_binary.py).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from exanet._core import TraceReader
from exanet.errors import InputError
from exanet.trace import folder, goal_binary
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED
from exanet.trace.write import Stream, Writer

# -- to GOAL --------------------------------------------------------------------------------------------------------------------------


class _Form(Protocol):
    """How a schedule is written: rank after rank, each with its operations."""

    def begin(self, rank: int) -> None: ...

    def add(self, kind: str, size: int, peer: int, tag: int, required: Iterable[int]) -> int:
        """A calculation ("calc") of `size` nanoseconds, or a message ("send", "recv"). Returns the label by which later ones require it."""

    def end(self) -> None: ...


class _Text:
    """A schedule as text."""

    def __init__(self, out: BinaryIO, ranks: int) -> None:
        self._out = out
        self._out.write(f"num_ranks {ranks}\n".encode())

    def begin(self, rank: int) -> None:
        self._labels = 0
        self._out.write(f"\nrank {rank} {{\n".encode())

    def add(self, kind: str, size: int, peer: int, tag: int, required: Iterable[int]) -> int:
        self._labels = label = self._labels + 1
        what = f"calc {size}" if kind == "calc" else f"{kind} {size}b {'to' if kind == 'send' else 'from'} {peer} tag {tag}"
        self._out.write("".join((f"l{label}: {what}\n", *(f"l{label} requires l{earlier}\n" for earlier in required))).encode())
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
        if peer == -1 or tag == -1:
            raise InputError(f"{where}: it receives from any rank or by any tag, which GOAL cannot say; convert a program that does not")
        return [self.send_or_receive(sends, peer, size, (communicator, tag), self.required)]

    def collective(self, call: Mapping[str, Any]) -> list[int]:
        required = self.required
        for stage in call["stages"]:
            tag = ("collective", call["communicator"], call["number"])
            required = self.join([self.send_or_receive(sends, peer, size, tag, required) for sends, peer, size in stage])
        return required

    def take(self, call: Mapping[str, Any], where: str) -> None:
        """One call of MPI."""
        name = call["call"]
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
            raise InputError(f"{where}: it takes a message back, which GOAL cannot say; convert a program that does not")
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


# -- from GOAL ------------------------------------------------------------------------------------------------------------------------

_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:\s*)?(?:calc\s+(?P<calc>\d+)|(?P<kind>send|recv)\s+(?P<size>\d+)b\s+(?:to|from)\s+(?P<peer>\d+))"
    r"(?:\s+tag\s+(?P<tag>\d+))?(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?"
)
_REQUIRES = re.compile(r"(?P<later>\w+)\s+(?P<how>i?requires)\s+(?P<earlier>\w+)")
_PROCESSORS = "processors beyond the first: a rank's operations take turns on one"
_LONGEST_NS = 10**12
_MOST_TAG = (1 << 31) - 2
_MOST_BYTES = 1 << 40


@dataclass
class _Operation:
    kind: str  # calc, send or recv
    size: int  # bytes, or nanoseconds
    peer: int = 0
    tag: int = 0
    after: list[int] = field(default_factory=list)  # operations that have to be over
    behind: list[int] = field(default_factory=list)  # operations that have to be begun


@dataclass
class _Schedule:
    """A rank's operations as the file has them."""

    operations: list[_Operation] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def read(file: Path, directory: Path) -> dict[str, int]:
    """Makes a trace of a schedule. Returns what the trace does not hold, by what that is. Raises InputError, OSError."""
    schedules, left_out = _unpack(file) if goal_binary.is_binary(file) else _parse(file)
    orders = [_order(file, rank, schedule) for rank, schedule in enumerate(schedules)]
    with Writer(directory, len(schedules), {"program": [str(file)]}, "TO") as streams:
        for stream, schedule, order in zip(streams, schedules, orders, strict=True):
            _write_calls(stream, schedule.operations, order)
    return left_out


def _lines(file: Path) -> Iterable[tuple[int, str]]:
    """Lines without comments, by number. Raises InputError."""
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text file; give a GOAL schedule, or the folder of a trace") from None
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if content := re.sub(r"//.*|#.*", "", line).strip():
            yield number, content


def _parse(file: Path) -> tuple[list[_Schedule], dict[str, int]]:
    schedules: list[_Schedule] = []
    seen: set[int] = set()
    here: _Schedule | None = None
    left_out: Counter[str] = Counter()
    at = 1

    def wrong(what: str) -> InputError:
        return InputError(f"{file}:{at}:1: error: {what}")

    for number, line in _lines(file):
        at = number
        if found := re.fullmatch(r"num_ranks\s+(\d+)", line):
            if schedules or not 1 <= int(found[1]) <= folder.MOST_RANKS:
                raise wrong(f"{line}: write one num_ranks, from 1 to {folder.MOST_RANKS}, before all ranks")
            schedules = [_Schedule() for _ in range(int(found[1]))]
        elif found := re.fullmatch(r"rank\s+(\d+)\s*\{", line):
            if here is not None or int(found[1]) >= len(schedules) or int(found[1]) in seen:
                raise wrong(f"{line}: write each rank once, from 0 to num_ranks - 1, and end the one before with }}")
            seen.add(int(found[1]))
            here = schedules[int(found[1])]
        elif here is not None and line == "}":
            here = None
        elif here is not None and (found := _REQUIRES.fullmatch(line)):
            for label in (found["later"], found["earlier"]):
                if label not in here.labels:
                    raise wrong(f"no operation before this line has the label {label}; write it before what names it")
            later = here.operations[here.labels[found["later"]]]
            (later.after if found["how"] == "requires" else later.behind).append(here.labels[found["earlier"]])
        elif here is not None and (found := _OPERATION.fullmatch(line)):
            left_out[_PROCESSORS] += int(found["cpu"] or 0) > 0
            try:
                _add(here, found, len(schedules))
            except ValueError as error:
                raise wrong(str(error)) from None
        else:
            raise wrong(f"{line[:60]!r} is not understood; write [LABEL:] calc NS, send Nb to RANK, recv Nb from RANK, or A requires B")
    if here is not None or not schedules:
        raise wrong("the file ends before its last rank does; end it with }" if here is not None else "no ranks; write num_ranks N first")
    return schedules, dict(left_out)


def _add(here: _Schedule, found: re.Match[str], ranks: int) -> None:
    """Raises ValueError on a figure that cannot be."""
    kind = found["kind"] or "calc"
    operation = _operation(kind, int(found["calc"] or found["size"]), int(found["peer"] or 0), int(found["tag"] or 0), ranks)
    if label := found["label"]:
        if label in here.labels:
            raise ValueError(f"the label {label} is taken; give each operation one of its own")
        here.labels[label] = len(here.operations)
    here.operations.append(operation)


def _operation(kind: str, size: int, peer: int, tag: int, ranks: int) -> _Operation:
    """Raises ValueError on a figure that cannot be."""
    if kind == "calc" and size > _LONGEST_NS:
        raise ValueError(f"a calculation of {size} ns; the longest takes {_LONGEST_NS} ns")
    if kind != "calc" and peer >= ranks:
        raise ValueError(f"rank {peer} is not one of 0 to {ranks - 1}")
    if tag > _MOST_TAG or (kind != "calc" and size > _MOST_BYTES):
        raise ValueError(f"tags go up to {_MOST_TAG}, and messages to {_MOST_BYTES} B")
    return _Operation(kind, size, peer, tag)


def _unpack(file: Path) -> tuple[list[_Schedule], dict[str, int]]:
    """As _parse, of a binary schedule."""
    schedules: list[_Schedule] = []
    left_out: Counter[str] = Counter()
    with file.open("rb") as opened:
        try:
            places = goal_binary.places(opened, folder.MOST_RANKS)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from None
        for number, place in enumerate(places):
            try:
                schedules.append(_unpacked(goal_binary.rank(opened, place), len(places), left_out))
            except ValueError as error:
                raise InputError(f"{file}: rank {number}: {error}; the file is damaged, or no schedule of this kind") from None
    return schedules, dict(left_out)


def _unpacked(rank: goal_binary.Rank, ranks: int, left_out: Counter[str]) -> _Schedule:
    """Raises ValueError on a figure that cannot be."""
    operations = [_operation(kind, size, peer, tag, ranks) for kind, size, peer, tag, _ in rank.operations]
    for later, earlier in rank.requires:
        operations[later].after.append(earlier)
    for later, earlier in rank.irequires:
        operations[later].behind.append(earlier)
    left_out[_PROCESSORS] += sum(cpu > 0 for *_, cpu in rank.operations)
    return _Schedule(operations)


def _order(file: Path, rank: int, schedule: _Schedule) -> list[int]:
    """An order that keeps what is required; of those that may come next first one that waits for nothing, then as the file has them."""
    operations = schedule.operations
    missing = [len(operation.after) + len(operation.behind) for operation in operations]
    followers: list[list[int]] = [[] for _ in operations]
    waits: list[int] = [0] * len(operations)
    for number, operation in enumerate(operations):
        waits[number] = any(operations[earlier].kind != "calc" for earlier in operation.after)
        for earlier in operation.after + operation.behind:
            followers[earlier].append(number)
    ready = [(waits[number], number) for number in range(len(operations)) if missing[number] == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for later in followers[number]:
            missing[later] -= 1
            if missing[later] == 0:
                heapq.heappush(ready, (waits[later], later))
    if len(order) < len(operations):
        raise InputError(f"{file}: operations of rank {rank} require each other in a cycle; take one of their requirements out")
    return order


def _write_calls(stream: Stream, operations: list[_Operation], order: list[int]) -> None:
    """Sends and receives without blocking, and a wait before the first operation that requires one of them."""
    requests: dict[int, int] = {}
    free: list[int] = []
    compute_ps = 0
    for number in order:
        operation = operations[number]
        due = sorted({requests.pop(earlier) for earlier in operation.after if earlier in requests})
        if due:
            stream.wait(*due, compute_ps=compute_ps)
            compute_ps = 0
            free += due
        if operation.kind == "calc":
            compute_ps += operation.size * 1000
            continue
        request = free.pop() if free else len(requests) + 1
        requests[number] = request
        name = "Isend" if operation.kind == "send" else "Irecv"
        stream.message(name, operation.peer, operation.size, tag=operation.tag, request=request, compute_ps=compute_ps)
        compute_ps = 0
    if requests:
        stream.wait(*sorted(requests.values()), compute_ps=compute_ps)
        compute_ps = 0
    stream.end(compute_ps)
