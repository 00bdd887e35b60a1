# SPDX-License-Identifier: Apache-2.0
"""How far do flow level and packet level agree under MPI programs? Each is recorded once and replayed at both levels on
several machines.

Of each: its time at flow level against that at packet level, and the processor time of both replays. Computing is off:
with it, errors are smaller by the share of the time that it takes.

    python examples/levels_of_programs.py --machines exanest,fat-tree-64 --ranks 16
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from exanet import replay

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI

kind, size, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
comm = MPI.COMM_WORLD
ranks, rank = comm.size, comm.rank
out, into = np.zeros(ranks * size, np.uint8), np.zeros(ranks * size, np.uint8)
for _ in range(rounds):
    if kind == "alltoall":
        comm.Alltoall(out, into)
    elif kind == "allreduce":
        comm.Allreduce(out[:size].view(np.float64), into[:size].view(np.float64))
    elif kind == "broadcast":
        comm.Bcast(out[:size])
    elif kind == "gather":
        comm.Gather(out[:size], into if rank == 0 else None)
    elif kind == "halo":
        asked = [comm.Irecv(into[k * size : (k + 1) * size], (rank + step) % ranks, k) for k, step in enumerate((-1, 1))]
        asked += [comm.Isend(out[k * size : (k + 1) * size], (rank - step) % ranks, k) for k, step in enumerate((-1, 1))]
        MPI.Request.Waitall(asked)
"""
CASES = (
    ("alltoall", 512, 20), ("alltoall", 65536, 10), ("allreduce", 8, 50), ("allreduce", 1 << 20, 10), ("broadcast", 1 << 20, 10),
    ("gather", 65536, 10), ("halo", 1024, 50), ("halo", 262144, 20),
)  # fmt: skip
MACHINES = "exanest,torus-512,fat-tree-64,dragonfly-342"


def recorded(folder: Path, case: tuple[str, int, int], ranks: int) -> Path:
    """The trace of one program, run with its computing off."""
    program, trace = folder / "program.py", folder / "-".join(map(str, case))
    program.write_text(PROGRAM)
    run = [sys.executable, "-P", "-m", "exanet", "run", "-m", "exanest", "-n", str(ranks), "-q", "--no-report", "--compute", "off"]
    command = [*run, "-o", str(folder / "run"), "--record", str(trace), "--", sys.executable, str(program), *map(str, case)]
    subprocess.run(command, check=True)
    return trace


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", default=MACHINES, help=f"comma-separated names (default: {MACHINES})")
    parser.add_argument("--ranks", type=int, default=16, help="of each program (default: 16)")
    parser.add_argument("--mapping", default="linear", help="of ranks to nodes (default: linear)")
    parser.add_argument("--cases", type=int, default=len(CASES), help="the first so many programs (default: all)")
    arguments = parser.parse_args()
    machines = arguments.machines.split(",")
    print(f"| program | {' | '.join(machines)} | processor time, packet / flow level |")
    print("|---" * (len(machines) + 2) + "|")
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        for case in CASES[: arguments.cases]:
            trace = recorded(Path(name), case, arguments.ranks)
            cells, cpu_s = [], {"packet": 0.0, "flow": 0.0}
            for machine in machines:
                took = {}
                for level in cpu_s:
                    found, _ = replay.replay(replay.Options([trace], machine, arguments.mapping, compute=0, level=level))
                    took[level] = found["summary"]["virtual_ps"]
                    cpu_s[level] += found["summary"]["cpu_s"]
                error = took["flow"] / took["packet"] - 1
                worst = max(worst, abs(error))
                cells.append(f"{error:+.1%}")
            kind, size, _ = case
            times = " / ".join(f"{seconds:.3f}" for seconds in cpu_s.values())
            print(f"| {kind} of {size} B | {' | '.join(cells)} | {times} s |", flush=True)
    print(f"the largest difference is {worst:.1%}")


if __name__ == "__main__":
    main()
