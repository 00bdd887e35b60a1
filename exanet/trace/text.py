# SPDX-License-Identifier: Apache-2.0
"""Traces as text, a line a call, and back: nothing is lost, and the streams are the same to the byte.
docs/traces/formats.md has the form.

Model: a line is the call's name and those fields of its record that are not 0, by the names and kinds of layout.py, so
a new field needs no line here. What a call names must have been made by calls before it (named.py). Limit: the ranks
stand one behind the other, each whole.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from exanet import renamed
from exanet.errors import InputError
from exanet.files import not_text
from exanet.quantity import counted
from exanet.trace import folder, records
from exanet.trace.folder import Trace
from exanet.trace.forms import FORMS, LISTS, NAMES, TO_THE_END, Value, fields, values
from exanet.trace.layout import FLAGS, MPI, Field
from exanet.trace.named import Named
from exanet.trace.write import CODES, Stream

FIRST_LINE = "exanet-trace 1"
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
        return opened.read(len(codecs.BOM_UTF8) + len(FIRST_LINE)).removeprefix(codecs.BOM_UTF8).startswith(FIRST_LINE[:-1].encode())


def read(file: Path, directory: Path) -> dict[str, int]:
    """Makes a trace of the text. Returns nothing that the trace does not hold. Raises InputError, OSError."""
    try:
        with file.open(encoding="utf-8-sig") as opened:
            _Reader(file, opened).read(directory)
    except UnicodeDecodeError:
        raise not_text(file, "write the text in UTF-8, as exanet trace convert does") from None
    return {}


class _Reader:
    """The lines of a file, while they become a trace."""

    def __init__(self, file: Path, lines: Iterable[str]) -> None:
        self._file = file
        self._number = 0  # of the present line
        self._lines = self._said(lines)
        self._ranks = 0

    def _said(self, lines: Iterable[str]) -> Iterator[str]:
        """Those that say something, but for comments."""
        for self._number, line in enumerate(lines, 1):
            if (said := line.strip()) and not said.startswith("#"):
                yield said

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self._file}:{max(self._number, 1)}:1: error: {what}")

    def _header(self, key: str) -> str:
        line = next(self._lines, "")
        if not line.startswith(f"{key} "):
            raise self._wrong(
                f"{line[:40]!r} where {key!r} and its value are expected" if line else f"the file ends before its line {key!r}"
            )
        return line.removeprefix(f"{key} ").strip()

    def read(self, directory: Path) -> None:
        """Raises InputError, OSError."""
        if (line := next(self._lines, "")) != FIRST_LINE:
            raise self._wrong(f"{line[:40]!r} where {FIRST_LINE!r} is expected, which is the form that this exanet reads")
        text = self._header("ranks")
        if not text.isascii() or not text.isdecimal() or len(text) > 8 or not 1 <= int(text) <= folder.MOST_RANKS:
            raise self._wrong(f"{text[:40]!r} is no number of ranks from 1 to {folder.MOST_RANKS}")
        self._ranks = int(text)
        mpi = self._header("mpi")
        if mpi not in MPI.values():
            raise self._wrong(f"the MPI {mpi[:40]!r} is unknown; give {' or '.join(MPI.values())}")
        text = self._header("run")
        try:
            run = json.loads(text)
        except (ValueError, RecursionError):
            run = None
        if not isinstance(run, dict):
            raise self._wrong('what was run is no object of JSON; give {"program": [...]}, or {}')
        place = folder.prepare(directory, "TO")
        self._streams(place, next(code for code, name in MPI.items() if name == mpi))
        folder.finish(place, self._ranks, run, option="TO")

    def _streams(self, place: Path, mpi: int) -> None:
        """Writes the stream of each rank."""
        stream: Stream | None = None
        met = 0
        try:
            for line in self._lines:
                words = line.split()
                if words[0] == "rank":
                    if len(words) != 2 or words[1] != str(met) or met >= self._ranks:
                        raise self._wrong(f"{line[:40]!r}: ranks stand in their order, from 0 to {self._ranks - 1}; {self._next(met)}")
                    if stream is not None:
                        stream.close()
                    stream, named = Stream(place, met, self._ranks, mpi=mpi), Named(met, self._ranks)
                    met += 1
                elif stream is None:
                    raise self._wrong(f"{line[:40]!r} stands before the first rank; write rank 0 before it")
                else:
                    self._call(words, stream, named)
        finally:
            if stream is not None:
                stream.close()
        if met != self._ranks:
            raise self._wrong(f"the file ends after {met} of {counted(self._ranks, 'rank')}; write the calls of rank {met}, or lower ranks")

    def _next(self, met: int) -> str:
        return f"the next one is {met}" if met < self._ranks else "there are no more"

    def _call(self, words: Sequence[str], stream: Stream, named: Named) -> None:
        """Puts a call into the stream. Raises InputError."""
        try:
            given = _given(words, self._ranks)
            named.take(CODES[words[0]], given)
            compute, inside, took, *numbers = fields(CODES[words[0]], [*given.values()])
            stream.call(words[0], *numbers, compute_ps=compute, inside_ps=inside, took_ps=took)
        except ValueError as error:
            raise self._wrong(str(error)) from None


def _given(words: Sequence[str], ranks: int) -> dict[str, Value]:
    """What stands in a call's record, by the names of its fields in their order. Raises ValueError."""
    if words[0] not in CODES:
        raise ValueError(f"the call {words[0][:40]!r} is unknown; write names of MPI without MPI_")
    form = FORMS[CODES[words[0]]]
    given: dict[str, str] = {}
    for word in words[1:]:
        name, _, text = word.partition("=")
        if name not in (field.name for field in form) or name in given:
            raise ValueError(f"{word[:40]!r}: {words[0]} takes each of {', '.join(field.name for field in form)} once, as NAME=VALUE")
        given[name] = text
    return {field.name: _value(field, given.get(field.name), ranks) for field in form}


