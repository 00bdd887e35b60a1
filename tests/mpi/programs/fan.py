# SPDX-License-Identifier: Apache-2.0
"""Rank 0 sends to all others at once, then receives from all at once: prints `to NS` and `from NS`, for messages of
so many bytes."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size, length = world.Get_rank(), world.Get_size(), int(sys.argv[1])
mine = np.full(length, rank + 1, np.uint8)
theirs = np.zeros((size, length), np.uint8)

for way in ("to", "from"):
    world.Barrier()
    start = MPI.Wtime()
    if rank == 0:
        others = range(1, size)
        MPI.Request.Waitall([world.Isend(mine, r) if way == "to" else world.Irecv(theirs[r], r) for r in others])
    elif way == "to":
        world.Recv(theirs[0], 0)
    else:
        world.Send(mine, 0)
    end = MPI.Wtime()
    for sender in range(1, size) if rank == 0 else (0,):
        assert way == ("to" if rank == 0 else "from") or np.all(theirs[sender] == sender + 1)
    times = world.gather((start, end))
    if rank == 0:
        print(f"{way} {(max(t for _, t in times) - min(t for t, _ in times)) * 1e9:.3f}")
