# SPDX-License-Identifier: Apache-2.0
"""A Heisenberg spin glass by over-relaxation on MPI ranks with a GPU each, as QUonG's benchmark (docs/gpu.md).

Spins of unit length on a cubic lattice with periodic ends, each coupled to its six neighbours by random numbers. A
step reflects each spin at the field of its neighbours, first those of the even places, then those of the odd ones: the
energy stays the same, which the program checks. Ranks have slabs of planes in device memory. Kernels of a half step
compute the two outer planes first; neighbours then exchange these, by MPI from device memory to device memory, while a
further kernel computes the rest.

The spins are the same on any number of ranks: couplings and beginnings follow from a spin's place.

usage: exanet run -m quong -n RANKS --map round-robin --compute off -- python spin_glass.py [SIZE [STEPS]]

Without numbers: a lattice of side 32, 4 steps. SIZE is a multiple of twice the ranks.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from exanet import gpu

MEMORY_RATE = 150e9  # B/s, of the GPU (machines/quong.yaml)
BYTES = 4 * (3 * 8 + 6)  # of an update: a spin and six neighbours read, and it written, with six couplings, in single precision
WORLD = MPI.COMM_WORLD


@dataclass
class Slab:
    """Planes of a rank. `spins` has one plane more at both ends, the neighbours'; `bonds[d]` joins a place to the next
    one in direction d (planes, rows, columns), and has the plane below, too."""

    spins: np.ndarray
    bonds: np.ndarray
    even: np.ndarray  # which places are


def drawn(seed: int, size: int, below: int, planes: int, count: int) -> np.ndarray:
    """Normal numbers of the planes from `below` on, each plane from a seed of its own."""
    parts = [np.random.default_rng([seed, plane % size]).standard_normal((size, size, count)) for plane in range(below, below + planes)]
    return np.stack(parts)


def made(size: int) -> Slab:
    planes = size // WORLD.size
    first = WORLD.rank * planes
    spins = gpu.empty((planes + 2, size, size, 3), np.float32)
    start = drawn(1, size, first - 1 + size, planes + 2, 3)
    gpu.copy(spins, (start / np.linalg.norm(start, axis=-1, keepdims=True)).astype(np.float32))
    bonds = gpu.empty((planes + 1, size, size, 3), np.float32)
    gpu.copy(bonds, np.ascontiguousarray(drawn(2, size, first - 1 + size, planes + 1, 3), np.float32))
    z, y, x = np.meshgrid(np.arange(first, first + planes), np.arange(size), np.arange(size), indexing="ij")
    return Slab(spins, bonds, (z + y + x) % 2 == 0)


def field(slab: Slab, planes: slice) -> np.ndarray:
    """Of the neighbours of these planes, counted from 0 without the neighbours' own."""
    s, b = slab.spins, slab.bonds
    here, up, down = (slice(planes.start + shift, planes.stop + shift) for shift in (1, 2, 0))
    total = b[here, :, :, 0:1] * s[up] + b[down, :, :, 0:1] * s[down]
    for axis in (1, 2):
        bond = b[here, :, :, axis : axis + 1]
        total += bond * np.roll(s[here], -1, axis) + np.roll(bond * s[here], 1, axis)
    return total


def relax(slab: Slab, planes: slice, even: bool) -> None:
    """The kernel: reflects the spins of these planes that are even, or odd, at their fields."""
    count = (planes.stop - planes.start) * slab.even[0].size // 2
    if count <= 0:
        return
    with gpu.kernel(count * BYTES / MEMORY_RATE):
        h = field(slab, planes)
        here = slice(planes.start + 1, planes.stop + 1)
        s = slab.spins[here]
        reflected = 2 * np.sum(s * h, -1, keepdims=True) / np.sum(h * h, -1, keepdims=True) * h - s
        np.copyto(s, reflected, where=(slab.even[planes] == even)[..., None])


def exchange(slab: Slab) -> list[MPI.Request]:
    below, above, s = (WORLD.rank - 1) % WORLD.size, (WORLD.rank + 1) % WORLD.size, slab.spins
    return [
        WORLD.Irecv(s[0], below, 1),
        WORLD.Irecv(s[-1], above, 2),
        WORLD.Isend(s[-2], above, 1),
        WORLD.Isend(s[1], below, 2),
    ]


def energy(slab: Slab) -> float:
    planes = slab.spins.shape[0] - 2
    s = slab.spins.astype(np.float64)
    b = slab.bonds.astype(np.float64)
    here = s[1:-1]
    own = -np.sum(b[1:, :, :, 0:1] * here * s[2 : planes + 2])
    for axis in (1, 2):
        own -= np.sum(b[1:, :, :, axis : axis + 1] * here * np.roll(here, -1, axis))
    return WORLD.allreduce(float(own))


def main() -> None:
    size, steps = (int(word) for word in (sys.argv[1:] + ["32", "4"][len(sys.argv) - 1 :])[:2])
    if size % (2 * WORLD.size) != 0 or steps < 1:
        raise SystemExit(f"spin_glass.py: side {size}, {steps} steps: give a multiple of twice the {WORLD.size} ranks, and a step at least")
    gpu.select(WORLD.Split_type(MPI.COMM_TYPE_SHARED).rank % gpu.count())
    slab = made(size)
    planes = size // WORLD.size
    before = energy(slab)
    WORLD.Barrier()
    begin = MPI.Wtime()
    waited = 0.0
    for _ in range(steps):
        for even in (True, False):
            for outer in {0, planes - 1}:
                relax(slab, slice(outer, outer + 1), even)
            gpu.synchronize()
            requests = exchange(slab)
            relax(slab, slice(1, planes - 1), even)
            gpu.synchronize()
            asked = MPI.Wtime()
            MPI.Request.Waitall(requests)
            waited += MPI.Wtime() - asked
    WORLD.Barrier()
    took = MPI.Wtime() - begin
    after = energy(slab)
    waits = WORLD.allreduce(waited) / WORLD.size
    if WORLD.rank == 0:
        print(f"energy a spin: {before / size**3:.6f} before, {after / size**3:.6f} after {steps} steps")
        print(f"{took / (steps * size**3) * 1e12:.0f} ps a spin's update, {100 * waits / took:.1f} % of the time waiting for planes")
        if abs(after - before) > 1e-5 * size**3:
            raise SystemExit("spin_glass.py: the energy has changed")


main()
