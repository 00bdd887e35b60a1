# SPDX-License-Identifier: Apache-2.0
"""The folder of a trace: a stream of MPI calls a rank, which the ranks write, and what is made of them when the run has ended.

Problem: ranks die, disks fill up, and two programs may be asked to record into one folder. Model: a folder is locked for the process
that records in it; `finish` reads all streams, writes the table of calls, and trace.json last, whose presence says that the folder is
whole. A trace that nobody could finish is finished when it is first read. Limit: a folder holds one trace, and nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exanet._core import TraceTables
from exanet.errors import InputError
from exanet.files import LongTable, json_bytes, write_whole
from exanet.trace.layout import CALLS, HEADER, MAGIC, MPI

FORMAT = 1
"""Raised when a file or column changes its meaning or goes away."""

MOST_RANKS = 1 << 22

T = TypeVar("T")
_held: dict[Path, int] = {}  # folders that this process writes, and their locks


class About(BaseModel):
    """The content of trace.json."""

    model_config = ConfigDict(extra="forbid")

    format: int
    complete: bool
    reason: str
    ranks: int = Field(ge=1, le=MOST_RANKS)
    calls: int = Field(ge=0)
    mpi: str
    unrecorded: list[str]
    run: dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """A trace read back: what is known of it, and where its streams are."""

    folder: Path
    about: About

    @property
    def streams(self) -> list[Path]:
        return [stream(self.folder, rank) for rank in range(self.about.ranks)]

    def rules(self, asked: str | None = None) -> str:
        """The rules that are asked for, or those of the MPI that recorded it: MPICH's unless that is Open MPI."""
        return asked or ("open-mpi" if self.about.mpi == "Open MPI" else "mpich")

    def calls(self) -> pl.DataFrame:
        """The table of all calls. Raises InputError."""
        try:
            return pl.read_parquet(self.folder / "calls.parquet")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.folder / 'calls.parquet'}: {error}; record the program anew") from None


def stream(folder: Path, rank: int) -> Path:
    """The file that a rank writes."""
    return folder / f"rank-{rank:06d}.calls"


def ranks(folder: Path) -> int:
    """The number of ranks of the program whose streams these are, as the first of them says; 0 where no rank has begun one."""
    for file in sorted(folder.glob("rank-*.calls")):
        with contextlib.suppress(OSError, struct.error), file.open("rb") as opened:
            magic, _, _, _, count, _ = HEADER.unpack(opened.read(HEADER.size))
            if magic == MAGIC:
                return int(count)
    return 0


