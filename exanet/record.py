# SPDX-License-Identifier: Apache-2.0
"""`exanet record`: runs a command, e.g. mpiexec with a program, and records its MPI calls under its own MPI, without
the simulator.

The recorder is preloaded into all that the command starts, and wakes up in MPI_Init. Whatever ends the command, what
the ranks have written until then becomes a trace, or there is one message that says why there is none.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from exanet.errors import InputError
from exanet.mpi import detect, elf
from exanet.quantity import counted
from exanet.release import version
from exanet.run import launch
from exanet.trace import folder

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_S = 0.2  # between looks at a command that runs
_ASIDE_S = 1.0  # a terminal's Ctrl-C reaches the command as well: so long it may take to end by itself
_GRACE_S = 10.0  # from SIGTERM to SIGKILL
_BESIDE = {"libexanet-record-lists.so": b"MPI_Gatherv_c\0", "libexanet-record-persistent.so": b"MPI_Barrier_init\0"}
"""Wrappers of functions that not every MPI has, by one of them."""
_NO_LIBRARY = (
    "; is it an MPI program of MPICH or Open MPI that begins with MPI_Init, and does its launcher pass LD_PRELOAD and EXANET_RECORD on?"
)


@dataclass(frozen=True)
class Recorded:
    """How the command ended, and the trace that there is of it."""

    status: int
    trace: folder.Trace | None
    stopped: str = ""  # the signal's name


def record(command: Sequence[str], directory: Path) -> Recorded:
    """Runs the command to its end and leaves a trace of the one MPI program in it. Raises InputError.

    An earlier trace in the directory stays until the new one is whole.
    """
    if not command:
        raise InputError("no command given; write it after --, e.g. exanet record -o trace -- mpiexec -n 8 ./solver")
    program = detect.find_program(command[0])
    if program.name == "exanet":
        raise InputError("exanet record is for programs outside the simulator; within it say exanet run --record FOLDER")
    preload = _preload(command)
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory = folder.prepare(directory, "-o")
        status, stopped = _run(command, {**os.environ, "LD_PRELOAD": preload, "EXANET_RECORD": str(directory)})
        return Recorded(status, _finish(command, directory, status, stopped), stopped)
    finally:
        folder.release(directory)
        for path in made:  # as far as they are empty
            with contextlib.suppress(OSError):
                path.rmdir()


def _preload(command: Sequence[str]) -> str:
    """What is preloaded, before what the user preloads himself."""
    place = launch.library_folder()
    library = _library(command)
    offered = elf.read(library.resolve()).strings if library is not None else b""
    # Wrappers of what not every MPI has come first: what they stand in front of is sought behind the recorder.
    names = [*(name for name, symbol in _BESIDE.items() if symbol in offered), "libexanet-record.so"]
    return ":".join([*(str(place / name) for name in names), *filter(None, [os.environ.get("LD_PRELOAD", "")])])


def _library(command: Sequence[str]) -> Path | None:
    """The libmpi of the program, which is the first of the command's words that turns out to be one that uses MPI;
    None where none does."""
    for at, word in enumerate(command):
        if word.startswith("-") or not (shutil.which(word) or "/" in word):
            continue
        with contextlib.suppress(InputError, OSError):
            if found := detect.detect(command[at:]).library:
                return found
    return None


# -- the command -------------------------------------------------------------------------------------------------------


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Exit status as a shell has it, and the name of the signal that asked us to stop. Raises InputError."""
    with _signals() as received:
        try:
            child = subprocess.Popen(command, env=environment)
        except OSError as error:
            raise InputError(f"{command[0]} could not be started: {error.strerror}") from None
        asked_at = killed_at = 0.0
        while (status := _wait(child)) is None:
            now = time.monotonic()
            if not received or killed_at:
                continue
            if not asked_at:
                asked_at = now + (_ASIDE_S if received[0] == signal.SIGINT else 0.0)
                continue
            if now >= asked_at + _GRACE_S or (len(received) > 1 and now >= asked_at):
                for pid in [child.pid, *_descendants(child.pid)]:
                    _send(pid, signal.SIGKILL)
                killed_at = now
            elif now >= asked_at:
                child.terminate()
    stopped = signal.Signals(received[0]) if received else None
    if stopped:
        return 128 + stopped, stopped.name
    return (status if status >= 0 else 128 - status), ""


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals that ask to stop, as they come."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.getsignal(number) for number in _STOPS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(child: subprocess.Popen[bytes]) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(_LOOK_S)
    return None


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents.setdefault(int(entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]), []).append(
                int(entry.parent.name)
            )
    found: list[int] = []
    todo = [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


# -- the trace ---------------------------------------------------------------------------------------------------------


def _finish(command: Sequence[str], directory: Path, status: int, stopped: str) -> folder.Trace | None:
    """Makes a trace of the streams. Raises InputError where there is none and nothing else says so."""
    ranks = folder.ranks(directory)
    reason = f"it was stopped by {stopped}" if stopped else ""
    try:
        if ranks == 0:
            for file in directory.glob("rank-*.calls"):
                file.unlink()
            raise InputError(f"nothing was recorded{_NO_LIBRARY}")
        return folder.finish_recording(directory, ranks, _run_facts(command, ranks), reason, "-o")
    except InputError as error:
        if status == 0:
            raise
        print(f"exanet: no trace: {error}", file=sys.stderr)  # the command's own end is reported by the exit status
        return None


def _run_facts(command: Sequence[str], ranks: int) -> dict[str, object]:
    return {"program": list(command), "ranks": ranks, "machine_name": "outside the simulator", "exanet_version": version()}


def said(recorded: Recorded, directory: Path) -> str:
    """One line on the trace."""
    if recorded.trace is None:
        return ""
    about = recorded.trace.about
    kept = ""
    if recorded.trace.folder != directory.absolute():
        kept, directory = f"; {directory} keeps its earlier trace, which is whole", recorded.trace.folder
    calls = f"{counted(about.calls, 'call')} of {counted(about.ranks, 'rank')} of {about.mpi} in {directory}"
    if not about.complete:
        return f"exanet: recorded {calls}, but not to the end: {about.reason}{kept}"
    if about.missing:
        return f"exanet: recorded {calls}; not recorded are {', '.join(about.missing)}, without which it cannot be replayed"
    return f"exanet: recorded {calls}; exanet replay {directory} -m MACHINE replays them"
