# SPDX-License-Identifier: Apache-2.0
"""One-sided communication with every kind of synchronisation; every rank checks what it got. Ends with a line `ok
RANKS`. Arguments name checks that are left out."""

import sys

import mpi4py
import numpy as np

# Open MPI 4's one-sided messages are not made for MPI_THREAD_MULTIPLE, which mpi4py asks for unless set otherwise.
mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
LENGTH = 3000  # doubles: 24 kB, several DMA blocks


def window(count: int = LENGTH) -> tuple[MPI.Win, np.ndarray]:
    win = MPI.Win.Allocate(8 * count, 8, comm=world)
    memory = np.frombuffer(win.tomemory(), dtype=np.float64)
    memory[:] = -1
    world.Barrier()
    return win, memory


def fence_put_get() -> None:
    win, memory = window()
    mine = np.arange(LENGTH, dtype=np.float64) + 10_000 * rank
    win.Fence()
    win.Put(mine, right)
    win.Fence()
    assert np.array_equal(memory, np.arange(LENGTH) + 10_000 * left)
    got = np.zeros(LENGTH)
    win.Fence()
    win.Get(got, right)
    win.Fence()
    assert np.array_equal(got, mine)
    win.Free()


def created_window_with_offsets() -> None:
    memory = np.full(64, -1.0)
    win = MPI.Win.Create(memory, 8, comm=world)
    win.Fence()
    win.Put(np.array([rank + 0.5]), right, target=(rank % 64, 1, MPI.DOUBLE))
    win.Fence()
    assert memory[left % 64] == left + 0.5
    assert np.count_nonzero(memory != -1) == 1
    win.Free()


def accumulate_to_one() -> None:
    win, memory = window(16)
    memory[:] = 0
    win.Fence()
    win.Accumulate(np.full(16, rank + 1.0), 0, op=MPI.SUM)
    win.Fence()
    if rank == 0:
        assert np.all(memory == size * (size + 1) / 2), memory
    win.Fence()
    win.Accumulate(np.full(16, float(rank)), 0, op=MPI.MAX)
    win.Fence()
    if rank == 0:
        assert np.all(memory == max(size * (size + 1) / 2, size - 1))
    win.Free()


def get_accumulate() -> None:
    win, memory = window(4)
    memory[:] = 100 * rank
    world.Barrier()
    old = np.zeros(4)
    win.Lock(right)
    win.Get_accumulate(np.full(4, 5.0), old, right, op=MPI.SUM)
    win.Unlock(right)
    assert np.all(old == 100 * right), old
    world.Barrier()
    win.Lock(rank)
    assert np.all(memory == 100 * rank + 5)
    win.Unlock(rank)
    win.Free()


def fetch_and_op_hands_out_tickets() -> None:
    """A shared counter: no ticket twice, none lost."""
    win = MPI.Win.Allocate(8, 8, comm=world)
    memory = np.frombuffer(win.tomemory(), dtype=np.int64)
    memory[:] = 0
    world.Barrier()
    tickets = []
    one, old = np.ones(1, np.int64), np.zeros(1, np.int64)
    for _ in range(5):
        win.Lock(0, MPI.LOCK_SHARED)
        win.Fetch_and_op(one, old, 0, op=MPI.SUM)
        win.Unlock(0)
        tickets.append(int(old[0]))
    everybodys = sorted(ticket for each in world.allgather(tickets) for ticket in each)
    assert everybodys == list(range(5 * size)), everybodys
    win.Free()


def compare_and_swap_elects_one() -> None:
    win = MPI.Win.Allocate(8, 8, comm=world)
    memory = np.frombuffer(win.tomemory(), dtype=np.int64)
    memory[:] = -1
    world.Barrier()
    mine, free, old = np.array([rank]), np.array([-1]), np.zeros(1, np.int64)
    win.Lock(0, MPI.LOCK_SHARED)
    win.Compare_and_swap(mine, free, old, 0)
    win.Unlock(0)
    winners = world.allgather(bool(old[0] == -1))
    assert sum(winners) == 1, winners
    if rank == 0:
        win.Lock(0)
        assert memory[0] == winners.index(True)
        win.Unlock(0)
    win.Free()


