# SPDX-License-Identifier: Apache-2.0
"""Latency of one-sided operations from rank 0 to rank 1, each with its flush. Arguments: answer, `native` or
`two-sided` (the MPI library's emulation by messages), sizes in bytes."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

if sys.argv[2] == "two-sided":
    os.environ |= {"MPIR_CVAR_CH4_OFI_ENABLE_RMA": "0", "MPIR_CVAR_CH4_OFI_ENABLE_ATOMICS": "0"}

from mpi4py import MPI  # after the library's settings

WARM_UP, ROUNDS = 10, 50

world = MPI.COMM_WORLD


def latency_us(window: MPI.Win, operation: Callable[[], None]) -> float:
    """Of the operation and its flush; the target waits in MPI, where it serves what is emulated."""
    start = 0.0
    world.Barrier()
    if world.rank == 0:
        window.Lock(1)
        for step in range(WARM_UP + ROUNDS):
            if step == WARM_UP:
                start = MPI.Wtime()
            operation()
            window.Flush(1)
        took = (MPI.Wtime() - start) / ROUNDS * 1e6
        window.Unlock(1)
    else:
        took = 0.0
    world.Barrier()
    return took


def operations(window: MPI.Win, size: int) -> dict[str, Callable[[], None]]:
    """By name, on `size` bytes of integers of eight bytes."""
    here, there = memoryview(bytearray(size)), memoryview(bytearray(size))
    data, answer = [here, size // 8, MPI.INT64_T], [there, size // 8, MPI.INT64_T]
    return {
        "put": lambda: window.Put(data, 1),
        "accumulate": lambda: window.Accumulate(data, 1),
        "get": lambda: window.Get(answer, 1),
        "get_accumulate": lambda: window.Get_accumulate(data, answer, 1),
    }


sizes = [int(size) for size in sys.argv[3:]]
# Without these hints MPICH emulates atomic operations: others might use the host's memory, and the interface keeps no
# order among them, which this program does not need.
hints = MPI.Info.Create({"disable_shm_accumulate": "true", "which_accumulate_ops": "sum", "accumulate_ordering": "none"})
window = MPI.Win.Allocate(max(sizes), 1, info=hints, comm=world)
found: dict[str, dict[int, float]] = {}
for size in sizes:
    for name, operation in operations(window, size).items():
        found.setdefault(name, {})[size] = latency_us(window, operation)
window.Free()
if world.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"latency_us": found}), encoding="utf-8")
