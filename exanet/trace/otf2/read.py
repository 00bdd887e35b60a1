# SPDX-License-Identifier: Apache-2.0
"""An archive of OTF2 as a trace.

A rank's calls are the regions of MPI on its location; what is between them is computing, whatever regions of the
program there are. What a call did stands in the events inside its region: the messages that it began and the requests
that were over in it. Of what is begun without blocking some is known only at its end (a receive's source, a
collective's size), so a record waits for that, and those behind it with it. Sizes by rank of collectives take the sums
of all ranks, so those records are put into the streams last.

Limit: each rank's time begins when its MPI_Init returns.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

from exanet.errors import InputError
from exanet.trace import folder
from exanet.trace.layout import INTER, MPI, OF_WORLD
from exanet.trace.otf2 import library, windows
from exanet.trace.otf2.apart import apart
from exanet.trace.otf2.archive import RMA, Archive, Communicator, Event
from exanet.trace.otf2.sizes import BY_RANK, Collective, from_all_totals, from_totals
from exanet.trace.records import (
    ACCESSES,
    CREATES,
    ENDS,
    EXCHANGES,
    INITS,
    MESSAGES,
    NEIGHBOURS,
    RECEIVES,
    SYNCHRONISATIONS,
    WINDOW,
    WINDOWS,
    pack,
)
from exanet.trace.write import CODES, Stream

_NAMES = {code: name for name, code in CODES.items()}
_ANY, _MOST_TAG = 1, (1 << 31) - 1
_BEGINS = ("MPI_Init", "MPI_Init_thread")
_REQUESTED = ("MpiIrecvRequest", "MpiImrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETED = (*("MpiIsendComplete", "MpiIrecv", "MpiImrecv", "MpiRequestCancelled", "NonBlockingCollectiveComplete", windows.COMPLETED),)
_ABOUT_MPI = (*_REQUESTED, *_COMPLETED, *RMA, "MpiSend", "MpiIsend", "MpiRecv", "MpiMrecv", "MpiCollectiveEnd", "CommCreate", "MpiProbe")

# Calls that messages depend on and that a trace has not, by how their names begin (runtime/record/calls.c); those of
# one process have none.
_UNRECORDED = (
    *("MPI_Isendrecv", "MPI_Psend", "MPI_Precv", "MPI_Pready", "MPI_Parrived"),
    *("MPI_Comm_spawn", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"),
)
_WAITS = ("MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Buffer_detach", "MPI_File_")  # neither in a trace nor computing


def _unrecorded(name: str) -> bool:
    blocking = name.removeprefix("MPI_").removesuffix("_init")
    persistent = name.endswith("_init") and CODES["Barrier"] <= CODES.get(blocking, 0) <= CODES["Exscan"]
    return persistent or " " in name or name.startswith(_UNRECORDED)


_Request = tuple[int, int]
"""The window that it is of, or one of these, and its number there."""
_OF_MPI, _AMONG_NEIGHBOURS = -1, -2


def _request(event: Event) -> _Request:
    """The request that an event completes."""
    of = int(event.fields[0]) if event.kind == windows.COMPLETED else _OF_MPI
    return of, int(event.fields[0 if event.kind == "MpiImrecv" else -1])


@dataclass
class _Record:
    """A call that may wait for what it did to be known; without a code it is none."""

    code: int
    compute: int = 0
    inside: int = 0
    took: int = 0
    ready: bool = True
    communicator: int = -1  # the archive's number; -1: none
    fields: tuple[int, ...] = ()  # behind the communicator
    members: Communicator | None = None  # of one that is made
    collective: tuple[str, Event, int] | None = None  # its name, what is known of it, and the request


@dataclass
class _Call:
    """A region of MPI that has been entered."""

    name: str
    ticks: int
    depth: int = 1
    events: list[Event] = field(default_factory=list)


@dataclass
class _Filled:
    """Collectives with sizes by rank: sums of all ranks by communicator and turn, and places in streams that wait
    for them."""

    sums: dict[tuple[int, int], dict[int, tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))
    places: dict[int, list[tuple[int, _Record, int, int]]] = field(default_factory=lambda: defaultdict(list))


class _Rank:
    """Makes one rank's stream of the events of its location."""

    def __init__(self, archive: Archive, rank: int, stream: Stream, filled: _Filled, left_out: Counter[str]) -> None:
        self._archive, self._rank, self._stream, self._filled, self._left_out = archive, rank, stream, filled, left_out
        self._unknown = 0xFFFFFFFF
        self._call: _Call | None = None
        self._last_ticks: int | None = None
        self._flushed = 0
        self._computed = 0
        self._held: deque[_Record] = deque()
        # by what it is in the archive: ours, and the record that begins it
        self._numbers: dict[_Request, tuple[int, _Record]] = {}
        self._free: list[int] = []
        self._most = 0  # of our numbers
        self._windows = windows.Reading(archive, lambda peer, ref: self._message(peer, ref, 0, 0)[0], self._wrong)
        self._probed: dict[int, Event] = {}
        self._reported: set[str] = set()
        self._own = {archive.world: 1}  # numbers of communicators
        self._turns: Counter[int] = Counter()
        self._dropped = 0  # computing before records that came to nothing
        self.switched_off = self.ended = False

    def read(self) -> None:
        for event in self._archive.events(self._archive.ranks[self._rank]):
            self._take(event)
            if self.ended:
                break
        for record in self._held:
            if not record.ready:
                self._left_out["receives and collectives that no call completes"] += 1
                record.code, record.ready = 0, True
        self._flush()

    # -- regions -------------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        if self._last_ticks is None:
            self._last_ticks = event.ticks
        call = self._call
        match event.kind:
            case "Enter" if call is not None:
                call.depth += 1
            case "Enter":
                name = self._archive.regions.get(event.fields[0], "")
                if name.startswith("MPI"):
                    self._call = _Call(name.removesuffix("_c") if name[4:-2] in CODES else name, event.ticks)
            case "Leave" if call is not None:
                call.depth -= 1
                if call.depth == 0:
                    self._call = None
                    self._leave(call, event)
                    self._flush()
            case "BufferFlush" if call is None:
                self._flushed += max(event.fields[0] - event.ticks, 0)
            case "MeasurementOnOff":
                self.switched_off |= event.fields[0] == 2
            case kind if kind in _ABOUT_MPI and call is not None:
                call.events.append(event)

    def _leave(self, call: _Call, leave: Event) -> None:
        """Makes records of a call: what it begins, then what it ends. The first of them takes the time."""
        assert self._last_ticks is not None
        name, inside = call.name, leave.attributes.get(library.INSIDE, 0)
        code = CODES.get(name.removeprefix("MPI_"), 0)
        known = code > 0 or name in _BEGINS or _unrecorded(name) or name.startswith(_WAITS) or bool(call.events)
        if not known:
            return  # a call of one process: as good as computing
        ps = self._archive.ps
        took = max(ps(leave.ticks) - ps(call.ticks), 0)
        self._computed += max(ps(call.ticks) - ps(self._last_ticks) - ps(self._flushed), 0)
        self._last_ticks, self._flushed = leave.ticks, 0
        if name in _BEGINS:
            self._computed = 0
            return
        if name == "MPI_Finalize":
            self._held.append(_Record(code, self._computed, inside, took))
            self.ended = True
            return
        if name.startswith(folder.FILE_CALLS):
            self._held.extend(self._once(name))  # at no time: a replay leaves it out
        made = self._once(name) if _unrecorded(name) else self._made(code, call, leave)
        if not made:
            self._computed += inside
            return
        first = next((record for record in made if record.code != WINDOW), made[0])
        first.compute, first.inside, first.took = self._computed, inside, took
        self._computed = 0
        self._held.extend(made)

    def _made(self, code: int, call: _Call, leave: Event) -> list[_Record]:
        events = call.events
        made: list[_Record] = []
        done: list[int] = []
        ended = {_request(event) for event in events if event.kind in _COMPLETED}
        if code in NEIGHBOURS:
            return self._among_neighbours(code, call, leave)
        if code in ACCESSES or code in SYNCHRONISATIONS or code in WINDOWS:
            return self._one_sided(code, call, leave, ended)
        if code in EXCHANGES:
            made.append(self._exchange(code, events))
        elif code in CREATES or any(event.kind == "CommCreate" for event in events):
            made += self._create(code, events)
        else:
            for event in events:
                made += self._begun(code, event, ended)
        for event in events:
            if event.kind in _COMPLETED:
                done += self._completed(event)
        for request in self._whole_numbers(leave.attributes.get(library.COMPLETED, "")):
            done += self._over((_AMONG_NEIGHBOURS, request))[:1]
        if done or ((code in ENDS or code == CODES["Request_get_status"]) and not made):
            ends = (
                code
                if code in ENDS or code == CODES["Request_free"]
                else CODES["Test" if code == CODES["Request_get_status"] else "Waitall"]
            )
            made.append(_Record(ends if done or code in ENDS else code, fields=tuple(done)))
        if code in (CODES["Iprobe"], CODES["Improbe"]) and not made:
            made.append(_Record(code, communicator=self._archive.world, fields=(_ANY, 0, 0)))
        elif not events and code in (CODES["Probe"], CODES["Mprobe"]):
            self._left_out["probes, of which the archive does not say what they found"] += 1
        elif not events and code in (CODES["Mrecv"], CODES["Imrecv"]):
            return self._once(call.name)
        return [record for record in made if record.code]

    def _once(self, name: str) -> list[_Record]:
        """A call that is not recorded, by its name."""
        if name in self._reported:
            return []
        self._reported.add(name)
        return [_Record(CODES["unrecorded"], fields=tuple(name.encode("ascii", "replace")))]

    # -- one-sided calls, and collectives among neighbours -------------------------------------------------------------

    def _one_sided(self, code: int, call: _Call, leave: Event, ended: set[_Request]) -> list[_Record]:
        made = []
        for each in self._windows.calls(code, call.events, leave):
            record = _Record(each.code, communicator=each.communicator, fields=each.fields)
            if each.request is not None:
                record.fields = (*each.fields[:2], self._begin(each.request, record, ended), *each.fields[3:])
            made.append(record)
        for event in call.events:
            if event.kind in _COMPLETED:
                self._completed(event)
        if made or not self._archive.windows:
            return made or self._once(call.name)
        if code == CODES["Win_test"]:
            return [_Record(CODES["Test"])]  # empty, wherever
        return [] if code in ACCESSES else self._once(call.name)  # to no process

    def _among_neighbours(self, code: int, call: _Call, leave: Event) -> list[_Record]:
        numbers = self._whole_numbers(leave.attributes.get(library.NEIGHBOURS, ""))
        if len(numbers) < 2:
            return self._once(call.name)
        ref, request, *lists = numbers
        record = _Record(code, communicator=ref)
        number = self._begin((_AMONG_NEIGHBOURS, request), record, set()) if request else 0
        record.fields = (number, *lists)
        return [record]

    def _whole_numbers(self, text: str) -> list[int]:
        words = text.split()
        if not all(word.isdecimal() and word.isascii() and len(word) < 20 for word in words):
            raise self._wrong("an attribute that lists whole numbers has something else in it")
        return [int(word) for word in words]

    # -- messages ------------------------------------------------------------------------------------------------------

    def _message(self, peer: int, ref: int, tag: int, size: int) -> tuple[int, int, int]:
        """The fields of a message: peer, tag and size. A peer that is not known is any."""
        communicator = self._communicator(ref)
        if peer == self._unknown:
            return _ANY, 0 if tag == self._unknown else tag + 1, size
        inter = bool(communicator.remote)
        others = communicator.members if not inter or self._rank in communicator.remote else communicator.remote
        others = (self._rank,) if communicator.alone else others
        if peer >= len(others) or (tag != self._unknown and tag > _MOST_TAG):
            raise self._wrong(f"a message to or from rank {peer} of communicator {ref}, by tag {tag}, cannot be")
        return others[peer] + 2, 0 if tag == self._unknown else tag + 1, size

    def _communicator(self, ref: int) -> Communicator:
        if ref not in self._archive.communicators:
            raise self._wrong(f"communicator {ref} is not defined, or has processes of another program")
        return self._archive.communicators[ref]

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self._archive.file}: rank {self._rank}: {what}")

    def _exchange(self, code: int, events: list[Event]) -> _Record:
        sides = {event.kind: event.fields for event in events if event.kind in ("MpiSend", "MpiRecv")}
        if not sides:
            return _Record(0)
        ref = next(iter(sides.values()))[1]
        sent, received = (self._message(*sides[kind]) if kind in sides else (0, 0, 0) for kind in ("MpiSend", "MpiRecv"))
        return _Record(code, communicator=ref, fields=(*sent, *received))

    def _begun(self, code: int, event: Event, ended: set[_Request]) -> list[_Record]:
        kind, fields = event.kind, event.fields
        sends = code in MESSAGES and code not in RECEIVES and code not in INITS
        if kind == "MpiSend":
            return [_Record(code if sends else CODES["Send"], communicator=fields[1], fields=(*self._message(*fields), 0))]
        if kind == "MpiIsend":
            record = _Record(code if sends else CODES["Isend"], communicator=fields[1])
            record.fields = (*self._message(*fields[:4]), self._begin((_OF_MPI, fields[4]), record, ended))
            return [record]
        if kind == "MpiRecv":
            waits = code in (CODES["Recv"], CODES["Mrecv"])
            return [_Record(code if waits else CODES["Recv"], communicator=fields[1], fields=(*self._message(*fields), 0))]
        if kind == "MpiMrecv":
            return [self._found(CODES["Mrecv"], fields[0], fields[1], 0)]
        if kind == "MpiProbe":
            if fields[3] != 0xFFFFFFFFFFFFFFFF:
                self._probed[fields[3]] = event
            probes = code if code in range(CODES["Probe"], CODES["Improbe"] + 1) else CODES["Probe"]
            return [_Record(probes, communicator=fields[1], fields=(*self._message(fields[0], fields[1], fields[2], 0)[:2], 1))]
        if kind == "MpiImrecvRequest":
            record = self._found(CODES["Imrecv"], fields[0], 0, 0)
            record.fields = (*record.fields[:3], self._begin((_OF_MPI, fields[1]), record, ended))
            return [record]
        if kind in ("MpiIrecvRequest", "NonBlockingCollectiveRequest"):
            receive = kind == "MpiIrecvRequest"
            record = _Record((code if code in (CODES["Irecv"], CODES["Imrecv"]) else CODES["Irecv"]) if receive else code, ready=False)
            number = self._begin((_OF_MPI, fields[0]), record, ended)
            record.fields = (number,)
            return [record]
        if kind == "MpiCollectiveEnd" and CODES["Barrier"] <= code <= CODES["Exscan"]:
            return [_Record(code, communicator=fields[1], collective=(_NAMES[code], event, 0))]
        return []

    def _found(self, code: int, number: int, size: int, request: int) -> _Record:
        """A receive of what a matched probe has found."""
        event = self._probed.pop(number, None)
        if event is None:
            raise self._wrong(f"a receive of message {number}, which no probe has found")
        sender, ref, tag, _ = event.fields
        return _Record(code, communicator=ref, fields=(*self._message(sender, ref, tag, size), request))

    # -- requests ------------------------------------------------------------------------------------------------------

    def _begin(self, request: _Request, record: _Record, ended: set[_Request]) -> int:
        """Our number of a request that begins; 0 where it ends in the same call."""
        number = 0
        if request not in ended:
            if not self._free:
                self._most += 1
                self._free.append(self._most)
            number = heapq.heappop(self._free)
        self._numbers[request] = number, record
        return number

    def _over(self, request: _Request) -> tuple[int, _Record]:
        """Our number of a request that is over, and the record that began it."""
        if request not in self._numbers:
            raise self._wrong(f"a call completes request {request[1]}, which none has begun")
        number, record = self._numbers.pop(request)
        if number:
            heapq.heappush(self._free, number)
        return number, record

    def _completed(self, event: Event) -> list[int]:
        kind, fields, request = event.kind, event.fields, _request(event)
        if kind == windows.COMPLETED and request not in self._numbers:
            return []  # Score-P completes accesses without a request, too
        number, record = self._over(request)
        if kind == "MpiIrecv":
            record.communicator = fields[1]
            record.fields, record.ready = (*self._message(*fields[:4]), number), True
        elif kind == "MpiImrecv":
            record.fields = (*record.fields[:2], fields[1], number)
        elif kind == "NonBlockingCollectiveComplete":
            self._know_collective(record, event, number)
            if record.code in CREATES:
                return []
        elif kind == "MpiRequestCancelled":
            self._left_out["receives and sends that were cancelled"] += 1
            record.code, record.ready = 0, True
            return []
        return [number] if number else []

    def _know_collective(self, record: _Record, event: Event, number: int) -> None:
        record.communicator, record.ready = event.fields[1], True
        if record.code in CREATES:
            record.fields = (0, 0, 0, 0)
            return
        blocking = record.code - CODES["Ibarrier"] + CODES["Barrier"]
        if CODES["Barrier"] <= blocking <= CODES["Exscan"]:
            record.collective = _NAMES[blocking], event, number
        else:
            record.code = 0

    # -- communicators -------------------------------------------------------------------------------------------------

    def _create(self, code: int, events: list[Event]) -> list[_Record]:
        made = next((event.fields[0] for event in events if event.kind == "CommCreate"), None)
        end = next((event for event in events if event.kind == "MpiCollectiveEnd"), None)
        begun = next((event for event in events if event.kind == "NonBlockingCollectiveRequest"), None)
        if code not in CREATES:
            if not begun:
                return []  # readers of the archive find the communicator where it is used
            code = CODES["Comm_idup"]
        if begun is not None:  # its parent is known when it ends
            record = _Record(code, ready=False)
            self._numbers[_OF_MPI, begun.fields[0]] = 0, record
            return [record]
        members = self._communicator(made) if made is not None else None
        parent = end.fields[1] if end is not None else -1
        if parent == made or parent not in self._archive.communicators:
            parent = members.parent if members is not None and members.parent in self._archive.communicators else self._archive.world
        flags = end.attributes.get(library.FLAGS, 0) & 4 if end is not None else 0
        return [_Record(code, communicator=parent, fields=(0, flags, 0, 0), members=members)]

    def _number_of(self, ref: int) -> int:
        """Our number of a communicator; one that no call has made gets a record, and those of the same members that
        came before it."""
        if ref in self._own:
            return self._own[ref]
        communicator = self._communicator(ref)
        if communicator.alone and 2 not in self._own.values():
            self._own[ref] = 2
            return 2
        for other in self._archive.communicators.values():
            alike = (other.members, other.remote) == (communicator.members, communicator.remote) and other.alone == communicator.alone
            if alike and other.ref not in self._own and (other.ref == ref or (other.ref < ref and not other.made_by_event)):
                self._stream.call("communicator", 0, *self._describe(other, 0))
        return self._own[ref]

    def _describe(self, communicator: Communicator, flags: int) -> tuple[int, ...]:
        """Number, flags and members of one that is new."""
        number = max(*self._own.values(), 2) + 1
        self._own[communicator.ref] = number
        members = (self._rank,) if communicator.alone else communicator.members
        remote = communicator.remote
        if self._rank in remote:
            members, remote = remote, members
        if self._rank not in members:
            raise self._wrong(f"it uses communicator {communicator.ref}, and is no member")
        if not remote and members == tuple(range(len(self._archive.ranks))):
            return number, flags | OF_WORLD, 0, 0
        return number, flags | (INTER if remote else 0), len(members), *members, len(remote), *remote

    # -- the stream ----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Writes the records that are known, up to the first that is not."""
        while self._held and self._held[0].ready:
            record = self._held.popleft()
            if record.code == 0:
                self._dropped += record.compute + record.inside
                continue
            record.compute += self._dropped
            self._dropped = 0
            self._write(record)

    def _write(self, record: _Record) -> None:
        fields = record.fields
        if record.communicator >= 0:
            number = self._number_of(record.communicator)
            if record.collective is not None:
                found = self._collective(record, number)
                if found is None:
                    return
                fields = found
            elif record.members is not None and record.members.ref not in self._own:
                fields = number, *self._describe(record.members, fields[1])
            else:
                fields = number, *fields
        self._stream.call(_NAMES[record.code], *fields, compute_ps=record.compute, inside_ps=record.inside, took_ps=record.took)

    def _collective(self, record: _Record, number: int) -> tuple[int, ...] | None:
        """The fields of a collective; None where they take the other ranks' sums."""
        assert record.collective is not None
        name, event, request = record.collective
        communicator = self._communicator(record.communicator)
        members = (self._rank,) if communicator.alone else communicator.members
        root, sent, received = event.fields[2:5]
        flags, element = event.attributes.get(library.FLAGS), event.attributes.get(library.ELEMENT)
        if communicator.remote:
            return Collective(name).fields(number, request)  # which a replay refuses
        me = members.index(self._rank)
        if name not in BY_RANK:
            return from_totals(name, len(members), me, root, sent, received, flags, element).fields(number, request)
        turn = self._turns[communicator.ref]
        self._turns[communicator.ref] += 1
        self._filled.sums[self._key(communicator, members), turn][me] = sent, received
        if library.BLOCKS_SENT in event.attributes:
            blocks = [self._whole_numbers(event.attributes.get(kind, "")) for kind in library.BLOCKS]
            return Collective(name, 0, flags or 0, element or 0, 0, 0, *blocks).fields(number, request)
        if name.startswith("Alltoall"):
            self._left_out["sizes by pair of ranks of MPI_Alltoallv and MPI_Alltoallw, which follow from those of the ranks"] += 1
        self._filled.places[self._rank].append((self._stream.position, record, number, turn))
        return None

    @staticmethod
    def _key(communicator: Communicator, members: tuple[int, ...]) -> int:
        return -1 - members[0] if communicator.alone else communicator.ref


