# SPDX-License-Identifier: Apache-2.0
"""Cuts a part out of a trace, and puts traces one behind the other.

Problem: a part can only be replayed if each of its messages has both ends in it. Model: it is cut where all ranks meet,
at blocking collectives on MPI_COMM_WORLD, which all ranks call in one order; and a place is refused at which a request
is under way, or a message has left and not been received. Communicators and persistent requests that were made before
the part go with it, at no time.

Limit: records are read one by one here, some hundred thousand in a second.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exanet._core import TraceTables
from exanet.errors import InputError
from exanet.quantity import counted
from exanet.trace import folder
from exanet.trace.folder import Trace
from exanet.trace.layout import EMPTY, WORLD
from exanet.trace.records import (
    ACCESSES,
    BLOCKING,
    COLLECTIVES,
    COMMUNICATOR,
    CREATES,
    ENDS,
    EXCHANGES,
    HEADER_BYTES,
    INITS,
    MESSAGES,
    NEIGHBOURS,
    PROBES,
    RECEIVES,
    REQUESTED,
    STARTS,
    SYNCHRONISATIONS,
    TIMES,
    WINDOW,
    WINDOWS,
    Record,
    opened,
    pack,
    records,
)
from exanet.trace.write import CODES

_ANY_PEER, _ANY_TAG = 1, 0  # fields of a stream (docs/reference/trace.md)
_BEGINNINGS = [CODES[f"Win_{name}"] for name in ("lock", "lock_all", "start", "post")]
_ENDINGS = [CODES[f"Win_{name}"] for name in ("unlock", "unlock_all", "complete", "wait", "test")]


def whole(place: Path) -> Trace:
    """A trace that can be replayed. Raises InputError."""
    trace = folder.load(place).verify()
    if not trace.about.complete or trace.about.missing:
        why = trace.about.reason or f"it calls {', '.join(trace.about.missing)}, which is not recorded"
        raise InputError(f"{place}: the recording is incomplete: {why}")
    try:
        tables = TraceTables(trace.about.ranks)
        for stream in trace.streams:
            if not tables.read(str(stream))["complete"]:
                raise InputError(f"{stream}: it is cut before the program's end; record the program anew")
    except ValueError as error:
        raise InputError(str(error)) from None
    return trace


# -- cut ---------------------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """What there is of one rank: bytes that go before, and where its own begin and end in the stream."""

    rank: int
    carried: bytes = b""
    begin: int = HEADER_BYTES
    end: int = 0
    ended: bool = False  # with the program
    met: int = 0  # collectives on MPI_COMM_WORLD
    sent: Counter[Any] = field(default_factory=Counter)  # by source, target, communicator and tag
    received: Counter[Any] = field(default_factory=Counter)


class _Cutter:
    """Finds the part of one rank."""

    def __init__(self, rank: int, after: int, until: int | None) -> None:
        self.part = Part(rank)
        self._after, self._until = after, until
        self._keeps = after == 0
        self._communicators: dict[int, Any] = {1: "world", 2: ("self", rank)}
        self._made: Counter[Any] = Counter()
        self._made_before: list[bytes] = []
        self._inits: dict[int, Record] = {}
        self._windows: dict[int, Record] = {}
        self._epochs: Counter[int] = Counter()  # by window: locks that are held, exposures and accesses that are begun
        self._under_way: set[int] = set()

    def find(self, data: mmap.mmap) -> Part:
        for record in records(data):
            self._take(record)
            if record.code in BLOCKING and record.fields[TIMES] == WORLD:
                self.part.met += 1
                if self.part.met == self._after:
                    self._meet("--after", self._after)
                    self._keeps, self.part.begin = True, record.end
                    windows = [pack(WINDOW, [0] * TIMES + record.fields[TIMES:]) for record in self._windows.values()]
                    self.part.carried = b"".join([*self._made_before, *windows, *map(_at_no_time, self._inits.values())])
                if self.part.met == self._until:
                    self._meet("--until", self._until)
                    self.part.end = record.end
                    return self.part
            self.part.end, self.part.ended = record.end, record.code == CODES["Finalize"]
        return self.part

    def _meet(self, option: str, count: int) -> None:
        if self._under_way:
            raise InputError(f"{option} {count}: rank {self.part.rank} has {len(self._under_way)} requests under way there; cut elsewhere")
        if +self._epochs:
            raise InputError(f"{option} {count}: rank {self.part.rank} holds a lock there, or exposes a window; cut elsewhere")

    def _take(self, record: Record) -> None:
        code, fields = record.code, record.fields[TIMES:]
        if code in MESSAGES:
            communicator, peer, tag, _, request = fields
            if code in INITS:
                self._inits[request] = record
            else:
                self._message(code in RECEIVES, communicator, peer, tag)
                self._under_way |= {request} - {0}
        elif code in EXCHANGES:
            self._message(False, fields[0], *fields[1:3])
            self._message(True, fields[0], *fields[4:6])
        elif code in STARTS:
            self._under_way |= set(fields)
            for init in (self._inits[request] for request in fields if request in self._inits):
                self._message(init.code in RECEIVES, *init.fields[TIMES : TIMES + 3])
        elif code in ENDS or code == CODES["Request_free"]:
            self._under_way -= set(fields)
            if code == CODES["Request_free"]:
                for request in fields:
                    self._inits.pop(request, None)
        elif code in COLLECTIVES and code not in BLOCKING:
            self._under_way |= {fields[2]} - {0}
        elif code in NEIGHBOURS:
            self._under_way |= {fields[1]} - {0}
        elif code in REQUESTED:
            self._under_way |= {fields[2]} - {0}
        elif code in WINDOWS:
            self._windows[fields[1]] = record
        elif code in SYNCHRONISATIONS:
            self._synchronise(code, fields)
        elif code in CREATES and fields[1] != 0:
            self._create(fields)

    def _synchronise(self, code: int, fields: list[int]) -> None:
        if code == CODES["Win_free"]:
            self._windows.pop(fields[0], None)
        self._epochs[fields[0]] += (code in _BEGINNINGS) - (code in _ENDINGS and not fields[2] & EMPTY)

    def _create(self, fields: list[int]) -> None:
        count = fields[3]
        groups = tuple(sorted([tuple(fields[4 : 4 + count]), tuple(fields[5 + count :])]))
        self._communicators[fields[1]] = (groups, self._made[groups])
        self._made[groups] += 1
        if not self._keeps:
            self._made_before.append(pack(COMMUNICATOR, [0, 0, 0, 0, *fields[1:]]))

    def _message(self, receives: bool, communicator: int, peer: int, tag: int) -> None:
        if not self._keeps or peer == 0:
            return
        own, context = self.part.rank + 2, self._communicators[communicator]
        if receives:
            self.part.received[peer, own, context, tag] += 1
        else:
            self.part.sent[own, peer, context, tag] += 1


def _at_no_time(record: Record) -> bytes:
    return pack(record.code, [0] * TIMES + record.fields[TIMES:])


def cut(source: Path, target: Path, after: int, until: int | None) -> folder.About:
    """Writes what lies between two collectives on MPI_COMM_WORLD, counted from 1; the second one is in it. Raises
    InputError, OSError."""
    if after < 0 or (until is not None and until <= after):
        raise InputError(f"--after {after} --until {until}: give whole numbers from 0 on, the second above the first")
    trace = whole(source)
    check_target(target, source)
    parts = [part_of(rank, stream, after, until) for rank, stream in enumerate(trace.streams)]
    least = min(part.met for part in parts)
    for option, count in (("--after", after), ("--until", until or 0)):
        if count > least:
            raise InputError(f"{option} {count}: {source} has {least} blocking collectives on MPI_COMM_WORLD; give at most that")
    check_messages(parts, f"--after {after}" + ("" if until is None else f" --until {until}"), "cut elsewhere")
    place = folder.prepare(target, "-o")
    for part, stream in zip(parts, trace.streams, strict=True):
        with opened(stream) as data, folder.stream(place, part.rank).open("wb") as out:
            out.write(data[:HEADER_BYTES] + part.carried)
            out.write(data[part.begin : part.end])
            if not part.ended:
                out.write(pack(CODES["Finalize"], [0] * TIMES))
    run = trace.about.run | {"cut": {"after": after, "until": until}}
    return folder.finish(place, trace.about.ranks, run, option="-o")


def part_of(rank: int, stream: Path, after: int = 0, until: int | None = None) -> Part:
    """What lies between two collectives of a rank's stream. Raises InputError."""
    with opened(stream) as data:
        return _Cutter(rank, after, until).find(data)