def exclusive_lock_protects() -> None:
    """Read, add, write back: lost updates would show."""
    win, memory = window(1)
    memory[:] = 0
    world.Barrier()
    value = np.zeros(1)
    for _ in range(4):
        win.Lock(0, MPI.LOCK_EXCLUSIVE)
        win.Get(value, 0)
        win.Flush(0)
        value += 1
        win.Put(value, 0)
        win.Unlock(0)
    world.Barrier()
    if rank == 0:
        win.Lock(0)
        assert memory[0] == 4 * size, memory
        win.Unlock(0)
    win.Free()


def lock_all_and_flush() -> None:
    win, memory = window(size)
    win.Lock_all()
    for target in range(size):
        win.Put(np.array([rank * 1000.0 + target]), target, target=(rank, 1, MPI.DOUBLE))
    win.Flush_all()
    world.Barrier()
    win.Sync()
    assert np.array_equal(memory, np.arange(size) * 1000.0 + rank), memory
    got = np.zeros(1)
    win.Get(got, right, target=(left, 1, MPI.DOUBLE))
    win.Flush_local(right)
    assert got[0] == left * 1000.0 + right
    world.Barrier()
    request = win.Rput(np.array([7.0]), right, target=(rank, 1, MPI.DOUBLE))
    request.Wait()
    request = win.Rget(got, right, target=(rank, 1, MPI.DOUBLE))
    request.Wait()
    win.Flush(right)
    win.Unlock_all()
    world.Barrier()
    assert memory[left] == 7.0
    win.Free()


def post_start_complete_wait() -> None:
    win, memory = window(2)
    group = world.Get_group()
    sources, targets = group.Incl(sorted({left})), group.Incl(sorted({right}))
    for turn in range(3):
        win.Post(sources)
        win.Start(targets)
        win.Put(np.array([rank + turn / 8, 2.0]), right)
        win.Complete()
        win.Wait()
        assert memory[0] == left + turn / 8
        world.Barrier()
    win.Post(sources)
    win.Start(targets)
    win.Accumulate(np.array([1.0, 1.0]), right, op=MPI.SUM)
    win.Complete()
    while not win.Test():
        pass
    assert memory[1] == 3.0
    win.Free()


def test_says_yes_behind_a_barrier() -> None:
    """The other rank has completed its epoch before the barrier; how it says so may be a longer message than the
    barrier's."""
    win = MPI.Win.Create(np.zeros(1), 8, MPI.INFO_NULL, world)
    everybody = world.Get_group()
    for _ in range(3):
        group = everybody.Excl([0]) if rank == 0 else everybody.Incl([0])
        if rank == 0:
            win.Start(group)
            world.Barrier()
            win.Complete()
        else:
            win.Post(group)
            assert not win.Test()
            world.Barrier()
        world.Barrier()
        assert rank == 0 or win.Test()
        group.Free()
    win.Free()


def strided_target() -> None:
    win, memory = window(30)
    column = MPI.DOUBLE.Create_vector(5, 1, 6)
    column.Commit()
    win.Fence()
    win.Put(np.arange(5, dtype=np.float64), right, target=(1, 1, column))
    win.Fence()
    assert np.array_equal(memory.reshape(5, 6)[:, 1], np.arange(5))
    assert np.count_nonzero(memory != -1) == 5
    column.Free()
    win.Free()


def dynamic_window() -> None:
    win = MPI.Win.Create_dynamic(comm=world)
    memory = np.zeros(8)
    win.Attach(memory)
    addresses = world.allgather(MPI.Get_address(memory))
    win.Fence()
    win.Put(np.full(2, rank + 1.0), right, target=(addresses[right] + 16, 2, MPI.DOUBLE))
    win.Fence()
    assert np.array_equal(memory, [0, 0, left + 1, left + 1, 0, 0, 0, 0])
    win.Detach(memory)
    win.Free()


for check in (
    fence_put_get,
    created_window_with_offsets,
    accumulate_to_one,
    get_accumulate,
    fetch_and_op_hands_out_tickets,
    compare_and_swap_elects_one,
    exclusive_lock_protects,
    lock_all_and_flush,
    post_start_complete_wait,
    test_says_yes_behind_a_barrier,
    strided_target,
    dynamic_window,
):
    if check.__name__ not in sys.argv[1:]:
        check()
    world.Barrier()
if rank == 0:
    print(f"ok {size}")
