# SPDX-License-Identifier: Apache-2.0
"""A program for another processor: what starts it under QEMU, and which MPI it uses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exanet.cpu import guest, processor
from exanet.errors import InputError
from exanet.mpi import elf
from exanet.mpi.detect import Mpi, find_program, kind_of, read_executable

_PREFIX = "QEMU_LD_PREFIX"
_DEBIAN = {"aarch64": "arm64", "riscv64": "riscv64"}


@dataclass(frozen=True)
class Emulated:
    """How the ranks start: `command` in place of the program's own, `environment` besides the run's, `library` in
    place of the host's libexanet-fi.so."""

    processor: processor.Processor
    command: tuple[str, ...]
    environment: dict[str, str]
    library: Path
    mpi: Mpi


def emulated(name: str, command: Sequence[str], mpi: str, plugin: Path) -> Emulated:
    """The program `command` on the processor `name`; `mpi` is what the user says that it uses. Raises InputError with
    one clear message."""
    of = processor.load(name)
    program = find_program(command[0])
    executable = _executable(program, of)
    assert executable.interpreter is not None
    qemu = shutil.which(f"qemu-{of.architecture}")
    if qemu is None:
        raise InputError(f"--cpu {name}: qemu-{of.architecture} is missing; apt-get install qemu-user")
    library = guest.libraries(of.architecture) / "libexanet-fi.so"
    prefix = os.environ.get(_PREFIX) or f"/usr/{of.architecture}-linux-gnu"
    if not Path(prefix + executable.interpreter).exists():
        raise InputError(
            f"{prefix}{executable.interpreter} is missing: the C library for {of.architecture}; "
            f"apt-get install libc6-dev-{_DEBIAN[of.architecture]}-cross, or say where it is in {_PREFIX}"
        )
    words = (qemu, "-plugin", f"{plugin},{of.plugin()}", "-0", command[0], str(program), *command[1:])
    # The C library beside the loader, where the system has another one for that processor, too: they must fit.
    search = ":".join(part for part in (os.environ.get("LD_LIBRARY_PATH", ""), str(Path(prefix + executable.interpreter).parent)) if part)
    environment = {"EXANET_EMULATED": "1", _PREFIX: prefix, "LD_LIBRARY_PATH": search}
    return Emulated(of, words, environment, library, _mpi_of(executable, mpi))


def _executable(program: Path, of: processor.Processor) -> elf.Executable:
    if not elf.is_elf(program):
        raise InputError(f"--cpu {of.name}: program {str(program)!r} is no executable for {of.architecture}; scripts cannot run under QEMU")
    executable = read_executable(program)
    if executable.machine != of.architecture:
        raise InputError(
            f"--cpu {of.name}: program {str(program)!r} is built for {executable.machine}, and this processor is {of.architecture}; "
            f"build it with {of.architecture}-linux-gnu-gcc"
        )
    if executable.interpreter is None:
        raise InputError(f"program {str(program)!r} is linked statically, so nothing can be preloaded into it; link it dynamically")
    return executable


def _mpi_of(executable: elf.Executable, choice: str) -> Mpi:
    """By the libraries that the program names itself; those that they load in turn are the guest's business."""
    used = kind_of(executable.needed) if choice == "auto" else choice
    if used in ("openmpi", "openshmem"):
        raise InputError(
            f"--cpu: programs with MPICH run on other processors, and {'Open MPI' if used == 'openmpi' else 'OpenSHMEM'} does not yet"
        )
    if used is not None:
        return Mpi(used)
    raise InputError(
        f"program {str(executable.path)!r} names no MPI library itself; say --mpi mpich where one of its libraries does, or --mpi none"
    )
