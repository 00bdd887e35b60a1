# SPDX-License-Identifier: Apache-2.0
"""Loops around MPI_Iprobe and MPI_Test: they end, they take the time that the message takes, and a late answer is
waited out.

Prints `probes N time_us T` and `tests N time_us T` for rank 0, then `ok RANKS`."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
peer = rank ^ 1
DELAY_S = 200e-6


def busy_until(moment: float) -> None:
    """Spins on the clock, as programs do that wait for a time: only the clock's own rule moves it on."""
    while MPI.Wtime() < moment:
        pass


def probe_loop() -> tuple[int, float]:
    world.Barrier()
    start = MPI.Wtime()
    if rank % 2:
        busy_until(start + DELAY_S)
        world.Send(np.arange(8.0), peer, 1)
        return 0, 0.0
    turns = 0
    while not world.Iprobe(peer, 1):
        turns += 1
    took = MPI.Wtime() - start
    world.Recv(np.zeros(8), peer, 1)
    return turns, took


def test_loop() -> tuple[int, float]:
    world.Barrier()
    start = MPI.Wtime()
    if rank % 2:
        busy_until(start + DELAY_S)
        world.Send(np.arange(50_000.0), peer, 2)
        return 0, 0.0
    got = np.zeros(50_000)
    request = world.Irecv(got, peer, 2)
    turns = 0
    while not request.Test():
        turns += 1
    took = MPI.Wtime() - start
    assert np.array_equal(got, np.arange(50_000.0))
    return turns, took


if peer < size:
    for name, loop in (("probes", probe_loop), ("tests", test_loop)):
        turns, took = loop()
        if rank == 0:
            print(f"{name} {turns} time_us {took * 1e6:.3f}")
world.Barrier()
if rank == 0:
    print(f"ok {size}")
