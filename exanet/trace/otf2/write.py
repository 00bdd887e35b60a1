# SPDX-License-Identifier: Apache-2.0
"""A trace as an archive of OTF2: a location a rank, a region a call, and in it what Score-P writes of that call, in its
order.

Ranks are written one after the other, and definitions at the end, so that no more is held than communicators and
requests under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exanet._core import TraceTables
from exanet.errors import InputError
from exanet.trace.folder import Trace
from exanet.trace.layout import INTER, OF_WORLD
from exanet.trace.otf2 import library
from exanet.trace.otf2.sizes import BY_RANK, ROOTED, Collective, totals
from exanet.trace.otf2.windows import Writing
from exanet.trace.records import (
    ACCESSES,
    BLOCKING,
    COLLECTIVES,
    COMMUNICATOR,
    CREATES,
    ENDS,
    EXCHANGES,
    INITS,
    MESSAGES,
    NEIGHBOURS,
    PROBES,
    RECEIVES,
    REQUESTED,
    STARTS,
    SYNCHRONISATIONS,
    WINDOW,
    WINDOWS,
    opened,
    records,
)
from exanet.trace.write import CODES

NAME = "traces"  # of the files in the archive, as Score-P's
_NAMES = {code: name for name, code in CODES.items()}
_UNRECORDED = CODES["unrecorded"]
_WORLD, _SELF = 0, 1  # communicators of the archive, and their groups behind that of all locations
_CHUNK_EVENTS, _CHUNK_DEFINITIONS = 1 << 20, 4 << 20


@dataclass
class _Communicator:
    """One of a rank's: its number in the archive, and the ranks of MPI_COMM_WORLD by their numbers in it; those of
    the other side."""

    ref: int
    size: int
    me: int
    peers: dict[int, int] | None  # None: their numbers in MPI_COMM_WORLD


@dataclass
class _Definitions:
    """What the archive defines, as far as ranks have met it."""

    strings: dict[str, int] = field(default_factory=dict)
    regions: dict[int | str, int] = field(default_factory=dict)  # by code, or name
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    # ref, parent, groups, flags
    communicators: dict[Any, tuple[int, int, tuple[Any, ...], int]] = field(default_factory=dict)
    windows: dict[tuple[int, int], int] = field(default_factory=dict)  # refs, by a communicator's and their turn on it
    made: set[int] = field(default_factory=set)  # refs of communicators that a call has made

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def region(self, code: int | str) -> int:
        return self.regions.setdefault(code, len(self.regions))

    def group(self, members: tuple[int, ...]) -> int:
        return self.groups.setdefault(members, 3 + len(self.groups))


class _Rank:
    """Writes one rank's events."""

    def __init__(self, lib: Any, writer: Any, attributes: Any, rank: int, ranks: int, known: _Definitions, left_out: Counter[str]) -> None:
        self._lib, self._to, self._attributes = lib, writer, attributes
        self._rank, self._known, self._left_out = rank, known, left_out
        self._unknown = lib.UNDEFINED_UINT32
        self._communicators = {1: _Communicator(_WORLD, ranks, rank, None), 2: _Communicator(_SELF, 1, 0, {rank: 0})}
        self._made: Counter[Any] = Counter()
        self._started = 0  # requests
        self._active: dict[int, tuple[Any, ...] | None] = {}  # by the trace's numbers: what their completion writes
        self._persistent: dict[int, tuple[int, list[int]]] = {}
        self._clock = 0
        self._among_neighbours: set[int] = set()  # requests of collectives that OTF2 has not
        self._ended_among_neighbours: list[int] = []
        self._windows = Writing(lib, writer, known.windows, self._communicators.__getitem__, known.group, self._with)

    def write(self, data: Any) -> int:
        """All of a stream. Returns when the last call ends."""
        self._lib.EvtWriter_ProgramBegin(self._to, None, 0, self._known.string("program"), [])
        for code, _, _, fields in records(data):
            compute, inside, took, *rest = fields
            begin = self._clock + compute
            self._clock = begin + took
            if code == COMMUNICATOR:  # readers find it where it is used
                self._add(rest, made=False)
                continue
            if code == WINDOW:
                self._windows.write(code, rest, begin, begin)
                continue
            region = self._known.region("".join(map(chr, rest)) if code == _UNRECORDED else code)
            self._lib.EvtWriter_Enter(self._to, None, begin, region)
            self._ended_among_neighbours.clear()
            attributes = self._events(code, rest, begin, self._clock) | ({library.INSIDE: inside} if inside else {})
            if self._ended_among_neighbours:
                attributes[library.COMPLETED] = " ".join(map(str, self._ended_among_neighbours))
            self._lib.EvtWriter_Leave(self._to, self._with(attributes), self._clock, region)
        self._lib.EvtWriter_ProgramEnd(self._to, None, self._clock, 0)
        return self._clock

    def _with(self, attributes: dict[int, int | str]) -> Any:
        """The list of these attributes, which writing an event empties."""
        for attribute, value in attributes.items():
            if isinstance(value, str):
                self._lib.AttributeList_AddStringRef(self._attributes, attribute, self._known.string(value))
            else:
                self._lib.AttributeList_AddUint64(self._attributes, attribute, value)
        return self._attributes if attributes else None

    def _events(self, code: int, fields: list[int], begin: int, end: int) -> dict[int, int | str]:
        """The events of one call. Returns the attributes of its region's end."""
        if code in INITS:
            self._persistent[fields[4]] = code, fields
        elif code in MESSAGES:
            self._message(code, fields, begin, end)
        elif code in EXCHANGES:
            self._message(CODES["Send"], [fields[0], *fields[1:4], 0], begin, end)
            self._message(CODES["Recv"], [fields[0], *fields[4:7], 0], begin, end)
        elif code in STARTS:
            for request in fields:
                init, message = self._persistent[request]
                self._message(CODES["Irecv" if init in RECEIVES else "Isend"], message, begin, begin)
        elif code in ENDS or code in (CODES["Request_get_status"], CODES["Request_free"]):
            for request in fields:
                self._complete(request, end)
        elif code == CODES["Cancel"]:
            for request in fields:
                if (event := self._active.get(request)) is not None and event[0] == "MpiIrecv":
                    self._active[request] = ("MpiRequestCancelled", event[-1])
                    self._left_out["receives that were cancelled"] += 1
        elif code in PROBES and fields[3]:
            communicator = self._communicators[fields[0]]
            sender, tag = self._sender(communicator, *fields[1:3])
            self._lib.EvtWriter_MpiProbe(self._to, None, end, sender, communicator.ref, tag, self._lib.UNDEFINED_UINT64)
        elif code in COLLECTIVES:
            self._collective(code, fields, begin, end)
        elif code in ACCESSES or code in SYNCHRONISATIONS or code in WINDOWS:
            attributes = self._windows.write(code, fields, begin, end)
            if code in REQUESTED:
                self._begin(fields[2], end, "RmaOpCompleteNonBlocking", self._windows.ref(fields[0]), number=self._windows.accesses)
            return attributes
        elif code in NEIGHBOURS:
            if fields[1]:
                self._among_neighbours.add(fields[1])
            return {library.NEIGHBOURS: " ".join(map(str, [self._communicators[fields[0]].ref, *fields[1:]]))}
        elif code in CREATES:
            self._create(fields, begin, end)
        elif code == CODES["Finalize"]:
            self._lib.EvtWriter_MpiCollectiveBegin(self._to, None, begin)
            operation = self._lib.COLLECTIVE_OP_DESTROY_HANDLE
            self._lib.EvtWriter_MpiCollectiveEnd(self._to, None, end, operation, _WORLD, self._unknown, 0, 0)
        return {}

    # -- messages ------------------------------------------------------------------------------------------------------

    def _number(self, communicator: _Communicator, peer: int) -> int:
        return peer - 2 if communicator.peers is None else communicator.peers[peer - 2]

    def _sender(self, communicator: _Communicator, peer: int, tag: int) -> tuple[Any, Any]:
        self._left_out["senders of receives and probes from any rank, which are written as unknown"] += peer == 1
        self._left_out["tags of receives and probes by any tag, which are written as unknown"] += tag == 0
        return self._unknown if peer == 1 else self._number(communicator, peer), self._unknown if tag == 0 else tag - 1

    def _message(self, code: int, fields: list[int], begin: int, end: int) -> None:
        number, peer, tag, size, request = fields
        if peer == 0:
            return
        communicator = self._communicators[number]
        waits = code in (CODES["Mrecv"], CODES["Recv"]) or code < CODES["Isend"]
        if code not in RECEIVES:
            to = self._number(communicator, peer)
            if waits:
                self._lib.EvtWriter_MpiSend(self._to, None, begin, to, communicator.ref, tag - 1, size)
                return
            self._started += 1
            self._lib.EvtWriter_MpiIsend(self._to, None, begin, to, communicator.ref, tag - 1, size, self._started)
            self._begin(request, end, "MpiIsendComplete")
            return
        sender, tag = self._sender(communicator, peer, tag)
        if waits:
            self._lib.EvtWriter_MpiRecv(self._to, None, end, sender, communicator.ref, tag, size)
            return
        self._started += 1
        self._lib.EvtWriter_MpiIrecvRequest(self._to, None, end, self._started)
        self._begin(request, end, "MpiIrecv", sender, communicator.ref, tag, size)

    # -- requests ------------------------------------------------------------------------------------------------------

    def _begin(
        self, request: int, end: int, event: str, *fields: Any, attributes: dict[int, int | str] | None = None, number: int = 0
    ) -> None:
        """Notes what the completion of a request writes, by default of the last one; one that was over at once is
        completed here."""
        self._active[request] = event, attributes or {}, *fields, number or self._started
        if request == 0:
            self._complete(request, end)

    def _complete(self, request: int, end: int) -> None:
        # Nothing is active of a persistent request that is not started, and of one whose completion a test has seen
        # before.
        if request in self._among_neighbours:
            self._among_neighbours.remove(request)
            self._ended_among_neighbours.append(request)
        found = self._active.pop(request, None)
        if found is None:
            return
        event, *fields = found
        attributes = fields.pop(0) if event != "MpiRequestCancelled" else {}
        getattr(self._lib, f"EvtWriter_{event}")(self._to, self._with(attributes), end, *fields)

    # -- collectives ---------------------------------------------------------------------------------------------------

    def _collective(self, code: int, fields: list[int], begin: int, end: int) -> None:
        waits = code in BLOCKING
        name = _NAMES[code if waits else code - CODES["Ibarrier"] + CODES["Barrier"]]
        communicator = self._communicators[fields[0]]
        call = Collective.of(name, fields)
        attributes: dict[int, int | str] = {library.FLAGS: call.flags, library.ELEMENT: call.element}
        if name.startswith("Alltoall") and name in BY_RANK:
            attributes[library.BLOCKS_SENT] = " ".join(map(str, call.sent_by_rank))
            attributes[library.BLOCKS_RECEIVED] = " ".join(map(str, call.received_by_rank))
        operation = getattr(self._lib, f"COLLECTIVE_OP_{name.upper()}")
        root = call.root if name in ROOTED else self._unknown
        event = operation, communicator.ref, root, *totals(call, communicator.size, communicator.me)
        if waits:
            self._lib.EvtWriter_MpiCollectiveBegin(self._to, None, begin)
            self._lib.EvtWriter_MpiCollectiveEnd(self._to, self._with(attributes), end, *event)
        else:
            self._started += 1
            self._lib.EvtWriter_NonBlockingCollectiveRequest(self._to, None, begin, self._started)
            self._begin(fields[2], end, "NonBlockingCollectiveComplete", *event, attributes=attributes)

    # -- communicators -------------------------------------------------------------------------------------------------

    def _create(self, fields: list[int], begin: int, end: int) -> None:
        parent = self._communicators.get(fields[0], self._communicators[1])
        self._lib.EvtWriter_MpiCollectiveBegin(self._to, None, begin)
        if fields[1]:
            self._lib.EvtWriter_CommCreate(self._to, None, end, self._add(fields, made=True))
        attributes = self._with({library.FLAGS: fields[2]})
        operation = self._lib.COLLECTIVE_OP_CREATE_HANDLE
        self._lib.EvtWriter_MpiCollectiveEnd(self._to, attributes, end, operation, parent.ref, self._unknown, 0, 0)

    def _add(self, fields: list[int], *, made: bool) -> int:
        """A communicator of this rank, known by its members and how many of these were made before
        (core/replay/communicators.cpp)."""
        parent, number, flags, count, *lists = fields
        members, remote = tuple(lists[:count]), tuple(lists[count + 1 :])
        everyone = self._communicators[1].size
        if flags & OF_WORLD and not members:
            members = tuple(range(everyone))
        sides = tuple(sorted([members, remote])) if flags & INTER else (members,)
        key = sides, self._made[sides]
        self._made[sides] += 1
        if key not in self._known.communicators:
            ref = 2 + len(self._known.communicators)
            above = self._communicators[parent].ref if parent in self._communicators else -1
            self._known.communicators[key] = ref, above, tuple(map(self._known.group, sides)), flags
        ref = self._known.communicators[key][0]
        if made:
            self._known.made.add(ref)
        peers = {rank: place for place, rank in enumerate(remote if flags & INTER else members)}
        self._communicators[number] = _Communicator(ref, len(members), members.index(self._rank), peers)
        return ref


