# SPDX-License-Identifier: Apache-2.0
"""Times the replay of recorded programs against `exanet run` of the same programs: messages a second.

A replay's rate is that of its processor time, reading the streams included; a run's that of its wall time, since its ranks are processes.
Both without starting Python. The programs are those of patterns.c.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from common import HERE, execute, tool

PROGRAMS = {
    "replay-pingpong-16": (16, ["pingpong", "1", "8000"]),
    "replay-halo-16": (16, ["halo", "1", "800"]),
    "replay-allreduce-64": (64, ["allreduce", "1", "200"]),
}


def rows(only: str, repeats: int, machine: str, core: int, folder: Path) -> list[dict[str, object]]:
    """A row a program: the replay, `exanet run`, and how many times as fast the one is as the other."""
    wanted = [name for name in only.split(",") if name]
    pinned = ["taskset", "-c", str(core), tool("exanet", "this project: pip install .")]
    execute([tool("mpicc", "mpich from PyPI"), "-O2", "-o", "patterns", str(HERE / "patterns.c")], cwd=folder)
    found: list[dict[str, object]] = []
    for name, (ranks, program) in PROGRAMS.items():
        if wanted and not any(name.startswith(beginning) for beginning in wanted):
            continue
        rates: dict[str, list[float]] = {"replay": [], "run": []}
        for _ in range(repeats):
            trace = ["--record", f"{name}.trace", "--compute", "off", "--", "./patterns", *program]
            execute([*pinned, "run", "-m", machine, "-n", str(ranks), "-q", "--no-report", "-o", f"{name}.run", *trace], cwd=folder)
            execute([*pinned, "replay", f"{name}.trace", "-m", machine, "-q", "--no-report", "-o", f"{name}.replay"], cwd=folder)
            for kind, key in (("replay", "cpu_s"), ("run", "wall_s")):
                result = folder / f"{name}.{kind}"
                messages = json.loads((result / "summary.json").read_text())["messages"]
                rates[kind].append(messages / json.loads((result / "run.json").read_text())[key])
        ours, theirs = (statistics.median(rates[kind]) for kind in ("replay", "run"))
        figures = {"ours": round(ours, 1), "unit": "messages/s", "peer": "exanet run", "peer_value": round(theirs, 1)}
        found.append({"name": name, **figures, "ratio": round(ours / theirs, 3)})
        print(f"{name:<20}{ours:>10,.0f}{theirs:>12,.0f}{ours / theirs:>8.1f}   messages/s, peer exanet run", flush=True)
    return found
