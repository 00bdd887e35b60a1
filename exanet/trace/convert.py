# SPDX-License-Identifier: Apache-2.0
"""Converts traces: from a trace to the format that the target's suffix asks for, or from what the source's content says
to a trace.

Files and folders are written whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from exanet.encoding import check_name
from exanet.errors import InputError
from exanet.trace import folder, foreign, formats, matched
from exanet.trace.formats import Choices, Format, LeftOut


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    collectives: Mapping[str, str],
    rules: str | None = None,
    *,
    overwrite: bool = False,
) -> LeftOut:
    """Converts a trace to the format of the file or folder `target`, or what is in another format to the trace
    `target`. What is there already stays, unless `overwrite` is given.

    Returns what the other format does not hold, by what that is. Raises InputError.
    """
    source, target = Path(source), Path(target)
    wanted = formats.of_target(target)
    try:
        if source.exists() and not folder.is_trace(source) and (refusal := foreign.refusal(source)):
            raise InputError(refusal)
        given = None if folder.is_trace(source) else formats.of_source(source)
        if given is not None:
            left_out = _read(*given, target, wanted, overwrite)
        else:
            if not folder.is_trace(source):
                _refuse(source)
            left_out = _write(source, target, _checked(target, wanted, overwrite), collectives, rules)
    except OSError as error:
        named = target if ".part" in str(error.filename or "") else error.filename or target
        raise InputError(f"{named}: {error.strerror}; choose another place") from None
    return {what: count for what, count in left_out.items() if count}


def _refuse(source: Path) -> None:
    """Raises InputError for what is neither a trace nor in a format that is read."""
    if source.exists() and not source.is_dir():
        readable = formats.joined(each.name for each in formats.formats().values() if each.read is not None)
        raise InputError(f"{source}: neither a trace nor a file of a format that is read: {readable}")
    folder.load(source)


def _read(given: Format, opened: Path, target: Path, wanted: Format | None, overwrite: bool) -> LeftOut:
    """Makes a trace of what is in the format `given`."""
    if wanted is not None or (target.exists() and not target.is_dir()):
        is_file = "" if wanted is not None else "it is a file, and "
        raise InputError(f"{target}: {is_file}{given.source} becomes a trace, which is a folder; name one")
    if target.is_dir():
        folder.check(target, "TO")
        _keep(target, "a trace", overwrite)
    read = given.read
    assert read is not None

    def write(place: Path) -> LeftOut:
        try:
            left_out = read(opened, place)
        except InputError as error:
            raise InputError(_named(opened, place, target, error.messages)) from None
        matched.check(folder.load(place), opened)
        return left_out

    return folder.replaced(target, "TO", write)


def _named(opened: Path, place: Path, target: Path, messages: list[str]) -> Iterator[str]:
    """The messages, with names that the user knows in place of that of a folder which nobody will see."""
    for message in messages:
        of_stream = message.removeprefix(f"{place.absolute()}/")
        yield f"{opened}: it cannot become a trace: {of_stream}" if of_stream != message else message.replace(f" {place}:", f" {target}:")


def _is_free(target: Path) -> bool:
    """Whether nothing is there but an empty folder, if that."""
    return not any(target.iterdir()) if target.is_dir() else not target.exists()


def _keep(target: Path, what: str, overwrite: bool) -> None:
    """Raises InputError where something is there that is not to be replaced."""
    if not _is_free(target) and not overwrite:
        raise InputError(f"{target}: {what} is there already; choose another name, or replace it by --overwrite")


def _checked(target: Path, wanted: Format | None, overwrite: bool) -> Format:
    """The format that the target asks for. Raises InputError where that is none, or something is there."""
    files, folders = formats.targets()
    if target.is_dir() and not (wanted and wanted.is_folder):
        raise InputError(f"{target}: it is a folder; name a file, {files}, or a new folder, {folders}")
    if wanted is None:
        raise InputError(f"{target}: give a file that ends in {files}, or a folder that ends in {folders}")
    if wanted.is_folder and not _is_free(target) and wanted.found(target) in (None, target):
        raise InputError(f"{target}: {'the folder holds other files' if target.is_dir() else 'it is a file'}; choose another folder")
    if wanted.is_folder:
        check_name(target, "")
    _keep(target, f"{'an archive' if wanted.is_folder else 'a file'} of this name", overwrite)
    return wanted


def _write(source: Path, target: Path, wanted: Format, collectives: Mapping[str, str], rules: str | None) -> LeftOut:
    """Writes a trace in the format `wanted`."""
    trace = folder.load(source).verify()
    if wanted.is_schedule and (not trace.about.complete or trace.about.missing):
        why = trace.about.reason or f"it calls {', '.join(trace.about.missing)}, which is not recorded"
        raise InputError(f"{source}: the recording is incomplete and cannot be converted to a schedule: {why}")
    if not wanted.holds_graphs and trace.has_graphs():
        able = formats.joined(each.name for each in formats.formats().values() if each.holds_graphs)
        raise InputError(f"{source}: it has graphs of operations, which {wanted.name} cannot hold; convert it to {able}")
    choices = Choices(collectives, trace.rules(rules))
    put, write = _archive if wanted.is_folder else _file, wanted.write
    assert write is not None
    return put(target, wanted, lambda place: write(trace, place, choices))


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _file(target: Path, wanted: Format, write: Callable[[Path], LeftOut]) -> LeftOut:
    beside = _beside(target)
    try:
        left_out = write(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return left_out


def _archive(target: Path, wanted: Format, write: Callable[[Path], LeftOut]) -> LeftOut:
    """A folder in the place of an earlier one of the same format."""
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
