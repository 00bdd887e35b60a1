# SPDX-License-Identifier: Apache-2.0
"""Converts traces: which format is meant by what, and files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from exanet.errors import InputError
from exanet.trace import folder, goal, paje, perfetto


def convert(source: Path, target: Path, collectives: Mapping[str, str]) -> dict[str, int]:
    """Converts a trace to the file `target`, or a GOAL schedule to the trace `target`.

    Returns what the other format does not hold, by what that is. Raises InputError.
    """
    try:
        if source.is_file() and target.suffix in (".goal", ".json", ".paje"):
            raise InputError(f"{target}: a GOAL schedule becomes a trace, which is a folder; name one")
        if source.is_file():
            return _counted(goal.read(source, target))
        if target.is_dir():
            raise InputError(f"{target}: it is a folder; name a file, .goal, .json or .paje")
        trace = folder.load(source)
        if target.suffix == ".goal":
            if not trace.about.complete or trace.about.unrecorded:
                why = trace.about.reason or f"it calls {', '.join(trace.about.unrecorded)}, which is not recorded"
                raise InputError(f"{source}: the recording is not whole, so it makes no schedule: {why}")
            return _counted(_whole(target, lambda file: goal.write(trace, file, collectives)))
        if target.suffix == ".json":
            return _counted(_whole(target, lambda file: perfetto.write(trace, file)))
        if target.suffix == ".paje":
            return _counted(_whole(target, lambda file: paje.write(trace, file)))
    except OSError as error:
        named = target if str(error.filename or "").endswith(".part") else error.filename or target
        raise InputError(f"{named}: {error.strerror}; choose another place") from None
    raise InputError(f"{target}: give a file that ends in .goal, .json (Perfetto) or .paje (ViTE)")


def _whole(target: Path, write: Callable[[Path], dict[str, int]]) -> dict[str, int]:
    beside = target.with_name(f".{target.name}.part")
    try:
        left_out = write(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return left_out


def _counted(left_out: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in left_out.items() if count}