def _fill(archive: Archive, directory: Path, rank: int, filled: _Filled) -> None:
    """Puts a rank's collectives with sizes by rank into its stream."""
    stream = folder.stream(directory, rank)
    old = stream.rename(stream.with_suffix(".part"))
    with old.open("rb") as source, stream.open("wb") as out:
        at = 0
        for position, record, number, turn in filled.places[rank]:
            out.write(source.read(position - at))
            at = position
            assert record.collective is not None
            name, event, request = record.collective
            communicator = archive.communicators[record.communicator]
            members = (rank,) if communicator.alone else communicator.members
            sums = filled.sums[_Rank._key(communicator, members), turn]
            flags, element = event.attributes.get(library.FLAGS), event.attributes.get(library.ELEMENT)
            everyone = [sums.get(member, (0, 0)) for member in range(len(members))]
            call = from_all_totals(name, members.index(rank), event.fields[2], everyone, flags, element)
            out.write(pack(record.code, (record.compute, record.inside, record.took, *call.fields(number, request))))
        while rest := source.read(1 << 20):
            out.write(rest)
    old.unlink()


def read(file: Path, directory: Path, option: str) -> dict[str, int]:
    """Makes a trace in a folder of the archive. Returns what the trace does not hold, by what that is. Raises
    InputError, OSError."""
    place = folder.prepare(directory, option)
    try:
        ranks, left_out, reason = apart(file, lambda: _read(file, place))
    except BaseException:
        folder.release(place)
        raise
    folder.finish(place, ranks, {"program": [str(file)]}, reason, option)
    return left_out


