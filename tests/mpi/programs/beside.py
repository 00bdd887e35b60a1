# SPDX-License-Identifier: Apache-2.0
"""Waits of ranks for each other, and for files, beside the network: ports, sockets, MPI_Comm_join, non-blocking file
operations.

Prints `ok` and how many ranks came to the end. Arguments: a folder, and what to do: ports, sockets, files.
"""

import socket
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
folder, doing = Path(sys.argv[1]), sys.argv[2:]


def meet(intercomm: MPI.Intercomm) -> None:
    got = np.zeros(1, "q")
    request = intercomm.Irecv(got, 0)
    intercomm.Send(np.array([rank], "q"), 0)
    request.Wait()
    assert got[0] == 1 - rank
    intercomm.Disconnect()


if "ports" in doing and rank < 2:
    port = MPI.Open_port() if rank == 0 else None
    if rank == 0:
        world.send(port, 1)
        meet(MPI.COMM_SELF.Accept(port))
        MPI.Close_port(port)
    else:
        meet(MPI.COMM_SELF.Connect(world.recv(None, 0)))

if "sockets" in doing and rank < 2:
    name = str(folder / "socket")
    if rank == 0:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        listener.listen(1)
        # Rank 1 connects 2 ms of virtual time later, which have to pass while this one waits.
        world.Send(np.zeros(1, "i"), 1)
        end, _ = listener.accept()
    else:
        world.Recv(np.zeros(1, "i"), 0)
        began = MPI.Wtime()
        for _ in range(1000):
            world.Sendrecv(np.zeros(1, "i"), 1, 0, np.zeros(1, "i"), 1, 0)
        assert MPI.Wtime() - began < 2
        end = socket.socket(socket.AF_UNIX)
        end.connect(name)
    # More than a socket holds, to a rank that reads it once a message has come over the network.
    many = bytes(range(256)) * 8192
    if rank == 0:
        end.sendall(many)
        world.Send(np.zeros(1, "i"), 1, 2)
    else:
        here = np.zeros(1, "i")
        pings = world.Irecv(here, 0, 2)
        got = b""
        while len(got) < len(many):
            got += end.recv(1 << 16)
        assert got == many
        pings.Wait()
    if rank == 1:
        world.Send(np.zeros(1, "i"), 0, 3)
        end.sendall(b"late")
    else:
        assert end.recv(4) == b"late"
        world.Recv(np.zeros(1, "i"), 1, 3)
    meet(MPI.Comm.Join(end.fileno()))
    end.close()

if "files" in doing:
    file = MPI.File.Open(world, str(folder / "file"), MPI.MODE_CREATE | MPI.MODE_RDWR)
    mine, back = np.full(1 << 20, rank, "u1"), np.zeros(1 << 20, "u1")
    for _ in range(5):
        file.Iwrite_at(rank * mine.size, mine).Wait()
        world.Barrier()
        file.Iread_at(rank * mine.size, back).Wait()
        assert (back == rank).all()
    file.Close()

ended = world.reduce(1, root=0)
if rank == 0:
    print("ok", ended)
