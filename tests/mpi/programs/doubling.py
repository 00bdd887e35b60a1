# SPDX-License-Identifier: Apache-2.0
"""An allreduce by recursive doubling, written out: each rank exchanges the whole vector with a partner that differs in
one bit, bit by bit.

Prints `BYTES NS` for every size given in bytes: a round's time, of all from the first rank's start to the last one's
end. The number of ranks is a power of two.
"""

import sys

import numpy as np
from mpi4py import MPI

ROUNDS = 64  # so many that it does not count how far apart ranks leave the barrier
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
assert size & (size - 1) == 0
for count in (int(argument) // 8 for argument in sys.argv[1:]):
    mine = np.zeros(count, np.int64)
    total, theirs = np.empty_like(mine), np.empty_like(mine)
    mine[:] = rank + 1
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(ROUNDS):
        total[:] = mine
        for level in range(size.bit_length() - 1):
            world.Sendrecv(total, rank ^ 1 << level, recvbuf=theirs, source=rank ^ 1 << level)
            total += theirs
    end = MPI.Wtime()
    assert np.all(total == size * (size + 1) // 2)
    times = world.gather((start, end))
    if rank == 0:
        first, last = min(time for time, _ in times), max(time for _, time in times)
        print(f"{8 * count} {(last - first) / ROUNDS * 1e9:.3f}")
