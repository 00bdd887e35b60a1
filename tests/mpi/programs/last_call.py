# SPDX-License-Identifier: Apache-2.0
"""Sleeps for 5 ms of virtual time after its last MPI call; with "finalize" it ends MPI before; mpi4py does it when
the interpreter ends."""

import sys
import time

from mpi4py import MPI

MPI.COMM_WORLD.Barrier()
if sys.argv[1:] == ["finalize"]:
    MPI.Finalize()
time.sleep(0.005)
