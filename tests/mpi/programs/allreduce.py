# SPDX-License-Identifier: Apache-2.0
"""Sums of whole numbers over all ranks: checks them, and prints `BYTES NS` for every number of 8-byte words given,
by MPI_Wtime."""

import sys

import numpy as np
from mpi4py import MPI

ROUNDS = 4
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
for count in (int(argument) for argument in sys.argv[1:]):
    mine = np.arange(count, dtype=np.int64) * (rank + 1)
    total = np.zeros(count, np.int64)
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(ROUNDS):
        world.Allreduce(mine, total)
    taken = MPI.Wtime() - start
    assert np.array_equal(total, np.arange(count, dtype=np.int64) * (size * (size + 1) // 2))
    if rank == 0:
        print(f"{8 * count} {taken / ROUNDS * 1e9:.3f}")
