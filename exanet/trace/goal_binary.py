# SPDX-License-Identifier: Apache-2.0
"""The binary form of GOAL schedules, which LogGOPSim runs and its txt2bin makes of text.

All numbers are little-endian and unpadded. The file begins with a magic number, the number of ranks, the highest
processor and the highest network interface that an operation names, and for each rank where its part begins and ends,
counted from behind the magic number. A rank's part has the numbers of its operations and of its roots, which require
nothing; the roots; the operations; and the list of dependents. An operation says how many others it requires, and which
stretches of that list require its end and its start.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

KINDS = {"send": 1, "recv": 2, "calc": 3}
_NAMES = {code: kind for kind, code in KINDS.items()}
_MAGIC, _USED_UP = struct.pack("<Q", 4223), struct.pack("<Q", 2342)
_HEADER = struct.Struct("<IBB")
_PLACE = struct.Struct("<QQ")
_COUNTS = struct.Struct("<II")
_ANY = (1 << 32) - 1  # in the place of a receive's peer or tag: -1
_MOST = (1 << 32) - 1  # operations of a rank, and what they require
_OPERATION = np.dtype(
    [
        *(("required", "<u4"), ("kind", "u1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("cpu", "u1"), ("nic", "u1")),
        *(("enders", "<u4"), ("enders_at", "<u4"), ("starters", "<u4"), ("starters_at", "<u4")),
    ]
)
_Numbers = npt.NDArray[np.int64]


# -- writing -----------------------------------------------------------------------------------------------------------


class Writer:
    """A schedule under way: the operations of one rank after the other, of which only the present rank's are kept."""

    def __init__(self, out: BinaryIO, ranks: int) -> None:
        self._out, self._ranks = out, ranks
        self._bounds = array("Q")
        self._out.write(_MAGIC + _HEADER.pack(ranks, 0, 0) + bytes(_PLACE.size * ranks))

    def begin(self, rank: int) -> None:
        self._kinds, self._peers, self._sizes, self._tags = array("B"), array("I"), array("Q"), array("I")
        self._required, self._earlier, self._later, self._starts = array("I"), array("I"), array("I"), array("B")

    def add(self, kind: str, size: int, peer: int, tag: int, required: Iterable[int], begun: Iterable[int] = ()) -> int:
        """Adds an operation. Returns its number, from 1 on, by which later ones require it."""
        number = len(self._kinds)
        before = len(self._earlier)
        for start, earlier_ones in enumerate((required, begun)):
            for earlier in earlier_ones:
                self._earlier.append(earlier - 1)
                self._later.append(number)
                self._starts.append(start)
        for column, value in ((self._kinds, KINDS[kind]), (self._peers, peer & _ANY), (self._sizes, size), (self._tags, tag & _ANY)):
            column.append(value)
        self._required.append(len(self._earlier) - before)
        return number + 1

    def end(self) -> None:
        """Writes the rank's part, and after the last rank's where all are. Raises ValueError."""
        if max(len(self._kinds), len(self._earlier)) > _MOST:
            raise ValueError(
                f"a rank has more than {_MOST} operations or requirements; convert to a schedule as text, or a part of the trace"
            )
        earlier = np.array(self._earlier, np.int64)
        operations = np.zeros(len(self._kinds), _OPERATION)
        columns = {"required": self._required, "kind": self._kinds, "peer": self._peers, "size": self._sizes, "tag": self._tags}
        for name, column in columns.items():
            operations[name] = column
        starts = np.array(self._starts, bool)
        operations["enders"] = enders = np.bincount(earlier[~starts], minlength=len(operations))
        operations["starters"] = starters = np.bincount(earlier[starts], minlength=len(operations))
        ends = np.cumsum(enders + starters)
        operations["enders_at"], operations["starters_at"] = ends - starters - enders, ends - starters
        roots = np.flatnonzero(operations["required"] == 0)
        start = self._out.tell()
        self._out.write(_COUNTS.pack(len(operations), len(roots)) + roots.astype("<u4").tobytes() + operations.tobytes())
        self._out.write(np.array(self._later, "<u4")[np.argsort(2 * earlier + starts, kind="stable")].tobytes())
        self._bounds.extend((start - len(_MAGIC), self._out.tell() - len(_MAGIC)))
        if len(self._bounds) == 2 * self._ranks:
            self._out.seek(len(_MAGIC) + _HEADER.size)
            self._out.write(np.array(self._bounds, "<u8").tobytes())


# -- reading -----------------------------------------------------------------------------------------------------------


class Rank(NamedTuple):
    """A rank's operations by their kinds, sizes, peers, tags and processors; and pairs of a later and an earlier
    one."""

    operations: list[tuple[str, int, int, int, int]]
    requires: list[tuple[int, int]]
    irequires: list[tuple[int, int]]


