# SPDX-License-Identifier: Apache-2.0
"""Reads SimGrid's time-independent traces (TI): what `smpirun -trace-ti` writes and `smpirun -replay` takes.

Source: SimGrid's documentation of offline simulation (SMPI), and the actions that its replay knows. A trace is a list
of files, one a rank, or one file for all; a line is a rank, an action and its sizes, as counts of a datatype that a
number names. Computing is in floating-point operations, taken as nanoseconds (a host of 1 Gflop/s).

Limits: the format has no communicators, so a split is refused, as collectives behind it may be of some ranks only; a
test finds nothing, and its message is waited for later; messages that nobody waits for are waited for at the end, as
SimGrid does.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exanet.errors import InputError
from exanet.files import not_text
from exanet.quantity import counted
from exanet.trace import folder
from exanet.trace.layout import WORLD
from exanet.trace.write import Stream, Writer

_ACTION = re.compile(rb"\s*(?:p|rank-)?\d+\s+[A-Za-z_]+(?:\s|$)")
_KNOWN = (
    "init finalize compute sleep location send isend recv irecv sendrecv test wait waitall barrier bcast reduce allreduce alltoall "
    "alltoallv gather gatherv allgather allgatherv scatter scatterv reducescatter scan exscan comm_size comm_dup comm_split"
)
_NAMES = frozenset(_KNOWN.split())
_HEAD_BYTES = 4096
_ANY_SOURCE, _ANY_TAG, _NO_PEER = -555, -444, -666  # of its SMPI
_UNDEFINED = -333  # what it writes for any source of an exchange
_MOST_TAG = (1 << 31) - 1
_MOST_BYTES = 1 << 40
_MOST_FLOPS = 1e21

_BYTES = (
    "8 4 1 2 8 4 1 8 1 1 2 4 8 8 16 4 1 1 2 4 8 1 2 4 8 8 16 32 8 8 8 16 16 8 8 8 16 16 4 4 8 16 8 16 16 4 2 4 8 16 32 1 8 16 32 0 0 1 8 8"
)
SIZES = {str(number): int(size) for number, size in enumerate(_BYTES.split())}
"""Bytes of SimGrid's datatypes by their numbers, from MPI_DOUBLE (0) on; 6 is MPI_BYTE."""


def found(place: Path) -> Path | None:
    """The list, or the only file, of a trace: the file itself, or the one list in a folder. Raises OSError."""
    if place.is_file():
        return place if _begins(place) or _is_list(place) else None
    if not place.is_dir():
        return None
    lists = [file for file in sorted(place.iterdir())[:4096] if file.is_file() and _is_list(file)]
    return lists[0] if len(lists) == 1 else None


def _begins(file: Path) -> bool:
    """Whether the file's first line is an action. Raises OSError."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES).removeprefix(codecs.BOM_UTF8)
    lines = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return bool(lines) and bool(_ACTION.match(lines[0])) and lines[0].split()[1].decode("latin1").lower() in _NAMES


def _is_list(file: Path) -> bool:
    """Whether the file's first line names a file of actions. Raises OSError."""
    with file.open("rb") as opened:
        lines = [line.strip() for line in opened.read(_HEAD_BYTES).removeprefix(codecs.BOM_UTF8).splitlines() if line.strip()]
    if not lines or b"\0" in lines[0]:
        return False
    named = file.parent / lines[0].decode("utf-8", "surrogateescape")
    try:
        return named != file and named.is_file() and _begins(named)
    except OSError:  # no name that a file may have
        return False


def read(file: Path, directory: Path) -> dict[str, int]:
    """Makes a trace. Returns what it does not hold, by what that is. Raises InputError, OSError."""
    left_out: Counter[str] = Counter()
    files = [file] if _begins(file) else _listed(file)
    shared = len(files) == 1
    ranks = _ranks(file, {rank for _, rank, _ in _actions(files[0])}) if shared else len(files)
    if not 1 <= ranks <= folder.MOST_RANKS:
        raise InputError(f"{file}: {counted(ranks, 'rank')}; a trace has 1 to {folder.MOST_RANKS}")
    with Writer(directory, ranks, {"program": [str(file)]}, "TO") as streams:
        actors = [_Actor(rank, ranks, stream, left_out) for rank, stream in enumerate(streams)]
        for number, each in enumerate(files):
            _take(each, actors, None if shared else number)
            for actor in actors if shared else (actors[number],):
                actor.end(each)
    return dict(left_out)


