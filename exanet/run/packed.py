# SPDX-License-Identifier: Apache-2.0
"""Ranks in one address space: whether a program can be run so, and how it is then executed.

Packed ranks share one map of memory, in which each is a process of its own (runtime/exec/host.c). The program is mapped
once for each rank, so it must be position-independent, and what belongs to a map as a whole must suit all ranks
together: its limits, its number of mappings.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import resource
import shlex
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exanet import renamed
from exanet.errors import InputError
from exanet.mpi import detect, elf

CHOICES = ("processes", "packed", "auto")
WORKER_THREADS = "EXANET_WORKER_THREADS"
"""The environment variable that says how many threads run packed ranks."""
_EARLIER = {"carriers": "worker_threads", "no_carriers": "no_worker_threads", "turns_carried": "turns_on_workers"}
"""Keys of run.json by the names of the release before, which this one writes, too."""

_MAPPINGS_OF_RANK = {"mpich": 320, "openmpi": 640, "openshmem": 320, "libfabric": 320, "none": 320}
"""For which there is space. Counted: a program in C has 110 with MPICH, 440 with Open MPI 4, and mpi4py with NumPy
130 more."""
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"}
_SANITIZERS = re.compile(rb"\0(lib[atlm]san\.so|libhwasan\.so|__[atm]san_init|__hwasan_init)")
_LEAST_KERNEL = (5, 16)
"""Before, a rank's core dump ended all that share its map (Linux, commit 0258b5fd7c71)."""
_LEAST_LIBC = (2, 34)
"""Before, another library's constructor came first in the host: that of libpthread, which was one of its own."""


@dataclass(frozen=True)
class Packed:
    """A program to run with packed ranks: the file to execute, and the command as the kernel would hand it to that
    file."""

    program: Path
    command: tuple[str, ...]


def resolve(
    choice: str, command: Sequence[str], *, ranks: int, mpi: str, library: Path, measured: bool, pages: bool = False
) -> tuple[Packed | None, str]:
    """How to pack the ranks of COMMAND; None and the reason where that was asked for with `auto` and cannot be; None
    for processes.

    `mpi`: its kind, as exanet.mpi.detect has it; `library`: the folder of the runtime; `measured`: computing is;
    `pages`: interfaces look up addresses of the program's buffers.
    Raises InputError where CHOICE is `packed` and it cannot be.
    """
    if choice == "processes":
        return None, ""
    if choice == "auto" and measured:
        return None, "computing is measured, and a common address space would add the kernel's work for it to the measurement"
    if choice == "auto" and pages:
        return None, "the machine has 'ni.pages', and in a common address space the pages of a rank would depend on the other ranks"
    asked = worker_threads()
    if asked is not None and not re.fullmatch(r"\d{1,3}", asked, re.ASCII):
        raise InputError(f"{WORKER_THREADS}={asked}: give the number of threads that run packed ranks, e.g. 2, or 0 for none")
    try:
        _check_host(ranks * _MAPPINGS_OF_RANK[mpi], library)
        return _follow(detect.find_program(command[0]), list(command)), ""
    except _NotPackedError as error:
        if choice == "auto":
            return None, str(error)
        raise InputError(f"--ranks-as packed: {error}; use --ranks-as processes, or auto") from None


def simulator_may_be_hosted() -> bool:
    """Whether the simulator may be in the ranks' address space. Raises InputError for a value of EXANET_SIMULATOR
    that is none."""
    asked = os.environ.get("EXANET_SIMULATOR", "hosted")
    if asked not in ("hosted", "apart"):
        raise InputError(f"EXANET_SIMULATOR={asked}: give hosted (in the address space of packed ranks) or apart (in a process of its own)")
    return asked == "hosted"


def worker_threads() -> str | None:
    """How many threads the user asks for to run packed ranks, by the environment; None: as many as there are
    processors."""
    if (old := os.environ.get("EXANET_CARRIERS")) is not None:
        renamed.warn("environment variable", "EXANET_CARRIERS", WORKER_THREADS)
    return os.environ.get(WORKER_THREADS, old)


def turns_on_workers(summary: Mapping[str, Any]) -> dict[str, Any]:
    """For run.json: how many of the ranks' turns the host's worker threads have run (runtime/exec/worker.c), and why
    there were none."""
    facts = {"simulator": "hosted" if summary["hosted"] else "apart", "worker_threads": summary["worker_threads"]}
    facts |= {"turns": summary["wakes"], "turns_on_workers": summary["turns_on_workers"]}
    if why := summary["no_worker_threads"].decode(errors="replace"):
        facts["no_worker_threads"] = why
    return facts | {old: facts[new] for old, new in _EARLIER.items() if new in facts}


