# SPDX-License-Identifier: Apache-2.0
"""Converts traces: which format is meant by what, and files that are written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from exanet.errors import InputError
from exanet.trace import folder, goal, paje, perfetto, simgrid, text
from exanet.trace import rules as selection
from exanet.trace.otf2 import read as otf2_read
from exanet.trace.otf2 import write as otf2_write
from exanet.trace.otf2.archive import anchor

_FILES = (".goal", ".bin", ".json", ".paje", ".txt")
_FOLDERS = (".otf2", ".simgrid")
SCHEDULES = (".goal", ".bin", ".simgrid")
"""Those that have collectives as messages."""


def convert(source: Path, target: Path, collectives: Mapping[str, str], rules: str | None = None) -> dict[str, int]:
    """Converts a trace to the file `target`, or an archive of OTF2; a GOAL schedule (text or binary), a trace's text or an archive to the
    trace `target`.

    Returns what the other format does not hold, by what that is. Raises InputError.
    """
    try:
        archive = None if folder.is_trace(source) else anchor(source)
        if (archive or source.is_file()) and target.suffix in (*_FILES, *_FOLDERS):
            what = "an archive of OTF2" if archive else "a file of this kind"
            raise InputError(f"{target}: {what} becomes a trace, which is a folder; name one")
        if archive:
            return _counted(folder.replaced(target, "TO", lambda place: otf2_read.read(archive, place, "TO")))
        if source.is_file() and text.is_text(source):
            return _counted(folder.replaced(target, "TO", lambda place: text.read(source, place)))
        if source.is_file():
            return _counted(goal.read(source, target))
        if target.suffix == ".otf2":
            trace = folder.load(source)
            return _counted(_archive(target, anchor, lambda place: otf2_write.write(trace, place)))
        if target.is_dir() and target.suffix != ".simgrid":
            raise InputError(
                f"{target}: it is a folder; name a file, .goal, .bin, .json, .paje or .txt, or a new folder, .otf2 or .simgrid"
            )
        trace = folder.load(source)
        if target.suffix in SCHEDULES and (not trace.about.complete or trace.about.unrecorded):
            why = trace.about.reason or f"it calls {', '.join(trace.about.unrecorded)}, which is not recorded"
            raise InputError(f"{source}: the recording is not whole, so it makes no schedule: {why}")
        chosen = selection.of(trace, rules)
        if target.suffix in (".goal", ".bin"):
            binary = target.suffix == ".bin"
            return _counted(_whole(target, lambda file: goal.write(trace, file, collectives, chosen, binary=binary)))
        if target.suffix == ".simgrid":
            return _counted(_archive(target, simgrid.found, lambda place: simgrid.write(trace, place, collectives, chosen)))
        if target.suffix == ".json":
            return _counted(_whole(target, lambda file: perfetto.write(trace, file)))
        if target.suffix == ".paje":
            return _counted(_whole(target, lambda file: paje.write(trace, file)))
        if target.suffix == ".txt":
            return _counted(_whole(target, lambda file: text.write(trace, file)))
    except OSError as error:
        named = target if ".part" in str(error.filename or "") else error.filename or target
        raise InputError(f"{named}: {error.strerror}; choose another place") from None
    raise InputError(
        f"{target}: give a file that ends in .goal, .bin (GOAL, binary), .json (Perfetto), .paje (ViTE) or .txt, or a folder that ends in "
        ".otf2 or .simgrid"
    )


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _whole(target: Path, write: Callable[[Path], dict[str, int]]) -> dict[str, int]:
    beside = _beside(target)
    try:
        left_out = write(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return left_out


def _archive(target: Path, found: Callable[[Path], Path | None], write: Callable[[Path], dict[str, int]]) -> dict[str, int]:
    """A folder in the place of an earlier one; `found` tells such a one."""
    if target.exists() and found(target) in (None, target):
        raise InputError(f"{target}: something else is there; choose another place")
    beside = _beside(target)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir()
        left_out = write(beside)
        if target.exists():
            shutil.rmtree(target)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return left_out


def _counted(left_out: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in left_out.items() if count}
