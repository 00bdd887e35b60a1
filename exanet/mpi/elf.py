# SPDX-License-Identifier: Apache-2.0
"""What an executable says about itself: its machine, its interpreter, the libraries that the loader finds for it."""

from __future__ import annotations

import mmap
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64", "ppc64le": "EM_PPC64", "riscv64": "EM_RISCV", "s390x": "EM_S390"}
_LIST_LINE = re.compile(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$")


@dataclass(frozen=True)
class Executable:
    path: Path
    machine: str  # the name that `uname -m` has for it, or ELF's own
    interpreter: str | None  # the dynamic loader; None for a static program
    needed: tuple[str, ...]  # sonames that it asks for itself


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def read(path: Path) -> Executable:
    """Reads headers and dynamic section. Raises elftools' ELFError when the file is damaged."""
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    with path.open("rb") as file:
        elf = ELFFile(file)
        machine = str(elf["e_machine"])
        interpreter: str | None = None
        needed: list[str] = []
        for segment in elf.iter_segments():
            if isinstance(segment, InterpSegment):
                interpreter = str(segment.get_interp_name())
            elif isinstance(segment, DynamicSegment):
                tags: Any = segment.iter_tags("DT_NEEDED")
                needed = [str(tag.needed) for tag in tags]
    names = {elf_name: name for name, elf_name in _MACHINES.items()}
    return Executable(path, names.get(machine, machine), interpreter, tuple(needed))


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


def contains(path: Path, pattern: bytes) -> bool:
    """Whether the file holds bytes that match the regular expression."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return re.search(pattern, data) is not None
