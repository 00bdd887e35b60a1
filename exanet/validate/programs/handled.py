# SPDX-License-Identifier: Apache-2.0
"""Rank 1 sends messages of tag 7 to rank 0, whose interface runs handlers on them. Meanwhile rank 0 multiplies
matrices, for as long as the argument says: the product is real, and its time is a sleep of the virtual clock, so that
it is the same on each host. Arguments: answer, repetitions, microseconds of computing, how much larger the receive's
buffer is than the message, sizes in bytes. Answers with the microseconds that rank 0 then waited for each size."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

TAG = 7

world = MPI.COMM_WORLD
repeats = int(sys.argv[2])
computing_us, spread = (float(text) for text in sys.argv[3:5])
waited: dict[int, float] = {}
for size in map(int, sys.argv[5:]):
    message = (np.arange(size // 4, dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(7)
    total = 0.0
    for _ in range(repeats):
        if world.rank == 1:
            world.Recv(np.empty(0, np.uint8), source=0)
            world.Send(message, dest=0, tag=TAG)
            continue
        buffer = np.zeros(int(size * spread), np.uint8)
        request = world.Irecv(buffer, source=1, tag=TAG)
        world.Send(np.empty(0, np.uint8), dest=1)
        product = np.ones((32, 32)) @ np.ones((32, 32))
        if computing_us:
            time.sleep(computing_us * 1e-6)
        began = MPI.Wtime()
        request.Wait()
        total += MPI.Wtime() - began
        assert product[0, 0] == 32
    waited[size] = 1e6 * total / repeats
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"waited_us": waited}), encoding="utf-8")
