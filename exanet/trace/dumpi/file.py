# SPDX-License-Identifier: Apache-2.0
"""One file of a DUMPI trace: the calls of a rank.

Source: as of records.py. A file is a magic number, a stream of calls, and records that an index at its end finds: a
header with the version, a footer that counts each call, and sizes of datatypes. The stream's calls are counted against
the footer, so that a damaged file is seen. Limits: version 0.6.7 or later, for earlier ones stored requests wrongly;
calls of one thread.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exanet.errors import InputError
from exanet.trace.dumpi.records import END, FUNCTION_ENTER, FUNCTION_EXIT, LAYOUTS, NAMES

MAGIC = bytes.fromhex("ffaadd44554d5049")
_FOOTER_MAGIC = 0xF007FEE7
_OLDEST = (0, 6, 7)
_INDEX = struct.Struct(">8s7Q")  # magic; sizes, addresses, counters, header, stream, footer, keys
_STATUS, _CPU, _WALL, _THREAD, _COUNTERS = 3, 4, 8, 64, 128  # of a record's mask
_STATUS_BYTES = 14  # bytes, source, cancelled, error, tag
_NUMBERS = {"i": struct.Struct(">i"), "w": struct.Struct(">H"), "b": struct.Struct(">B")}
_LISTS = {"A": "i", "T": "H", "B": "B"}


@dataclass(frozen=True)
class Call:
    """One call, with its fields by name. Times are nanoseconds, `begun` and `ended` -1 without a clock."""

    at: int  # place in the file
    name: str
    begun: int
    ended: int
    fields: dict[str, Any]


class DumpiFile:
    """A file that is open. Raises InputError where it is damaged, OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = path.read_bytes()
        if not self._data.startswith(MAGIC):
            raise self.wrong(0, "it does not begin as a DUMPI trace does; give the file of a rank, or the .meta file")
        index = len(self._data) - _INDEX.size
        if index < 0 or not self._data.startswith(MAGIC, index):
            raise self.wrong(max(index, 0), "no index where it should be: the file is cut off, or older than DUMPI 0.6.7; record it anew")
        sizes, _, _, header, stream, footer, _ = map(int, _INDEX.unpack_from(self._data, index)[1:])
        if not (max(sizes, footer) < index and 0 < header < index - 2 and 0 < stream < index):
            raise self.wrong(index, "its index names places that are not in the file: it is damaged; record it anew")
        self._end, self._at = index, header
        self._past = [0, 0]  # seconds of the clocks
        version = tuple(self._data[header : header + 3])
        if version < _OLDEST:
            raise self.wrong(header, f"version {'.'.join(map(str, version))}; 0.6.7 and later are read")
        self._stream, self._footer = stream, footer
        self.sizes = self._sizes(sizes)

    def wrong(self, at: int, what: str) -> InputError:
        return InputError(f"{self.path}: byte {at}: {what}")

    def _sizes(self, at: int) -> list[int]:
        """Of datatypes, by their numbers; none where the file has no such record."""
        if at == 0:
            return []
        self._at = at
        return list(self._value("A", 0))

    # -- the stream ----------------------------------------------------------------------------------------------------

    def calls(self) -> Iterator[Call]:
        """In their order. Raises InputError where the file is damaged."""
        self._at = self._stream + 8  # behind the seconds from which clocks count
        self._past = [0, 0]
        counts: Counter[str] = Counter()
        while True:
            at = self._at
            number = self._number("w")
            if number == END:
                break
            if number in (FUNCTION_ENTER, FUNCTION_EXIT):
                self._head(at)
                self._skip(8)
                continue
            if number >= len(NAMES):
                raise self.wrong(at, f"{number} is no call's number: the file is damaged; record it anew")
            call = self._call(at, NAMES[number])
            counts[call.name] += 1
            yield call
        self._compare(counts)

    def _compare(self, counts: Counter[str]) -> None:
        """With the footer's counts."""
        self._at = self._footer
        if self._footer == 0:
            return
        self._skip(4)
        if self._number("i") & 0xFFFFFFFF != _FOOTER_MAGIC:
            raise self.wrong(self._footer, "no footer where it should be: the file is damaged; record it anew")
        for name in NAMES:
            if (counted := self._number("i")) != counts[name]:
                what = f"the footer counts {counted} calls of MPI_{name}, and {counts[name]} were read: the file is damaged; record it anew"
                raise self.wrong(self._footer, what)

    def _call(self, at: int, name: str) -> Call:
        if name not in LAYOUTS:
            raise self.wrong(at, f"MPI_{name} is not read; record the program with exanet record")
        mask, begun, ended = self._head(at)
        fields: dict[str, Any] = {}
        for field, kind, at_root in LAYOUTS[name]:
            if not at_root or fields["me"] == fields["root"]:
                fields[field] = self._value(kind, mask)
        return Call(at, name, begun, ended, fields)

    def _head(self, at: int) -> tuple[int, int, int]:
        """Mask and times of a record."""
        mask = self._number("b")
        if mask & _THREAD and self._number("w") != 0:
            raise self.wrong(at, "a call of a second thread; record the program with exanet record")
        begun = ended = -1
        for clock, bit in enumerate((_CPU, _WALL)):  # wall clock, where there is one
            if mask & bit:
                begun, ended = self._time(clock), self._time(clock)
        if mask & _COUNTERS:
            self._skip(16 * self._number("b"))
        return mask, begun, ended

    def _time(self, clock: int) -> int:
        """Seconds have 16 bits, and begin again."""
        seconds, nanoseconds = self._number("w"), self._number("i") & 0xFFFFFFFF
        turns, last = divmod(self._past[clock], 1 << 16)
        seconds += (turns + (seconds + (1 << 15) < last)) << 16
        self._past[clock] = seconds
        return int(seconds * 10**9 + nanoseconds)

    # -- fields --------------------------------------------------------------------------------------------------------

    def _skip(self, count: int) -> int:
        """Where that begins."""
        at = self._at
        if not 0 <= count <= self._end - at:
            raise self.wrong(at, "the file ends in a record: it is damaged; record it anew")
        self._at = at + count
        return at

    def _number(self, kind: str) -> int:
        form = _NUMBERS[kind]
        found: int = form.unpack_from(self._data, self._skip(form.size))[0]
        return found

    def _value(self, kind: str, mask: int) -> Any:
        if kind in _NUMBERS:
            return self._number(kind)
        if kind == "S":
            return self._skip(_STATUS_BYTES * self._number("i")) if mask & _STATUS else None
        count = self._number("i")
        if kind in _LISTS:
            form = struct.Struct(f">{max(count, 0)}{_LISTS[kind]}")
            return form.unpack_from(self._data, self._skip(form.size if count >= 0 else -1))
        if kind == "c":
            begin = self._skip(count)
            return self._data[begin : self._at]
        self._skip(0 if 0 <= count <= self._end - self._at else -1)
        return [self._value("A" if kind == "M" else "c", mask) for _ in range(count)]
