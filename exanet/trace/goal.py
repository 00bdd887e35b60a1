# SPDX-License-Identifier: Apache-2.0
"""Traces to and from GOAL, the schedules that LogGOPSim and ATLAHS simulate.

Source: Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language" (2009). A schedule says of each rank which
calculations (in nanoseconds), sends and receives there are, and which of them requires which. So collectives become
messages of their algorithms; a blocking call is what all later ones require; what a wait completes is required from
there on. A schedule that is read becomes a graph of operations (spec/trace.yaml), which has the requirements of the
schedule and no others. Schedules are text, or binary (goal_binary.py).

Limits: all messages of a schedule have one space of tags, so a call that receives by any tag, among messages of several
communicators, has no counterpart in it; a rank computes on one processor.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from exanet._core import TraceReader
from exanet.errors import InputError
from exanet.trace import folder, goal_binary
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED
from exanet.trace.write import Stream, Writer

# -- to GOAL -----------------------------------------------------------------------------------------------------------


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


# -- from GOAL ---------------------------------------------------------------------------------------------------------

_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:\s*)?(?:calc\s+(?P<calc>\d+)|(?P<kind>send|recv)\s+(?P<size>\d+)b\s+(?:to|from)\s+(?P<peer>\d+|-1))"
    r"(?:\s+tag\s+(?P<tag>\d+|-1))?(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?"
)
_REQUIRES = re.compile(r"(?P<later>\w+)\s+(?P<how>i?requires)\s+(?P<earlier>\w+)")
_PROCESSORS = "processors beyond the first: a rank's operations take turns on one"
_LONGEST_NS = 10**12
_MOST_TAG = (1 << 31) - 2
_MOST_BYTES = 1 << 40


@dataclass(slots=True)
class _Operation:
    kind: str  # calc, send or recv
    size: int  # bytes, or nanoseconds
    peer: int = 0  # -1: any
    tag: int = 0  # -1: any
    after: Sequence[int] = ()  # operations that have to be over
    behind: Sequence[int] = ()  # operations that have to be begun


@dataclass
class _Schedule:
    """A rank's operations as the file has them."""

    operations: list[_Operation] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    required: list[tuple[int, re.Match[str]]] = field(default_factory=list)  # lines "A requires B", by their numbers


def read(file: Path, directory: Path) -> dict[str, int]:
    """Makes a trace of a schedule. Returns what the trace does not hold, by what that is. Raises InputError,
    OSError."""
    left_out: Counter[str] = Counter()
    ranks, schedules = (_unpack if goal_binary.is_binary(file) else _parse)(file, left_out)
    with Writer(directory, ranks, {"program": [str(file)]}, "TO") as streams:
        empty = set(range(ranks))
        for rank, schedule in schedules:
            empty.remove(rank)
            _write_operations(streams[rank], schedule.operations, _order(file, rank, schedule.operations))
            streams[rank].close()
        for rank in empty:
            streams[rank].end()
    return dict(left_out)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines without comments, by number. Raises InputError."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text file; give a GOAL schedule, or the folder of a trace") from None
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if content := re.sub(r"//.*|#.*", "", line).strip():
            yield number, content


def _wrong(file: Path, number: int, what: str) -> InputError:
    return InputError(f"{file}:{number}:1: error: {what}")


def _parse(file: Path, left_out: Counter[str]) -> tuple[int, Iterator[tuple[int, _Schedule]]]:
    """The number of ranks, and the schedule of each that the file has, as they come. Raises InputError."""
    lines = _lines(file)
    number, line = next(lines, (1, ""))
    found = re.fullmatch(r"num_ranks\s+(\d+)", line)
    if not line:
        raise _wrong(file, number, "no ranks; write num_ranks N first")
    if line.startswith("rank"):
        raise _wrong(file, number, f"{line}: write each rank once, from 0 to num_ranks - 1, behind num_ranks")
    if found is None:
        raise _wrong(file, number, f"{line[:60]!r} where num_ranks N is expected; write num_ranks first")
    if not 1 <= int(found[1]) <= folder.MOST_RANKS:
        raise _wrong(file, number, f"{line}: write one num_ranks, from 1 to {folder.MOST_RANKS}, before all ranks")
    return int(found[1]), _schedules(file, lines, int(found[1]), number, left_out)


def _schedules(
    file: Path, lines: Iterator[tuple[int, str]], ranks: int, number: int, left_out: Counter[str]
) -> Iterator[tuple[int, _Schedule]]:
    """Raises InputError."""
    seen: set[int] = set()
    rank = -1
    here: _Schedule | None = None
    for number, line in lines:
        if here is None or line.startswith("rank "):
            found = re.fullmatch(r"rank\s+(\d+)\s*\{", line)
            if line.startswith("num_ranks"):
                raise _wrong(file, number, f"{line}: write one num_ranks, before all ranks")
            if found is None or here is not None or int(found[1]) >= ranks or int(found[1]) in seen:
                raise _wrong(file, number, f"{line[:60]}: write each rank once, from 0 to num_ranks - 1, and end the one before with }}")
            rank, here = int(found[1]), _Schedule()
            seen.add(rank)
        elif line == "}":
            _require(file, here)
            yield rank, here
            here = None
        elif found := _REQUIRES.fullmatch(line):
            here.required.append((number, found))
        elif found := _OPERATION.fullmatch(line):
            left_out[_PROCESSORS] += int(found["cpu"] or 0) > 0
            try:
                _add(here, found, ranks)
            except ValueError as error:
                raise _wrong(file, number, str(error)) from None
        else:
            what = "write [LABEL:] calc NS, send Nb to RANK, recv Nb from RANK, or A requires B"
            raise _wrong(file, number, f"{line[:60]!r} is not understood; {what}")
    if here is not None:
        raise _wrong(file, number, "the file ends before its last rank does; end it with }")


