# SPDX-License-Identifier: Apache-2.0
"""MPI beside a stream of TCP: rank 1 sends to rank 4 by a socket, rank 2 to rank 5 by MPI, alone and then together.

The ranks are on the eight nodes of a ring, where both ways have two links in common.
"""

import socket
from collections.abc import Callable

from mpi4py import MPI

SIZE = 1_000_000
comm = MPI.COMM_WORLD
rank = comm.rank
data = bytearray(SIZE)


def timed(work: Callable[[], None]) -> float:
    comm.barrier()
    start = MPI.Wtime()
    work()
    return 1e6 * (MPI.Wtime() - start)


def stream() -> None:
    if rank == 4:
        got = 0
        while got < SIZE:
            got += connection.recv_into(data)
        connection.sendall(b"x")
    elif rank == 1:
        connection.sendall(data)
        connection.recv(1)


def message() -> None:
    if rank == 2:
        comm.Send(data, 5)
        comm.recv(source=5)
    elif rank == 5:
        comm.Recv(data, 2)
        comm.send(0, 2)


def both() -> None:
    stream()
    message()


if rank == 4:
    listener = socket.create_server(("", 5001))
comm.barrier()
if rank == 4:
    connection, _ = listener.accept()
elif rank == 1:
    connection = socket.create_connection(("rank4", 5001))
alone = {1: timed(stream), 2: timed(message)}
together = timed(both)
if rank in alone:
    print(f"{'stream' if rank == 1 else 'message'} {alone[rank]:.1f} {together:.1f}", flush=True)
