# SPDX-License-Identifier: Apache-2.0
"""Collectives of sizes on both sides of where MPI libraries change their algorithms. Words: which to call; none for
all."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

VECTORS = (4, 8, 60, 400, 4000, 8192, 20000, 40000, 100000, 1200000)
BLOCKS = (4, 400, 600, 20000, 40000)


def main() -> None:
    world = MPI.COMM_WORLD
    ranks, me = world.size, world.rank
    mine, theirs = (np.zeros(max(VECTORS) // 4, dtype=np.int32) for _ in range(2))
    many, back = (np.zeros(max(BLOCKS) // 4 * ranks, dtype=np.int32) for _ in range(2))
    for root in (0, ranks - 2):
        for size in VECTORS:
            vector, result = mine[: size // 4], theirs[: size // 4]
            if asked("bcast"):
                world.Bcast(vector, root)
            if asked("reduce"):
                world.Reduce(vector, result, MPI.SUM, root)
        for size in BLOCKS:
            block, whole = mine[: size // 4], many[: size // 4 * ranks]
            if asked("gather"):
                world.Gather(block, whole, root)
            if asked("scatter"):
                world.Scatter(whole, block, root)
    for size in VECTORS:
        if asked("allreduce"):
            world.Allreduce(mine[: size // 4], theirs[: size // 4])
            world.Allreduce(MPI.IN_PLACE, theirs[: size // 4])
    for size in BLOCKS:
        block, whole, other = mine[: size // 4], many[: size // 4 * ranks], back[: size // 4 * ranks]
        if asked("allgather"):
            world.Allgather(block, whole)
        if asked("alltoall"):
            world.Alltoall(whole, other)
            world.Alltoall(MPI.IN_PLACE, other)
        counts = [size // 4 * (rank % 3) for rank in range(ranks)]
        if asked("allgatherv"):
            world.Allgatherv(mine[: counts[me]], (back[: sum(counts)], counts))
        if asked("alltoallv"):
            sent, received = ([size // 4 * ((me + rank) % 2) for rank in range(ranks)] for _ in range(2))
            world.Alltoallv((many[: sum(sent)], sent), (back[: sum(received)], received))
        if asked("reduce-scatter"):
            world.Reduce_scatter(many[: sum(counts)], mine[: counts[me]], counts)
            world.Reduce_scatter_block(whole, block)
        if asked("scan"):
            world.Scan(block, theirs[: size // 4])
            world.Exscan(block, theirs[: size // 4])
        if asked("nonblocking"):
            for request in (world.Ibcast(block, 0), world.Iallgather(block, whole), world.Ialltoall(whole, other), world.Ibarrier()):
                request.Wait()
            for call in (world.Ireduce, world.Iallreduce):
                call(block, theirs[: size // 4]).Wait()
    if asked("barrier"):
        world.Barrier()
    print("done", me)


def asked(name: str) -> bool:
    return len(sys.argv) == 1 or name in sys.argv[1:]


if __name__ == "__main__":
    main()
