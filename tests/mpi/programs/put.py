# SPDX-License-Identifier: Apache-2.0
"""Every rank puts a megabyte into its neighbour's window, allocated by MPI. Ends with a line `ok RANKS`."""

import mpi4py
import numpy as np

mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
win = MPI.Win.Allocate(1 << 20, 1, comm=world)
memory = np.frombuffer(win.tomemory(), dtype=np.uint8)
mine = np.full(1 << 20, rank + 1, dtype=np.uint8)
win.Fence()
win.Put(mine, (rank + 1) % size)
win.Fence()
assert np.all(memory == (rank - 1) % size + 1)
win.Free()
name = MPI.Get_processor_name()  # that of the machine's node
assert world.Split_type(MPI.COMM_TYPE_SHARED).Get_size() == world.allgather(name).count(name)
if rank == 0:
    print("ok", size)