def prepare(folder: Path, option: str = "--record") -> Path:
    """Makes the folder, empty, in the place of an earlier trace, and keeps others from it until `finish` or `release`.

    Returns its absolute path. Raises InputError, by the option's name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _hold(folder, option)
        _empty(folder, option)
    except OSError as error:
        release(folder)
        raise InputError(f"{option} {folder}: {error.strerror}; choose another place") from None
    except InputError:
        release(folder)
        raise
    return folder.absolute()


def is_trace(folder: Path) -> bool:
    """Whether a trace has been begun there."""
    return (folder / "trace.json").exists() or any(folder.glob("rank-*.calls"))


def check(folder: Path, option: str) -> None:
    """Raises InputError where the folder holds something else than an earlier trace; OSError."""
    if any(folder.iterdir()) and not is_trace(folder):
        raise InputError(f"{option} {folder}: the folder holds other files; name a new one, or one with an earlier trace")


def _empty(folder: Path, option: str) -> None:
    """Takes an earlier trace away. Raises InputError where there is something else, or no space; OSError."""
    check(folder, option)
    if any(folder.iterdir()):
        for file in (*folder.glob("rank-*.calls"), *(folder / name for name in ("trace.json", "calls.parquet"))):
            file.unlink(missing_ok=True)
    if shutil.disk_usage(folder).free < 32 * 1024 * 1024:
        raise InputError(f"{option} {folder}: less than 32 MiB are free there; choose another place")


def _hold(folder: Path, option: str) -> None:
    """Locks the folder for this process. Raises InputError, OSError."""
    place = folder.resolve()
    if place in _held:
        return
    file = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise InputError(f"{option} {folder}: another program is being recorded there; choose another place") from None
    except OSError:
        pass  # a file system without locks
    _held[place] = file


def replaced(target: Path, option: str, write: Callable[[Path], T]) -> T:
    """What `write` returns, which makes a whole trace in the folder that it is given: it comes into the place of an earlier one.

    Raises InputError, OSError, and leaves nothing then.
    """
    if target.exists():
        check(target, option)
    beside = target.with_name(f".{target.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        result = write(beside)
        _move(beside, target, option)
    finally:
        release(beside)
        shutil.rmtree(beside, ignore_errors=True)
    return result


def _move(source: Path, target: Path, option: str) -> None:
    place = prepare(target, option)
    try:
        for file in (*source.glob("rank-*.calls"), *(source / name for name in ("calls.parquet", "trace.json"))):
            file.rename(place / file.name)
    finally:
        release(target)


def release(folder: Path) -> None:
    """Lets others record in the folder."""
    file = _held.pop(folder.resolve(), None)
    if file is not None:
        os.close(file)


def finish(folder: Path, ranks: int, run: Mapping[str, Any], reason: str = "", option: str = "--record") -> About:
    """Makes calls.parquet and trace.json of what the ranks have written. `run` says what was run, `reason` why it ended early.

    `option` is the one that names the folder. A stream that is cut counts as far as it goes. Raises InputError where there is none, or one
    is damaged.
    """
    try:
        return _finish(folder, ranks, run, reason, option)
    finally:
        release(folder)


def _finish(folder: Path, ranks: int, run: Mapping[str, Any], reason: str, option: str) -> About:
    missing = [rank for rank in range(ranks) if not stream(folder, rank).is_file()]
    if missing:
        raise InputError(f"{folder}: nothing was recorded of rank {missing[0]}: see what it said when it began")
    calls = LongTable(folder / "calls.parquet", option)
    cut: list[int] = []
    unrecorded: set[str] = set()
    mpi = 0
    try:
        tables = TraceTables(ranks)
        # What is no call of MPI has a small letter: a communicator that no recorded call has made.
        names = pl.Series([f"MPI_{name}" if name[:1].isupper() else name for name in _names()])
        for rank in range(ranks):
            read = tables.read(str(stream(folder, rank)))
            if (read["rank"], read["ranks"]) != (rank, ranks):
                whose = f"rank {read['rank']} of {read['ranks']}"
                raise InputError(
                    f"{stream(folder, rank)}: it is of {whose}, in the place of rank {rank} of {ranks}; record the program anew"
                )
            mpi = read["mpi"]
            unrecorded.update(read["unrecorded"])
            if not read["complete"]:
                cut.append(rank)
            calls.append(_frame(rank, read["columns"], names))
        calls.write()
    except ValueError as error:
        raise InputError(str(error)) from None
    finally:
        calls.close()
    why = reason or (f"the streams of {len(cut)} ranks, first of rank {cut[0]}, end before the program" if cut else "")
    about = About(
        format=FORMAT,
        complete=not why,
        reason=why,
        ranks=ranks,
        calls=calls.rows,
        mpi=MPI.get(mpi, ""),
        unrecorded=sorted(unrecorded),
        run=dict(run),
    )
    write_whole(folder / "trace.json", json_bytes(about.model_dump()), option)
    return about


def _names() -> list[str]:
    """What stands in the column `call` for each code, without MPI_; "" for a code that has no record."""
    names = {code: name for calls in CALLS.values() for name, code in calls.items()}
    return [names.get(code, "") for code in range(256)]


def _frame(rank: int, columns: Mapping[str, Any], names: pl.Series) -> pl.DataFrame:
    frame = pl.DataFrame({name: pl.Series(values) for name, values in columns.items()})
    call = names.gather(frame["call"]).alias("call")
    return frame.with_columns(call).insert_column(0, pl.lit(rank, dtype=pl.Int64).alias("rank"))


def load(folder: Path) -> Trace:
    """A trace. Where the run could not finish it, that is done now. Raises InputError where it is missing, or of another version."""
    try:
        if not (folder / "trace.json").exists() and (streams := list(folder.glob("rank-*.calls"))):
            finish(folder, len(streams), {}, "the run ended before it was finished")
        content = json.loads((folder / "trace.json").read_text())
        if content.get("format") != FORMAT:
            raise InputError(
                f"{folder}: a trace of format {content.get('format')}; this exanet reads format {FORMAT}: record the program anew"
            )
        trace = Trace(folder, About.model_validate(content))
    except FileNotFoundError:
        raise InputError(f"{folder}: not a trace, trace.json is missing; make one with exanet run --record {folder}") from None
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    except (ValidationError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder / 'trace.json'}: not a trace's description: {str(error).splitlines()[0]}; record the program anew"
        ) from None
    missing = [file.name for file in trace.streams if not file.is_file()]
    if missing:
        raise InputError(f"{folder}: {missing[0]} is missing: record the program anew")
    return trace
