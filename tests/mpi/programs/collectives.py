# SPDX-License-Identifier: Apache-2.0
"""Collective operations, blocking and not, small and large; every rank checks what it got. Ends with a line `ok
RANKS`."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def broadcast_and_reduce(count: int) -> None:
    for root in {0, size - 1, size // 2}:
        data = np.arange(count, dtype=np.float64) * (root + 1) if rank == root else np.zeros(count)
        world.Bcast(data, root)
        assert np.array_equal(data, np.arange(count) * (root + 1))
        total = np.zeros(count)
        world.Reduce(np.full(count, rank + 1.0), total, MPI.SUM, root)
        assert rank != root or np.all(total == size * (size + 1) / 2)
    total = np.zeros(count)
    world.Allreduce(np.arange(count, dtype=np.float64) + rank, total, MPI.SUM)
    assert np.array_equal(total, np.arange(count) * size + size * (size - 1) / 2)
    world.Allreduce(MPI.IN_PLACE, total, MPI.MAX)


def gather_and_scatter(count: int) -> None:
    mine = np.full(count, rank, np.int32)
    everything = np.zeros(count * size, np.int32)
    wanted = np.repeat(np.arange(size, dtype=np.int32), count)
    world.Allgather(mine, everything)
    assert np.array_equal(everything, wanted)
    everything[:] = 0
    world.Gather(mine, everything, root=size - 1)
    assert rank != size - 1 or np.array_equal(everything, wanted)
    back = np.zeros(count, np.int32)
    world.Scatter(wanted if rank == 0 else None, back, root=0)
    assert np.all(back == rank)


def all_to_all(count: int) -> None:
    out = np.repeat(np.arange(size, dtype=np.int64) + 1000 * rank, count)
    got = np.zeros_like(out)
    world.Alltoall(out, got)
    assert np.array_equal(got, np.repeat(np.arange(size) * 1000 + rank, count))
    counts = [(rank + other) % 3 for other in range(size)]
    out = np.concatenate([np.full(n, rank * 100 + other, np.int64) for other, n in enumerate(counts)] + [np.zeros(0, np.int64)])
    got = np.zeros(sum(counts), np.int64)
    world.Alltoallv([out, counts], [got, counts])
    assert np.array_equal(got, np.concatenate([np.full(n, other * 100 + rank) for other, n in enumerate(counts)] + [np.zeros(0)]))


def scans() -> None:
    assert world.scan(rank + 1) == (rank + 1) * (rank + 2) // 2
    assert rank == 0 or world.exscan(rank + 1) == rank * (rank + 1) // 2
    if rank == 0:
        world.exscan(1)
    part = np.zeros(3)
    world.Reduce_scatter_block(np.repeat(np.arange(size, dtype=np.float64), 3), part)
    assert np.all(part == rank * size)


def nonblocking() -> None:
    total, everything = np.zeros(100), np.zeros(size)
    requests = [
        world.Iallreduce(np.full(100, 2.0), total),
        world.Iallgather(np.array([rank * 2.0]), everything),
        world.Ibarrier(),
    ]
    turns = 0
    while not MPI.Request.Testall(requests):
        turns += 1
        assert turns < 10_000_000
    assert np.all(total == 2 * size) and np.array_equal(everything, np.arange(size) * 2)


def communicators() -> None:
    half = world.Split(rank % 2, -rank)
    members = [other for other in range(size) if other % 2 == rank % 2]
    assert half.allgather(rank) == sorted(members, reverse=True)
    half.Free()
    copy = world.Dup()
    assert copy.allreduce(1) == size
    copy.Free()
    grid = world.Create_cart(MPI.Compute_dims(size, 2), periods=[True, True])
    source, target = grid.Shift(0, 1)
    assert grid.sendrecv(grid.Get_rank(), target, source=source) == source
    got = np.zeros(4, np.int64)
    grid.Neighbor_allgather(np.array([grid.Get_rank()]), got)
    assert got[0] == source and got[1] == target
    grid.Free()
    alone = world.Split_type(MPI.COMM_TYPE_SHARED)
    assert alone.Get_size() >= 1
    alone.Free()


for n in (1, 100, 20_000):
    broadcast_and_reduce(n)
for n in (1, 500):
    gather_and_scatter(n)
    all_to_all(n)
scans()
nonblocking()
communicators()
assert world.gather({"rank": rank}, root=0) == ([{"rank": other} for other in range(size)] if rank == 0 else None)
if rank == 0:
    print(f"ok {size}")
