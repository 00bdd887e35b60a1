# SPDX-License-Identifier: Apache-2.0
"""Calls of mpi4py that `exanet run --mpi-calls simulated` carries out: objects, whose receives probe first, requests,
buffers, persistent messages and collectives, neighbours."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
right, left = (rank + 1) % ranks, (rank - 1) % ranks
sent, got = np.arange(10, dtype="d") + rank, np.empty(10)


def messages() -> None:
    request = world.isend({"rank": rank, "long": list(range(2000))}, right, tag=3)
    assert world.recv(source=left, tag=3)["rank"] == left
    request.wait()
    assert world.sendrecv(rank, right, source=left) == left
    world.send("x" * rank, right, tag=5)
    assert world.mprobe(MPI.ANY_SOURCE, 5).recv() == "x" * left
    status = MPI.Status()
    request = world.Isend(sent, right, 9)
    while not world.Iprobe(left, 9, status):
        pass
    assert status.Get_count(MPI.DOUBLE) == 10
    world.Recv(got, left, 9)
    request.Wait()


def persistent() -> None:
    both = [world.Recv_init(got, left), world.Send_init(sent, right)]
    for _ in range(3):
        MPI.Prequest.Startall(both)
        MPI.Request.Waitall(both)
        assert (got == np.arange(10) + left).all()
    for request in both:
        request.Free()
    sum_of_all = world.Allreduce_init(sent, got)
    for _ in range(2):
        sum_of_all.Start()
        sum_of_all.Wait()
        assert (got == ranks * np.arange(10) + sum(range(ranks))).all()
    sum_of_all.Free()


def buffered() -> None:
    MPI.Attach_buffer(bytearray(100_000))
    world.Bsend(sent, right, 7)
    world.Recv(got, left, 7)
    world.bsend({"rank": rank}, right, 8)
    assert world.recv(source=left, tag=8)["rank"] == left
    world.Barrier()
    MPI.Detach_buffer()


def collectives() -> None:
    world.Iallreduce(sent, got).Wait()
    assert (got == ranks * np.arange(10) + sum(range(ranks))).all()
    assert world.scan(rank) == sum(range(rank + 1))
    assert world.exscan(rank + 1) == (None if rank == 0 else sum(range(1, rank + 1)))
    assert world.allgather({"rank": rank}) == [{"rank": other} for other in range(ranks)]
    ring = world.Create_cart([ranks], periods=[True])
    assert ring.neighbor_alltoall([f"{rank} left", f"{rank} right"]) == [f"{left} right", f"{right} left"]


messages()
persistent()
buffered()
collectives()
world.Barrier()
if rank == 0:
    print("objects as they are")