def check_messages(parts: Sequence[Part], where: str, advice: str) -> None:
    """Raises InputError unless each message has both ends in the parts, as far as that can be seen without times."""
    sent: Counter[Any] = Counter()
    received: Counter[Any] = Counter()
    to: Counter[Any] = Counter()
    for part in parts:
        sent.update(part.sent)
        received.update(part.received)
    for (_, target, context, _), count in sent.items():
        to[target, context] += count
    for (source, target, context, tag), count in received.items():
        to[target, context] -= count
        exact = source != _ANY_PEER and tag != _ANY_TAG
        if exact and sent[source, target, context, tag] < count:
            raise InputError(f"{where}: rank {target - 2} receives from rank {source - 2} what was sent outside; {advice}")
    for (target, _), count in to.items():
        if count:
            verb, how = "is" if abs(count) == 1 else "are", "sent to" if count > 0 else "received by"
            messages = f"{counted(abs(count), 'message')} {verb} {how} rank {target - 2}"
            raise InputError(f"{where}: {messages} whose other end lies outside; {advice}")


def check_target(target: Path, *sources: Path) -> None:
    real = Path(os.path.realpath(target))
    for source in sources:
        if real == source.resolve():
            raise InputError(f"-o {target}: that is a trace to read; name another folder")
        if source.resolve() in real.parents:
            raise InputError(f"-o {target}: that is inside {source}, a trace to read; name another folder")


