# SPDX-License-Identifier: Apache-2.0
"""Where the results of a command go, and whether they fit there: found before the simulation begins."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from exanet.encoding import check_name
from exanet.errors import InputError

_FREE_BYTES = 32 * 1024 * 1024
"""Space that the results of a run may take; less than this left is found before the run, not after."""

MARKS = {
    "run": ("ranks.parquet",),
    "run --restarts": ("attempts.parquet",),
    "sim": ("points.parquet", "jobs.parquet"),
    "sweep": ("runs.parquet", "journal.jsonl"),
    "bridge": ("frame_flows.parquet",),
    "compare": ("compared.parquet",),
    "reproduce": ("reproduced.parquet",),
}
"""By which of its files the results of each command are known."""


_UNFINISHED_S = 3600
"""A build that is older has been killed."""


def cache() -> Path:
    """The user's folder for what can be made again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "exanet"


def built(name: str, what: str, build: Callable[[Path, Path], None]) -> Path:
    """The folder NAME of the cache, whole. Where there is none yet, it is said that `what` is built, and build(scratch,
    folder) fills the folder, with another one for what is in between."""
    place = cache()
    found = place / name
    if found.is_dir():
        return found
    print(f"exanet: building {what}", file=sys.stderr, flush=True)
    place.mkdir(parents=True, exist_ok=True)
    for left in place.glob("building-*"):
        if time.time() - left.stat().st_mtime > _UNFINISHED_S:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"building-{name}-", dir=place) as scratch:
        folder = Path(scratch) / "built"
        folder.mkdir()
        build(Path(scratch), folder)
        try:
            folder.rename(found)
        except OSError:  # somebody else was faster
            if not found.is_dir():
                raise
    return found


def commands(directory: Path) -> list[str]:
    """The commands whose results the folder holds; normally one, or none."""
    found = [command for command, marks in MARKS.items() if any((directory / name).exists() for name in marks)]
    if not found and (directory / "summary.json").exists() and not (directory / "run.json").exists():
        return ["karma"]
    return found


def result_directory(command: str, given: Path | None, stem: str = "", *, quiet: bool = False) -> Path:
    """Where the results of this exanet command go: what -o says, or a new folder STEM-NUMBER here.

    Earlier results there, which the new ones will replace, are named on stderr unless `quiet`; a sweep goes on with
    them. Raises InputError when it cannot be written, or holds anything else than earlier results of the same command.
    """
    try:
        if given is None:
            # File names have 255 bytes at most.
            stem = os.fsencode(stem)[:200].decode(errors="ignore")
            chosen = next(path for number in itertools.count(1) if not (path := Path(f"{stem}-{number}")).exists())
        else:
            chosen = given
            check_name(chosen)
            if chosen.is_symlink() and not chosen.exists():
                raise InputError(f"-o {chosen}: it is a symbolic link that leads nowhere; name a folder")
            if chosen.exists() and not chosen.is_dir():
                raise InputError(f"-o {chosen}: it is a file; name a folder")
            if chosen.is_dir() and any(chosen.iterdir()) and (found := commands(chosen)) != [command]:
                held = f"results of exanet {' and '.join(found)}" if found else "other files"
                raise InputError(f"-o {chosen}: the folder holds {held}; name a new one, or one with earlier results of exanet {command}")
            if not quiet and command != "sweep" and chosen.is_dir() and commands(chosen):
                print(f"exanet: {chosen}: its earlier results are replaced when the new ones are whole", file=sys.stderr)
        _check_writable(chosen)
    except OSError as error:
        raise InputError(f"-o {given or stem}: {error.strerror}; choose another place with -o") from None
    return chosen


def _check_writable(directory: Path) -> None:
    """Tries it out in the nearest folder that exists; nothing is left behind."""
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0" * 4096)
            file.flush()
        volume = os.statvfs(place)
    except OSError as error:
        raise InputError(f"the results cannot be written to {directory}: {error.strerror}; choose another place with -o") from None
    free = volume.f_bavail * volume.f_frsize
    if free < _FREE_BYTES:
        raise InputError(
            f"the results cannot be written to {directory}: only {free // 1024} KiB are free there, "
            f"{_FREE_BYTES // 1024} KiB are needed; choose another place with -o"
        )
