# SPDX-License-Identifier: Apache-2.0
"""MPI_Allreduce, sums of doubles, among the first so many ranks: mean time of one of several in a row, after one
that warms up. Arguments: answer, numbers of ranks with commas between, sizes in bytes."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

ROUNDS = 4


def latency_us(comm: MPI.Comm, size: int) -> float:
    part, whole = np.full(size // 8, comm.rank, float), np.zeros(size // 8)
    begin = 0.0
    for step in range(1 + ROUNDS):
        if step == 1:
            begin = MPI.Wtime()
        comm.Allreduce(part, whole)
    assert (whole == comm.size * (comm.size - 1) / 2).all()
    return (MPI.Wtime() - begin) / ROUNDS * 1e6


world = MPI.COMM_WORLD
latency: dict[int, dict[str, float]] = {}
for ranks in map(int, sys.argv[2].split(",")):
    group = world.Split(0 if world.rank < ranks else MPI.UNDEFINED, world.rank)
    if group != MPI.COMM_NULL:
        latency[ranks] = {size: latency_us(group, int(size)) for size in sys.argv[3:]}
        group.Free()
    world.Barrier()
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"latency_us": latency}), encoding="utf-8")
