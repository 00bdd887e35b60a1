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


NEURONS, INPUTS = 100_000, 100
SPIKES = 10_000  # chosen: between two exchanges, some 70 a second of each neuron
SPIKE_BYTES = 8  # of an entry of NEST's blocks
STEPS = 15  # of a neuron between two exchanges
NEURON_STEP_PS, ARRIVAL_PS = 87_000, 128_000  # as NEST 3.10 took on a host (docs/traces/studies.md)
GROWN = 1.5  # NEST's blocks grow to so many times what was needed


def spike_block_bytes(ranks: int) -> int:
    """The block that NEST sends to each other rank: what the pair of ranks with the most spikes needs, grown.

    A spike goes to each rank that has one of its neuron's outputs. Pairs differ as Poisson's distribution does; the
    most of n pairs is about the square root of 2 ln n deviations above the mean.
    """
    reached = 1 - (1 - 1 / ranks) ** INPUTS
    mean = SPIKES / ranks * reached
    most = mean + math.sqrt(2 * math.log(ranks * ranks) * mean)
    return SPIKE_BYTES * math.ceil(GROWN * most)


def spiking(folder: Path, ranks: int, exchanges: int, threads: int = 1) -> Path:
    """A network of spiking neurons, spread evenly: between exchanges each rank advances its neurons and delivers the
    spikes that came, its threads sharing that evenly."""
    block = spike_block_bytes(ranks)
    compute_ps = (NEURONS * STEPS * NEURON_STEP_PS + SPIKES * INPUTS * ARRIVAL_PS) // (ranks * threads)
    with Writer(folder, ranks, {"program": [f"spikes exchanged {exchanges} times"]}) as streams:
        for stream in streams:
            for _ in range(exchanges):
                stream.collective("Alltoall", block, block, compute_ps=compute_ps)
            stream.end()
    return folder
