# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed, or that nothing can be written to.

A closed one becomes /dev/null: its number would else be that of the next file that is opened, and what is written to
the stream would go there. Standard error has messages and progress alone: what cannot be written there is dropped, and
the command goes on. Standard output has what was asked for: where that cannot be written, the command ends.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

from exanet.errors import InputError


def prepare() -> None:
    """Makes standard streams as this module says."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free, which is this one
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - until the end
    sys.stdout, sys.stderr = _over(sys.stdout, _Output), _over(sys.stderr, _Messages)


def flush() -> None:
    """Writes what is left of standard output. Raises InputError."""
    with contextlib.suppress(BrokenPipeError):  # who read it has seen enough
        sys.stdout.flush()


class _Output(io.FileIO):
    """Raises InputError where nothing can be written, and then drops everything."""

    _failed = False

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        if self._failed:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            self._failed = True
            if isinstance(error, BrokenPipeError):
                raise
            raise InputError(f"cannot write to standard output: {error.strerror}") from None


class _Messages(io.FileIO):
    """Drops what cannot be written."""

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _over(stream: TextIO | None, kind: type[io.FileIO]) -> TextIO:
    """The stream over a file of this kind; as it is where it is no stream of text over a file."""
    if stream is None:  # its number may have been taken since
        return io.TextIOWrapper(io.BufferedWriter(kind(os.devnull, "w")), encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:
        return stream
    buffer = io.BufferedWriter(kind(number, "w", closefd=False))
    by_line, at_once = stream.line_buffering, stream.write_through
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=by_line, write_through=at_once)
