# SPDX-License-Identifier: Apache-2.0
"""Reads the headers of an executable: its machine, its interpreter, the libraries that the loader finds for it."""

from __future__ import annotations

import mmap
import os
import platform
import re
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

_MACHINES = {3: "i386", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""ELF's number of a machine (e_machine), and the name that `uname -m` has for it."""
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3  # kinds of segments
_MOVABLE = 3  # kind of file: a shared object, or a program that can lie anywhere
_NO_MORE, _NEEDED, _STRINGS, _STRINGS_BYTES = 0, 1, 5, 10  # tags of the dynamic section
_LIST_LINE = re.compile(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$")


@dataclass(frozen=True)
class Executable:
    path: Path
    machine: str  # the name that `uname -m` has for it, or ELF's number
    interpreter: str | None  # the dynamic loader; None for a static program
    needed: tuple[str, ...]  # sonames that it asks for itself
    movable: bool = True  # position-independent
    strings: bytes = b""  # of the dynamic section, each ended by a zero: the names of what it offers and asks for


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


class DamagedError(ValueError):
    """Headers that point outside the file."""


def read(path: Path) -> Executable:
    """Reads headers and dynamic section (System V ABI, chapters 4 and 5). Raises DamagedError."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _read(path, data)
        except (struct.error, LookupError, ValueError, OverflowError) as error:
            raise DamagedError(f"its headers lead nowhere ({error})") from None


def _read(path: Path, data: mmap.mmap) -> Executable:
    order, wide = {1: "<", 2: ">"}[data[5]], data[4] == 2
    kind_of_file, machine = struct.unpack_from(f"{order}HH", data, 16)
    (segments_at,) = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 32 if wide else 28)
    size, count = struct.unpack_from(f"{order}HH", data, 54 if wide else 42)
    segments = [_segment(data, segments_at + i * size, order, wide) for i in range(count)]
    interpreter: str | None = None
    needed: list[str] = []
    texts = b""
    for kind, offset, _, length in segments:
        if kind in (_LOAD, _DYNAMIC, _INTERPRETER) and offset + length > len(data):
            raise ValueError(f"a segment ends at byte {offset + length}, and the file has {len(data)}")
        if kind == _INTERPRETER:
            interpreter = _text(data, offset)
        elif kind == _DYNAMIC:
            layout = struct.Struct(order + ("qQ" if wide else "iI"))
            tags = _tags(layout.iter_unpack(data[offset : offset + length // layout.size * layout.size]))
            strings = next((value for tag, value in tags if tag == _STRINGS), 0)
            base = next(
                (at + strings - start for kind, at, start, held in segments if kind == _LOAD and start <= strings < start + held), 0
            )
            needed = [_text(data, base + value) for tag, value in tags if tag == _NEEDED]
            texts = data[base : base + next((value for tag, value in tags if tag == _STRINGS_BYTES), 0)]
    return Executable(
        path, _MACHINES.get(machine, f"machine {machine} of ELF"), interpreter, tuple(needed), kind_of_file == _MOVABLE, texts
    )


def _segment(data: mmap.mmap, at: int, order: str, wide: bool) -> tuple[int, int, int, int]:
    """A segment's kind, its place in the file, its address, and its size in the file."""
    if wide:
        kind, _, offset, address, _, size = struct.unpack_from(f"{order}IIQQQQ", data, at)
    else:
        kind, offset, address, _, size = struct.unpack_from(f"{order}IIIII", data, at)
    return kind, offset, address, size


def _tags(entries: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return list(takewhile(lambda entry: entry[0] != _NO_MORE, entries))


def _text(data: mmap.mmap, at: int) -> str:
    end = data.find(b"\0", at)
    if not 0 <= at < len(data) or end < 0:
        raise IndexError(f"no text at {at}")
    return data[at:end].decode(errors="surrogateescape")


def runs_here(executable: Executable) -> bool:
    return executable.machine == platform.machine()


def libraries(executable: Executable, extra_path: str = "") -> dict[str, Path | None]:
    """Each shared library of the program, as the loader itself finds it: soname to file, None when it is missing.

    Asks the program's own loader, which knows run paths, its cache and LD_LIBRARY_PATH; the program itself is not run.
    """
    if executable.interpreter is None:
        return {}
    search = ":".join(part for part in (os.environ.get("LD_LIBRARY_PATH", ""), extra_path) if part)
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1", "LD_LIBRARY_PATH": search}
    environment.pop("LD_PRELOAD", None)
    try:
        done = subprocess.run([executable.interpreter, str(executable.path)], env=environment, capture_output=True, text=True, timeout=60)
    except OSError:
        return dict.fromkeys(executable.needed)
    found: dict[str, Path | None] = {}
    for line in done.stdout.splitlines():
        if match := _LIST_LINE.match(line):
            found[match[1]] = None if match[2] == "not found" else Path(match[2])
    return found


def contains(path: Path, pattern: re.Pattern[bytes] | bytes) -> bool:
    """Whether the file holds bytes that match the pattern, or these bytes, which takes half as long."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(pattern) >= 0 if isinstance(pattern, bytes) else pattern.search(data) is not None
