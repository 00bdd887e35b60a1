# SPDX-License-Identifier: Apache-2.0
"""Records of a trace's streams as they are written (docs/reference/trace.md), read one by one: some hundred thousand
in a second."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from exanet.errors import InputError
from exanet.trace.layout import CALLS, HEADER, TIME_FIELDS
from exanet.trace.write import CODES, number

HEADER_BYTES = HEADER.size
TIMES = len(TIME_FIELDS)  # fields of every record, before those of its form
COMMUNICATOR = CODES["communicator"]  # one that no recorded call has made
WINDOW = CODES["window"]  # the same
MESSAGES, EXCHANGES, PROBES, COLLECTIVES, NEIGHBOURS, ACCESSES, WINDOWS, SYNCHRONISATIONS, CREATES = (
    frozenset(CALLS[form].values())
    for form in ("message", "exchange", "probe", "collective", "neighbours", "access", "window", "synchronise", "create")
)
RECEIVES = range(CODES["Recv"], CODES["Imrecv"] + 1)
INITS = (*range(CODES["Send_init"], CODES["Rsend_init"] + 1), CODES["Recv_init"])
STARTS = (CODES["Start"], CODES["Startall"])
ENDS = range(CODES["Wait"], CODES["Testall"] + 1)
BLOCKING = range(CODES["Barrier"], CODES["Exscan"] + 1)
REQUESTED = range(CODES["Rput"], CODES["Rget_accumulate"] + 1)
ONE_SIDED = [f"MPI_{name}" for name, code in CODES.items() if code in ACCESSES | WINDOWS | SYNCHRONISATIONS]


class Record(NamedTuple):
    code: int
    at: int  # where it begins and ends in its stream
    end: int
    fields: list[int]


def pack(code: int, fields: Sequence[int]) -> bytes:
    body = b"".join(map(number, fields))
    return bytes([code]) + number(len(body)) + body


def records(data: mmap.mmap) -> Iterator[Record]:
    """The records of a stream that the reader of the core has found to be good; one that is cut in its middle is
    none."""
    at = HEADER_BYTES
    while at < len(data) and data[at] != 0:
        begin, code = at, data[at]
        try:
            length, at = _number(data, at + 1)
        except IndexError:
            return
        end = at + length
        if end > len(data):
            return
        fields = []
        while at < end:
            value, at = _number(data, at)
            fields.append(value)
        yield Record(code, begin, end, fields)


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


@contextlib.contextmanager
def opened(stream: Path) -> Iterator[mmap.mmap]:
    """The bytes of a stream. Raises InputError where records lack fields that are looked for: it has changed since
    it was good."""
    with stream.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
        except (IndexError, KeyError, StopIteration, ValueError):
            raise InputError(f"{stream}: the stream is damaged; record the program anew") from None