def is_schedule(file: Path) -> bool:
    """Whether the file begins as a binary schedule does, also one that LogGOPSim has used up. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) in (_MAGIC, _USED_UP)


def is_binary(file: Path) -> bool:
    """Whether the file is no text at its beginning: no schedule as text has a zero there. Raises OSError."""
    with file.open("rb") as opened:
        return b"\0" in opened.read(len(_MAGIC))


def places(opened: BinaryIO, most_ranks: int) -> list[tuple[int, int]]:
    """Where each rank's part begins and ends behind the magic number. Raises ValueError."""
    left = os.fstat(opened.fileno()).st_size - len(_MAGIC)
    magic, header = opened.read(len(_MAGIC)), opened.read(_HEADER.size)
    if magic == _USED_UP:
        raise ValueError("LogGOPSim has used this schedule up (--save-mem), and marked it so; make it anew")
    if magic != _MAGIC:
        raise ValueError("not a text file, nor does it begin as binary schedules do; give a GOAL schedule, or the folder of a trace")
    if len(header) < _HEADER.size:
        raise ValueError(f"the file ends within its header, after {len(_MAGIC) + len(header)} B; it is cut")
    ranks, _, _ = _HEADER.unpack(header)
    if not 1 <= ranks <= most_ranks:
        raise ValueError(f"a schedule of {ranks} ranks; it has from 1 to {most_ranks}")
    table = opened.read(_PLACE.size * ranks)
    if len(table) < _PLACE.size * ranks:
        raise ValueError(f"the file ends before the places of its {ranks} ranks do; it is cut or damaged")
    found = list(_PLACE.iter_unpack(table))
    at = len(header) + len(table)
    for number, (start, end) in enumerate(found):
        if start != at or end < start or end > left:
            raise ValueError(f"rank {number} lies from byte {start} to {end}, not from {at} to {left} at most; the file is cut or damaged")
        at = end
    if at != left:
        raise ValueError(f"{left - at} B follow the last rank; the file is damaged")
    return found


def rank(opened: BinaryIO, place: tuple[int, int]) -> Rank:
    """The part of a rank. Raises ValueError where its figures do not fit each other."""
    opened.seek(len(_MAGIC) + place[0])
    part = opened.read(place[1] - place[0])
    if len(part) < _COUNTS.size:
        raise ValueError(f"{len(part)} B, which hold no number of operations")
    count, root_count = _COUNTS.unpack_from(part)
    operations_at = _COUNTS.size + 4 * root_count
    list_at = operations_at + _OPERATION.itemsize * count
    if list_at > len(part) or (len(part) - list_at) % 4:
        raise ValueError(f"{count} operations, {root_count} of them roots, do not fit into {len(part)} B")
    roots = np.frombuffer(part, "<u4", root_count, _COUNTS.size)
    operations = np.frombuffer(part, _OPERATION, count, operations_at)
    dependents = np.frombuffer(part, "<u4", offset=list_at).astype(np.int64)
    if wrong := set(np.unique(operations["kind"]).tolist()) - set(_NAMES):
        raise ValueError(f"an operation of kind {min(wrong)}, which there is not")
    if int(operations["enders"].sum(dtype=np.uint64) + operations["starters"].sum(dtype=np.uint64)) != len(dependents):
        raise ValueError(f"its operations do not have the {len(dependents)} dependents that it lists")
    ends, starts = (_pairs(operations, dependents, what) for what in ("enders", "starters"))
    if not np.array_equal(np.bincount(np.concatenate([ends[0], starts[0]]), minlength=count), operations["required"]):
        raise ValueError("an operation does not require as many as it says")
    if not np.array_equal(np.sort(roots), np.flatnonzero(operations["required"] == 0)):
        raise ValueError("its roots are not the operations that require nothing")
    columns: list[list[Any]] = [operations[name].tolist() for name in ("size", "peer", "tag", "cpu")]
    columns[1:3] = ([-1 if value == _ANY else value for value in column] for column in columns[1:3])
    names = [_NAMES[kind] for kind in operations["kind"].tolist()]
    return Rank(
        list(zip(names, *columns, strict=True)), *(list(zip(*(side.tolist() for side in edges), strict=True)) for edges in (ends, starts))
    )


def _pairs(operations: npt.NDArray[Any], dependents: _Numbers, what: str) -> tuple[_Numbers, _Numbers]:
    """Later operations, and the earlier ones whose end or start they require. Raises ValueError."""
    counts, begins = operations[what].astype(np.int64), operations[f"{what}_at"].astype(np.int64)
    if np.any(begins[counts > 0] + counts[counts > 0] > len(dependents)):
        raise ValueError(f"an operation's dependents lie outside of the {len(dependents)} that it lists")
    earlier = np.repeat(np.arange(len(operations)), counts)
    within = np.arange(len(earlier)) - np.repeat(np.cumsum(counts) - counts, counts)
    later = dependents[np.repeat(begins, counts) + within]
    if np.any(later >= len(operations)):
        raise ValueError(f"operation {later.max()} is none of its {len(operations)}")
    return later, earlier
