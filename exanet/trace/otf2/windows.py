# SPDX-License-Identifier: Apache-2.0
"""One-sided calls of a rank as OTF2's records of remote memory: windows, what is put and got with target and bytes,
locks, groups, fences.

What the records lack is in attributes: the bytes of a window and whether an access is to one piece of memory. A lock
and a flush of all are those of one, of a rank that is not defined. A call that leaves no record, which is a test that
was false, names its window by an attribute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from exanet.errors import InputError
from exanet.trace.layout import CONTIGUOUS, EMPTY, EXCLUSIVE, UNCHECKED
from exanet.trace.otf2 import library
from exanet.trace.otf2.archive import RMA, Archive, Event
from exanet.trace.records import ACCESSES, REQUESTED, SYNCHRONISATIONS, WINDOW, WINDOWS
from exanet.trace.write import CODES

_ATOMIC = {
    "Accumulate": "ACCUMULATE",
    "Raccumulate": "ACCUMULATE",
    "Get_accumulate": "FETCH_AND_ACCUMULATE",
    "Rget_accumulate": "FETCH_AND_ACCUMULATE",
    "Fetch_and_op": "FETCH_AND_ACCUMULATE",
    "Compare_and_swap": "COMPARE_AND_SWAP",
}
_NAMES = {code: name for name, code in CODES.items()}
_LOCKS = ("RmaAcquireLock", "RmaRequestLock", "RmaTryLock")
_ACCESSES = ("RmaPut", "RmaGet", "RmaAtomic")
COMPLETED = "RmaOpCompleteNonBlocking"  # ends a request


class Writing:
    """Of one rank. `communicator` gives its communicators by the stream's numbers; `refs`, of all ranks, the
    archive's windows by communicator and turn; `group` numbers groups, and `attributes` makes a list of them for the
    next event."""

    def __init__(
        self,
        lib: Any,
        writer: Any,
        refs: dict[tuple[int, int], int],
        communicator: Callable[[int], Any],
        group: Callable[[tuple[int, ...]], int],
        attributes: Callable[[dict[int, int | str]], Any],
    ) -> None:
        self._lib, self._to, self._refs, self._communicator, self._group, self._with = lib, writer, refs, communicator, group, attributes
        self._made: Counter[int] = Counter()  # by communicator
        self._known: dict[int, tuple[int, Any]] = {}  # by the stream's number: the archive's, and the communicator
        self._groups: dict[tuple[int, bool], list[int]] = {}  # that a window is started with, or posted to
        self.accesses = 0

    def ref(self, number: int) -> int:
        """The archive's number of a window."""
        return self._known[number][0]

    def write(self, code: int, fields: list[int], begin: int, end: int) -> dict[int, int | str]:
        """The events of one call. Returns the attributes of its region's end."""
        if code in WINDOWS:
            self._make(code, fields, end)
            return {}
        ref, communicator = self._known[fields[0]]
        lib, name = self._lib, _NAMES[code]
        remote: Any = lib.UNDEFINED_UINT32
        if fields[1] >= 2:
            remote = fields[1] - 2 if communicator.peers is None else communicator.peers[fields[1] - 2]
        if code in ACCESSES:
            self._access(name, ref, remote, fields, begin)
            return {}
        flags = fields[2]
        unchecked = self._with({library.FLAGS: UNCHECKED} if flags & UNCHECKED else {})
        if flags & EMPTY:
            return {library.WINDOW: ref}
        if name.startswith("Win_lock"):
            kind = lib.LockType.EXCLUSIVE if flags & EXCLUSIVE else lib.LockType.SHARED
            lib.EvtWriter_RmaAcquireLock(self._to, unchecked, end, ref, remote, 0, kind)
        elif name.startswith("Win_unlock"):
            lib.EvtWriter_RmaReleaseLock(self._to, None, end, ref, remote, 0)
        elif name.startswith("Win_flush"):
            lib.EvtWriter_RmaSync(self._to, None, end, ref, remote, lib.RmaSyncType.MEMORY)
        elif name in ("Win_fence", "Win_free"):
            lib.EvtWriter_RmaCollectiveBegin(self._to, None, begin)
            level = lib.RmaSyncLevel.PROCESS | lib.RmaSyncLevel.MEMORY
            lib.EvtWriter_RmaCollectiveEnd(self._to, unchecked, end, lib.COLLECTIVE_OP_BARRIER, level, ref, lib.UNDEFINED_UINT32, 0, 0)
            if name == "Win_free":
                lib.EvtWriter_RmaWinDestroy(self._to, None, end, ref)
        else:
            started = name in ("Win_start", "Win_complete")
            if name in ("Win_start", "Win_post"):
                self._groups[fields[0], started] = fields[4:]
            group = self._group(tuple(self._groups.get((fields[0], started), ())))
            lib.EvtWriter_RmaGroupSync(self._to, unchecked, end, lib.RmaSyncLevel.PROCESS | lib.RmaSyncLevel.MEMORY, ref, group)
        return {}

    def _make(self, code: int, fields: list[int], end: int) -> None:
        communicator = self._communicator(fields[0])
        key = communicator.ref, self._made[communicator.ref]
        self._made[communicator.ref] += 1
        ref = self._refs.setdefault(key, len(self._refs))
        self._known[fields[1]] = ref, communicator
        if code != WINDOW:
            self._lib.EvtWriter_RmaWinCreate(self._to, self._with({library.BYTES: fields[2]} if fields[2] else {}), end, ref)

    def _access(self, name: str, ref: int, remote: Any, fields: list[int], begin: int) -> None:
        self.accesses += 1
        sent, back = fields[4:6]
        pieces = self._with({} if fields[3] & CONTIGUOUS else {library.FLAGS: fields[3]})
        if name in ("Put", "Rput"):
            self._lib.EvtWriter_RmaPut(self._to, pieces, begin, ref, remote, sent, self.accesses)
        elif name in ("Get", "Rget"):
            self._lib.EvtWriter_RmaGet(self._to, pieces, begin, ref, remote, back, self.accesses)
        else:
            kind = getattr(self._lib.RmaAtomicType, _ATOMIC[name])
            self._lib.EvtWriter_RmaAtomic(self._to, pieces, begin, ref, remote, kind, sent, back, self.accesses)


