# SPDX-License-Identifier: Apache-2.0
"""Ping-pong between rank 0 and the last rank: prints `BYTES ONE_WAY_NS` for every size given, by MPI_Wtime over
PINGPONG_ROUNDS rounds."""

import os
import sys

import numpy as np
from mpi4py import MPI

ROUNDS = int(os.environ.get("PINGPONG_ROUNDS", "20"))
world = MPI.COMM_WORLD
rank, last = world.Get_rank(), world.Get_size() - 1
for length in (int(argument) for argument in sys.argv[1:]):
    ball = np.zeros(length, np.uint8)
    world.Barrier()
    for turn in range(ROUNDS + 2):
        if turn == 2:
            start = MPI.Wtime()
        if rank == 0:
            world.Send(ball, last)
            world.Recv(ball, last)
        elif rank == last:
            world.Recv(ball, 0)
            world.Send(ball, 0)
    if rank == 0:
        print(f"{length} {(MPI.Wtime() - start) / (2 * ROUNDS) * 1e9:.3f}")