def _value(field: Field, text: str | None, ranks: int) -> Value:
    """What stands in one field. Raises ValueError."""
    if field.kind == "letters":
        if not (text or "").isascii():
            raise ValueError(f"{field.name}: {text!r} has letters that are not ASCII; write it without them")
        return [*(text or "").encode()]
    if field.kind in LISTS or field.kind in TO_THE_END:
        parts = text.split(",") if text else []
        return [0 if field.kind == "peers" and part == "none" else _number(field, part, ranks) for part in parts]
    if text is None:
        return 0
    if field.kind in FLAGS:
        known = FLAGS[field.kind]
        flags = [_present(flag) for flag in text.split("+")]
        if unknown := [flag for flag in flags if flag not in known]:
            raise ValueError(f"{field.name}: {unknown[0][:40]!r} is none of {', '.join(known)}")
        return sum(1 << known.index(flag) for flag in set(flags))
    if field.kind in ("peer", "tag") and text == "any":
        return 1 if field.kind == "peer" else 0
    return _number(field, text, ranks)


def _present(flag: str) -> str:
    """The flag's present name, of one that may be an old one."""
    if flag in _RENAMED:
        renamed.warn("flag of a trace", flag, _RENAMED[flag])
    return _RENAMED.get(flag, flag)


def _number(field: Field, text: str, ranks: int) -> int:
    """As the record has it: a rank of a peer, and a tag, stand above what says that there is none, or any."""
    most = field.below - 1 if field.below else ranks - 1
    more = {"peer": 2, "peers": 2, "tag": 1}.get(field.kind, 0)
    if field.kind == "tag":
        most -= more
    others = {"peer": ", or any", "peers": ", or none", "tag": ", or any"}.get(field.kind, "")
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"{field.name}: {text[:40]!r} is no whole number; give one from 0 to {most}{others}")
    if len(text) > 19 or int(text) > most:
        raise ValueError(
            f"{field.name}: {text[:40]} is not from 0 to {most}" + (f", the ranks that there are{others}" if not field.below else "")
        )
    return int(text) + more
