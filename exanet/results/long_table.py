# SPDX-License-Identifier: Apache-2.0
"""A Parquet file of a table that may be longer than memory: rows are put aside in parts, and the file is written whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl

from exanet.errors import InputError
from exanet.results.folder import parquet, write_whole

PART_ROWS = 2_000_000
"""So many are kept in memory."""


class LongTable:
    """Takes frames of the same columns. `option` is the one that names another place, for messages. close() takes the parts away."""

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
        part = self._aside / f"{len(self._parts):06d}"
        self._parts.append(part)
        try:
            self._aside.mkdir(exist_ok=True)
            part.write_bytes(parquet(pl.concat(self._frames)))
        except OSError as error:
            raise InputError(f"cannot write {part}: {error.strerror}; choose another place with {self._option}") from error
        self._frames, self._kept = [], 0
