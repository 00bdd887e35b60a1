# SPDX-License-Identifier: Apache-2.0
"""Transforms a cube forth and back: two dimensions by planes, a transposition among all ranks, and the third. The
answer is checked."""

import sys

import numpy as np
from mpi4py import MPI

side, rounds = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
ranks, thickness = world.size, side // world.size


def transpose(planes: np.ndarray) -> np.ndarray:
    """From planes of the first dimension to planes of the second."""
    parts = np.ascontiguousarray(planes.reshape(thickness, ranks, thickness, side).transpose(1, 0, 2, 3))
    got = np.empty_like(parts)
    world.Alltoall(parts, got)
    return np.ascontiguousarray(got.reshape(side, thickness, side).transpose(1, 0, 2))


generator = np.random.default_rng(world.rank)
start = generator.random((thickness, side, side)) + 0j
cube = start
for _ in range(rounds):
    forth = np.fft.fft(transpose(np.fft.fft2(cube)), axis=1)
    cube = np.fft.ifft2(transpose(np.fft.ifft(forth, axis=1)))
assert np.allclose(cube, start)
world.Barrier()
if world.rank == 0:
    print(f"ok {ranks}")
