# SPDX-License-Identifier: Apache-2.0
"""One-sided calls of a rank as OTF2's records of remote memory: windows, what is put and got with target and bytes, locks, fences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from exanet.trace.records import WINDOW, WINDOWS
from exanet.trace.write import CODES

_EXCLUSIVE = 1  # flag of a lock
_ATOMIC = {
    "Accumulate": "ACCUMULATE",
    "Raccumulate": "ACCUMULATE",
    "Get_accumulate": "FETCH_AND_ACCUMULATE",
    "Rget_accumulate": "FETCH_AND_ACCUMULATE",
    "Fetch_and_op": "FETCH_AND_ACCUMULATE",
    "Compare_and_swap": "COMPARE_AND_SWAP",
}
_NAMES = {code: name for name, code in CODES.items()}


class Windows:
    """Of one rank. `communicator` gives its communicators by the stream's numbers; `refs`, of all ranks, the archive's windows by
    communicator and turn."""

    def __init__(self, lib: Any, writer: Any, refs: dict[tuple[int, int], int], communicator: Callable[[int], Any]) -> None:
        self._lib, self._to, self._refs, self._communicator = lib, writer, refs, communicator
        self._made: Counter[int] = Counter()  # by communicator
        self._known: dict[int, tuple[int, Any]] = {}  # by the stream's number: the archive's, and the communicator
        self._accesses = 0

    def write(self, code: int, fields: list[int], begin: int, end: int) -> bool:
        """The events of one call. False: there are none for it."""
        if code in WINDOWS:
            self._make(code, fields, end)
            return True
        ref, communicator = self._known[fields[0]]
        name = _NAMES[code]
        remote = -1 if fields[1] < 2 else fields[1] - 2 if communicator.peers is None else communicator.peers[fields[1] - 2]
        lib = self._lib
        if not name.startswith("Win_"):
            self._access(name, ref, remote, fields, begin)
        elif name == "Win_lock":
            kind = lib.LockType.EXCLUSIVE if fields[2] & _EXCLUSIVE else lib.LockType.SHARED
            lib.EvtWriter_RmaAcquireLock(self._to, None, end, ref, remote, 0, kind)
        elif name == "Win_unlock":
            lib.EvtWriter_RmaReleaseLock(self._to, None, end, ref, remote, 0)
        elif name in ("Win_fence", "Win_free"):
            lib.EvtWriter_RmaCollectiveBegin(self._to, None, begin)
            level = lib.RmaSyncLevel.PROCESS | lib.RmaSyncLevel.MEMORY
            lib.EvtWriter_RmaCollectiveEnd(self._to, None, end, lib.COLLECTIVE_OP_BARRIER, level, ref, lib.UNDEFINED_UINT32, 0, 0)
            if name == "Win_free":
                lib.EvtWriter_RmaWinDestroy(self._to, None, end, ref)
        else:
            return False
        return True

    def _make(self, code: int, fields: list[int], end: int) -> None:
        communicator = self._communicator(fields[0])
        key = communicator.ref, self._made[communicator.ref]
        self._made[communicator.ref] += 1
        ref = self._refs.setdefault(key, len(self._refs))
        self._known[fields[1]] = ref, communicator
        if code != WINDOW:
            self._lib.EvtWriter_RmaWinCreate(self._to, None, end, ref)

    def _access(self, name: str, ref: int, remote: int, fields: list[int], begin: int) -> None:
        self._accesses += 1
        sent, back = fields[4:6]
        if name in ("Put", "Rput"):
            self._lib.EvtWriter_RmaPut(self._to, None, begin, ref, remote, sent, self._accesses)
        elif name in ("Get", "Rget"):
            self._lib.EvtWriter_RmaGet(self._to, None, begin, ref, remote, back, self._accesses)
        else:
            kind = getattr(self._lib.RmaAtomicType, _ATOMIC[name])
            self._lib.EvtWriter_RmaAtomic(self._to, None, begin, ref, remote, kind, sent, back, self._accesses)
