# SPDX-License-Identifier: Apache-2.0
"""Reads GOAL schedules, as text or binary (goal_binary.py): the way back from goal.py, which names their source.

Model: a schedule becomes a graph of operations for each rank (spec/trace.yaml), which has the requirements of the
schedule and no others. As in LogGOPSim's txt2bin, each rank has a section, which may be empty; unlike there, sections
may stand in any order. Limit: a rank computes on one processor.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from exanet.errors import InputError
from exanet.files import not_text
from exanet.trace import folder, goal_binary
from exanet.trace.write import Stream

_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:\s*)?"
    r"(?:calc\s+(?P<calc>[0-9]+)|(?P<kind>send|recv)\s+(?P<size>[0-9]+)b\s+(?P<way>to|from)\s+(?P<peer>[0-9]+|-1))"
    r"(?:\s+tag\s+(?P<tag>[0-9]+|-1))?(?:\s+cpu\s+(?P<cpu>[0-9]+))?(?:\s+nic\s+(?P<nic>[0-9]+))?"
)
_REQUIRES = re.compile(r"(?P<later>\w+)\s+(?P<how>i?requires)\s+(?P<earlier>\w+)")
_PROCESSORS = "processors beyond the first: a rank's operations take turns on one"
_LONGEST_NS = 10**12
_NAMED = 8  # ranks without a section that a message names
_MOST_TAG = (1 << 31) - 1
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
    place = folder.prepare(directory, "TO")
    for rank, schedule in schedules:
        stream = Stream(place, rank, ranks)
        _write_operations(stream, schedule.operations, _order(file, rank, schedule.operations))
        stream.close()
    folder.finish(place, ranks, {"program": [str(file)]}, option="TO")
    return dict(left_out)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines without comments, by number. Raises InputError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_text(file, "give a GOAL schedule as text in UTF-8, or the folder of a trace") from None
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if content := re.sub(r"//.*|#.*", "", line).strip():
            yield number, content


def _whole(digits: str) -> int:
    """The number; of one that is too large for anything, another such."""
    return int(digits) if len(digits) <= 30 else 10**30


def _wrong(file: Path, number: int, what: str) -> InputError:
    return InputError(f"{file}:{number}:1: error: {what}")


def _parse(file: Path, left_out: Counter[str]) -> tuple[int, Iterator[tuple[int, _Schedule]]]:
    """The number of ranks, and the schedule of each that the file has, as they come. Raises InputError."""
    lines = _lines(file)
    number, line = next(lines, (1, ""))
    found = re.fullmatch(r"num_ranks\s+([0-9]+)", line)
    if not line:
        raise _wrong(file, number, "no ranks; write num_ranks N first")
    if line.startswith("rank"):
        raise _wrong(file, number, f"{line[:60]}: write each rank once, from 0 to num_ranks - 1, behind num_ranks")
    if found is None:
        raise _wrong(file, number, f"{line[:60]!r} where num_ranks N is expected; write num_ranks first")
    if not 1 <= _whole(found[1]) <= folder.MOST_RANKS:
        raise _wrong(file, number, f"{line[:60]}: write one num_ranks, from 1 to {folder.MOST_RANKS}, before all ranks")
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
            found = re.fullmatch(r"rank\s+([0-9]+)\s*\{", line)
            if line.startswith("num_ranks"):
                raise _wrong(file, number, f"{line[:60]}: write one num_ranks, before all ranks")
            if found is None or here is not None or _whole(found[1]) >= ranks or int(found[1]) in seen:
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
            left_out[_PROCESSORS] += _whole(found["cpu"] or "0") > 0
            try:
                _add(here, found, ranks)
            except ValueError as error:
                raise _wrong(file, number, str(error)) from None
        else:
            what = "write [LABEL:] calc NS, send Nb to RANK, recv Nb from RANK, or A requires B"
            raise _wrong(file, number, f"{line[:60]!r} is not understood; {what}")
    if here is not None:
        raise _wrong(file, number, "the file ends before its last rank does; end it with }")
    if missing := list(islice((rank for rank in range(ranks) if rank not in seen), _NAMED + 1)):
        which = f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing[:_NAMED]))}{' and others' * (len(missing) > _NAMED)}"
        advice = "write each, that of a rank without operations as rank N { and }, or lower num_ranks"
        raise _wrong(file, number, f"the file ends without a section for {which} of {ranks}; {advice}")


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
    if found["way"] and (kind == "send") != (found["way"] == "to"):
        raise ValueError(f"{kind} ... {found['way']}: write send Nb to RANK, or recv Nb from RANK")
    size, peer, tag = (_whole(text or "0") for text in (found["calc"] or found["size"], found["peer"], found["tag"]))
    operation = _operation(kind, size, peer, tag, ranks)
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
    if not least <= tag <= _MOST_TAG:
        raise ValueError(f"tag {tag} is not one of 0 to {_MOST_TAG}" + (", nor -1 for any" if kind == "recv" else ""))
    if kind != "calc" and size > _MOST_BYTES:
        raise ValueError(f"a message of {size} B; the largest has {_MOST_BYTES} B")
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
