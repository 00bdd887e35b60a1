# SPDX-License-Identifier: Apache-2.0
"""Records as values by their fields, and back: a number, or a list of numbers, for each field of a call's form
(layout.py)."""

from __future__ import annotations

from collections.abc import Sequence

from exanet.trace import records
from exanet.trace.layout import CALLS, FIELDS, TIME_FIELDS
from exanet.trace.write import CODES

LISTS = ("list", "peers")  # kinds that come with their length
TO_THE_END = ("rest", "letters")  # kinds that reach to the record's end

Value = int | list[int]

FORMS = {code: (*TIME_FIELDS, *FIELDS[form]) for form, calls in CALLS.items() for code in calls.values()}
NAMES = {code: name for name, code in CODES.items()}


def values(record: records.Record) -> list[Value]:
    """What stands in the record's fields, in the order of its form."""
    numbers = iter(record.fields)
    found: list[Value] = []
    for field in FORMS[record.code]:
        if field.kind in LISTS:
            length = next(numbers)
            found.append([next(numbers) for _ in range(length)])
        elif field.kind in TO_THE_END:
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
            numbers += value if field.kind in TO_THE_END else [len(value), *value]
    return numbers