def _read(file: Path, place: Path) -> tuple[int, dict[str, int], str]:
    """Writes the streams. Returns how many there are, what they do not hold, and why they are not whole, if they are
    not."""
    left_out: Counter[str] = Counter()
    filled = _Filled()
    reason = ""
    with Archive(file) as archive:
        ranks = len(archive.ranks)
        archive.open_events()
        mpi = next((number for number, name in MPI.items() if name == archive.mpi), 1)
        others = [location for location in archive.locations if location not in set(archive.ranks)]
        left_out["locations that are no rank of MPI"] += len(others)
        threads = _calls_of_threads(archive, [location for location in others if location in archive.threads])
        for rank in range(ranks):
            stream = Stream(place, rank, ranks, mpi=mpi)
            try:
                if threads and rank == 0:
                    stream.call("unrecorded", *b"MPI in several threads of a rank")
                reading = _Rank(archive, rank, stream, filled, left_out)
                reading.read()
            finally:
                stream.close()
            if reading.switched_off:
                reason = reason or f"measuring was switched off for a while, first seen of rank {rank}"
        for rank in filled.places:
            _fill(archive, place, rank, filled)
    return ranks, dict(left_out), reason


def _calls_of_threads(archive: Archive, locations: list[int]) -> bool:
    """Whether threads other than a rank's first call what a trace has to have."""
    for location in locations:
        for event in archive.events(location, ("Enter",)):
            name = archive.regions.get(event.fields[0], "")
            if name.removeprefix("MPI_") in CODES or _unrecorded(name):
                return True
    return False