@dataclass
class Read:
    """A call on a window, as records have it. `made`: it is a new one; `request`: what ends it."""

    code: int
    fields: tuple[int, ...]
    communicator: int = -1  # the archive's, of a window that is made
    request: tuple[int, int] | None = None


@dataclass
class Reading:
    """Of one rank. `peer` gives a peer's field by its number in a communicator of the archive. Raises InputError."""

    archive: Archive
    peer: Callable[[int, int], int]
    wrong: Callable[[str], InputError]
    _own: dict[int, int] = field(default_factory=dict)  # numbers of windows
    _last: int = 0

    def calls(self, code: int, events: list[Event], leave: Event) -> list[Read]:
        """What a region of such a call has done; nothing where that is not known."""
        events = [event for event in events if event.kind in RMA]
        if code in WINDOWS:
            return [self._made(code, event) for event in events if event.kind == "RmaWinCreate"]
        if code in SYNCHRONISATIONS:
            return self._synchronised(code, events, leave)
        return [each for event in events if event.kind in _ACCESSES for each in self._access(code, event)]

    def _made(self, code: int, event: Event | None, ref: int = -1) -> Read:
        ref = event.fields[0] if event is not None else ref
        self._last += 1
        self._own[ref] = self._last
        size = event.attributes.get(library.BYTES, 0) if event is not None else 0
        return Read(code, (self._last, size), self._communicator(ref))

    def _communicator(self, ref: int) -> int:
        if ref not in self.archive.windows:
            raise self.wrong(f"window {ref} is not defined")
        return self.archive.windows[ref]

    def _window(self, ref: int, before: list[Read]) -> int:
        """Our number of a window; one that no call has made is made."""
        if ref not in self._own:
            before.append(self._made(WINDOW, None, ref))
        return self._own[ref]

    def _access(self, code: int, event: Event) -> list[Read]:
        made: list[Read] = []
        ref, remote = event.fields[:2]
        window, peer = self._window(ref, made), self.peer(remote, self._communicator(ref))
        size = int(event.fields[2])
        sent, back = (0, size) if event.kind == "RmaGet" else (size, 0)
        if event.kind == "RmaAtomic":
            sent, back = event.fields[3:5]
        if code not in ACCESSES:
            code = CODES[{"RmaPut": "Put", "RmaGet": "Get"}.get(event.kind, "Get_accumulate" if back else "Accumulate")]
        request = (ref, event.fields[-1]) if code in REQUESTED else None
        flags = event.attributes.get(library.FLAGS, CONTIGUOUS)
        return [*made, Read(code, (window, peer, 0, flags, sent, back), request=request)]

    def _synchronised(self, code: int, events: list[Event], leave: Event) -> list[Read]:
        name, made = _NAMES[code], list[Read]()
        if library.WINDOW in leave.attributes:
            return [*made, Read(code, (self._window(leave.attributes[library.WINDOW], made), 0, EMPTY, 0))]
        expected = {
            **{"Win_free": ("RmaWinDestroy",), "Win_fence": ("RmaCollectiveEnd",), "Win_lock": _LOCKS, "Win_lock_all": _LOCKS},
            **dict.fromkeys(("Win_unlock", "Win_unlock_all"), ("RmaReleaseLock",)),
            **dict.fromkeys(("Win_start", "Win_complete", "Win_post", "Win_wait", "Win_test"), ("RmaGroupSync",)),
        }.get(name, ("RmaSync",))
        event = next((event for event in events if event.kind in expected), None)
        if event is None:
            return []
        at = {"RmaCollectiveEnd": 2, "RmaGroupSync": 1}.get(event.kind, 0)
        ref = event.fields[at]
        window = self._window(ref, made)
        flags = event.attributes.get(library.FLAGS, 0) & UNCHECKED
        peer, members = 0, tuple[int, ...]()
        if event.kind in _LOCKS and event.fields[3] == self.archive.exclusive:
            flags |= EXCLUSIVE
        if name in ("Win_lock", "Win_unlock", "Win_flush", "Win_flush_local") and event.fields[1] != self.archive.unknown:
            peer = self.peer(event.fields[1], self._communicator(ref))
        if name in ("Win_start", "Win_post"):
            members = self.archive.group(event.fields[2])
        if name == "Win_free":
            del self._own[ref]
        return [*made, Read(code, (window, peer, flags, len(members), *members))]
