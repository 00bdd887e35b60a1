# SPDX-License-Identifier: Apache-2.0
"""Broadcasts along trees that know the network, alone and beside molecular dynamics under three mappings.

python examples/broadcast_trees.py trees --broadcasts 100         # RED-SEA D1.4, figure 49: binary tree, GLF, LLF
python examples/broadcast_trees.py interference --broadcasts 50   # figure 52: blocks of nodes, switches and nodes in turn

Both traces are written here, not recorded. That of molecular dynamics stands for GROMACS, whose own is not published: of each step the
halo of coordinates and the one of forces with six neighbours, the exchange of the particle mesh between all, and every tenth step the
sum of energies.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from exanet import replay
from exanet.trace.write import Stream, Writer

GRID = (8, 4, 4)
HALO_BYTES = 20_000  # chosen: some 800 particles of 24 B in a face's layer
MESH_BYTES = 512  # chosen: a rank's block of a mesh of 128 x 128 x 128 single-precision points, by 128 x 128 pairs of ranks
ENERGIES_BYTES = 200
STEP_PS = 500_000_000  # chosen: computing of a step of a rank


def broadcasts(folder: Path, ranks: int, count: int, size: int) -> Path:
    """Broadcasts from rank 0, one after the other."""
    with Writer(folder, ranks, {"program": [f"{count} broadcasts of {size} B"]}) as streams:
        for stream in streams:
            for _ in range(count):
                stream.collective("Bcast", size)
            stream.end()
    return folder


def molecular_dynamics(folder: Path, steps: int) -> Path:
    """Steps of domain decomposition with a particle mesh on a grid of GRID ranks."""
    ranks = GRID[0] * GRID[1] * GRID[2]
    with Writer(folder, ranks, {"program": [f"molecular dynamics, {steps} steps"]}) as streams:
        for rank, stream in enumerate(streams):
            for step in range(steps):
                _halo(stream, rank, STEP_PS // 2)
                stream.collective("Alltoall", MESH_BYTES, MESH_BYTES)
                _halo(stream, rank, STEP_PS // 2)
                if step % 10 == 0:
                    stream.collective("Allreduce", ENERGIES_BYTES, element=8)
            stream.end()
    return folder


def _halo(stream: Stream, rank: int, compute_ps: int) -> None:
    """Exchanges with both neighbours in each of three dimensions, which wrap round."""
    requests = iter(range(1, 13))
    used = []
    stride = 1
    for side in GRID:
        here = rank // stride % side
        for shift in (1, side - 1):
            to = rank + ((here + shift) % side - here) * stride
            source = rank + ((here - shift) % side - here) * stride
            for name, peer in (("Irecv", source), ("Isend", to)):
                used.append(next(requests))
                stream.message(name, peer, HALO_BYTES, tag=shift == 1, request=used[-1], compute_ps=compute_ps)
                compute_ps = 0
        stride *= side
    stream.wait(*used)


def trees(machine: str, ranks: int, count: int, size: int, algorithms: Sequence[str]) -> dict[str, float]:
    """Prints and returns the milliseconds that the broadcasts take, by algorithm."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        trace = broadcasts(Path(folder) / "broadcasts", ranks, count, size)
        for algorithm in algorithms:
            options = replay.Options((trace,), machine, mapping="round-robin", collectives={"bcast": algorithm})
            found[algorithm] = replay.replay(options)[0]["summary"]["virtual_ps"] * 1e-9
            against = found[algorithms[0]] / found[algorithm]
            print(f"{algorithm:<14}{found[algorithm]:>10.2f} ms{against:>8.2f} times as fast as {algorithms[0]}", flush=True)
    return found


def interference(machine: str, count: int, size: int, steps: int, algorithm: str) -> dict[str, list[float]]:
    """Prints and returns how much the two slow each other, by mapping."""
    found = {}
    ranks = GRID[0] * GRID[1] * GRID[2]
    print(f"{'mapping':<14}{'broadcasts':>14}{'slow-down':>11}{'dynamics':>14}{'slow-down':>11}")
    with tempfile.TemporaryDirectory() as folder:
        traces = (broadcasts(Path(folder) / "broadcasts", ranks, count, size), molecular_dynamics(Path(folder) / "dynamics", steps))
        for mapping in ("round-robin", "switch", "node"):
            options = replay.Options(traces, machine, mapping=mapping, collectives={"bcast": algorithm}, alone=True)
            rows = replay.replay(options)[0]["programs"]
            found[mapping] = [row["slowdown"] for row in rows]
            shown = "".join(f"{row['took_ps'] * 1e-9:>11.2f} ms{row['slowdown']:>11.3f}" for row in rows)
            print(f"{mapping:<14}{shown}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("trees", "interference"))
    parser.add_argument("--machine", default="dragonfly-342", help="name or file (default: dragonfly-342)")
    parser.add_argument("--ranks", type=int, default=342, help="of trees, one a node (default: 342)")
    parser.add_argument("--broadcasts", type=int, default=100, help="one after the other (default: 100)")
    parser.add_argument("--message", type=int, default=1_000_000, help="bytes of each (default: 1 MB)")
    parser.add_argument("--steps", type=int, default=100, help="of molecular dynamics (default: 100)")
    parser.add_argument(
        "--algorithms", default="binary,GLF,LLF", help="of the broadcasts (default: binary,GLF,LLF); of interference the last"
    )
    arguments = parser.parse_args()
    algorithms = arguments.algorithms.split(",")
    if arguments.what == "trees":
        trees(arguments.machine, arguments.ranks, arguments.broadcasts, arguments.message, algorithms)
    else:
        interference(arguments.machine, arguments.broadcasts, arguments.message, arguments.steps, algorithms[-1])


if __name__ == "__main__":
    main()