def _require(file: Path, here: _Schedule) -> None:
    """Labels may stand before the operations that have them. Raises InputError on one that none has."""
    for number, found in here.required:
        for label in (found["later"], found["earlier"]):
            if label not in here.labels:
                raise _wrong(file, number, f"no operation of this rank has the label {label}; write it before one of them, with a colon")
        later, earlier = here.operations[here.labels[found["later"]]], here.labels[found["earlier"]]
        if found["how"] == "requires":
            later.after = (*later.after, earlier)
        else:
            later.behind = (*later.behind, earlier)


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
    least = -1 if kind == "recv" else 0
    if kind == "calc" and size > _LONGEST_NS:
        raise ValueError(f"a calculation of {size} ns; the longest takes {_LONGEST_NS} ns")
    if kind != "calc" and not least <= peer < ranks:
        raise ValueError(f"rank {peer} is not one of 0 to {ranks - 1}" + (", nor -1 for any" if kind == "recv" else ""))
    if not least <= tag <= _MOST_TAG or (kind != "calc" and size > _MOST_BYTES):
        raise ValueError(f"tags go up to {_MOST_TAG}, and messages to {_MOST_BYTES} B; only a receive takes any tag (-1)")
    return _Operation(kind, size, peer, tag)


def _unpack(file: Path, left_out: Counter[str]) -> tuple[int, Iterator[tuple[int, _Schedule]]]:
    """As _parse, of a binary schedule."""
    with file.open("rb") as opened:
        try:
            places = goal_binary.places(opened, folder.MOST_RANKS)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from None
    return len(places), _unpacked(file, places, left_out)


def _unpacked(file: Path, places: Sequence[tuple[int, int]], left_out: Counter[str]) -> Iterator[tuple[int, _Schedule]]:
    """Raises InputError."""
    with file.open("rb") as opened:
        for number, place in enumerate(places):
            try:
                yield number, _of_rank(goal_binary.rank(opened, place), len(places), left_out)
            except ValueError as error:
                raise InputError(f"{file}: rank {number}: {error}; the file is damaged, or no schedule of this kind") from None


def _of_rank(rank: goal_binary.Rank, ranks: int, left_out: Counter[str]) -> _Schedule:
    """Raises ValueError on a figure that cannot be."""
    operations = [_operation(kind, size, peer, tag, ranks) for kind, size, peer, tag, _ in rank.operations]
    for later, earlier in rank.requires:
        operations[later].after = (*operations[later].after, earlier)
    for later, earlier in rank.irequires:
        operations[later].behind = (*operations[later].behind, earlier)
    left_out[_PROCESSORS] += sum(cpu > 0 for *_, cpu in rank.operations)
    return _Schedule(operations)


def _order(file: Path, rank: int, operations: Sequence[_Operation]) -> Sequence[int]:
    """That of the file, but for operations that stand before what they require. Raises InputError where these
    require each other."""
    if all(max((*each.after, *each.behind), default=-1) < number for number, each in enumerate(operations)):
        return range(len(operations))
    missing = [len(operation.after) + len(operation.behind) for operation in operations]
    followers: list[list[int]] = [[] for _ in operations]
    for number, operation in enumerate(operations):
        for earlier in (*operation.after, *operation.behind):
            followers[earlier].append(number)
    ready = [number for number in range(len(operations)) if missing[number] == 0]
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for later in followers[number]:
            missing[later] -= 1
            if missing[later] == 0:
                heapq.heappush(ready, later)
    if len(order) < len(operations):
        raise InputError(f"{file}: operations of rank {rank} require each other in a cycle; take one of their requirements out")
    return order


def _write_operations(stream: Stream, operations: Sequence[_Operation], order: Sequence[int]) -> None:
    """A graph, whose operations name what they require by how far before them it stands."""
    place = {number: at for at, number in enumerate(order)}
    for at, number in enumerate(order):
        each = operations[number]
        after, behind = (sorted({at - place[earlier] for earlier in earlier_ones}) for earlier_ones in (each.after, each.behind))
        if each.kind == "calc":
            stream.operation("compute", after=after, beside=behind, compute_ps=each.size * 1000)
        else:
            kind = "send" if each.kind == "send" else "receive"
            stream.operation(kind, each.peer, each.size, tag=each.tag, after=after, beside=behind)
    stream.end()
