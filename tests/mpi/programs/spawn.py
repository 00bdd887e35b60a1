# SPDX-License-Identifier: Apache-2.0
"""Tries to spawn a process, which must fail as an MPI call fails, and goes on. Ends with a line `ok RANKS`."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
try:
    MPI.COMM_SELF.Spawn(sys.executable, args=["-c", "pass"], maxprocs=1)
except MPI.Exception:
    total = world.allreduce(1)
    if world.Get_rank() == 0:
        print("ok", total)
