# SPDX-License-Identifier: Apache-2.0
"""MPI ping-pong between ranks 0 and 1: one-way latency for each size, as half of the round trip. Arguments: answer,
sizes in bytes."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

WARM_UP, ROUNDS = 10, 100


def one_way_us(comm: MPI.Comm, size: int) -> float:
    data, rank = bytearray(size), comm.rank
    start = 0.0
    for step in range(WARM_UP + ROUNDS):
        if step == WARM_UP:
            start = MPI.Wtime()
        if rank == 0:
            comm.Send(data, 1, 1)
            comm.Recv(data, 1, 1)
        else:
            comm.Recv(data, 0, 1)
            comm.Send(data, 0, 1)
    return (MPI.Wtime() - start) / (2 * ROUNDS) * 1e6


world = MPI.COMM_WORLD
latency = {size: one_way_us(world, int(size)) for size in sys.argv[2:]}
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"one_way_us": latency}), encoding="utf-8")
