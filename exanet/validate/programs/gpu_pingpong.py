# SPDX-License-Identifier: Apache-2.0
"""MPI ping-pong between ranks 0 and 1 with buffers in host or device memory: one-way latency for each size, as half of
the round trip. Arguments: answer, where each rank's buffers are (host or device), sizes in bytes."""

import sys

import numpy as np
from mpi4py import MPI

from exanet import gpu
from exanet.validate.programs.pingpong import answer, one_way_us

WARM_UP, ROUNDS = 3, 10

world = MPI.COMM_WORLD
empty = gpu.empty if sys.argv[2 + world.rank] == "device" else np.empty
answer(world, {size: one_way_us(world, empty(size, np.uint8), WARM_UP, ROUNDS) for size in map(int, sys.argv[4:])})