# -- merge -------------------------------------------------------------------------------------------------------------


def merge(sources: Sequence[Path], target: Path) -> folder.About:
    """Writes the traces one behind the other: each rank goes on with the next one's calls. Raises InputError,
    OSError."""
    if len(sources) < 2:
        raise InputError("name two traces or more, to concatenate")
    traces = [whole(source) for source in sources]
    check_target(target, *sources)
    ranks = traces[0].about.ranks
    for source, trace in zip(sources, traces, strict=True):
        if trace.about.ranks != ranks:
            raise InputError(
                f"{source}: it has {counted(trace.about.ranks, 'rank')}, and {sources[0]} has {ranks}; "
                "all must have the same number of ranks"
            )
    place = folder.prepare(target, "-o")
    for rank in range(ranks):
        with folder.stream(place, rank).open("wb") as out:
            _join([trace.streams[rank] for trace in traces], out)
    run = {"program": traces[0].about.run.get("program", []), "merged": [str(source) for source in sources]}
    return folder.finish(place, ranks, run, option="-o")


def _join(streams: Sequence[Path], out: Any) -> None:
    """One rank's streams. Communicators get numbers behind those of the streams before; computing before an end that
    is none goes on."""
    made = 2  # the highest number of a communicator; the first two are MPI's own
    windows = 0
    computed_ps = 0
    for turn, stream in enumerate(streams):
        beyond, windows_beyond = made - 2, windows
        with opened(stream) as data:
            if turn == 0:
                out.write(data[:HEADER_BYTES])
            for code, at, end, fields in records(data):
                if code == CODES["Finalize"] and turn + 1 < len(streams):
                    computed_ps += fields[0]
                    continue
                moved = list(fields)
                moved[0] += computed_ps
                computed_ps = 0
                if code in CREATES:
                    made = max(made, moved[4] + beyond)
                if code in WINDOWS:
                    moved[4] += windows_beyond
                    windows = max(windows, moved[4])
                elif code in ACCESSES or code in SYNCHRONISATIONS:
                    moved[3] += windows_beyond
                for place in range(TIMES, TIMES + _communicators_in(code)):
                    if moved[place] > 2:
                        moved[place] += beyond
                out.write(data[at:end] if moved == fields else pack(code, moved))


def _communicators_in(code: int) -> int:
    """How many of the first fields of a record are communicators."""
    if code in CREATES:
        return 2
    return int(code in MESSAGES or code in EXCHANGES or code in PROBES or code in COLLECTIVES or code in NEIGHBOURS or code in WINDOWS)
