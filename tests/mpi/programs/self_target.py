# SPDX-License-Identifier: Apache-2.0
"""Operations of a rank on itself: one-sided operations on its own window, and messages to itself, each many times over.

The MPI library serves these in its own memory. Every rank checks what it got; prints the virtual time of a lock, a put
and an unlock as `turn NANOSECONDS`, that of a buffered send as `ibsend NANOSECONDS`, and ends with a line `ok RANKS`.
"""

import mpi4py
import numpy as np

mpi4py.rc.thread_level = "serialized"  # as in one_sided.py
from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
MANY = 30


def windows(comm: MPI.Intracomm, me: int) -> None:
    """New windows, each with an epoch of its own."""
    for i in range(MANY):
        memory = np.zeros(1)
        win = MPI.Win.Create(memory, 8, comm=comm)
        win.Lock(me)
        win.Put(np.full(1, i + 1.0), me)
        win.Unlock(me)
        assert memory[0] == i + 1
        win.Fence()
        win.Put(np.full(1, i + 2.0), me)
        win.Put(np.zeros(0), me)
        win.Fence()
        assert memory[0] == i + 2
        win.Free()


def turns(comm: MPI.Intracomm, me: int) -> float:
    memory = np.zeros(1)
    win = MPI.Win.Create(memory, 8, comm=comm)
    began = MPI.Wtime()
    for i in range(MANY):
        win.Lock(me)
        win.Put(np.full(1, float(i)), me)
        win.Unlock(me)
    took = MPI.Wtime() - began
    win.Free()
    return took / MANY * 1e9


def atomics(comm: MPI.Intracomm, me: int) -> None:
    for code in "bhilqBHILQfd":
        one = np.ones(1, code)
        memory, got = np.zeros(1, code), np.zeros(1, code)
        win = MPI.Win.Create(memory, one.itemsize, comm=comm)
        win.Lock(me)
        for i in range(4):
            win.Fetch_and_op(one, got, me, op=MPI.SUM)
            win.Flush(me)
            assert got[0] == i
            win.Get_accumulate(one, got, me, op=MPI.SUM)
            win.Flush(me)
            win.Accumulate(one, me, op=MPI.REPLACE)
            win.Flush(me)
            win.Accumulate(np.full(1, i, code), me, op=MPI.SUM)
            win.Flush(me)
        win.Unlock(me)
        assert memory[0] == 4
        if code not in "fd":
            win.Lock(me)
            win.Compare_and_swap(np.full(1, 9, code), np.full(1, 4, code), got, me)
            win.Unlock(me)
            assert (memory[0], got[0]) == (9, 4)
        win.Free()


def many_accumulates(comm: MPI.Intracomm, me: int) -> None:
    memory = np.zeros(4)
    win = MPI.Win.Create(memory, 8, comm=comm)
    win.Fence()
    for _ in range(300):
        win.Accumulate(np.ones(4), me, op=MPI.SUM)
    win.Fence()
    assert np.all(memory == 300)
    win.Free()


def strided(comm: MPI.Intracomm, me: int) -> None:
    every_second = MPI.DOUBLE.Create_vector(8, 1, 2).Commit()
    win = MPI.Win.Allocate_shared(8 * 16, 8, comm=comm)
    memory = np.frombuffer(win.tomemory(), dtype=np.float64)
    memory[:] = np.arange(16)
    got = np.zeros(8)
    for _ in range(MANY):
        win.Lock(me)
        win.Get(got, me, target=(0, 1, every_second))
        win.Unlock(me)
        assert np.array_equal(got, np.arange(0, 16, 2))
    win.Free()
    every_second.Free()


def buffered(comm: MPI.Intracomm, me: int) -> float:
    space = MPI.Alloc_mem(100 * (64 + MPI.BSEND_OVERHEAD))
    MPI.Attach_buffer(space)
    got, took = np.zeros(1), 0.0
    for i in range(MANY):
        began = MPI.Wtime()
        request = comm.Ibsend(np.full(1, float(i)), me)
        took += MPI.Wtime() - began
        comm.Recv(got, me)
        MPI.Request.Waitsome([request])
        assert got[0] == i
    MPI.Detach_buffer()
    MPI.Free_mem(space)
    return took / MANY * 1e9


for comm, me in ((MPI.COMM_SELF, 0), (world, rank)):
    windows(comm, me)
    turn = turns(comm, me)
    atomics(comm, me)
    many_accumulates(comm, me)
    ibsend = buffered(comm, me)
strided(MPI.COMM_SELF, 0)

longest = [world.allreduce(each, op=MPI.MAX) for each in (turn, ibsend)]
world.Barrier()
if rank == 0:
    print("turn", longest[0])
    print("ibsend", longest[1])
    print("ok", size)
