# SPDX-License-Identifier: Apache-2.0
"""What runs need of a machine, kept in the cache folder once its description has been read and checked.

Problem: reading a description imports the schema and two readers of YAML, which takes longer than a small run's
simulation. Model: an entry has the facts and the texts of the files that they were read from: the machine's, those that
it extends, and that of the faults on it. It is used for files of the same texts, if the code that reads them is the
same, by sizes and times of its files. Limits: descriptions that extend a file by its path, or take a graph or another
network from one, and machines with GPUs are read each time, and so is what has been changed for a run. A cache folder
that cannot be written is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet.directory import cache
from exanet.machine.finding import LARGEST_BYTES, folders, is_path

if TYPE_CHECKING:
    from exanet.machine.machine import Machine

_MOST_ENTRIES = 256
_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Facts:
    """A machine of one network, on whose nodes programs run; `resolved` as the simulator takes it, for packets."""

    name: str
    nodes: int
    cores: int  # of a node
    resolved: dict[str, Any]
    notes: list[str]  # what is known to be wrong with the figures of programs on it


def read(name: str, faults: str | None = None) -> Facts | None:
    """The facts of the machine of that name or path, with a file of faults; None where they have to be read."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RuntimeError):  # what cannot be used is written again
        files = _files(name, faults)
        if files and all(map(_is_description, files)):
            text = _texts(files)
            entry = json.loads(_entry(text).read_bytes())
            if entry["text"] == text and entry["code"] == _CODE and all(_text(Path(base)) == held for base, held in entry["bases"]):
                return Facts(**entry["facts"])
    return None


def state(name: str, faults: str | None = None) -> tuple[int, ...]:
    """Of these files, by which a change of them is seen; empty where one cannot be kept."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        files = _files(name, faults)
        if files and all(map(_is_description, files)):
            return tuple(number for found in map(Path.stat, files) for number in (found.st_ino, found.st_size, found.st_mtime_ns))
    return ()


def write(name: str, before: tuple[int, ...], described: Machine, facts: Facts, faults: str | None = None) -> None:
    """Keeps the facts of these files, which were read when their state was `before`."""
    bases = described.files[1:]
    if not before or any(is_path(base) for base in described.bases):
        return
    with contextlib.suppress(OSError, UnicodeError, RuntimeError):  # also where the user has no home
        text = _texts(_files(name, faults))
        if state(name, faults) != before or not _CODE or _code() != _CODE:
            return
        entry = {"text": text, "code": _CODE, "bases": [[str(base), _text(base)] for base in bases], "facts": vars(facts)}
        place = _entry(text)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(entry), encoding="utf-8")
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
        _forget(place.parent)


def _files(name: str, faults: str | None) -> list[Path]:
    """The machine's file, and that of the faults on it; empty where there is no such machine."""
    beside = [] if faults is None else [Path(faults).expanduser()]
    if is_path(name):
        return [Path(name).expanduser(), *beside]
    file = next((file for folder in folders() if (file := folder / f"{name}.yaml").is_file()), None)
    return [] if file is None else [file, *beside]


def _entry(text: str) -> Path:
    content = text.encode()
    return cache() / "machines" / f"{len(content)}-{zlib.crc32(content):08x}.json"


def _texts(files: list[Path]) -> str:
    return "\0".join(map(_text, files))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _is_description(file: Path) -> bool:
    """Whether it may be read more than once: what comes through a pipe may not. Raises OSError."""
    found = file.stat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_BYTES


def _code() -> list[list[str | int]]:
    """The files that make facts of a description, each with its size and time."""
    with contextlib.suppress(OSError):
        return [[path, found.st_size, found.st_mtime_ns] for path, found in sorted(_code_files())]
    return []


def _code_files() -> Iterator[tuple[str, os.stat_result]]:
    for folder in (_PACKAGE, _PACKAGE / "machine", _PACKAGE / "faults"):
        with os.scandir(folder) as entries:
            yield from ((entry.path, entry.stat()) for entry in entries if entry.name.endswith((".py", ".so")))


# Of this process, whose package may be replaced while it runs.
_CODE = _code()


def _forget(folder: Path) -> None:
    """Removes the oldest entries where there are too many."""
    entries = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder))
    for _, path in entries[:-_MOST_ENTRIES]:
        os.unlink(path)
