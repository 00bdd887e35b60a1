# SPDX-License-Identifier: Apache-2.0
"""Two ranks send each other BYTES, the second one after PROBES probes that find nothing. Prints `took` and the
nanoseconds of the slower one."""

import sys

import numpy as np
from mpi4py import MPI

length, probes = (int(argument) for argument in sys.argv[1:])
world = MPI.COMM_WORLD
other = 1 - world.rank
sent, received = np.zeros(length, np.uint8), np.zeros(length, np.uint8)
world.Barrier()
begun = MPI.Wtime()
requests = [world.Irecv(received, other)]
for _ in range(probes if world.rank == 1 else 0):
    world.Iprobe(0, 99)
requests.append(world.Isend(sent, other))
MPI.Request.Waitall(requests)
longest = world.allreduce(MPI.Wtime() - begun, MPI.MAX)
if world.rank == 0:
    print(f"took {longest * 1e9:.3f}")
MPI.Finalize()
