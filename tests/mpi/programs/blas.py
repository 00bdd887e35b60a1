# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, in as many threads as OpenBLAS is set to, between MPI calls. Prints `took PICOSECONDS
THREADS`, of rank 0."""

import os

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
half = np.full((256, 256), 0.5)
start = MPI.Wtime()
for turn in range(10):
    product = half @ np.full((256, 256), turn + rank)
    total = np.zeros_like(product)
    world.Allreduce(product, total)
    assert np.all(total == 128 * (turn * size + size * (size - 1) // 2))
took_ps = round((MPI.Wtime() - start) * 1e12)
if rank == 0:
    print(f"took {took_ps} {len(os.listdir('/proc/self/task'))}")
