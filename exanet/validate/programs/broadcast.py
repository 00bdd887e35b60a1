# SPDX-License-Identifier: Apache-2.0
"""MPI_Bcast among the first 4, 8, 16, … ranks: time until the last rank has the data. Arguments: answer, size in bytes.

All clocks of a run are one clock, so the latency is read directly: from the root's call to the last return. Everybody
enters at the same agreed time, well after the barrier's end.
"""

import json
import sys
import time
from pathlib import Path

from mpi4py import MPI

ROUNDS = 4


def latency_us(comm: MPI.Comm, size: int) -> float:
    data = bytearray(size)
    total = 0.0
    for step in range(1 + ROUNDS):
        comm.Barrier()
        entry = comm.allreduce(MPI.Wtime(), op=MPI.MAX) + 100e-6
        time.sleep(max(0.0, entry - MPI.Wtime()))
        begin = MPI.Wtime()
        comm.Bcast(data, 0)
        end = MPI.Wtime()
        spans = comm.allgather((begin, end))
        if step > 0:  # the first one warms up
            total += max(end for _, end in spans) - max(begin for begin, _ in spans)
    return total / ROUNDS * 1e6


world = MPI.COMM_WORLD
latency = {}
ranks = 4
while ranks <= world.size:
    group = world.Split(0 if world.rank < ranks else MPI.UNDEFINED, world.rank)
    if group != MPI.COMM_NULL:
        latency[ranks] = latency_us(group, int(sys.argv[2]))
        group.Free()
    world.Barrier()
    ranks *= 2
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"latency_us": latency}), encoding="utf-8")
