# SPDX-License-Identifier: Apache-2.0
"""Ping-pong of one buffer between rank 0 and the last: prints `BYTES ONE_WAY_NS...` for every size given, a time for
each of five uses."""

import sys

import numpy as np
from mpi4py import MPI

USES = 5
world = MPI.COMM_WORLD
rank, last = world.Get_rank(), world.Get_size() - 1


def play(ball: np.ndarray) -> float:
    start = MPI.Wtime()
    if rank == 0:
        world.Send(ball, last)
        world.Recv(ball, last)
    elif rank == last:
        world.Recv(ball, 0)
        world.Send(ball, 0)
    return (MPI.Wtime() - start) / 2 * 1e9


# all of them at once: each has memory of its own
balls = [np.zeros(int(argument), np.uint8) for argument in sys.argv[1:]]
play(np.zeros(4096, np.uint8))  # what MPI does for a first message is done
for ball in balls:
    world.Barrier()
    uses = [play(ball) for _ in range(USES)]
    if rank == 0:
        print(len(ball), *(f"{ns:.1f}" for ns in uses))
