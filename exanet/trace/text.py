# SPDX-License-Identifier: Apache-2.0
"""Traces as text, a line a call, and back: nothing is lost, and the streams are the same to the byte.
docs/traces/formats.md has the form.

Model: a line is the call's name and those fields of its record that are not 0, by the names and kinds of layout.py, so
a new field needs no line here. Limit: numbers are below 2^63, and the ranks stand one behind the other, each whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from exanet import renamed
from exanet.errors import InputError
from exanet.quantity import counted
from exanet.trace import folder, records
from exanet.trace.folder import Trace
from exanet.trace.forms import FORMS, LISTS, NAMES, values
from exanet.trace.layout import FLAGS, MPI, Field
from exanet.trace.write import CODES, Stream

FIRST_LINE = "exanet-trace 1"
_MOST = 1 << 63
_RENAMED = {"in-vain": "empty"}
"""Flags by names that an earlier release wrote."""


# -- to text -----------------------------------------------------------------------------------------------------------


def write(trace: Trace, file: Path) -> dict[str, int]:
    """Writes the text. Returns nothing that it does not hold. Raises OSError."""
    with file.open("w", encoding="utf-8") as out:
        out.write(f"{FIRST_LINE}\nranks {trace.about.ranks}\nmpi {trace.about.mpi or 'MPICH'}\nrun {json.dumps(trace.about.run)}\n")
        for rank, stream in enumerate(trace.streams):
            out.write(f"\nrank {rank}\n")
            with records.opened(stream) as data:
                for record in records.records(data):
                    out.write(_line(record) + "\n")
    return {}


def _line(record: records.Record) -> str:
    words = [NAMES[record.code]]
    for field, value in zip(FORMS[record.code], values(record), strict=True):
        if isinstance(value, int):
            text = _text(field.kind, value)
        elif field.kind == "letters":
            text = "".join(map(chr, value))
        else:
            text = ",".join((_text("peer", each) or "none") if field.kind == "peers" else str(each) for each in value)
        if text:
            words.append(f"{field.name}={text}")
    return " ".join(words)


def _text(kind: str, value: int) -> str:
    """ "" for 0, but for tags, where that is any."""
    if kind == "peer":
        return ("", "any")[value] if value < 2 else str(value - 2)
    if kind == "tag":
        return "any" if value == 0 else str(value - 1)
    if kind in FLAGS:
        return "+".join(word for bit, word in enumerate(FLAGS[kind]) if value >> bit & 1)
    return str(value) if value else ""


# -- from text ---------------------------------------------------------------------------------------------------------


def is_text(file: Path) -> bool:
    """Whether the file begins as a trace's text does. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(len(FIRST_LINE)) == FIRST_LINE.encode()


def read(file: Path, directory: Path) -> dict[str, int]:
    """Makes a trace of the text. Returns nothing that the trace does not hold. Raises InputError, OSError."""
    try:
        with file.open(encoding="utf-8") as opened:
            lines = ((number, line.strip()) for number, line in enumerate(opened, 1))
            _read(file, ((number, line) for number, line in lines if line and not line.startswith("#")), directory)
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text file; give one that exanet trace convert has written, or a GOAL schedule") from None
    return {}


