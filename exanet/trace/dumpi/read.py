# SPDX-License-Identifier: Apache-2.0
"""Makes a trace of a DUMPI trace (SST): a .meta file, and a binary file for each rank beside it.

Model: each rank's calls become the same calls; between them the rank computes for as long as its clock says. Limits:
one-sided calls, MPI-IO, other programs and communicators of two groups are refused by name. DUMPI has no mark for
MPI_PROC_NULL: a send to a negative rank goes nowhere, a receive from -1 is from any. Computing before MPI_Init is not
in the format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from exanet.errors import InputError
from exanet.quantity import counted
from exanet.trace import folder
from exanet.trace.dumpi import communicators, types
from exanet.trace.dumpi.communicators import SELF, WORLD, Communicator
from exanet.trace.dumpi.file import MAGIC, Call, DumpiFile
from exanet.trace.layout import BUILT_IN, CALLS, COMMUTATIVE, OF_WORLD, REORDERED
from exanet.trace.write import Stream, Writer

_OWN_WORLD, _OWN_SELF = 1, 2  # our numbers
_FIRST_USER_OP, _NO_REQUEST, _ANY = 15, 1, -1
_BEGINS = ("Init", "Init_thread")
_WINDOWS = ("Accumulate", "Get", "Put", *(name for name in CALLS["synchronise"] if name != "Win_free"), "Win_create", "Win_free")
_REFUSED = (*_WINDOWS, "Intercomm_create", "Intercomm_merge", "Abort", "Grequest_start")
_HEAD_BYTES = 4096


def found(place: Path) -> Path | None:
    """The .meta file of a trace, or the file of its only rank: the file itself, or the one .meta in a folder."""
    if place.is_file():
        with place.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(MAGIC):
            meta = place.with_name(re.sub(r"-\d+\.bin$", "", place.name) + ".meta")
            return meta if meta.is_file() else place
        return place if re.search(rb"^numprocs=", head, re.M) and re.search(rb"^fileprefix=", head, re.M) else None
    if not place.is_dir():
        return None
    metas = [each for each in sorted(place.glob("*.meta")) if each.is_file() and found(each)]
    return metas[0] if len(metas) == 1 else None


def _files(opened: Path) -> list[Path]:
    """Of the ranks, in their order. Raises InputError."""
    with opened.open("rb") as head:
        if head.read(len(MAGIC)) == MAGIC:
            raise InputError(f"{opened}: the file of a rank without its .meta file; put that beside it, and the files of the other ranks")
    said = dict(line.split("=", 1) for line in opened.read_text(encoding="utf-8", errors="replace").splitlines() if "=" in line)
    ranks = int(said["numprocs"]) if re.fullmatch(r"\d{1,9}", said["numprocs"]) else 0
    if not 1 <= ranks <= folder.MOST_RANKS:
        raise InputError(f"{opened}: numprocs={said['numprocs'][:20]}; a trace has 1 to {folder.MOST_RANKS} ranks")
    prefix = Path(said["fileprefix"]).name
    files = [opened.parent / f"{prefix}-{rank:04}.bin" for rank in range(ranks)]
    for rank, file in enumerate(files):
        if not file.is_file():
            raise InputError(
                f"{opened}: it has {counted(ranks, 'rank')}, and there is no {file.name} beside it for rank {rank}; copy it there"
            )
    return files


def read(opened: Path, directory: Path) -> dict[str, int]:
    """Makes a trace. Returns what it does not hold, by what that is. Raises InputError, OSError."""
    left_out: Counter[str] = Counter()
    files = [DumpiFile(path) for path in _files(opened)]
    making = {*communicators.MAKING, *communicators.GROUPS}
    made = communicators.found(files, ([call for call in file.calls() if call.name in making] for file in files))
    with Writer(directory, len(files), {"program": [str(opened)]}, "TO") as streams:
        for rank, (file, stream) in enumerate(zip(files, streams, strict=True)):
            _Rank(file, rank, len(files), stream, made[rank], left_out).take()
    return dict(left_out)


class _Rank:
    """A rank while its calls become those of the trace."""

    def __init__(
        self, file: DumpiFile, rank: int, ranks: int, stream: Stream, made: dict[int, Communicator | None], left_out: Counter[str]
    ) -> None:
        self._file, self._rank, self._stream, self._made, self._left_out = file, rank, stream, made, left_out
        self._types = types.Types(file)
        world = Communicator(tuple(range(ranks)))
        self._known = {WORLD: (_OWN_WORLD, world), SELF: (_OWN_SELF, Communicator((rank,)))}
        self._numbers = 2
        self._commutes: dict[int, bool] = {}
        self._under_way: dict[int, bool] = {}  # by request: whether it is persistent
        self._ended = -1  # of the call before
        self._compute = 0

    def take(self) -> None:
        """All calls. Raises InputError."""
        done = False
        for call in self._file.calls():
            if done:
                raise self._file.wrong(call.at, f"MPI_{call.name} behind MPI_Finalize; take it out, or record the program anew")
            self._pass_time(call)
            try:
                done = self._call(call)
            except ValueError as error:
                raise self._file.wrong(call.at, f"MPI_{call.name}: {error}") from None
        if not done:
            self._left_out["ends of ranks that do not finalize"] += 1
            self._stream.end(self._compute)
        self._stream.close()

    def _pass_time(self, call: Call) -> None:
        """Computing since the call before."""
        if call.begun < 0:
            self._left_out["computing, where the trace has no clock"] += 1
        elif self._ended >= 0:
            self._compute += max(call.begun - self._ended, 0) * 1000
        self._ended = max(call.ended, self._ended)

    def _write(self, call: Call, *fields: int, name: str = "") -> None:
        self._stream.call(name or call.name, *fields, compute_ps=self._compute, took_ps=max(call.ended - call.begun, 0) * 1000)
        self._compute = 0

    def _call(self, call: Call) -> bool:
        """Whether it is the last one. Raises ValueError, InputError."""
        name = call.name
        if name in _REFUSED:
            raise self._file.wrong(call.at, f"MPI_{name} is not read; record the program with exanet record")
        if name == "Finalize":
            self._write(call)
            return True
        if name in CALLS["message"]:
            self._message(call)
        elif name in CALLS["exchange"]:
            self._exchange(call)
        elif name in CALLS["requests"]:
            self._requests(call)
        elif name in CALLS["probe"]:
            number, members = self._communicator(call)
            self._write(call, number, self._source(call, members), _tag(call.fields["tag"]), int(call.fields.get("flag", 1) != 0))
        elif name in CALLS["collective"]:
            self._collective(call)
        elif name in communicators.MAKING:
            self._make(call)
        elif name == "Op_create":
            self._commutes[call.fields["op"]] = call.fields["commutes"] != 0
        elif name not in _BEGINS:
            self._types.make(call)
            self._compute += max(call.ended - call.begun, 0) * 1000  # a local call: the rank is busy with it
        return False

    # -- communicators and ranks ---------------------------------------------------------------------------------------

    def _communicator(self, call: Call) -> tuple[int, tuple[int, ...]]:
        """Our number, and the members."""
        number = call.fields["comm"]
        if number not in self._known:
            raise ValueError(f"communicator {number}, which no call that is read has made")
        own, communicator = self._known[number]
        return own, communicator.members

    def _make(self, call: Call) -> None:
        parent, _ = self._communicator(call)
        made = self._made[call.at]
        flags = REORDERED if call.fields.get("reorder") else 0
        if made is None:
            self._write(call, parent, 0, flags, 0, 0)
            return
        self._numbers += 1
        self._known[call.fields["new"]] = self._numbers, made
        if made.members == self._known[WORLD][1].members:
            self._write(call, parent, self._numbers, flags | OF_WORLD, 0, 0)
        else:
            self._write(call, parent, self._numbers, flags, len(made.members), *made.members, 0)

    def _peer(self, peer: int, members: tuple[int, ...]) -> int:
        if peer < 0:
            return 0
        if peer >= len(members):
            raise ValueError(f"rank {peer} of a communicator of {len(members)}")
        return members[peer] + 2

    def _source(self, call: Call, members: tuple[int, ...], field: str = "peer") -> int:
        peer: int = call.fields[field]
        return 1 if peer == _ANY else self._peer(peer, members)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _bytes(self, call: Call, count: str = "count", kind: str = "type") -> int:
        number: int = call.fields[count]
        if number < 0:
            raise ValueError(f"a count of {number}")
        return number * self._types.of(call, call.fields[kind])

    def _message(self, call: Call) -> None:
        number, members = self._communicator(call)
        receives = "ecv" in call.name
        peer = self._source(call, members) if receives else self._peer(call.fields["peer"], members)
        request = call.fields.get("request", 0)
        self._under_way[request] = call.name.endswith("_init")
        self._write(call, number, peer, _tag(call.fields["tag"]), self._bytes(call), request)

    def _exchange(self, call: Call) -> None:
        number, members = self._communicator(call)
        sent = self._bytes(call)
        received = sent if call.name == "Sendrecv_replace" else self._bytes(call, "count2", "type2")
        to, source = self._peer(call.fields["peer"], members), self._source(call, members, "peer2")
        self._write(call, number, to, _tag(call.fields["tag"]), sent, source, _tag(call.fields["tag2"]), received)

    def _requests(self, call: Call) -> None:
        fields = call.fields
        named = list(fields["requests"]) if "requests" in fields else [fields["request"]]
        if "indices" in fields:
            named = [named[place] for place in fields["indices"] if 0 <= place < len(named)]
        elif "index" in fields:
            done = fields.get("flag", 1) != 0 and 0 <= fields["index"] < len(named)
            named = [named[fields["index"]]] if done else []
        elif fields.get("flag", 1) == 0:
            named = []
        named = [request for request in named if request > _NO_REQUEST]
        self._take_requests(call.name, named)
        self._write(call, *named)

    def _take_requests(self, name: str, named: Sequence[int]) -> None:
        """Raises ValueError of one that is not under way."""
        for request in named:
            if request not in self._under_way:
                raise ValueError(
                    f"request {request}, which no call in the file has begun; libdumpi leaves out MPI_Ibcast and other nonblocking "
                    "collectives: record the program with exanet record"
                )
            completed = name.startswith(("Wait", "Test")) and not self._under_way[request]
            if completed or name == "Request_free":
                del self._under_way[request]

    def _collective(self, call: Call) -> None:
        fields = call.fields
        number, members = self._communicator(call)
        root = fields.get("root", 0)
        if not 0 <= root < len(members):
            raise ValueError(f"root {root} of a communicator of {len(members)}")
        flags = BUILT_IN | COMMUTATIVE
        if fields.get("op", 0) >= _FIRST_USER_OP:
            flags = COMMUTATIVE if self._commutes.get(fields["op"], False) else 0
        sent, received, lists = self._sizes(call)
        element = max(self._types.of(call, fields["type"]), 1) if "type" in fields else 1
        self._write(call, number, root, 0, flags, element, sent, received, *(size for each in lists for size in (len(each), *each)))

    def _sizes(self, call: Call) -> tuple[int, int, tuple[list[int], list[int]]]:
        """Sent and received, by a count for all ranks or one for each."""
        name, fields = call.name, call.fields
        if name == "Barrier":
            return 0, 0, ([], [])
        if name in ("Alltoallv", "Alltoallw"):
            return 0, 0, (self._by_rank(call, "counts", "type"), self._by_rank(call, "counts2", "type2"))
        if name == "Reduce_scatter":
            return 0, 0, ([], self._by_rank(call, "counts", "type"))
        if name in ("Gatherv", "Allgatherv"):
            return self._bytes(call), 0, ([], self._by_rank(call, "counts", "type2"))
        if name == "Scatterv":
            return 0, self._bytes(call), (self._by_rank(call, "counts", "type2"), [])
        own = self._bytes(call)
        other = self._bytes(call, "count2", "type2") if "count2" in fields else 0
        return (other, own, ([], [])) if name == "Scatter" else (own, other, ([], []))

    def _by_rank(self, call: Call, counts: str, kind: str) -> list[int]:
        """None where the rank does not say them, as it is not the root."""
        numbers = call.fields.get(counts, ())
        if any(number < 0 for number in numbers):
            raise ValueError(f"a count of {min(numbers)}")
        kinds: Iterator[int] = iter(call.fields[kind + "s"]) if kind + "s" in call.fields else iter([call.fields[kind]] * len(numbers))
        return [count * self._types.of(call, each) for count, each in zip(numbers, kinds, strict=False)]


def _tag(tag: int) -> int:
    if tag < _ANY:
        raise ValueError(f"tag {tag}")
    return tag + 1
