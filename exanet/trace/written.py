# SPDX-License-Identifier: Apache-2.0
"""Traces that are written, not recorded, where the programs of a publication, or their traces, are not to be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from exanet.trace.write import Stream, Writer

GRID = (8, 4, 4)
HALO_BYTES = 20_000  # chosen: some 800 particles of 24 B in a face's layer
# chosen: a rank's block of a mesh of 128 x 128 x 128 single-precision points, by 128 x 128 pairs of ranks
MESH_BYTES = 512
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


def molecular_dynamics(folder: Path, steps: int, grid: Sequence[int] = GRID) -> Path:
    """Steps of domain decomposition with a particle mesh on a grid of ranks.

    Of each step the halo of coordinates and the one of forces with six neighbours, the exchange of the particle mesh
    between all, and every tenth step the sum of energies.
    """
    ranks = math.prod(grid)
    with Writer(folder, ranks, {"program": [f"molecular dynamics, {steps} steps"]}) as streams:
        for rank, stream in enumerate(streams):
            for step in range(steps):
                _halo(stream, grid, rank, STEP_PS // 2)
                stream.collective("Alltoall", MESH_BYTES, MESH_BYTES)
                _halo(stream, grid, rank, STEP_PS // 2)
                if step % 10 == 0:
                    stream.collective("Allreduce", ENERGIES_BYTES, element=8)
            stream.end()
    return folder


def _halo(stream: Stream, grid: Sequence[int], rank: int, compute_ps: int) -> None:
    """Exchanges with both neighbours in each of three dimensions, which wrap round."""
    requests = iter(range(1, 13))
    used = []
    stride = 1
    for side in grid:
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
