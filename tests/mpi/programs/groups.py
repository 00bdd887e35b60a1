# SPDX-License-Identifier: Apache-2.0
"""Communicators from groups of a session, one after the other, without MPI_Init: ranks leave the making of one at
different times.

Prints `ended NANOSECONDS` of rank 0, and `ok RANKS`.
"""

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

session = MPI.Session.Init()
world = session.Create_group("mpi://WORLD")
alone = MPI.Intracomm.Create_from_group(session.Create_group("mpi://SELF"), "self")
comms = [MPI.Intracomm.Create_from_group(world, tag) for tag in ("first", "second")]
rank, size = comms[0].Get_rank(), comms[0].Get_size()
if rank % 2 == 0:
    even = MPI.Intracomm.Create_from_group(world.Range_incl([(0, size - 1, 2)]), "even")
    assert even.allreduce(rank) == sum(range(0, size, 2))
    even.Free()
assert [comm.allreduce(rank) for comm in comms] == [sum(range(size))] * 2
if rank == 0:
    print("ended", round(MPI.Wtime() * 1e9), flush=True)
    print("ok", size, flush=True)
for comm in (alone, *comms):
    comm.Free()
world.Free()
session.Finalize()
