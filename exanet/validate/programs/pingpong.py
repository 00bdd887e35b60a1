# SPDX-License-Identifier: Apache-2.0
"""MPI ping-pong between ranks 0 and 1: one-way latency for each size, as half of the round trip. Arguments: answer,
sizes in bytes."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpi4py import MPI

WARM_UP, ROUNDS = 10, 100


def one_way_us(comm: MPI.Comm, data: Any, warm_up: int = WARM_UP, rounds: int = ROUNDS) -> float:
    """Of this buffer of the rank's."""
    start = 0.0
    for step in range(warm_up + rounds):
        if step == warm_up:
            start = MPI.Wtime()
        if comm.rank == 0:
            comm.Send(data, 1, 1)
            comm.Recv(data, 1, 1)
        else:
            comm.Recv(data, 0, 1)
            comm.Send(data, 0, 1)
    return (MPI.Wtime() - start) / (2 * rounds) * 1e6


def answer(comm: MPI.Comm, latency: Mapping[Any, float]) -> None:
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps({"one_way_us": latency}), encoding="utf-8")


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    answer(world, {size: one_way_us(world, bytearray(size)) for size in map(int, sys.argv[2:])})
