# SPDX-License-Identifier: Apache-2.0
"""Calls in which Open MPI 4's mtl/ofi crashes, stops, or has nothing to offer; prints `ok` and how many ranks came
to the end."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE

# All to all, from and to addresses in place of a buffer.
out, got = np.full(size, rank, "i"), np.full(size, -1, "i")
ones, displacements = [1] * size, [4 * i for i in range(size)]


def at(array: np.ndarray) -> list[MPI.Datatype]:
    types = [MPI.INT.Create_hindexed([1], [MPI.Get_address(array) + place]) for place in displacements]
    for one in types:
        one.Commit()
    return types


world.Alltoallw([MPI.BOTTOM, (ones, [0] * size), at(out)], [MPI.BOTTOM, (ones, [0] * size), at(got)])
assert got.tolist() == list(range(size)), got

# A send that nobody receives yet is cancelled or not, and either is printed.
right, left = (rank + 1) % size, (rank - 1) % size
request = world.Issend(np.ones(1, "i"), right, 1)
request.Cancel()
status = MPI.Status()
receive = world.Irecv(np.zeros(1, "i"), left, 1)
request.Wait(status)
if status.Is_cancelled():
    receive.Cancel()
receive.Wait()

# A send that is done says so to those who only look.
request = world.Isend(np.ones(1, "i"), right, 2)
world.Recv(np.zeros(1, "i"), left, 2)
while not request.Get_status():
    pass
request.Wait()

# Windows, although threads may call MPI at once.
memory = np.zeros(size, "q")
window = MPI.Win.Create(memory, 8, MPI.INFO_NULL, world)
window.Fence()
mine, one, before, five = np.array([100 + rank], "q"), np.array([7], "q"), np.zeros(1, "q"), np.array([5], "q")
window.Put(mine, right, rank)
window.Fence()
assert memory[left] == 100 + left
window.Lock(right)
window.Compare_and_swap(one, mine, before, right, rank)
window.Unlock(right)
window.Fence()
assert before[0] == 100 + rank
assert memory[left] == 7
window.Fence()
window.Accumulate(five, right, rank, MPI.SUM)
window.Fence()
assert memory[left] == 12
window.Free()

# Eight bytes in a window of one process.
alone = np.arange(4, dtype="q")
window = MPI.Win.Create(alone, 8, MPI.INFO_NULL, MPI.COMM_SELF)
for there, wanted in ((2, 9), (9, 9)):
    window.Lock(0)
    window.Compare_and_swap(np.array([9], "q"), np.array([2], "q"), before, 0, 2)
    window.Unlock(0)
    assert (before[0], alone[2]) == (there, wanted)
window.Free()

ended = world.reduce(1, root=0)
if rank == 0:
    print("ok", ended)
