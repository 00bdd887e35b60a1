# SPDX-License-Identifier: Apache-2.0
"""Atomics of rank 0 on its own window between barriers: each is asked for by a flush, which polls. Ends with a line
`ok RANKS`."""

import mpi4py
import numpy as np

# Open MPI 4's one-sided messages are not made for MPI_THREAD_MULTIPLE, which mpi4py asks for unless set otherwise.
mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

ROUNDS, FLUSHES = 5, 10
world = MPI.COMM_WORLD
win = MPI.Win.Allocate(800, 8, comm=world)
np.frombuffer(win.tomemory(), dtype=np.int64)[:] = 0
one, old = np.ones(1, np.int64), np.zeros(1, np.int64)
win.Lock_all()
for turn in range(ROUNDS):
    world.Barrier()
    for flush in range(FLUSHES if world.Get_rank() == 0 else 0):
        win.Fetch_and_op(one, old, 0, 5, MPI.SUM)
        win.Flush(0)
        assert old[0] == FLUSHES * turn + flush
win.Unlock_all()
win.Free()
if world.Get_rank() == 0:
    print(f"ok {world.Get_size()}")
