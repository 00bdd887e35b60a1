# SPDX-License-Identifier: Apache-2.0
"""Clock cycles a second of Verilated networks under MPI programs (`exanet run --fabric gateware`), of 8 nodes with 16
ranks and of 64 with 64: on two threads against one.

Cycles are counted by the run, which evaluates those in which something is under way; seconds are the run's, by the
clock on the wall. Both must need the same cycles for the same virtual time: a difference is a failure.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from common import HERE, Failure, execute, tool

RANKS = {2: 16, 4: 64}  # by the side of the torus
ROUNDS = {"pingpong": ("10", "400"), "halo": ("5", "60"), "allreduce": ("5", "100")}

Row = dict[str, object]


def rows(only: str, repeats: int, folder: Path) -> list[Row]:
    wanted = only.split(",")
    found: list[Row] = []
    for side in RANKS:
        for pattern in ROUNDS:
            name = f"gateware-{pattern}-{side**3}"
            if any(name.startswith(beginning) for beginning in wanted):
                found.append(_row(name, side, pattern, repeats, folder))
    return found


def _row(name: str, side: int, pattern: str, repeats: int, folder: Path) -> Row:
    rates: dict[int, list[float]] = {1: [], 2: []}
    times = set()
    for _ in range(repeats):
        for threads, each in rates.items():
            cycles, seconds, virtual_ps = _measure(side, pattern, threads, folder)
            each.append(cycles / seconds)
            times.add((cycles, virtual_ps))
    if len(times) != 1:
        raise Failure(f"{name}: cycles and virtual time differ from run to run: {sorted(times)}")
    one, two = (statistics.median(each) for each in rates.values())
    print(f"{name:<28}{two:>12,.0f}{one:>12,.0f}{two / one:>8.2f}   cycles/s on two threads, peer one thread", flush=True)
    figures = {"ours": round(two), "unit": "cycles/s", "peer": "one thread", "peer_value": round(one)}
    return {"name": name, **figures, "ratio": round(two / one, 3)}


def _measure(side: int, pattern: str, threads: int, folder: Path) -> tuple[int, float, int]:
    """Cycles, wall seconds and virtual picoseconds of one run."""
    program = folder / "patterns"
    if not program.exists():
        execute([tool("mpicc", "mpich from PyPI"), "-O2", "-o", str(program), str(HERE / "patterns.c")], cwd=folder)
    machine, result = folder / f"torus-{side}.yaml", folder / f"gateware-{side}"
    machine.write_text(f"extends: torus-2x2x2\nname: torus-{side}\ntopology:\n  shape: [{side}, {side}, {side}]\n")
    options = ["-m", str(machine), "-n", str(RANKS[side]), "--fabric", "gateware", "--fabric-threads", str(threads)]
    command = [tool("exanet", "this project: pip install ."), "run", *options, "--compute", "off", "--no-report", "-q", "-o", str(result)]
    execute([*command, "--", str(program), pattern, *ROUNDS[pattern]], cwd=folder)
    summary = json.loads((result / "summary.json").read_text())
    return summary["cycles"], json.loads((result / "run.json").read_text())["wall_s"], summary["virtual_ps"]
