# SPDX-License-Identifier: Apache-2.0
"""Throughput in the form of osu_bw and osu_mbw_mr: each rank of the first half sends windows of messages to its partner
in the second half, which answers each window with an empty message. Prints `BYTES MB_PER_S` of all pairs for every size
given."""

import os
import sys

import numpy as np
from mpi4py import MPI

WINDOW = int(os.environ.get("WINDOWS_MESSAGES", "16"))
ROUNDS = int(os.environ.get("WINDOWS_ROUNDS", "4"))
world = MPI.COMM_WORLD
rank, half = world.Get_rank(), world.Get_size() // 2
for length in (int(argument) for argument in sys.argv[1:]):
    buffers = [np.zeros(length, np.uint8) for _ in range(WINDOW)]
    done = np.zeros(0, np.uint8)
    for turn in range(ROUNDS + 1):
        if turn < 2:
            world.Barrier()
            start = MPI.Wtime()
        if rank < half:
            MPI.Request.Waitall([world.Isend(buffer, rank + half) for buffer in buffers])
            world.Recv(done, rank + half)
        else:
            MPI.Request.Waitall([world.Irecv(buffer, rank - half) for buffer in buffers])
            world.Send(done, rank - half)
    longest = world.allreduce(MPI.Wtime() - start, MPI.MAX)
    if rank == 0:
        print(f"{length} {half * WINDOW * ROUNDS * length / longest / 1e6:.3f}")