def write(trace: Trace, directory: Path) -> dict[str, int]:
    """Writes the archive into a folder that is there. Returns what it does not hold, by what that is. Raises
    InputError."""
    lib = library.load()
    left_out: Counter[str] = Counter()
    known = _Definitions(strings={"": 0})
    events: list[int] = []
    length_ps = 0
    tables = TraceTables(trace.about.ranks)
    with library.errors_of(lib, directory, "it cannot be written"):
        archive = lib.Archive_Open(
            str(directory), NAME, lib.FileMode.WRITE, _CHUNK_EVENTS, _CHUNK_DEFINITIONS, lib.FileSubstrate.POSIX, lib.Compression.NONE
        )

        def flush(*_: object) -> Any:
            return lib.FlushType.FLUSH

        flushes = lib.FlushCallbacks(pre_flush=flush, post_flush=None)  # kept until the archive is closed
        lib.Archive_SetFlushCallbacks(archive, flushes, None)
        lib.Archive_SetSerialCollectiveCallbacks(archive)
        lib.Archive_SetCreator(archive, "exanet")
        lib.Archive_SetProperty(archive, library.MPI, trace.about.mpi, True)
        lib.Archive_OpenDefFiles(archive)
        lib.Archive_OpenEvtFiles(archive)
        attributes = lib.AttributeList_New()
        for rank, stream in enumerate(trace.streams):
            try:
                tables.read(str(stream))  # what is damaged is reported by the core's reader
            except ValueError as error:
                raise InputError(str(error)) from None
            lib.Archive_CloseDefWriter(archive, lib.Archive_GetDefWriter(archive, rank))
            writer = lib.Archive_GetEvtWriter(archive, rank)
            with opened(stream) as data:
                end = _Rank(lib, writer, attributes, rank, trace.about.ranks, known, left_out).write(data)
            length_ps = max(length_ps, end)
            events.append(lib.EvtWriter_GetNumberOfEvents(writer))
            lib.Archive_CloseEvtWriter(archive, writer)
        lib.AttributeList_Delete(attributes)
        lib.Archive_CloseEvtFiles(archive)
        lib.Archive_CloseDefFiles(archive)
        _define(lib, lib.Archive_GetGlobalDefWriter(archive), known, events, length_ps, trace)
        lib.Archive_Close(archive)
    return dict(left_out)


