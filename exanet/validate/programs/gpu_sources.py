# SPDX-License-Identifier: Apache-2.0
"""MPI messages from rank 0 to rank 1 by where they lie at either end, host or device memory: latency of one way, as a
round trip less the way back, which is half of that between host memories. Arguments: answer, size in bytes."""

import itertools
import sys
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from exanet import gpu
from exanet.validate.programs.pingpong import answer

WARM_UP, ROUNDS = 3, 10
PLACES: dict[str, Callable[..., np.ndarray]] = {"host": np.empty, "device": gpu.empty}

world = MPI.COMM_WORLD
size = int(sys.argv[2])
back = np.empty(size, np.uint8)


def round_trip_us(there: np.ndarray) -> float:
    begin = 0.0
    for step in range(WARM_UP + ROUNDS):
        if step == WARM_UP:
            begin = MPI.Wtime()
        if world.rank == 0:
            world.Send(there, 1)
            world.Recv(back, 1)
        else:
            world.Recv(there, 0)
            world.Send(back, 0)
    return (MPI.Wtime() - begin) / ROUNDS * 1e6


took = {(a, b): round_trip_us(PLACES[(a, b)[world.rank]](size, np.uint8)) for a, b in itertools.product(PLACES, PLACES)}
answer(world, {f"{a} to {b}": us - took["host", "host"] / 2 for (a, b), us in took.items()})