def _read(file: Path, lines: Iterator[tuple[int, str]], directory: Path) -> None:
    def wrong(number: int, what: str) -> InputError:
        return InputError(f"{file}:{number}:1: error: {what}")

    def header(key: str) -> tuple[int, str]:
        number, line = next(lines, (0, ""))
        if key and not line.startswith(f"{key} "):
            raise wrong(number, f"{line[:40]!r} where {key!r} and its value are expected")
        return number, line.removeprefix(f"{key} ").strip()

    header("")
    number, text = header("ranks")
    if not text.isdecimal() or len(text) > 8 or not 1 <= int(text) <= folder.MOST_RANKS:
        raise wrong(number, f"{text[:40]!r} is no number of ranks from 1 to {folder.MOST_RANKS}")
    ranks = int(text)
    number, mpi = header("mpi")
    if mpi not in MPI.values():
        raise wrong(number, f"the MPI {mpi[:40]!r} is unknown; give {' or '.join(MPI.values())}")
    code = next(code for code, name in MPI.items() if name == mpi)
    number, text = header("run")
    try:
        run = json.loads(text)
    except (ValueError, RecursionError):
        run = None
    if not isinstance(run, dict):
        raise wrong(number, 'what was run is no object of JSON; give {"program": [...]}, or {}')
    place = folder.prepare(directory, "TO")
    stream: Stream | None = None
    met = 0
    try:
        for number, line in lines:
            words = line.split()
            if words[0] == "rank":
                if len(words) != 2 or words[1] != str(met) or met >= ranks:
                    raise wrong(number, f"{line[:40]!r}: ranks stand in their order, from 0 to {ranks - 1}; the next one is {met}")
                if stream is not None:
                    stream.close()
                stream = Stream(place, met, ranks, mpi=code)
                met += 1
            elif stream is None:
                raise wrong(number, f"{line[:40]!r} stands before the first rank; write rank 0 before it")
            else:
                try:
                    compute, inside, took, *fields = _fields(words)
                    stream.call(words[0], *fields, compute_ps=compute, inside_ps=inside, took_ps=took)
                except ValueError as error:
                    raise wrong(number, str(error)) from None
    finally:
        if stream is not None:
            stream.close()
    if met != ranks:
        raise wrong(number, f"the file ends after {met} of {counted(ranks, 'rank')}")
    folder.finish(place, ranks, run, option="TO")


def _fields(words: Sequence[str]) -> list[int]:
    """The numbers of a call's record. Raises ValueError."""
    if words[0] not in CODES:
        raise ValueError(f"the call {words[0][:40]!r} is unknown; write names of MPI without MPI_")
    form = FORMS[CODES[words[0]]]
    given: dict[str, str] = {}
    for word in words[1:]:
        name, _, text = word.partition("=")
        if name not in (field.name for field in form) or name in given:
            raise ValueError(f"{word[:40]!r}: {words[0]} takes each of {', '.join(field.name for field in form)} once, as NAME=VALUE")
        given[name] = text
    return [value for field in form for value in _values(field, given.get(field.name))]


def _values(field: Field, text: str | None) -> list[int]:
    """The numbers of one field. Raises ValueError."""
    if field.kind == "letters":
        return [*(text or "").encode("ascii", "replace")]
    if field.kind in (*LISTS, "rest"):
        parts = text.split(",") if text else []
        numbers = [_peer(field.name, part) if field.kind == "peers" else _number(field.name, part, 0) for part in parts]
        return numbers if field.kind == "rest" else [len(numbers), *numbers]
    if text is None:
        return [0]
    if field.kind in FLAGS:
        known = FLAGS[field.kind]
        flags = [_present(flag) for flag in text.split("+")]
        if unknown := [flag for flag in flags if flag not in known]:
            raise ValueError(f"{field.name}: {unknown[0][:40]!r} is none of {', '.join(known)}")
        return [sum(1 << known.index(flag) for flag in set(flags))]
    if field.kind in ("peer", "tag") and text == "any":
        return [1 if field.kind == "peer" else 0]
    return [_number(field.name, text, {"peer": 2, "tag": 1}.get(field.kind, 0))]


def _present(flag: str) -> str:
    """The flag's present name, of one that may be an old one."""
    if flag in _RENAMED:
        renamed.warn("flag of a trace", flag, _RENAMED[flag])
    return _RENAMED.get(flag, flag)


def _peer(name: str, text: str) -> int:
    """One of a list of peers, which may be none. Raises ValueError."""
    return 0 if text == "none" else _number(name, text, 2)


def _number(name: str, text: str, more: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 19 or (value := int(text) + more) >= _MOST:
        raise ValueError(f"{name}: {text[:40]!r} is no whole number below {_MOST}")
    return value