def _ranks(file: Path, met: set[int]) -> int:
    """How many there are, of those whose actions one file has. Raises InputError."""
    ranks = 1 + max(met, default=0)
    if len(met) < ranks:
        missing = next(rank for rank in range(ranks) if rank not in met)
        raise InputError(f"{file}: rank {missing} of {ranks} has no actions; give a trace with a line for each rank")
    return ranks


def _listed(file: Path) -> list[Path]:
    """The files of a list, whose names are relative to it. Raises InputError."""
    files = []
    for number, line in enumerate(_text(file).splitlines(), 1):
        if name := line.strip():
            files.append(file.parent / name)
            if not files[-1].is_file():
                raise InputError(f"{file}:{number}:1: error: no file {name[:200]!r} beside the list; name the trace of a rank in each line")
    return files


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_text(file, "give a time-independent trace as smpirun -trace-ti writes it") from None


def _wrong(file: Path, number: int, what: str) -> InputError:
    return InputError(f"{file}:{number}:1: error: {what}")


def _actions(file: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Number of the line, rank, and the action with its arguments. Raises InputError."""
    for number, line in enumerate(_text(file).split("\n"), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        rank = words[0].removeprefix("rank-").removeprefix("p")
        if not rank.isascii() or not rank.isdecimal() or len(rank) > 9 or len(words) < 2:
            raise _wrong(file, number, f"{line[:60]!r} is no action; write RANK ACTION and its sizes")
        if int(rank) >= folder.MOST_RANKS:
            raise _wrong(file, number, f"rank {rank}: ranks go from 0 to {folder.MOST_RANKS - 1}")
        yield number, int(rank), words[1:]


def _take(file: Path, actors: Sequence[_Actor], only: int | None) -> None:
    """Raises InputError."""
    for number, rank, words in _actions(file):
        if only is not None and rank != only:
            raise _wrong(file, number, f"an action of rank {rank} in the file of rank {only}; list the files in the order of their ranks")
        try:
            actors[rank].take(words[0].lower(), words[1:])
        except ValueError as error:
            raise _wrong(file, number, f"{' '.join(words)[:60]!r}: {error}") from None


def _number(text: str, most: float = _MOST_BYTES) -> float:
    """Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no number") from None
    if not math.isfinite(value) or not 0 <= value <= most:
        raise ValueError(f"{text[:40]} is not from 0 to {most:g}")
    return value


def _whole(text: str, least: int, most: int, what: str, others: Sequence[int] = ()) -> int:
    """Raises ValueError."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise ValueError(f"{what} {text[:40]!r} is no whole number")
    if not least <= int(text) <= most and int(text) not in others:
        raise ValueError(f"{what} {text} is not from {least} to {most}")
    return int(text)


@dataclass
class _Actor:
    """A rank while its actions become calls."""

    rank: int
    ranks: int
    stream: Stream
    left_out: Counter[str]
    # source, destination and tag of what is under way
    requests: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    made: int = 0
    passed_ps: int = 0  # computing before the next call
    default: str = "6"  # the type of sizes that name none
    begun: bool = False
    ended: bool = False

    def take(self, name: str, words: Sequence[str]) -> None:
        """One action. Raises ValueError."""
        if name not in _NAMES:
            raise ValueError("the action is unknown here; record the program with exanet record instead")
        if self.ended:
            raise ValueError("it stands behind the rank's finalize")
        self.begun = True
        if name == "init":
            self.default = "0" if words else "6"
        elif name == "finalize":
            self.ended = True
        elif name in ("compute", "sleep"):
            self.compute(round(_number(_one(words), _MOST_FLOPS if name == "compute" else 1e6) * (1e3 if name == "compute" else 1e12)))
        elif name in ("comm_size", "comm_dup", "location"):
            self.left_out["names of communicators and places in sources"] += 1
        elif name == "comm_split":
            raise ValueError("collectives of a part of ranks have no mark in this format; record it with exanet record")
        elif name in ("send", "isend", "recv", "irecv"):
            self.message(name, words)
        elif name == "sendrecv":
            self.exchange(words)
        elif name in ("wait", "test"):
            self.wait(name, words)
        elif name == "waitall":
            self.finish(list(self.requests))
        else:
            self.collective(name, words)

    def compute(self, ps: int) -> None:
        """Computes before the next call. Raises ValueError."""
        self.passed_ps += ps
        if self.passed_ps >= 1 << 62:
            raise ValueError("computing of more than 53 days without a call between")

    def spent(self) -> int:
        """The computing before this call."""
        passed, self.passed_ps = self.passed_ps, 0
        return passed

    def size(self, count: str, kind: str | None) -> int:
        """Bytes of so many of a type. Raises ValueError."""
        kind = self.default if kind is None else kind
        if kind not in SIZES:
            raise ValueError(f"datatype {kind[:40]!r} is none of SimGrid's numbers, 0 to {len(SIZES) - 1}")
        found = _number(count) * SIZES[kind]
        if found > _MOST_BYTES:
            raise ValueError(f"{found:.0f} B; the largest message has {_MOST_BYTES} B")
        return round(found)

    def message(self, name: str, words: Sequence[str]) -> None:
        if not 3 <= len(words) <= 4:
            raise ValueError("write PEER TAG SIZE [DATATYPE]; traces of SimGrid before 3.20 have no tag, record them anew")
        sends = name.endswith("send")
        peer = self.peer(words[0], *(() if sends else (_ANY_SOURCE,)))
        tag = _whole(words[1], 0, _MOST_TAG, "tag", () if sends else (_ANY_TAG,))
        count = "0" if not sends and words[2].startswith("-") else words[2]  # a receive of unknown size
        size = self.size(count, words[3] if len(words) > 3 else None)
        request = 0
        if name in ("isend", "irecv"):
            self.made = request = self.made + 1 if self.requests else 1
            self.requests[request] = (self.rank, peer, tag) if sends else (peer, self.rank, tag)
        tag = -1 if tag == _ANY_TAG else tag
        self.stream.message(name.capitalize(), _there(peer), size, tag=tag, request=request, compute_ps=self.spent())

    def exchange(self, words: Sequence[str]) -> None:
        """SimGrid replays it by tag 0. Raises ValueError."""
        rest = _arguments(words, 4, 2, "SENT DESTINATION RECEIVED SOURCE [DATATYPE DATATYPE]")
        kind, other = rest(4), rest(5)
        to, source = self.peer(words[1]), self.peer(words[3], _ANY_SOURCE, _UNDEFINED)
        sent, received = self.size(words[0], kind), self.size(words[2], other or kind)
        ends = [(_there(peer) + 2, 1, size) for peer, size in ((to, sent), (source, received))]
        self.stream.call("Sendrecv", WORLD, *ends[0], *ends[1], compute_ps=self.spent())

    def peer(self, word: str, *others: int) -> int:
        """Raises ValueError."""
        return _whole(word, 0, self.ranks - 1, "rank", (_NO_PEER, *others))

    def wait(self, name: str, words: Sequence[str]) -> None:
        if len(words) != 3:
            raise ValueError("write SOURCE DESTINATION TAG of the message")
        least = -(1 << 31)
        source, destination, tag = (_whole(word, least, (1 << 31) - 1, "number") for word in words)
        if name == "test":
            self.stream.call("Test", compute_ps=self.spent())
            return
        request = self.under_way(source, destination, tag)
        if request is None:
            self.left_out["waits for messages that are not under way"] += 1
        else:
            self.finish([request])

    def under_way(self, source: int, destination: int, tag: int) -> int | None:
        """The earliest request of such a message; one from any rank or by any tag may be named by what it took."""
        for request, named in self.requests.items():
            if named == (source, destination, tag):
                return request
        for request, named in self.requests.items():
            if named[0] in (source, _ANY_SOURCE) and named[1] == destination and named[2] in (tag, _ANY_TAG):
                return request
        return None

    def finish(self, requests: list[int]) -> None:
        for request in requests:
            del self.requests[request]
        if requests:
            self.stream.wait(*requests, compute_ps=self.spent())

    def end(self, file: Path) -> None:
        """Raises InputError."""
        if not self.begun:
            raise InputError(f"{file}: rank {self.rank} has no actions; give a trace with a line for each rank")
        self.finish(list(self.requests))
        self.stream.end(self.spent())
        self.stream.close()

    # -- collectives ---------------------------------------------------------------------------------------------------

    def collective(self, name: str, words: Sequence[str]) -> None:
        """Raises ValueError."""
        if name == "barrier":
            self.call("Barrier", element=1)
        elif name in ("bcast", "reduce", "allreduce", "scan", "exscan"):
            self.of_one_size(name, words)
        elif name in ("gather", "scatter", "allgather", "alltoall"):
            self.of_blocks(name, words)
        else:
            self.of_lists(name, words)

    def of_one_size(self, name: str, words: Sequence[str]) -> None:
        """SIZE [FLOPS] [ROOT] [DATATYPE]; the operations follow the messages."""
        computes, rooted = name != "bcast", name in ("bcast", "reduce")
        rest = _arguments(words, 1 + computes, int(rooted) + 1, "SIZE" + " FLOPS" * computes + " [ROOT]" * rooted + " [DATATYPE]")
        root = rest(1 + computes) if rooted else None
        kind = rest(1 + computes + rooted)
        self.call(name.capitalize(), self.size(words[0], kind), root=root, element=self.element(kind))
        if computes:
            self.compute(self.operations(words[1]))

    def of_blocks(self, name: str, words: Sequence[str]) -> None:
        """SENT RECEIVED [ROOT] [DATATYPE] [DATATYPE], as the MPI call has them."""
        rooted = name in ("gather", "scatter")
        rest = _arguments(words, 2, 2 + rooted, "SENT RECEIVED" + " [ROOT]" * rooted + " [DATATYPE DATATYPE]")
        kind, other = rest(2 + rooted), rest(3 + rooted)
        sent, received = self.size(words[0], kind), self.size(words[1], other or kind)
        self.call(name.capitalize(), sent, received, root=rest(2) if rooted else None, element=self.element(kind))

    def of_lists(self, name: str, words: Sequence[str]) -> None:
        """Sizes by rank, of the side that has them."""
        n = self.ranks
        if name == "alltoallv":
            rest = _arguments(words, 2 * n + 2, 2, f"BUFFER {n} SIZES BUFFER {n} SIZES [DATATYPE DATATYPE]")
            kind, other = rest(2 * n + 2), rest(2 * n + 3)
            sent, received = self.sizes(words[1 : n + 1], kind), self.sizes(words[n + 2 : 2 * n + 2], other or kind)
            self.call("Alltoallv", by_rank=(sent, received), element=self.element(kind))
        elif name == "gatherv":
            rest = _arguments(words, n + 1, 3, f"SENT {n} SIZES [ROOT] [DATATYPE DATATYPE]")
            kind, other = rest(n + 2), rest(n + 3)
            received = self.sizes(words[1 : n + 1], other or kind)
            self.call("Gatherv", self.size(words[0], kind), root=rest(n + 1), by_rank=([], received), element=self.element(kind))
        elif name == "allgatherv":
            rest = _arguments(words, n + 1, n + 2, f"SENT {n} SIZES [DATATYPE] [{n} PLACES]")
            kind = rest(n + 1) if len(words) <= n + 3 or len(words) > 2 * n + 1 else None
            self.call("Allgatherv", self.size(words[0], kind), by_rank=([], self.sizes(words[1 : n + 1], kind)), element=self.element(kind))
        elif name == "scatterv":
            rest = _arguments(words, n + 1, 3, f"{n} SIZES RECEIVED [ROOT] [DATATYPE DATATYPE]")
            kind, other = rest(n + 2), rest(n + 3)
            own = self.size(words[n], other or kind)
            self.call("Scatterv", 0, own, root=rest(n + 1), by_rank=(self.sizes(words[:n], kind), []), element=self.element(kind))
        else:
            rest = _arguments(words, n + 1, 1, f"{n} SIZES FLOPS [DATATYPE]")
            kind = rest(n + 1)
            self.call("Reduce_scatter", by_rank=([], self.sizes(words[:n], kind)), element=self.element(kind))
            self.compute(self.operations(words[n]))

    def sizes(self, words: Sequence[str], kind: str | None) -> list[int]:
        return [self.size(word, kind) for word in words]

    def element(self, kind: str | None) -> int:
        return max(SIZES.get(self.default if kind is None else kind, 1), 1)

    @staticmethod
    def operations(text: str) -> int:
        """Picoseconds of a reduction's operations, which a trace may leave open (-1)."""
        return 0 if text.startswith("-1") else round(_number(text, _MOST_FLOPS) * 1e3)

    def call(
        self,
        name: str,
        sent: int = 0,
        received: int = 0,
        *,
        element: int,
        root: str | None = None,
        by_rank: tuple[list[int], list[int]] = ([], []),
    ) -> None:
        at = 0 if root is None else _whole(root, 0, self.ranks - 1, "root")
        lists = [number for each in by_rank for number in (len(each), *each)]
        self.stream.call(name, WORLD, at, 0, 3, element, sent, received, *lists, compute_ps=self.spent())


def _there(peer: int) -> int:
    """As a stream has it."""
    return {_ANY_SOURCE: -1, _UNDEFINED: -1, _NO_PEER: -2}.get(peer, peer)


def _one(words: Sequence[str]) -> str:
    if len(words) != 1:
        raise ValueError("write one number")
    return words[0]


def _arguments(words: Sequence[str], least: int, more: int, form: str) -> Callable[[int], str | None]:
    """What stands at a place behind the `least` arguments, if anything does. Raises ValueError where there are too
    few or too many."""
    if not least <= len(words) <= least + more:
        raise ValueError(f"it has {len(words)} sizes; write {form}")
    return lambda place: words[place] if place < len(words) else None
