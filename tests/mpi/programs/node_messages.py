# SPDX-License-Identifier: Apache-2.0
"""Each rank exchanges messages of every protocol with all others, then collectives: what ranks of a node and of
others both do."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
wrong = 0
for count in (0, 3, 100, 40000):
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        got = np.empty(count)
        world.Sendrecv(np.full(count, float(rank)), to, step, got, source, step)
        wrong += not (got == source).all()
total = world.allreduce(rank)
wrong += total != size * (size - 1) // 2
everyone = world.alltoall([rank * size + other for other in range(size)])
wrong += everyone != [other * size + rank for other in range(size)]
good = world.reduce(int(wrong == 0))
if rank == 0:
    print("ok", good)
