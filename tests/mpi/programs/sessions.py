# SPDX-License-Identifier: Apache-2.0
"""A program without MPI_Init: a session, on MPICH another one inside it, and a ping-pong between ranks 0 and 1 in each.

Prints `half NANOSECONDS` for each and ends with a line `ok RANKS`. With the argument `again` it opens one more session
at its end.
"""

import sys

import mpi4py
import numpy as np

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

TURNS = 50


def world(session: MPI.Session, tag: str) -> MPI.Intracomm:
    group = session.Create_group("mpi://WORLD")
    comm = MPI.Intracomm.Create_from_group(group, tag)
    group.Free()
    return comm


def ping_pong(comm: MPI.Intracomm) -> None:
    data, rank = np.zeros(1, "b"), comm.Get_rank()
    comm.Barrier()
    began = MPI.Wtime()
    for _ in range(TURNS):
        if rank == 0:
            comm.Send(data, 1)
            comm.Recv(data, 1)
        elif rank == 1:
            comm.Recv(data, 0)
            comm.Send(data, 0)
    if rank == 0:
        print("half", (MPI.Wtime() - began) / TURNS / 2 * 1e9)


outer = MPI.Session.Init()
comm = world(outer, "outer")
ping_pong(comm)
# Open MPI makes a communicator from a group through its launcher, in real time: nobody may wait for a message
# meanwhile.
if MPI.Get_library_version().startswith("MPICH"):
    inner = MPI.Session.Init()
    other = world(inner, "inner")
    ping_pong(other)
    other.Free()
    inner.Finalize()
total = comm.allreduce(1)
if comm.Get_rank() == 0:
    print("ok", total, flush=True)
comm.Free()
outer.Finalize()
if sys.argv[1:] == ["again"]:
    MPI.Session.Init()
