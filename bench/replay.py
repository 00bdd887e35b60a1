# SPDX-License-Identifier: Apache-2.0
"""Times the replay of recorded programs against `exanet run` of the same programs, and against replays of the same
messages by SimGrid and LogGOPSim: messages a second.

A replay's rate is that of its processor time, reading the streams included, without starting Python; a peer's that of
its whole processor time, and a run's that of its wall time, since its ranks are processes. The programs are those of
patterns.c. SimGrid (`smpirun -replay`) has its usual cluster and flow model, LogGOPSim its LogGPS model; both get the
messages that ours sends, converted beforehand.
"""

from __future__ import annotations

import json
import resource
import statistics
from collections.abc import Callable
from pathlib import Path

from common import HERE, execute, tool

PROGRAMS = {
    "replay-pingpong-16": (16, ["pingpong", "1", "8000"]),
    "replay-halo-16": (16, ["halo", "1", "800"]),
    "replay-halo8-64": (64, ["halo8", "1", "400"]),
    "replay-allreduce-64": (64, ["allreduce", "1", "200"]),
}


class Bench:
    """One program at a time: its trace, and the commands that replay it."""

    def __init__(self, machine: str, core: int, folder: Path, loggopsim: Path | None) -> None:
        self.machine, self.folder, self.loggopsim = machine, folder, loggopsim
        self.pinned = ["taskset", "-c", str(core)]
        self.exanet = [*self.pinned, tool("exanet", "this project: pip install .")]
        self.smpirun = tool("smpirun", "Debian's libsimgrid-dev")
        execute([tool("mpicc", "mpich from PyPI"), "-O2", "-o", "patterns", str(HERE / "patterns.c")], cwd=folder)

    def record(self, name: str, ranks: int, program: list[str]) -> float:
        """Runs the program, and makes its trace: messages a second of wall time."""
        trace = ["--record", f"{name}.trace", "--compute", "off", "--", "./patterns", *program]
        execute(
            [*self.exanet, "run", "-m", self.machine, "-n", str(ranks), "-q", "--no-report", "-o", f"{name}.run", *trace], cwd=self.folder
        )
        return self._rate(f"{name}.run", "wall_s")

    def replay(self, name: str) -> float:
        execute([*self.exanet, "replay", f"{name}.trace", "-m", self.machine, "-q", "--no-report", "-o", f"{name}.replay"], cwd=self.folder)
        return self._rate(f"{name}.replay", "cpu_s")

    def peers(self, name: str, ranks: int) -> dict[str, tuple[str, Callable[[], float]]]:
        """By the end of a row's name the peer, and what runs it for its rate."""
        messages = self._messages(f"{name}.replay")
        execute([*self.exanet, "trace", "convert", f"{name}.trace", f"{name}.simgrid"], cwd=self.folder)
        (self.folder / f"{name}.simgrid" / "hosts").write_text("".join(f"node-{i}\n" for i in range(ranks)))
        settings = ["--cfg=smpi/simulate-computation:no", "--log=root.thresh:warning", "-replay", "ranks.txt"]
        where = ["-platform", str(HERE / "cluster.xml"), "-hostfile", "hosts"]
        simgrid = [*self.pinned, self.smpirun, "-np", str(ranks), *where, *settings]
        found = {"-simgrid": ("SimGrid smpirun -replay", lambda: messages / cpu_s(simgrid, self.folder / f"{name}.simgrid"))}
        if self.loggopsim is not None:
            execute([*self.exanet, "trace", "convert", f"{name}.trace", f"{name}.bin"], cwd=self.folder)
            loggopsim = [*self.pinned, str(self.loggopsim / "LogGOPSim"), "--batchmode", "-f", f"{name}.bin"]
            found["-loggopsim"] = ("LogGOPSim", lambda: messages / cpu_s(loggopsim, self.folder))
        return found

    def _messages(self, result: str) -> int:
        return int(json.loads((self.folder / result / "summary.json").read_text())["messages"])

    def _rate(self, result: str, key: str) -> float:
        return self._messages(result) / float(json.loads((self.folder / result / "run.json").read_text())[key])


def cpu_s(command: list[str], folder: Path) -> float:
    """The processor time of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    execute(command, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(only: str, repeats: int, machine: str, core: int, folder: Path, loggopsim: Path | None) -> list[dict[str, object]]:
    """For each program a row beside each peer: the replay, the peer, and how many times as fast the one is as the
    other."""
    wanted = [name for name in only.split(",") if name]
    bench = Bench(machine, core, folder, loggopsim)
    found: list[dict[str, object]] = []
    for name, (ranks, program) in PROGRAMS.items():
        if wanted and not any(name.startswith(beginning) for beginning in wanted):
            continue
        rates: dict[tuple[str, str], list[float]] = {}
        ours = []
        others: dict[str, tuple[str, Callable[[], float]]] = {}
        for _ in range(repeats):
            rates.setdefault(("", "exanet run"), []).append(bench.record(name, ranks, program))
            ours.append(bench.replay(name))
            others = others or bench.peers(name, ranks)
            for ending, (peer, run) in others.items():
                rates.setdefault((ending, peer), []).append(run())
        mine = statistics.median(ours)
        for (ending, peer), measured in rates.items():
            theirs = statistics.median(measured)
            figures = {"ours": round(mine, 1), "unit": "messages/s", "peer": peer, "peer_value": round(theirs, 1)}
            found.append({"name": name + ending, **figures, "ratio": round(mine / theirs, 3)})
            print(f"{name + ending:<32}{mine:>12,.0f}{theirs:>12,.0f}{mine / theirs:>8.1f}   messages/s, peer {peer}", flush=True)
    return found
