# SPDX-License-Identifier: Apache-2.0
"""Times whole runs of miniature applications, and of one that does nothing, under `exanet run` and under SimGrid's
smpirun: seconds on the wall, start and end in them, all cores allowed to both, in turn; computing measured, and off.
And the memory that each takes at most.

The applications (`apps`) are ordinary MPI programs, the same sources for both. Their answers have to be the same, or
the row fails. A ratio above 1 says that ours is faster. Ours is packet by packet on a whole machine, SimGrid's its
usual cluster and flow model.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import time
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path

import psutil
from common import HERE, LIMIT_S, Failure, execute, tool

# Size and rounds by ranks: some seconds each.
APPLICATIONS = {
    "cg": {16: ("24", "1000"), 64: ("24", "250")},
    "stencil": {16: ("256", "1500"), 64: ("256", "400")},
    "fft": {16: ("128", "10"), 64: ("128", "10")},
    "nbody": {16: ("128", "60"), 64: ("64", "30")},
    "bucket_sort": {16: ("15", "60"), 64: ("15", "15")},
    "start": {16: ("1", "1"), 128: ("1", "1"), 1024: ("1", "1")},
}
LARGE = (512, "torus-512")
"""Beyond so many ranks the machine is this one."""

COMPUTING = {"off": "no", "measured": "yes"}
"""As `exanet run --compute` has it, and as SMPI's simulate-computation."""

_LOOK_S = 0.05
_LIBC = ctypes.CDLL(None)
_KCMP, _KCMP_VM = 312, 1  # x86-64's number of the system call, which says whether two processes share what; see kcmp(2)


@dataclass(frozen=True)
class WholeRun:
    wall_s: float
    answer: str


def timed(command: list[str], folder: Path) -> WholeRun:
    """Runs it. Raises Failure when it fails or prints no answer."""
    began = time.monotonic()
    printed = execute(command, cwd=folder)
    wall_s = time.monotonic() - began
    answers = [line for line in printed.splitlines() if line.startswith("answer ")]
    if len(answers) != 1:
        raise Failure(f"{' '.join(command)}: no answer, or several:\n{printed}")
    return WholeRun(wall_s, answers[0])


def peak_mib(command: list[str], folder: Path) -> int:
    """The most memory that a run's processes have together, looked at 20 times a second: pages that several share
    (PSS), and maps that several share (ranks packed into one), counted once."""
    most = 0
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until = time.monotonic() + LIMIT_S
        while run.poll() is None:
            if time.monotonic() > until:
                run.kill()
                raise Failure(f"{' '.join(command)}: not ended after {LIMIT_S} s")
            most = max(most, sum(map(_pss, _maps(_tree(run.pid)))))
            time.sleep(_LOOK_S)
    return most >> 20


def _tree(pid: int) -> list[psutil.Process]:
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.Error:
        return []


def _maps(processes: list[psutil.Process]) -> list[psutil.Process]:
    """One process for each map of memory, of which kcmp(2) knows an order."""
    ordered = sorted(processes, key=cmp_to_key(_compare_maps))
    return [process for i, process in enumerate(ordered) if i == 0 or _compare_maps(ordered[i - 1], process) != 0]


def _compare_maps(one: psutil.Process, other: psutil.Process) -> int:
    # 0 equal, 1 less, 2 greater; -1: one has ended
    said: int = _LIBC.syscall(_KCMP, one.pid, other.pid, _KCMP_VM, 0, 0)
    return {0: 0, 1: -1}.get(said, 1)


def _pss(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, OSError):  # it has ended
        return 0


class Applications:
    """The applications, compiled for both, and the commands that run them."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.folder, self.machine = folder, machine
        self.exanet = tool("exanet", "this project: pip install .")
        self.smpirun = tool("smpirun", "Debian's libsimgrid-dev")
        compilers = {"": tool("mpicc", "mpich from PyPI"), "-simgrid": tool("smpicc", "Debian's libsimgrid-dev")}
        for name in APPLICATIONS:
            for end, compiler in compilers.items():
                execute([compiler, "-O2", "-o", f"{name}{end}", str(HERE / "apps" / f"{name}.c"), "-lm"], cwd=folder)
        (folder / "app-hosts").write_text("".join(f"node-{i}\n" for i in range(64)))

    def ours(self, name: str, ranks: int, computing: str) -> list[str]:
        machine = self.machine if ranks <= LARGE[0] else LARGE[1]
        options = ["-m", machine, "-n", str(ranks), "--compute", computing, "--ranks-as", "auto", "-q", "--no-report", "-o", "app.run"]
        return [self.exanet, "run", *options, "--", f"./{name}", *APPLICATIONS[name][ranks]]

    def simgrid(self, name: str, ranks: int, computing: str) -> list[str]:
        settings = [f"--cfg=smpi/simulate-computation:{COMPUTING[computing]}", "--log=root.thresh:warning"]
        where = ["-platform", str(HERE / "cluster.xml"), "-hostfile", "app-hosts"]
        return [self.smpirun, "-np", str(ranks), *where, *settings, f"./{name}-simgrid", *APPLICATIONS[name][ranks]]

    def row(self, name: str, ranks: int, computing: str, repeats: int) -> dict[str, object]:
        commands = {"ours": self.ours(name, ranks, computing), "peer": self.simgrid(name, ranks, computing)}
        runs: dict[str, list[WholeRun]] = {who: [] for who in commands}
        for _ in range(repeats):
            for who, command in commands.items():
                runs[who].append(timed(command, self.folder))
        answers = {run.answer for all_of in runs.values() for run in all_of}
        if len(answers) != 1:
            raise Failure(f"{name} on {ranks} ranks: answers differ: {', '.join(sorted(answers))}")
        ours, peer = (statistics.median(run.wall_s for run in runs[who]) for who in commands)
        peaks = {f"{who}_peak_mib": peak_mib(command, self.folder) for who, command in commands.items()}
        figures = {"ours": round(ours, 3), "unit": "s a run", "peer": "SimGrid smpirun", "peer_value": round(peer, 3)}
        return {"name": f"app-{name}-{ranks}-{computing}", **figures, "ratio": round(peer / ours, 3), **peaks}


def rows(only: str, repeats: int, machine: str, folder: Path) -> list[dict[str, object]]:
    """The rows whose names begin as one of `only`, which is separated by commas; all if it is empty. Prints them as
    they come."""
    wanted = [name for name in only.split(",") if name]
    asked = [
        (name, ranks, computing)
        for name, sizes in APPLICATIONS.items()
        for ranks in sizes
        for computing in (COMPUTING if name != "start" else ["off"])
        if not wanted or any(f"app-{name}-{ranks}-{computing}".startswith(beginning) for beginning in wanted)
    ]
    if not asked:
        return []
    applications = Applications(folder, machine)
    made = []
    for name, ranks, computing in asked:
        row = applications.row(name, ranks, computing, repeats)
        figures = f"{row['name']:<28}{row['ours']:>8}{row['peer_value']:>12}{row['ratio']:>8}   {row['unit']}, peer {row['peer']}"
        print(f"{figures}; at most {row['ours_peak_mib']} and {row['peer_peak_mib']} MiB", flush=True)
        made.append(row)
    return made
