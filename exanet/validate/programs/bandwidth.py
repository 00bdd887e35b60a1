# SPDX-License-Identifier: Apache-2.0
"""Windowed MPI bandwidth from rank 0 to rank 1, after the OSU test: a window of sends, then a short answer.
Arguments: answer, window, sizes in bytes."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

WARM_UP, ROUNDS = 1, 2


def gbps(comm: MPI.Comm, size: int, window: int) -> float:
    buffers, answer, rank = [bytearray(size) for _ in range(window)], bytearray(4), comm.rank
    start = 0.0
    for step in range(WARM_UP + ROUNDS):
        if step == WARM_UP:
            start = MPI.Wtime()
        if rank == 0:
            MPI.Request.Waitall([comm.Isend(buffer, 1, 100) for buffer in buffers])
            comm.Recv(answer, 1, 101)
        else:
            MPI.Request.Waitall([comm.Irecv(buffer, 0, 100) for buffer in buffers])
            comm.Send(answer, 0, 101)
    return ROUNDS * window * size * 8 / (MPI.Wtime() - start) / 1e9


world = MPI.COMM_WORLD
rates = {size: gbps(world, int(size), int(sys.argv[2])) for size in sys.argv[3:]}
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"gbps": rates}), encoding="utf-8")
