# SPDX-License-Identifier: Apache-2.0
"""A program for another processor: what starts it under QEMU, and which MPI it uses."""

from __future__ import annotations

import os
import shutil
import subprocess
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
    used = _mpi_of(executable, mpi)
    _check_libraries(qemu, program, of, environment)
    return Emulated(of, words, environment, library, used)


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


def _check_libraries(qemu: str, program: Path, of: processor.Processor, environment: dict[str, str]) -> None:
    """Asks the program's own loader, as the MPI alone has no place where it always is."""
    words = [qemu, "-E", "LD_TRACE_LOADED_OBJECTS=1", str(program)]  # in QEMU's own environment its libraries would be listed
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False)
    missing = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("=> not found")]
    if missing:
        mpi = f"; {_BUILT[of.architecture]}" if kind_of(missing) == "mpich" else ""
        raise InputError(
            f"program {str(program)!r} needs {', '.join(missing)} for {of.architecture}, in no folder where its loader looks; "
            f"say in LD_LIBRARY_PATH where it is{mpi}"
        )


_BUILT = {
    "aarch64": "docs/cpu.md says where MPICH for it comes from",
    "riscv64": "'tools/setup.sh mpich-riscv64' in ExaNet's source folder builds MPICH for it into build/mpich-riscv64/lib",
}
"""How one comes by MPICH for a processor."""


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
