# SPDX-License-Identifier: Apache-2.0
"""MPI ping-pong between ranks 0 and 1 with buffers in host or device memory: one-way latency for each size, as half of
the round trip. Arguments: answer, where each rank's buffers are (host or device), sizes in bytes."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from exanet import gpu

WARM_UP, ROUNDS = 3, 10


def one_way_us(comm: MPI.Comm, place: str, size: int) -> float:
    data = gpu.empty(size, np.uint8) if place == "device" else np.empty(size, np.uint8)
    start = 0.0
    for step in range(WARM_UP + ROUNDS):
        if step == WARM_UP:
            start = MPI.Wtime()
        if comm.rank == 0:
            comm.Send(data, 1, 1)
            comm.Recv(data, 1, 1)
        else:
            comm.Recv(data, 0, 1)
            comm.Send(data, 0, 1)
    return (MPI.Wtime() - start) / (2 * ROUNDS) * 1e6


world = MPI.COMM_WORLD
latency = {size: one_way_us(world, sys.argv[2 + world.rank], int(size)) for size in sys.argv[4:]}
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"one_way_us": latency}), encoding="utf-8")
