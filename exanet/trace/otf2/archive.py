# SPDX-License-Identifier: Apache-2.0
"""An archive of OTF2 being read: its definitions, and the events of one location after the other, a batch at a time.

Problem: an archive may be longer than memory, and the library reports an event by a call. Model: definitions are read
whole; of a location's events a batch is collected by the library's calls and handed on, so that a caller goes through
them as through a list. Limit: locations that are no rank of MPI_COMM_WORLD have no calls.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from exanet.encoding import check_name
from exanet.errors import InputError
from exanet.trace.otf2 import ends, library

_BATCH = 4096
_MOST_RANKS = 1 << 22
_LOCKS = ("RmaAcquireLock", "RmaRequestLock", "RmaTryLock")
RMA = (
    *("RmaWinCreate", "RmaWinDestroy", "RmaCollectiveEnd", "RmaGroupSync", "RmaSync", *_LOCKS, "RmaReleaseLock", "RmaPut", "RmaGet"),
    *("RmaAtomic", "RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking", "RmaOpCompleteRemote", "RmaOpTest"),
)
_EVENTS = (
    *("BufferFlush", "MeasurementOnOff", "Enter", "Leave", "MpiSend", "MpiIsend", "MpiIsendComplete", "MpiIrecvRequest", "MpiRecv"),
    *("MpiIrecv", "MpiRequestCancelled", "MpiCollectiveEnd", "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"),
    *("CommCreate", "MpiProbe", "MpiMrecv", "MpiImrecvRequest", "MpiImrecv", "ProgramBegin"),
    *RMA,
)
_OF_COLLECTIVE = (library.FLAGS, library.ELEMENT, *library.BLOCKS)
_ATTRIBUTES = {  # that an event may have
    "Leave": (library.INSIDE, library.WINDOW, library.NEIGHBOURS, library.COMPLETED),
    "MpiCollectiveEnd": _OF_COLLECTIVE,
    "NonBlockingCollectiveComplete": _OF_COLLECTIVE,
    "RmaWinCreate": (library.BYTES,),
    **dict.fromkeys(("RmaPut", "RmaGet", "RmaAtomic", "RmaCollectiveEnd", "RmaGroupSync", "RmaAcquireLock"), (library.FLAGS,)),
}
_DEFINITIONS = ("ClockProperties", "String", "Attribute", "Location", "Region", "Group", "Comm", "InterComm", "RmaWin")


class Event(NamedTuple):
    kind: str  # as OTF2 calls it
    ticks: int
    attributes: dict[int, Any]  # by their numbers in the library module
    fields: tuple[Any, ...]


@dataclass(frozen=True)
class Communicator:
    """Members are ranks of MPI_COMM_WORLD; of the communicator of a rank alone there are none."""

    ref: int
    members: tuple[int, ...]
    remote: tuple[int, ...]  # the other side of an intercommunicator
    parent: int
    made_by_event: bool
    alone: bool


def anchor(place: Path) -> Path | None:
    """The file that an archive is opened by, of that file or of the folder around it; None where there is none."""
    if place.is_dir():
        found = sorted(file for file in place.glob("*.otf2") if file.is_file())
        return next((file for file in found if file.name == "traces.otf2"), found[0] if len(found) == 1 else None)
    return place if place.suffix == ".otf2" else None


class Archive:
    """An archive that is open for reading. Raises InputError where it is not one, is damaged, or none of MPI."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lib = library.load()
        self._handle: Any = None
        check_name(file, "")
        try:
            if not file.is_file():
                raise InputError(f"{file}: no such file; name the archive's .otf2, or the folder that has it")
            with library.errors_of(self._lib, file, "not an archive of OTF2"):
                self._handle = self._lib.Reader_Open(str(file))
                self._lib.Reader_SetSerialCollectiveCallbacks(self._handle)
            with library.errors_of(self._lib, file, "its definitions cannot be read; are all of its files there?"):
                # The binding prints what it cannot decode, and goes on with an error.
                with contextlib.redirect_stderr(io.StringIO()):
                    found = self._definitions()
                self._read(found)
            self._check_ends()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._handle is not None:
            self._lib.Reader_Close(self._handle)
            self._handle = None

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _definitions(self) -> dict[str, list[tuple[Any, ...]]]:
        lib = self._lib
        found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _DEFINITIONS}
        reader, callbacks = lib.Reader_GetGlobalDefReader(self._handle), lib.GlobalDefReaderCallbacks_New()

        def keep(name: str) -> Any:
            return lambda _, *fields: found[name].append(tuple(getattr(each, "value", each) for each in fields))

        kept = [(name, keep(name)) for name in _DEFINITIONS]  # as long as they are called
        for name, function in kept:
            getattr(lib, f"GlobalDefReaderCallbacks_Set{name}Callback")(callbacks, function)
        lib.Reader_RegisterGlobalDefCallbacks(self._handle, reader, callbacks, None)
        lib.GlobalDefReaderCallbacks_Delete(callbacks)
        expected, read = lib.Reader_GetNumberOfGlobalDefinitions(self._handle), 0
        while read < expected:  # read further than there is, it begins anew
            asked = min(_BATCH, expected - read)
            count = lib.Reader_ReadGlobalDefinitions(self._handle, reader, asked)
            read += count
            if count < asked:
                raise InputError(f"{self.file}: its definitions end early: {read} of {expected}")
        lib.Reader_CloseGlobalDefReader(self._handle, reader)
        return found

    def _read(self, found: dict[str, list[tuple[Any, ...]]]) -> None:
        if not found["ClockProperties"] or found["ClockProperties"][0][0] < 1:
            raise InputError(f"{self.file}: it has no clock")
        self._ticks_in_s = found["ClockProperties"][0][0]
        self.strings: dict[int, str] = {ref: _text(text) for ref, text in found["String"]}
        names = ((region[0], self.strings.get(region[1], ""), region[5]) for region in found["Region"])
        self.regions = {ref: name for ref, name, paradigm in names if paradigm == self._lib.Paradigm.MPI.value or name.startswith("MPI_")}
        known = {name: number for number, (name, _) in enumerate(library.ATTRIBUTES)}
        self._attributes = {ref: known[self.strings[name]] for ref, name, *_ in found["Attribute"] if self.strings.get(name) in known}
        self.locations = {ref: count for ref, _, _, count, _ in found["Location"]}
        self.threads = {ref for ref, _, kind, *_ in found["Location"] if kind == self._lib.LocationType.CPU_THREAD.value}
        self._find_communicators(found)

    def _find_communicators(self, found: dict[str, list[tuple[Any, ...]]]) -> None:
        kinds, none = self._lib.GroupType, self._lib.UNDEFINED_UINT32.value
        groups = {ref: (kind, members) for ref, _, kind, paradigm, _, members in found["Group"] if paradigm == self._lib.Paradigm.MPI.value}
        everyone: list[int] = next((members for kind, members in groups.values() if kind == kinds.COMM_LOCATIONS.value), [])
        comms = [comm for comm in found["Comm"] if comm[2] in groups]
        of_all = [comm for comm in comms if groups[comm[2]][0] == kinds.COMM_GROUP.value and groups[comm[2]][1]]
        if not everyone or not of_all:
            raise InputError(f"{self.file}: no communicator of MPI in it; is it a recording of an MPI program?")
        named = [comm for comm in of_all if self.strings.get(comm[1]) == "MPI_COMM_WORLD"]
        world = named[0] if named else max(of_all, key=lambda comm: (len(groups[comm[2]][1]), -comm[0]))
        numbers = {member: rank for rank, member in enumerate(groups[world[2]][1])}
        try:
            self.ranks = [everyone[member] for member in groups[world[2]][1]]
        except IndexError:
            raise InputError(f"{self.file}: MPI_COMM_WORLD has a rank without a location") from None
        if (
            any(location not in self.locations for location in self.ranks)
            or len(set(self.ranks)) < len(self.ranks)
            or len(self.ranks) > _MOST_RANKS
        ):
            raise InputError(f"{self.file}: the locations of MPI_COMM_WORLD's ranks are undefined, or two ranks have the same one")
        self.world = world[0]

        def ranks_of(group: int) -> tuple[int, ...]:
            return tuple(numbers.get(member, none) for member in groups[group][1]) if group in groups else ()

        self.communicators: dict[int, Communicator] = {}
        by_event = self._lib.CommFlag.CREATE_DESTROY_EVENTS.value
        for ref, _, group, parent, flags in comms:
            alone = groups[group][0] == kinds.COMM_SELF.value
            self.communicators[ref] = Communicator(ref, ranks_of(group), (), parent, bool(flags & by_event), alone)
        for ref, _, one, other, parent, flags in found["InterComm"]:
            self.communicators[ref] = Communicator(ref, ranks_of(one), ranks_of(other), parent, bool(flags & by_event), False)
        # What has processes of another program is none of those that a trace can have.
        self.communicators = {ref: comm for ref, comm in self.communicators.items() if none not in comm.members + comm.remote}
        self.windows: dict[int, int] = {ref: comm for ref, _, comm, *_ in found["RmaWin"]}
        self.exclusive = self._lib.LockType.EXCLUSIVE.value
        self.unknown = none
        self._groups = {ref: ranks_of(ref) for ref in groups}

    def group(self, ref: int) -> tuple[int, ...]:
        """The ranks of a group. Raises InputError where it is not defined, or has processes of another program."""
        members = self._groups.get(ref, (self.unknown,))
        if self.unknown in members:
            raise InputError(f"{self.file}: group {ref} is not defined, or has processes of another program")
        return members

    @property
    def mpi(self) -> str:
        """The MPI whose calls these are, where the archive says so. Raises InputError on a damaged one."""
        with library.errors_of(self._lib, self.file, "its properties cannot be read"):
            if library.MPI not in self._lib.Reader_GetPropertyNames(self._handle):
                return ""
            return str(self._lib.Reader_GetProperty(self._handle, library.MPI))

    def _check_ends(self) -> None:
        """Raises InputError where a file has something behind its end, or a rank nothing at all; OSError."""
        lib, of_files = self._lib, self.file.with_suffix("")
        for rank, location in enumerate(self.ranks):
            if self.locations[location] == 0:
                raise InputError(f"{self.file}: rank {rank} (location {location}) has no events: the archive is incomplete; write it again")
        plain = lib.Reader_GetFileSubstrate(self._handle) == lib.FileSubstrate.POSIX
        if not plain or lib.Reader_GetCompression(self._handle) != lib.Compression.NONE:
            return
        event_bytes, definition_bytes = lib.Reader_GetChunkSize(self._handle)
        ends.check(of_files.with_suffix(".def"), definition_bytes)
        for location in self.locations:
            for file, chunk_bytes in ((of_files / f"{location}.evt", event_bytes), (of_files / f"{location}.def", definition_bytes)):
                if file.is_file() and file.stat().st_size:
                    ends.check(file, chunk_bytes)

    # -- events --------------------------------------------------------------------------------------------------------

    def open_events(self) -> None:
        """Before any location's events are read."""
        for location in self.locations:
            self._lib.Reader_SelectLocation(self._handle, location)
        with library.errors_of(self._lib, self.file, "its events cannot be opened"):
            self._lib.Reader_OpenEvtFiles(self._handle)
        try:
            self._lib.Reader_OpenDefFiles(self._handle)
            self._local = True
        except self._lib.Error:  # an archive may do without
            self._local = False

    def ps(self, ticks: int) -> int:
        return ticks * library.PS_IN_S // int(self._ticks_in_s)

    def events(self, location: int, kinds: tuple[str, ...] = _EVENTS) -> Iterator[Event]:
        """The events of a location in their order, of these kinds. Raises InputError where some are missing."""
        lib, expected, read = self._lib, self.locations[location], 0
        if expected == 0:
            return
        with library.errors_of(lib, self.file, f"the events of location {location} cannot be read; is its file there, and whole?"):
            self._local_definitions(location)
            reader, callbacks = lib.Reader_GetEvtReader(self._handle, location), lib.EvtReaderCallbacks_New()
            found: list[Event] = []
            kept = [(kind, self._keep(kind, found)) for kind in kinds]  # as long as they are called
            for kind, function in kept:
                getattr(lib, f"EvtReaderCallbacks_Set{kind}Callback")(callbacks, function)
            try:
                lib.Reader_RegisterEvtCallbacks(self._handle, reader, callbacks, None)
                while read < expected:  # read further than there is, it begins anew
                    asked = min(_BATCH, expected - read)
                    count = lib.Reader_ReadLocalEvents(self._handle, reader, asked)
                    read += count
                    yield from found
                    found.clear()
                    if count < asked:
                        raise InputError(f"{self.file}: the events of location {location} end early: {read} of {expected}")
            finally:
                lib.EvtReaderCallbacks_Delete(callbacks)
                if reader:
                    with contextlib.suppress(lib.Error):
                        lib.Reader_CloseEvtReader(self._handle, reader)

    def _local_definitions(self, location: int) -> None:
        """Reads how the location's own numbers become the archive's; the library applies it."""
        lib = self._lib
        reader = lib.Reader_GetDefReader(self._handle, location) if self._local else None
        if reader:
            lib.Reader_ReadAllLocalDefinitions(self._handle, reader)
            lib.Reader_CloseDefReader(self._handle, reader)

    def _keep(self, kind: str, found: list[Event]) -> Any:
        """A callback, which only notes: what goes wrong in one would be printed by the library."""
        lib = self._lib
        looked_for = _ATTRIBUTES.get(kind, ())
        attributes_of = [(ref, number) for ref, number in self._attributes.items() if number in looked_for]

        def keep(location: int, ticks: int, position: int, data: Any, attributes: Any, *fields: Any) -> None:
            values: dict[int, Any] = {}
            for ref, number in attributes_of if attributes else ():
                if lib.AttributeList_TestAttributeByID(attributes, ref):
                    text = number in library.STRINGS
                    with contextlib.suppress(lib.Error):  # one of another type is none of ours
                        value = (lib.AttributeList_GetStringRef if text else lib.AttributeList_GetUint64)(attributes, ref)
                        values[number] = self.strings.get(value, "") if text else value
            found.append(Event(kind, ticks, values, tuple(getattr(each, "value", each) for each in fields)))

        return keep


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
