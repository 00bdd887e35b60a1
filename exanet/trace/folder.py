# SPDX-License-Identifier: Apache-2.0
"""The folder of a trace: a stream of MPI calls a rank, which the ranks write, and what is made of them when the run has
ended.

Problem: ranks die, disks fill up, two programs may be asked to record into one folder, and an earlier trace there must
outlive a recording that comes to nothing. Model: a folder is locked for the process that records in it; `finish` reads
all streams, writes the table of calls, and trace.json last, whose presence says that the folder is whole. Where an
earlier trace is, the new one is made in `.new` within the folder and takes its place when it is whole: the earlier
files move to `.earlier`, the new ones come, and `.earlier` goes. Whoever finds `.earlier` completes that. A trace that
nobody could finish is finished when it is first read. trace.json has a checksum
of each block of a stream, which whoever reads the calls again compares (`Trace.verify`). Limit: a folder holds one
trace, and nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exanet._core import TraceTables
from exanet.encoding import check_name
from exanet.errors import InputError
from exanet.files import LongTable, json_bytes, write_whole
from exanet.quantity import counted
from exanet.trace import rules
from exanet.trace.layout import CALLS, HEADER, MAGIC, MPI

FORMAT = 1
"""Raised when a file or column changes its meaning or goes away."""

MOST_RANKS = 1 << 22

FILE_CALLS = "MPI_File_"
"""How the names of calls of MPI-IO begin."""

BLOCK_BYTES = 1 << 20
"""Of a stream, that have a checksum."""

T = TypeVar("T")
_held: dict[Path, int] = {}  # folders that this process writes, and their locks
_beside: dict[Path, Path] = {}  # places of new traces, and the folders of earlier ones that they will replace
_NEW, _EARLIER = ".new", ".earlier"


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
    checksums: list[str] = []
    """By rank, those of its stream's blocks: CRC-32 in eight digits each. A trace of an earlier version has none."""

    @property
    def file_calls(self) -> list[str]:
        """Those of `unrecorded` that a replay leaves out: calls on files (MPI-IO)."""
        return [name for name in self.unrecorded if name.startswith(FILE_CALLS)]

    @property
    def missing(self) -> list[str]:
        """Those of `unrecorded` without which the trace cannot be replayed."""
        return [name for name in self.unrecorded if not name.startswith(FILE_CALLS)]


@dataclass(frozen=True)
class Trace:
    """A trace read back: what is known of it, and where its streams are."""

    folder: Path
    about: About

    @property
    def streams(self) -> list[Path]:
        return [stream(self.folder, rank) for rank in range(self.about.ranks)]

    def verify(self) -> Trace:
        """This trace, if its streams are as they were when it was finished. Raises InputError."""
        if self.about.checksums and len(self.about.checksums) != self.about.ranks:
            raise InputError(
                f"{self.folder / 'trace.json'}: checksums are not of {counted(self.about.ranks, 'rank')}: the file is damaged; "
                "copy the trace again, or record the program anew"
            )
        for rank, said in enumerate(self.about.checksums):
            path = stream(self.folder, rank)
            try:
                found = checksum(path)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}; copy the trace again, or record the program anew") from None
            if found != said:
                block = next(at for at in range(0, max(len(found), len(said)), 8) if found[at : at + 8] != said[at : at + 8]) // 8
                raise InputError(
                    f"{path}: from byte {block * BLOCK_BYTES} on it is not as it was recorded: the file is damaged; "
                    "copy the trace again, or record the program anew"
                )
        return self

    def rules(self, asked: str | None = None) -> str:
        """The rules that are asked for, or those of the MPI that recorded it."""
        return asked or rules.of_mpi(self.about.mpi)

    def has_graphs(self) -> bool:
        """Whether some ranks have graphs of operations, as those of a schedule have. Raises InputError."""
        return bool(self.calls("call")["call"].is_in([*CALLS["operation"]]).any())

    def calls(self, *columns: str) -> pl.DataFrame:
        """The table of all calls, or some of its columns. Raises InputError."""
        try:
            return pl.read_parquet(self.folder / "calls.parquet", columns=list(columns) or None)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.folder / 'calls.parquet'}: {error}; record the program anew") from None


def stream(folder: Path, rank: int) -> Path:
    """The file that a rank writes."""
    return folder / f"rank-{rank:06d}.calls"