class _NotPackedError(Exception):
    """Says why ranks cannot be packed."""


def _check_host(mappings: int, library: Path) -> None:
    """Raises _NotPackedError where this machine or its limits do not allow it."""
    if not (library / "libexanet-host.so").is_file():
        raise _NotPackedError(f"packed ranks are for x86-64, and this machine is {platform.machine()}")
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if version and (int(version[1]), int(version[2])) < _LEAST_KERNEL:
        raise _NotPackedError(f"packed ranks need Linux {_LEAST_KERNEL[0]}.{_LEAST_KERNEL[1]}, and this is {platform.release()}")
    library_version = re.search(r"(\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    if library_version and (int(library_version[1]), int(library_version[2])) < _LEAST_LIBC:
        raise _NotPackedError(f"packed ranks need glibc {_LEAST_LIBC[0]}.{_LEAST_LIBC[1]}, and this is {library_version[0]}")
    for name, which, option in (("memory", resource.RLIMIT_AS, "-v"), ("data", resource.RLIMIT_DATA, "-d")):
        if resource.getrlimit(which)[0] != resource.RLIM_INFINITY:
            raise _NotPackedError(f"packed ranks share one limit of {name}, and there is one (ulimit {option})")
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    beyond = [number for number in _inherited_files() if files != resource.RLIM_INFINITY and number >= files]
    if beyond:
        raise _NotPackedError(
            f"packed ranks are given the open files of this process, of which number {beyond[0]} is beyond the limit (ulimit -n)"
        )
    most = int(Path("/proc/sys/vm/max_map_count").read_text(encoding="utf-8"))
    if mappings > most:
        raise _NotPackedError(f"so many ranks may need {mappings} mappings, and one address space may have {most} (vm.max_map_count)")


def _inherited_files() -> list[int]:
    numbers = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the list itself
            if os.get_inheritable(int(name)):
                numbers.append(int(name))
    return sorted(numbers)


def _follow(program: Path, command: list[str], depth: int = 0) -> Packed:
    """From scripts to their interpreters, as the kernel and env(1) do it."""
    if not elf.is_elf(program):
        words = _interpreter(program)
        if not words or depth > 4:
            raise _NotPackedError(f"{str(program)!r} has no interpreter that can be followed")
        return _follow(detect.find_program(words[0]), [*words, str(program), *command[1:]], depth + 1)
    _check_program(program)
    return Packed(program, tuple(command))


def _interpreter(script: Path) -> list[str]:
    """The words of its first line; where that is env(1) with a program's name, what env would execute."""
    with script.open("rb") as file:
        first = file.readline(256)
    if not first.startswith(b"#!"):
        return []
    # the kernel hands the rest over as one word
    words = first[2:].decode(errors="surrogateescape").strip().split(maxsplit=1)
    if words and Path(words[0]).name == "env" and len(words) == 2:
        rest = shlex.split(words[1].removeprefix("-S")) if words[1].startswith("-S") else [words[1]]
        if rest and "=" not in rest[0] and not rest[0].startswith("-") and (found := shutil.which(rest[0])):
            return [found, *rest[1:]]
    return words


def _check_program(program: Path) -> None:
    """Raises _NotPackedError where the file cannot be mapped for each rank."""
    name = repr(str(program))
    real = program.resolve()
    if real.name in detect.WRAPPERS or program.name in detect.WRAPPERS or real.name in _SHELLS:
        raise _NotPackedError(f"{name} starts other programs, which are not packed; give the program itself")
    if real.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) or "security.capability" in _attributes(real):
        raise _NotPackedError(f"{name} runs with rights of its own (set-uid, set-gid or capabilities)")
    executable = elf.read(real)
    if executable.interpreter is None:
        raise _NotPackedError(f"{name} is linked statically")
    if not executable.movable:
        raise _NotPackedError(f"{name} is not position-independent (compile with -fPIE and link with -pie)")
    if not Path(executable.interpreter).name.startswith("ld-linux"):
        raise _NotPackedError(f"{name} has a dynamic loader that is not glibc's, {executable.interpreter}")
    texts = executable.strings + b"\0" + b"\0".join(os.fsencode(word) for word in os.environ.get("LD_PRELOAD", "").split("/"))
    if found := _SANITIZERS.search(texts):
        raise _NotPackedError(f"{name} has a sanitizer ({found[1].decode()}), which wants an address space to itself")


def _attributes(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:
        return []
