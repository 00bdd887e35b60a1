# SPDX-License-Identifier: Apache-2.0
"""Names of nodes, who shares one, and memory that its ranks share. Ends with lines `nodes RANKS_A_NODE NAMES`, `ok
RANKS`."""

import mpi4py
import numpy as np

mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
names = world.allgather(MPI.Get_processor_name())
node = world.Split_type(MPI.COMM_TYPE_SHARED, key=-rank)
together = node.allgather(rank)
assert together == sorted(together, reverse=True)
assert {names[other] for other in together} == {names[rank]}
assert names.count(names[rank]) == len(together)
some = world.Split_type(MPI.COMM_TYPE_SHARED if rank % 2 else MPI.UNDEFINED)
assert (some != MPI.COMM_NULL) == bool(rank % 2)

before = MPI.Wtime()
me, mine = node.Get_rank(), rank + 1
win = MPI.Win.Allocate_shared(8 * mine, 8, comm=node)
win.Fence()
for other, number in enumerate(together):
    memory, unit = win.Shared_query(other)
    assert (memory.nbytes, unit) == (8 * (number + 1), 8)
first = np.frombuffer(win.Shared_query(MPI.PROC_NULL)[0], dtype=np.int64)
assert first.size == together[0] + 1
np.frombuffer(win.Shared_query((me + 1) % len(together))[0], dtype=np.int64)[:] = rank
win.Fence()
own = np.frombuffer(win.tomemory(), dtype=np.int64)
assert np.all(own == together[(me - 1) % len(together)])
win.Put(np.full(1, -1, np.int64), (me + 1) % len(together))
win.Fence()
assert own[0] == -1
win.Free()

# What goes from one rank of a node to the other takes the machine's time.
if len(together) > 1:
    node.Barrier()
    began = MPI.Wtime()
    node.Sendrecv(np.zeros(1 << 17), (me + 1) % len(together), recvbuf=np.zeros(1 << 17), source=(me - 1) % len(together))
    assert MPI.Wtime() - began > 50e-6
node.Free()
if rank == 0:
    print("nodes", len(together), len(set(names)))
    print("ok", size)
