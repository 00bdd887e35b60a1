# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all: JSON, Parquet, and tables that may be longer than memory."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet import encoding
from exanet.errors import InputError

if TYPE_CHECKING:  # a run's start has no table yet, and polars takes as long as all the rest of it
    import polars as pl


def write_whole(path: Path, content: bytes, option: str = "-o") -> None:
    """Write one file beside its place, then rename it there. Raises InputError; then the old file, if any, is
    untouched.

    `option` is the one that names another place.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {why(error, option)}") from error
    finally:
        beside.unlink(missing_ok=True)


def why(error: OSError, option: str = "-o") -> str:
    """What went wrong, and what to do: `option` names another place."""
    place = f"choose another place with {option}"
    hints = {errno.ENOSPC: f"; free some space or {place}", errno.EACCES: f"; {place}"}
    return f"{error.strerror or error}{hints.get(error.errno or 0, '')}"


def not_text(file: Path, advice: str) -> InputError:
    """What is to be said of a file that is not in UTF-8: by its first line that is not. Raises OSError."""
    with file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return InputError(f"{file}:{number}:1: error: the byte 0x{line[error.start]:02x} is not UTF-8; {advice}")
    return InputError(f"{file}: it has changed while it was read; try again")


def plain(value: Any) -> Any:
    """Converts for json: numpy's numbers and arrays, paths, models."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """As the files hold it; bytes of names that are not UTF-8 as \\xe9."""
    text = json.dumps(content, indent=1, default=plain, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        return encoding.shown(text, backslash=r"\\").encode()


def parquet(frame: pl.DataFrame) -> bytes:
    """As the files hold it: the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


PART_ROWS = 2_000_000
"""Rows of a long table that are kept in memory."""


class LongTable:
    """A Parquet file whose rows are put aside in parts. Takes frames of the same columns; close() takes the parts away.

    `option` is the one that names another place, for messages.
    """

    def __init__(self, file: Path, option: str) -> None:
        self.rows = 0
        self._file, self._option = file, option
        self._frames: list[pl.DataFrame] = []
        self._kept = 0
        self._aside = file.with_name(f".{file.name}.{os.getpid()}.parts")
        self._parts: list[Path] = []

    def append(self, frame: pl.DataFrame) -> None:
        """Raises InputError where the disk is full."""
        self._frames.append(frame)
        self.rows += len(frame)
        self._kept += len(frame)
        if self._kept >= PART_ROWS:
            self._put_aside()

    def write(self) -> None:
        """Writes the file, of at least one frame. Raises InputError; then the old file, if any, is untouched."""
        import polars as pl

        if not self._parts:
            write_whole(self._file, parquet(pl.concat(self._frames)), self._option)
            return
        self._put_aside()
        whole = self._aside / "whole"
        try:
            pl.scan_parquet(self._parts).sink_parquet(whole, compression="zstd", row_group_size=1 << 20)
            whole.replace(self._file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"cannot write {self._file}: {error}; choose another place with {self._option}") from error

    def close(self) -> None:
        if self._parts:
            shutil.rmtree(self._aside, ignore_errors=True)

    def _put_aside(self) -> None:
        if not self._frames:
            return
        import polars as pl

        part = self._aside / f"{len(self._parts):06d}"
        self._parts.append(part)
        try:
            self._aside.mkdir(exist_ok=True)
            part.write_bytes(parquet(pl.concat(self._frames)))
        except OSError as error:
            raise InputError(f"cannot write {part}: {error.strerror}; choose another place with {self._option}") from error
        self._frames, self._kept = [], 0
