# SPDX-License-Identifier: Apache-2.0
"""The fields of each call's record (core/replay/trace_format.h), by name and kind, and records as values by these fields."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from exanet.trace import records
from exanet.trace.write import CODES

LISTS = ("list", "peers")  # kinds that come with their length
RESTS = ("rest", "letters")  # kinds that reach to the record's end

Value = int | list[int]


class Field(NamedTuple):
    """One field of a record; one that is not written is 0. A list comes with its length, but for the last one of calls on requests."""

    name: str
    kind: str = "number"


_PEERS = (Field("communicator"), Field("peer", "peer"), Field("tag", "tag"))
_MESSAGE = (*_PEERS, Field("bytes"), Field("request"))
_EXCHANGE = (*_PEERS, Field("bytes"), Field("receive_peer", "peer"), Field("receive_tag", "tag"), Field("receive_bytes"))
_COLLECTIVE = (
    *(Field("communicator"), Field("root"), Field("request"), Field("flags", "collective"), Field("element_bytes")),
    *(Field("bytes"), Field("receive_bytes"), Field("sent", "list"), Field("received", "list")),
)
_CREATE = (Field("from"), Field("made"), Field("flags", "create"), Field("members", "list"), Field("remote", "list"))
_NEIGHBOURS = (
    *(Field("communicator"), Field("request"), Field("sources", "peers"), Field("received", "list")),
    *(Field("destinations", "peers"), Field("sent", "list")),
)
_WINDOW = (Field("communicator"), Field("window"), Field("bytes"))
_ACCESS = (
    *(Field("window"), Field("peer", "peer"), Field("request"), Field("flags", "access")),
    *(Field("bytes"), Field("receive_bytes")),
)
_SYNCHRONISE = (Field("window"), Field("peer", "peer"), Field("flags", "synchronise"), Field("ranks", "list"))
_TIMES = (Field("compute_ps"), Field("inside_ps"), Field("took_ps"))

_BY_CODES: tuple[tuple[Container[int], tuple[Field, ...]], ...] = (
    (records.MESSAGES, _MESSAGE),
    (records.EXCHANGES, _EXCHANGE),
    (records.PROBES, (*_PEERS, Field("found"))),
    (records.COLLECTIVES, _COLLECTIVE),
    (records.CREATES, _CREATE),
    (records.NEIGHBOURS, _NEIGHBOURS),
    (records.WINDOWS, _WINDOW),
    (records.ACCESSES, _ACCESS),
    (records.SYNCHRONISATIONS, _SYNCHRONISE),
    ((CODES["unrecorded"],), (Field("name", "letters"),)),
    ((CODES["Finalize"],), ()),
)


def _form(code: int) -> tuple[Field, ...]:
    return next((form for codes, form in _BY_CODES if code in codes), (Field("requests", "rest"),))


FORMS = {code: (*_TIMES, *_form(code)) for code in CODES.values()}
NAMES = {code: name for name, code in CODES.items()}


def values(record: records.Record) -> list[Value]:
    """What stands in the record's fields, in the order of its form."""
    numbers = iter(record.fields)
    found: list[Value] = []
    for field in FORMS[record.code]:
        if field.kind in LISTS:
            length = next(numbers)
            found.append([next(numbers) for _ in range(length)])
        elif field.kind in RESTS:
            found.append([*numbers])
        else:
            found.append(next(numbers))
    return found


def fields(code: int, found: Sequence[Value]) -> list[int]:
    """The numbers of a record with these values."""
    numbers: list[int] = []
    for field, value in zip(FORMS[code], found, strict=True):
        if isinstance(value, int):
            numbers.append(value)
        else:
            numbers += value if field.kind in RESTS else [len(value), *value]
    return numbers