def checksum(file: Path) -> str:
    """Of its blocks. Raises OSError."""
    found = []
    with file.open("rb") as opened:
        while block := opened.read(BLOCK_BYTES):
            found.append(f"{zlib.crc32(block):08x}")
    return "".join(found)


def ranks(folder: Path) -> int:
    """The number of ranks of the program whose streams these are, as the first of them says; 0 where no rank has
    begun one."""
    for file in sorted(folder.glob("rank-*.calls")):
        with contextlib.suppress(OSError, struct.error), file.open("rb") as opened:
            magic, _, _, _, count, _ = HEADER.unpack(opened.read(HEADER.size))
            if magic == MAGIC:
                return int(count)
    return 0


def prepare(folder: Path, option: str = "--record") -> Path:
    """Makes the folder, and keeps others from it until `finish` or `release`.

    Returns the absolute path of the empty folder to write to and to finish: this one, or one within it where an earlier
    trace is, which stays until the new one is whole, as stderr says. Raises InputError, by the option's name.
    """
    check_name(folder.absolute(), option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _hold(folder, option)
        return _place(folder.absolute(), option)
    except OSError as error:
        release(folder)
        raise InputError(f"{option} {folder}: {error.strerror}; choose another place") from None
    except InputError:
        release(folder)
        raise


def is_trace(folder: Path) -> bool:
    """Whether a trace has been begun there."""
    return (folder / "trace.json").exists() or any(folder.glob("rank-*.calls"))


def check(folder: Path, option: str) -> None:
    """Raises InputError where the folder holds something else than an earlier trace; OSError."""
    if any(path.name != _NEW for path in folder.iterdir()) and not is_trace(folder):
        raise InputError(f"{option} {folder}: the folder holds other files; name a new one, or one with an earlier trace")


def _place(folder: Path, option: str) -> Path:
    """Where a new trace is made. Raises InputError where there is something else than a trace, or no space; OSError."""
    _complete(folder)
    check(folder, option)
    if shutil.disk_usage(folder).free < 32 * 1024 * 1024:
        raise InputError(f"{option} {folder}: less than 32 MiB are free there; choose another place")
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    if not is_trace(folder):
        return folder
    print(f"exanet: {option} {folder}: the earlier trace there is replaced when the new one is whole", file=sys.stderr)
    (folder / _NEW).mkdir()
    _beside[_real(folder / _NEW)] = folder
    return folder / _NEW


def _files(folder: Path) -> list[Path]:
    """Those of a trace, trace.json last."""
    named = [folder / name for name in ("calls.parquet", "trace.json")]
    return [*folder.glob("rank-*.calls"), *(file for file in named if file.exists())]


def _replace(folder: Path, new: Path) -> None:
    """Puts the whole trace `new` into the place of the one in the folder. Raises OSError."""
    if new != folder / _NEW:
        shutil.rmtree(folder / _NEW, ignore_errors=True)
        new.rename(folder / _NEW)
    (folder / _EARLIER).mkdir()
    _complete(folder)


def _complete(folder: Path) -> None:
    """Ends a replacement that has begun, also one of a process that was killed. Raises OSError."""
    earlier = folder / _EARLIER
    if not earlier.is_dir():
        return
    # No new stream comes before all old ones are gone: streams of two traces are never mixed.
    if (folder / _NEW / "trace.json").exists():
        if not (earlier / ".moved").exists():
            for file in reversed(_files(folder)):
                file.rename(earlier / file.name)
            (earlier / ".moved").touch()
        for file in _files(folder / _NEW):
            file.rename(folder / file.name)
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    shutil.rmtree(earlier)


def _hold(folder: Path, option: str) -> None:
    """Locks the folder for this process. Raises InputError, OSError."""
    place = _real(folder)
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
    """What `write` returns, which makes a whole trace in the folder that it is given: it comes into the place of an
    earlier one.

    Raises InputError, OSError, and leaves nothing then.
    """
    if target.exists():
        check(target, option)
    beside = target.with_name(f".{target.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    new = [folder for folder in target.parents if not folder.exists()]
    try:
        result = write(beside)
        _move(beside, target, option)
    finally:
        release(beside)
        shutil.rmtree(beside, ignore_errors=True)
        with contextlib.suppress(OSError):  # they are empty where nothing has come of it
            for each in new:
                each.rmdir()
    return result


def _move(source: Path, target: Path, option: str) -> None:
    prepare(target, option)
    try:
        if is_trace(target):
            _replace(target, source)
        else:
            for file in _files(source):
                file.rename(target / file.name)
    finally:
        release(target)


def _home(place: Path) -> Path:
    """The folder for whose trace `prepare` gave this place."""
    return _beside.get(_real(place), place)


def _real(place: Path) -> Path:
    """Without symbolic links; where they lead nowhere, what mkdir() says of it comes first."""
    return Path(os.path.realpath(place))


def release(folder: Path) -> None:
    """Lets others record in the folder. What was made beside an earlier trace and is not finished goes."""
    place = _real(_home(folder))
    if (file := _held.pop(place, None)) is None:
        return
    if _beside.pop(place / _NEW, None) is not None and not (place / _EARLIER).exists():
        shutil.rmtree(place / _NEW, ignore_errors=True)
    os.close(file)


def finish(folder: Path, ranks: int, run: Mapping[str, Any], reason: str = "", option: str = "--record") -> About:
    """Makes calls.parquet and trace.json of what the ranks have written. `run` says what was run, `reason` why it ended
    early.

    `option` is the one that names the folder. A stream that is cut counts as far as it goes. Raises InputError where
    there is none, or one is damaged; then an earlier trace is as it was.
    """
    return finish_recording(folder, ranks, run, reason, option).about


def finish_recording(folder: Path, ranks: int, run: Mapping[str, Any], reason: str = "", option: str = "--record") -> Trace:
    """As `finish`. Does not replace an earlier trace that is whole by one that is not: that gets a folder of its own
    beside it."""
    home = _home(folder)
    try:
        about = _finish(folder, ranks, run, reason, option)
        if home == folder:
            return Trace(folder, about)
        if not about.complete and _is_whole(home):
            home = next(path for number in count(1) if not (path := home.with_name(f"{home.name}-incomplete-{number}")).exists())
            folder.rename(home)
        else:
            _replace(home, folder)
        return Trace(home, about)
    except OSError as error:
        raise InputError(f"{option} {home}: {error.strerror}; choose another place") from None
    finally:
        release(folder)


def _is_whole(folder: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return bool(json.loads((folder / "trace.json").read_text(encoding="utf-8")).get("complete"))
    return False


def _finish(folder: Path, ranks: int, run: Mapping[str, Any], reason: str, option: str) -> About:
    missing = [rank for rank in range(ranks) if not stream(folder, rank).is_file()]
    if missing:
        raise InputError(f"{folder}: rank {missing[0]} recorded nothing; its first messages say why")
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
                raise InputError(f"{stream(folder, rank)}: it belongs to {whose}, not to rank {rank} of {ranks}; record the program anew")
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
    why = reason or (f"the streams of {counted(len(cut), 'rank')}, first of rank {cut[0]}, end before the program" if cut else "")
    about = About(
        format=FORMAT,
        complete=not why,
        reason=why,
        ranks=ranks,
        calls=calls.rows,
        mpi=MPI.get(mpi, ""),
        unrecorded=sorted(unrecorded),
        run=dict(run),
        checksums=[checksum(stream(folder, rank)) for rank in range(ranks)],
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


def load(folder: str | os.PathLike[str]) -> Trace:
    """A trace. Where the run could not finish it, that is done now. Raises InputError where it is missing, or of
    another version."""
    folder = Path(folder)
    check_name(folder, "")
    try:
        _complete(folder)
        if not (folder / "trace.json").exists() and (streams := list(folder.glob("rank-*.calls"))):
            finish(folder, len(streams), {}, "the run ended before it was finished")
        content = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
        if content.get("format") != FORMAT:
            raise InputError(
                f"{folder}: a trace of format {content.get('format')}; this exanet reads format {FORMAT}: record the program anew"
            )
        trace = Trace(folder, About.model_validate(content))
    except FileNotFoundError:
        advice = f"make one with exanet run --record {folder}, or exanet record"
        if folder.is_dir():
            advice = "name the folder of a trace; exanet trace convert makes one of another tool's"
        raise InputError(f"{folder}: not a trace, trace.json is missing; {advice}") from None
    except NotADirectoryError:
        advice = f"convert it first: exanet trace convert {folder} TRACE"
        raise InputError(f"{folder}: it is a file, and a trace is a folder; {advice}") from None
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