# -- definitions -------------------------------------------------------------------------------------------------------


def _role(lib: Any, code: int | str) -> Any:
    name = code if isinstance(code, str) else _NAMES[code].removeprefix("I").capitalize()
    roles = lib.RegionRole
    if name == "Barrier":
        return roles.BARRIER
    if name in ("Bcast", "Scatter", "Scatterv"):
        return roles.COLL_ONE2ALL
    if name in ("Gather", "Gatherv", "Reduce"):
        return roles.COLL_ALL2ONE
    if code in COLLECTIVES or code in NEIGHBOURS:
        return roles.COLL_ALL2ALL
    if code in ACCESSES or code in SYNCHRONISATIONS or code in WINDOWS:
        return roles.RMA
    if code in CREATES or code == CODES["Finalize"]:
        return roles.COLL_OTHER
    return roles.FUNCTION if isinstance(code, str) else roles.POINT2POINT


def _define(lib: Any, to: Any, known: _Definitions, events: Sequence[int], length_ps: int, trace: Trace) -> None:
    none, mpi = lib.UNDEFINED_UINT32, lib.Paradigm.MPI
    text = known.string
    machine = text(str(trace.about.run.get("machine_name") or "machine"))
    groups = {1: tuple(range(len(events))), 2: (), **{ref: members for members, ref in known.groups.items()}}
    regions = [(ref, code if isinstance(code, str) else f"MPI_{_NAMES[code]}", _role(lib, code)) for code, ref in known.regions.items()]
    named = {"": 0, **{name: text(name) for _, name, _ in regions}}
    names = [text(f"MPI Rank {rank}") for rank in range(len(events))]
    world, alone, node, thread, mpi_name = map(text, ("MPI_COMM_WORLD", "MPI_COMM_SELF", "machine", "Master thread", "MPI"))
    attributes = [(text(name), text(description)) for name, description in library.ATTRIBUTES]
    window_names = {key: text(f"window {ref}") for key, ref in known.windows.items()}
    lib.GlobalDefWriter_WriteClockProperties(to, library.PS_IN_S, 0, length_ps + 1, lib.UNDEFINED_TIMESTAMP)
    for string, ref in known.strings.items():
        lib.GlobalDefWriter_WriteString(to, ref, string)
    lib.GlobalDefWriter_WriteParadigm(to, mpi, mpi_name, lib.ParadigmClass.PROCESS)
    for ref, (name, description) in enumerate(attributes):
        lib.GlobalDefWriter_WriteAttribute(to, ref, name, description, lib.Type.STRING if ref in library.STRINGS else lib.Type.UINT64)
    lib.GlobalDefWriter_WriteSystemTreeNode(to, 0, machine, node, none)
    for rank, count in enumerate(events):
        lib.GlobalDefWriter_WriteLocationGroup(to, rank, names[rank], lib.LocationGroupType.PROCESS, 0, none)
        lib.GlobalDefWriter_WriteLocation(to, rank, thread, lib.LocationType.CPU_THREAD, count, rank)
    for ref, region, role in regions:
        lib.GlobalDefWriter_WriteRegion(to, ref, named[region], named[region], 0, role, mpi, lib.RegionFlag.NONE, 0, 0, 0)
    lib.GlobalDefWriter_WriteGroup(to, 0, 0, lib.GroupType.COMM_LOCATIONS, mpi, lib.GroupFlag.NONE, list(groups[1]))
    for ref, members in groups.items():
        kind = lib.GroupType.COMM_GROUP if members else lib.GroupType.COMM_SELF
        lib.GlobalDefWriter_WriteGroup(to, ref, 0, kind, mpi, lib.GroupFlag.NONE, list(members))
    lib.GlobalDefWriter_WriteComm(to, _WORLD, world, 1, none, lib.CommFlag.NONE)
    lib.GlobalDefWriter_WriteComm(to, _SELF, alone, 2, _WORLD, lib.CommFlag.NONE)
    for ref, parent, sides, _ in known.communicators.values():
        flag = lib.CommFlag.CREATE_DESTROY_EVENTS if ref in known.made else lib.CommFlag.NONE
        above = none if parent < 0 else parent
        if len(sides) == 2:
            lib.GlobalDefWriter_WriteInterComm(to, ref, 0, *sides, above if parent >= 0 else _WORLD, flag)
        else:
            lib.GlobalDefWriter_WriteComm(to, ref, 0, sides[0], above, flag)
    for key, ref in known.windows.items():
        lib.GlobalDefWriter_WriteRmaWin(to, ref, window_names[key], key[0], lib.RmaWinFlag.CREATE_DESTROY_EVENTS)
