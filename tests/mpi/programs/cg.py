# SPDX-License-Identifier: Apache-2.0
"""Solves a five-point Laplacian by conjugate gradients: halos to both neighbours, two sums an iteration. The
residual is checked."""

import sys

import numpy as np
from mpi4py import MPI

side, most = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
rows = side // ranks
above, below = (rank - 1 if rank > 0 else MPI.PROC_NULL), (rank + 1 if rank + 1 < ranks else MPI.PROC_NULL)


def dot(a: np.ndarray, b: np.ndarray) -> float:
    found = np.empty(1)
    world.Allreduce(np.array([np.vdot(a, b)]), found)
    return float(found[0])


def apply(x: np.ndarray) -> np.ndarray:
    padded = np.zeros((rows + 2, side + 2))
    padded[1:-1, 1:-1] = x
    up, down = np.zeros(side), np.zeros(side)
    requests = [world.Irecv(up, above, 1), world.Irecv(down, below, 2)]
    requests += [world.Isend(np.ascontiguousarray(x[0]), above, 2), world.Isend(np.ascontiguousarray(x[-1]), below, 1)]
    MPI.Request.Waitall(requests)
    padded[0, 1:-1], padded[-1, 1:-1] = up, down
    return 4 * x - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]


wanted = np.ones((rows, side))
x = np.zeros_like(wanted)
left = wanted - apply(x)
direction, square = left.copy(), dot(left, left)
largest = square
for _ in range(most):
    image = apply(direction)
    step = square / dot(direction, image)
    x += step * direction
    left -= step * image
    square, before = dot(left, left), square
    largest = max(largest, square)
    direction = left + square / before * direction
true = wanted - apply(x)
assert abs(dot(true, true) - square) < 1e-6 * largest, "the residual is not what the iteration says"
if rank == 0:
    print(f"ok {ranks}")
