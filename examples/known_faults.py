# SPDX-License-Identifier: Apache-2.0
"""When does a machine know that links have failed under a program, and what is that worth? One, two and four links of a
torus of 4x4x4 go down together under an MPI program, for several periods of LO|FA|MO's watchdogs.

Of each: when the first node, the master and all nodes knew, in periods and as times; nodes that never knew; and the
program's time with routes that follow (policy reroute) beside that with routes that stay (report). The interfaces
retransmit, so the program gives the right answer in all cases. The program is tests/mpi/programs/halo.c.

    mpicc -O2 tests/mpi/programs/halo.c -o halo
    python examples/known_faults.py ./halo
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

MACHINE = """\
extends: torus-512
name: torus-64-end-to-end
description: torus of 4x4x4 whose interfaces retransmit end to end
topology: {kind: torus, shape: {value: [4, 4, 4], source: small enough for a table of runs, kind: chosen}}
ni: {reliability: end-to-end, retransmission_timeout: 100 us, retransmission_tries: 12}
"""
FAULTS = """\
lofamo: {{period: {period}, master: "(0,0,0)", policy: {policy}}}
events:
  - {{at: {at}, down: "links:{links}:{seed}", for: 20 ms}}
"""
PERIODS = {"100 us": 1e8, "1 ms": 1e9, "4 ms": 4e9}
KNOWN = ("first_known_ps", "master_known_ps", "all_known_ps")


def run(folder: Path, program: list[str], faults: str = "") -> tuple[float, Path]:
    """Milliseconds of virtual time, and the results."""
    out = Path(tempfile.mkdtemp(dir=folder))
    options: list[str | Path] = []
    if faults:
        file = out / "faults.yaml"
        file.write_text(faults)
        options = ["--faults", file]
    machine = folder / "machine.yaml"
    machine.write_text(MACHINE)
    words: list[str | Path] = ["exanet", "run", "-m", machine, "-n", "64", "--map", "round-robin", "--compute", "off", *options]
    done = subprocess.run([*words, "-o", out / "run", "--", *program], capture_output=True, text=True, check=False)
    if done.returncode != 0 or "ok 64" not in done.stdout:
        raise SystemExit(done.stdout + done.stderr)
    summary: dict[str, Any] = json.loads((out / "run" / "summary.json").read_text())
    return summary["virtual_ps"] / 1e9, out / "run"


def row(folder: Path, program: list[str], links: int, period: str, without_ms: float, arguments: argparse.Namespace) -> str:
    text = FAULTS.format(period=period, policy="reroute", at=arguments.at, links=links, seed=arguments.seed)
    followed_ms, out = run(folder, program, text)
    faults = pl.read_parquet(out / "faults.parquet").filter(~pl.col("up"))
    known = [max(faults[name] - faults["time_ps"]) for name in KNOWN]
    cells = [f"{ps / PERIODS[period]:.2f} ({ps / 1e6:.0f} µs)" for ps in known]
    unaware = faults["unaware_nodes"].sum()
    return f"| {links} | {period} | {' | '.join(cells)} | {unaware} | {followed_ms:.2f} ms | {without_ms:.2f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", nargs="+", help="the program of MPI, and its arguments")
    parser.add_argument("--links", default="1,2,4", help="links that go down together (default: 1,2,4)")
    parser.add_argument("--periods", default=",".join(PERIODS), help=f"of the watchdogs (default: {','.join(PERIODS)})")
    parser.add_argument("--at", default="1 ms", help="when they go down (default: 1 ms)")
    parser.add_argument("--seed", type=int, default=1, help="from which links are drawn (default: 1)")
    arguments = parser.parse_args()
    program = arguments.program
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"without faults: {run(folder, program)[0]:.2f} ms\n")
        print("| links | period | first node, in periods | master | all nodes | unaware | time, reroute | time, report |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for links in map(int, arguments.links.split(",")):
            period = arguments.periods.split(",")[0]
            text = FAULTS.format(period=period, policy="report", at=arguments.at, links=links, seed=arguments.seed)
            without_ms, _ = run(folder, program, text)
            for period in arguments.periods.split(","):
                print(row(folder, program, links, period, without_ms, arguments), flush=True)


if __name__ == "__main__":
    main()
