# SPDX-License-Identifier: Apache-2.0
"""Shows that a restructuring cost no speed: processor time of two installed versions, in pairs of runs that take turns
on one core.

usage: python tools/same_speed.py BEFORE AFTER [--pairs N] [--core N] [--only NAME,...] [--limit PERCENT]

BEFORE and AFTER are the `exanet` commands of the two. A row is a run of bench/patterns.c on ranks of either kind, a
replay, or a network alone by packets or flows, large enough that starting Python is a small part. The figure is the
processor time of the whole run, user and system, of all its processes; shown is the median of the pairs' ratios AFTER /
BEFORE with the least and the most. Exit status 1 when a median is above the limit (2 %). On a busy machine the pairs
scatter: give it more of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURE = ("--warm-up", "20 us")


def online(pattern: str, ranks: int, rounds: int, ranks_as: str = "packed", machine: str = "exanest") -> list[str]:
    options = ["-m", machine, "-n", str(ranks), "--compute", "off", "--ranks-as", ranks_as, "-q", "--no-report"]
    return ["run", *options, "--", "./patterns", pattern, "10", str(rounds)]


def network(machine: str, *words: str) -> list[str]:
    return ["sim", "-m", machine, *words, "-q"]


ROWS: dict[str, list[str]] = {
    "pingpong-16": online("pingpong", 16, 60_000),
    "pingpong-64": online("pingpong", 64, 12_000),
    "halo-16": online("halo", 16, 9000),
    "halo-64": online("halo", 64, 1600),
    "allreduce-16": online("allreduce", 16, 9000),
    "allreduce-64": online("allreduce", 64, 1500),
    "pingpong-16-processes": online("pingpong", 16, 20_000, "processes"),
    "allreduce-16-processes": online("allreduce", 16, 3000, "processes"),
    "pingpong-16-interface": online("pingpong", 16, 30_000, machine="exanest-ni"),
    "halo-16-interface": online("halo", 16, 3000, machine="exanest-ni"),
    "replay-halo-16": ["replay", "halo.trace", "-m", "exanest", "-q", "--no-report"],
    "replay-allreduce-64": ["replay", "allreduce.trace", "-m", "exanest", "-q", "--no-report"],
    "packets-torus-512": network("torus-512", "--load", "0.48", *MEASURE, "--measure", "150 us"),
    "packets-torus-512-adaptive": network("torus-512", "--routing", "adaptive", "--load", "0.48", *MEASURE, "--measure", "100 us"),
    "packets-fat-tree-1024": network("fat-tree-1024", "--traffic", "permutation", "--load", "0.3", *MEASURE, "--measure", "100 us"),
    "packets-cut-through": network("bxi-256", "--load", "0.5", "--warm-up", "5 us", "--measure", "40 us"),
    "words-wormhole": network("exanest-tor", "--load", "0.3", "--warm-up", "10 us", "--measure", "100 us"),
    "messages-torus-512": network("torus-512", "--message", "16 KiB", "--rounds", "3"),
    "flows-fat-tree-1024": network("fat-tree-1024", "--level", "flow", "--message", "64 KiB", "--load", "0.4", "--measure", "10 ms"),
}
TRACES = {"halo": (16, 20_000), "allreduce": (64, 2500)}


def processor_s(command: list[str], core: int, folder: Path) -> float:
    """User and system time of a command and all that it starts. Raises SystemExit, with what it printed, when it
    fails."""
    with (folder / "output").open("w+") as output:
        run = subprocess.Popen(["taskset", "-c", str(core), *command], cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode != 0:
            output.seek(0)
            raise SystemExit(f"error: {' '.join(command)}: exit status {run.returncode}\n{output.read()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def prepare(before: str, folder: Path, core: int, names: list[str]) -> None:
    """The MPI program, and the traces that are replayed: those of BEFORE for both."""
    mpicc = Path(sys.executable).parent / "mpicc"
    subprocess.run([mpicc, "-O2", "-o", "patterns", ROOT / "bench" / "patterns.c"], cwd=folder, check=True)
    for pattern, (ranks, rounds) in TRACES.items():
        if any(f"{pattern}.trace" in ROWS[name] for name in names):
            words = online(pattern, ranks, rounds)
            processor_s([before, "run", "--record", f"{pattern}.trace", "-o", "recorded", *words[1:]], core, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description="Processor time of two installed versions, in pairs.")
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, metavar="AFTER")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="comma-separated beginnings of row names")
    parser.add_argument("--limit", type=float, default=2.0, help="percent that a row may cost more (default: 2)")
    given = parser.parse_args()
    before, after = str(given.before.absolute()), str(given.after.absolute())
    names = [name for name in ROWS if name.startswith(tuple(given.only.split(",")))]
    slower = 0
    print(f"{'':28}{'before s':>10}{'after s':>10}{'ratio':>8}   least to most of {given.pairs} pairs")
    with tempfile.TemporaryDirectory(prefix="exanet-speed-") as scratch:
        folder = Path(scratch)
        prepare(before, folder, given.core, names)
        for name in names:
            pairs = []
            for pair in range(given.pairs):
                commands = [[exanet, ROWS[name][0], "-o", name, *ROWS[name][1:]] for exanet in (before, after)]
                times = [processor_s(command, given.core, folder) for command in (commands if pair % 2 == 0 else commands[::-1])]
                pairs.append(tuple(times if pair % 2 == 0 else times[::-1]))
            ratios = sorted(b / a for a, b in pairs)
            medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
            ratio = statistics.median(ratios)
            slower += ratio > 1 + given.limit / 100
            print(f"{name:28}{medians[0]:10.2f}{medians[1]:10.2f}{ratio:8.3f}   {ratios[0]:.3f} to {ratios[-1]:.3f}", flush=True)
    print(f"{len(names)} rows, {slower} of more than {given.limit:g} % above before")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
