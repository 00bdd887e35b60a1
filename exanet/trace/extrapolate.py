# SPDX-License-Identifier: Apache-2.0
"""A trace of more ranks than have run, of a program whose pattern is regular.

Problem: a machine is larger than what a program was recorded on. Model: ranks are points of a grid (a row of all of
them, or two or three directions), in which those of one place (first, between or last in each direction) make the same
calls to and from the same neighbours, or the same rank. A larger grid has the same places; each of its ranks makes the
calls of one that was recorded, with its own neighbours. Communicators are all ranks, or those that share some
coordinates. Sizes and computing stay as they are for each rank (weak scaling); from two traces of different numbers of
ranks each follows the power of the number of ranks that goes through both. After Wu and Mueller, "ScalaExtrap" (2011),
who find grids and fit sizes so.

What is not so is refused, and so is a trace in which not every message would be sent and received: a number of calls
that grows with the ranks (a master's, or a recursion by bits of the rank) is not regular in this sense.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exanet.errors import InputError
from exanet.quantity import counted
from exanet.trace import folder, parts
from exanet.trace.folder import Trace
from exanet.trace.forms import FORMS, NAMES, Value, fields, values
from exanet.trace.grids import Grid, grids, larger
from exanet.trace.layout import INTER, OF_WORLD, SELF, WORLD
from exanet.trace.records import COLLECTIVES, HEADER_BYTES, TIMES, Record, opened, pack, records
from exanet.trace.write import CODES

_FINALIZE, _UNRECORDED = CODES["Finalize"], CODES["unrecorded"]
_TO_FIND_GRID = 500  # calls of each rank
_SIZES = ("bytes", "receive_bytes", "compute_ps", "inside_ps", "took_ps")
_COMPUTED = ("compute_ps", "inside_ps", "took_ps")
_BY_RANK = ("sent", "received")  # lists by rank of a collective's communicator


class _IrregularError(Exception):
    """Why a grid is not that of a trace."""


@dataclass(frozen=True)
class _Communicator:
    """Those who share the coordinates in some directions with a rank."""

    grid: Grid
    rank: int
    fixed: tuple[int, ...]

    @property
    def members(self) -> list[int]:
        return self.grid.row(self.rank, self.fixed)


@dataclass
class _Rank:
    """One rank of a trace on a grid: its calls in the grid's terms, in their order."""

    grid: Grid
    number: int
    communicators: dict[int, _Communicator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.makes(WORLD, ())
        self.makes(SELF, tuple(range(len(self.grid.shape))))

    def makes(self, communicator: int, fixed: tuple[int, ...]) -> None:
        self.communicators[communicator] = _Communicator(self.grid, self.number, fixed)

    def take(self, record: Record) -> list[Any]:
        """The record's fields: peers as offsets and ranks, lists by rank as what they are of, others as they are.

        Raises _IrregularError where the grid has no word for one.
        """
        found: list[Any] = []
        got = dict(zip((each.name for each in FORMS[record.code]), values(record), strict=True))
        for each in FORMS[record.code]:
            value = got[each.name]
            if each.kind == "peer" and isinstance(value, int):
                found.append(self._peer(value))
            elif each.kind == "peers" and not isinstance(value, int):
                found.append([self._peer(peer) for peer in value])
            elif each.name == "ranks" and not isinstance(value, int):
                found.append([self._peer(rank + 2) for rank in value])
            elif each.name == "members" and not isinstance(value, int):
                found.append(self._create(record, got, value))
            elif each.name in _BY_RANK and record.code in COLLECTIVES and not isinstance(value, int):
                found.append(self._by_rank(got["communicator"], value))
            else:
                found.append(value)
        return found

    def _peer(self, peer: int) -> Any:
        if peer < 2:
            return peer
        return self.grid.offset(self.number, peer - 2), peer - 2

    def _create(self, record: Record, got: dict[str, Value], members: list[int]) -> tuple[int, ...]:
        flags, made = got["flags"], got["made"]
        assert isinstance(flags, int) and isinstance(made, int)
        if flags & INTER:
            raise _IrregularError(f"MPI_{NAMES[record.code]} makes an intercommunicator")
        if flags & OF_WORLD:
            members = self.communicators[WORLD].members
        directions = range(len(self.grid.shape))
        for count in range(len(directions) + 1):
            for fixed in itertools.combinations(directions, count):
                if made and self.grid.row(self.number, fixed) == members:
                    self.makes(made, fixed)
                    return fixed
        raise _IrregularError(
            f"MPI_{NAMES[record.code]} makes a communicator of {len(members)} ranks that are no row of a grid {self.grid}"
        )

    def _by_rank(self, communicator: Any, given: list[int]) -> Any:
        """Bytes of each rank as those of each place, or, where some are 0, of each offset."""
        if not given:
            return None
        members = self._members(communicator).members
        if len(given) != len(members):
            raise _IrregularError(f"a collective has {len(given)} sizes for {len(members)} ranks")
        if 0 in given and any(given):
            return {self.grid.offset(self.number, member): size for member, size in zip(members, given, strict=True) if size}
        by_place: dict[tuple[int, ...], int] = {}
        for member, size in zip(members, given, strict=True):
            if by_place.setdefault(self.grid.place(member), size) != size:
                raise _IrregularError("a collective has other sizes for ranks of one place")
        return tuple(sorted(by_place.items()))

    def _members(self, communicator: Any) -> _Communicator:
        if communicator not in self.communicators:
            raise _IrregularError("a collective is on a communicator that was made by no recorded call")
        return self.communicators[communicator]


def _alike(code: int, one: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[int, bool]]:
    """Of each field with a peer that distinguishes them its place, and whether the peer is at one offset, not one rank.

    Raises _IrregularError where the calls are not the same.
    """
    for place, (each, mine, others) in enumerate(zip(FORMS[code], one, other, strict=True)):
        if place < TIMES or mine == others:
            continue
        if _at_one_offset(mine, others):
            yield place, True
        elif each.kind == "peer" and isinstance(mine, tuple) and isinstance(others, tuple) and mine[1] == others[1]:
            yield place, False
        else:
            raise _IrregularError(f"MPI_{NAMES[code]} has another {each.name}")


def _of_whom(sizes: Any) -> Any:
    """Of which offsets, or places, there are sizes by rank."""
    return sizes.keys() if isinstance(sizes, dict) else [place for place, _ in sizes or ()]


def _at_one_offset(one: Any, other: Any) -> bool:
    """Whether peers, or lists of them, are at the same offsets."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            mine == others or _at_one_offset(mine, others) for mine, others in zip(one, other, strict=True)
        )
    return isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other) == 2 and bool(one[0] == other[0])


# place, number of a call, and place of a field whose peer is the same rank for all
_Absolute = set[tuple[tuple[int, ...], int, int]]


def _check(trace: Trace, grid: Grid, most: int | None) -> _Absolute:
    """Whether the ranks of each place make the same calls. Raises _IrregularError."""
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank in range(grid.ranks):
        places[grid.place(rank)].append(rank)
    absolute: _Absolute = set()
    relative: _Absolute = set()
    for place, members in places.items():
        ranks = [_Rank(grid, member) for member in members]
        streams = [_records(trace.streams[member]) for member in members]
        for count, row in enumerate(itertools.islice(itertools.zip_longest(*streams), most)):
            first = row[0]
            mine = ranks[0].take(first) if first is not None else []
            for other, record in zip(ranks[1:], row[1:], strict=True):
                if first is None or record is None or record.code != first.code:
                    names = [f"MPI_{NAMES[each.code]}" if each else "nothing more" for each in (first, record)]
                    raise _IrregularError(f"call {count + 1} of rank {members[0]} is {names[0]}, and of rank {other.number} {names[1]}")
                try:
                    for at, by_offset in _alike(first.code, mine, other.take(record)):
                        (relative if by_offset else absolute).add((place, count, at))
                except _IrregularError as why:
                    raise _IrregularError(f"call {count + 1} of ranks {members[0]} and {other.number} differs: {why}") from None
    for _, count, _ in sorted(absolute & relative):
        raise _IrregularError(f"call {count + 1} goes neither to one rank nor to one neighbour")
    return absolute


def _records(stream: Path) -> Iterator[Record]:
    """All but the names of calls on files, which are not those of all ranks."""
    with opened(stream) as data:
        yield from (record for record in records(data) if record.code != _UNRECORDED)


@dataclass(frozen=True)
class _Source:
    trace: Trace
    grid: Grid
    absolute: _Absolute


def _source(trace: Trace, directions: int | None = None) -> _Source:
    """The trace on the grid on which it is regular, of so many directions if that is given. Raises InputError."""
    said = ""
    for grid in grids(trace.about.ranks):
        if directions not in (None, len(grid.shape)):
            continue
        try:
            _check(trace, grid, _TO_FIND_GRID)
            return _Source(trace, grid, _check(trace, grid, None))
        except _IrregularError as why:
            said = said or f"as a grid of {grid}, {why}"
    said = said or f"there is none of {directions} directions"
    what = "its ranks are no grid on which those of one place make the same calls"
    raise InputError(f"{trace.folder}: {what}: {said}; record the program on as many as you want")


# -- the larger trace --------------------------------------------------------------------------------------------------


_Powers = dict[str, set[float]]  # of the number of ranks: which ones sizes and computing follow


class _Made:
    """One rank of the larger trace."""

    def __init__(self, rank: int, target: Grid, sources: Sequence[_Source], powers: _Powers) -> None:
        self._rank, self._target, self._sources, self._powers = rank, target, sources, powers
        self._likes = [_Rank(source.grid, source.grid.like(rank, target)) for source in sources]
        self._own = _Rank(target, rank)

    def write(self, out: Any) -> None:
        streams = [source.trace.streams[like.number] for source, like in zip(self._sources, self._likes, strict=True)]
        with opened(streams[0]) as data:
            header = bytearray(data[:HEADER_BYTES])
        header[16:24] = self._rank.to_bytes(4, "little") + self._target.ranks.to_bytes(4, "little")
        out.write(header)
        place = self._sources[0].grid.place(self._likes[0].number)
        for count, row in enumerate(itertools.zip_longest(*map(_records, streams))):
            taken = self._taken(count, row)
            code = row[0].code
            if code == _FINALIZE:
                out.write(self._file_calls())
            out.write(pack(code, fields(code, self._values(code, taken, row[0], (place, count)))))

    def _file_calls(self) -> bytes:
        """Their names, of all ranks."""
        names = sorted({name for source in self._sources for name in source.trace.about.file_calls})
        return b"".join(pack(_UNRECORDED, [0] * TIMES + [*name.encode("ascii")]) for name in names)

    def _taken(self, count: int, row: Sequence[Record | None]) -> list[list[Any]]:
        """What the calls of all traces are on their grids. Raises InputError where they are not the same but for
        sizes."""
        names = [f"MPI_{NAMES[record.code]}" if record else "nothing more" for record in row]
        if len(set(names)) > 1:
            raise self._differ(count, " and ".join(names))
        taken = [like.take(record) for like, record in zip(self._likes, row, strict=True) if record is not None]
        code = next(record.code for record in row if record is not None)
        for each, *found in zip(FORMS[code], *taken, strict=True):
            if each.name in _BY_RANK and code in COLLECTIVES:
                if any(_of_whom(other) != _of_whom(found[0]) for other in found[1:]):
                    raise self._differ(count, f"{names[0]} with {each.name} to or from others")
            elif each.name not in _SIZES and any(other != found[0] and not _at_one_offset(found[0], other) for other in found[1:]):
                raise self._differ(count, f"{names[0]} with another {each.name}")
        return taken

    def _differ(self, count: int, how: str) -> InputError:
        traces = " and ".join(str(source.trace.folder) for source in self._sources)
        return InputError(
            f"{traces}: call {count + 1} of the ranks that correspond to rank {self._rank} is {how}: what a rank calls depends on the "
            "number of ranks; record the program on as many as you want"
        )

    def _values(self, code: int, taken: Sequence[list[Any]], record: Record, where: tuple[tuple[int, ...], int]) -> list[Value]:
        made: list[Value] = []
        named = dict(zip((each.name for each in FORMS[code]), taken[0], strict=True))
        for at, each in enumerate(FORMS[code]):
            of_all = [each_taken[at] for each_taken in taken]
            first = of_all[0]
            if each.kind == "peer":
                made.append(self._peer(first, (*where, at) in self._sources[0].absolute))
            elif each.kind == "peers":
                made.append([self._peer(peer, False) for peer in first])
            elif each.name == "ranks":
                made.append([self._peer(peer, False) - 2 for peer in first])
            elif each.name == "members":
                made.append(self._create(named, values(record)[at], first))
            elif each.name in _BY_RANK and code in COLLECTIVES:
                made.append(self._by_rank(named["communicator"], of_all))
            elif each.name in _SIZES:
                made.append(self._size(of_all, each.name))
            elif isinstance(first, list) and each.name in _BY_RANK:
                made.append([self._size(sizes) for sizes in zip(*of_all, strict=True)])
            else:
                made.append(first)
        return made

    def _peer(self, peer: Any, absolute: bool) -> int:
        if isinstance(peer, int):
            return peer
        offset, rank = peer
        return (int(rank) if absolute else self._target.moved(self._rank, offset)) + 2

    def _create(self, named: dict[str, Any], given: Value, fixed: tuple[int, ...]) -> list[int]:
        self._own.makes(named["made"], fixed)
        return self._own.communicators[named["made"]].members if given else []

    def _by_rank(self, communicator: int, of_all: Sequence[Any]) -> list[int]:
        first = of_all[0]
        if first is None:
            return []
        members = self._own.communicators[communicator].members
        if isinstance(first, dict):
            sizes: dict[int, int] = {
                self._target.moved(self._rank, offset): self._size([each.get(offset, size) for each in of_all])
                for offset, size in first.items()
            }
            return [sizes.get(member, 0) for member in members]
        by_place = [dict(each) for each in of_all]
        return [self._size([each[self._target.place(member)] for each in by_place]) for member in members]

    def _size(self, found: Sequence[int], name: str = "bytes") -> int:
        """The same for each rank, or by the power of the ranks that goes through two."""
        if len(found) < 2 or found[0] == found[1] or 0 in found:
            return found[0]
        large, small = (source.grid.ranks for source in self._sources)
        power = math.log(found[0] / found[1]) / math.log(large / small)
        self._powers["computing" if name in _COMPUTED else "sizes"].add(round(power, 2))
        grown: float = found[0] * (self._target.ranks / large) ** power
        unit = next(unit for unit in (8, 4, 2, 1) if found[0] % unit == 0 == found[1] % unit)
        return max(unit, round(grown / unit) * unit)


def extrapolate(
    sources: Sequence[Path], target: Path, ranks: int, shape: str | None = None, progress: Callable[[float], None] = lambda share: None
) -> tuple[folder.About, str, list[str]]:
    """Writes the trace of so many ranks. Returns what it is, how its ranks were laid out, in words, and what was taken
    for granted.

    Raises InputError, OSError.

    `progress` gets the share of the ranks that are written.
    """
    if not 1 <= len(sources) <= 2:
        raise InputError(f"{len(sources)} traces: give one, or two of different numbers of ranks")
    parts.check_target(target, *sources)
    traces = sorted((parts.whole(source) for source in sources), key=lambda trace: -trace.about.ranks)
    counts = [trace.about.ranks for trace in traces]
    if graphs := [trace for trace in traces if trace.has_graphs()]:
        raise InputError(f"{graphs[0].folder}: it has graphs of operations, whose pattern is not looked for; extrapolate a recorded trace")
    if len(set(counts)) < len(counts) or len({trace.about.mpi for trace in traces}) > 1:
        raise InputError(f"{sources[0]} and {sources[1]}: give runs of different numbers of ranks, under one MPI")
    if not counts[0] < ranks <= folder.MOST_RANKS:
        raise InputError(f"--ranks {ranks}: {traces[0].folder} has {counts[0]}; give more, up to {folder.MOST_RANKS}")
    found = [_source(traces[0])]
    found += [_source(trace, len(found[0].grid.shape)) for trace in traces[1:]]
    grid = _target(found, ranks, shape)
    run = {"program": traces[0].about.run.get("program", []), "extrapolated": _said(found, grid)}
    powers: _Powers = {"sizes": set(), "computing": set()}
    about = folder.replaced(target, "-o", lambda place: _write(place, grid, found, run, powers, progress))
    return about, f"{' and '.join(str(each.grid) for each in found)} as {grid}", list(_granted(found, powers))


def _granted(sources: Sequence[_Source], powers: _Powers) -> Iterator[str]:
    if len(sources) == 1:
        yield "calls, sizes and computing of a rank stay as they are; a trace of fewer ranks beside it shows what does not"
        members = Counter(sources[0].grid.place(rank) for rank in range(sources[0].grid.ranks))
        # but for corners, of which there is one each
        alone = sum(count == 1 and 1 in place for place, count in members.items())
        if alone:
            yield (
                f"in {alone} of {len(members)} places of the grid there was one rank alone, so nothing shows that more of them do the same "
                "with neighbours of theirs; a trace of more ranks does"
            )
    for what, found in powers.items():
        if found:
            least, most = min(found), max(found)
            yield (
                f"{what} follow N^{least:g}" + (f" to N^{most:g}" if most > least else "") + ", the powers of the ranks through both traces"
            )


def _write(
    place: Path,
    grid: Grid,
    sources: Sequence[_Source],
    run: dict[str, Any],
    powers: _Powers,
    progress: Callable[[float], None],
) -> folder.About:
    folder.prepare(place, "-o")
    made = []
    for rank in range(grid.ranks):
        with folder.stream(place, rank).open("wb") as out:
            _Made(rank, grid, sources, powers).write(out)
        made.append(parts.part_of(rank, folder.stream(place, rank)))
        progress((rank + 1) / grid.ranks)
    advice = "its pattern is not regular; record the program on as many as you want"
    parts.check_messages(made, f"{sources[0].trace.folder}: as {counted(grid.ranks, 'rank')}", advice)
    return folder.finish(place, grid.ranks, run, option="-o")


def _said(sources: Sequence[_Source], grid: Grid) -> dict[str, Any]:
    """What trace.json says of it."""
    said = [{"trace": str(source.trace.folder), "ranks": source.grid.ranks, "grid": list(source.grid.shape)} for source in sources]
    return {"from": said, "grid": list(grid.shape)}


def _target(sources: Sequence[_Source], ranks: int, shape: str | None) -> Grid:
    """The grid of so many ranks. Raises InputError."""
    grid = sources[0].grid
    if shape is None:
        known = sources[1].grid if len(sources) > 1 else None
        if (found := larger(grid, ranks, known)) is None:
            if known is not None and larger(grid, ranks) is not None:
                alike = "the traces are grids {0} and {1}, and nothing shows what becomes of a direction in which they are alike"
                raise InputError(f"--ranks {ranks}: {alike.format(grid, known)}; give other ranks, or --grid if that is what you want")
            raise InputError(f"--ranks {ranks}: of a grid {grid} only directions of three ranks and more become longer; give other ranks")
    else:
        if not re.fullmatch(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6})*", shape):
            raise InputError(f"--grid {shape}: give numbers of ranks, as 8x8")
        found = Grid(tuple(map(int, shape.split("x"))))
        if len(found.shape) != len(grid.shape) or found.ranks != ranks:
            many = f"{len(grid.shape)} directions and {counted(ranks, 'rank')}"
            raise InputError(f"--grid {shape}: the ranks of {sources[0].trace.folder} are a grid {grid}; give one of {many}")
    for source in sources:
        for old, new in zip(source.grid.shape, found.shape, strict=True):
            if new < old or (new > old and old < 3):
                why = "only directions of three ranks and more (first, between, last) become longer, and none shorter"
                raise InputError(
                    f"{source.trace.folder}: a grid {source.grid} becomes none of {found}: {why}; record more ranks, or give --grid"
                )
    return found
