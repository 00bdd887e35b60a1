# SPDX-License-Identifier: Apache-2.0
"""Four threads a rank, each talking to its counterpart on the neighbouring ranks, all at once. Ends with a line `ok
RANKS`. With the argument `wait`, none asks with MPI_Test."""

import sys
import threading

import numpy as np
from mpi4py import MPI

THREADS = 4
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
problems: list[str] = []


def talk(number: int) -> None:
    try:
        for turn in range(25):
            length = (8, 200, 30_000)[turn % 3]
            got = np.zeros(length, np.uint8)
            request = world.Irecv(got, left, tag=number)
            world.Send(np.full(length, (rank + number + turn) % 256, np.uint8), right, tag=number)
            if turn % 2 and "wait" not in sys.argv:
                while not request.Test():
                    pass
            else:
                request.Wait()
            if not np.all(got == (left + number + turn) % 256):
                problems.append(f"rank {rank}, thread {number}, turn {turn}: wrong data")
    except Exception as problem:
        problems.append(f"rank {rank}, thread {number}: {problem!r}")


threads = [threading.Thread(target=talk, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not problems, problems
assert world.allreduce(1) == size
if rank == 0:
    print(f"ok {size}")
