# SPDX-License-Identifier: Apache-2.0
"""Rank 1 asks rank 0 over a socket that both wait for by `argv[1]`: asyncio, poll, select or epoll, or at which it
reads with a limit of the socket's own (`limit`). Rank 0 hears where only by a message that comes in virtual time. Ends
with a line `ok 2`."""

import asyncio
import select
import socket
import struct
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
way = sys.argv[1]


async def serve() -> None:
    done = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
        done.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    world.send(server.sockets[0].getsockname()[1], dest=1)
    await done.wait()
    server.close()


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"hello\n")
    await writer.drain()
    answer = await reader.readline()
    writer.close()
    return answer


def until_readable(of: socket.socket) -> None:
    if way == "select":
        assert select.select([of], [], [])[0]
    elif way == "poll":
        poll = select.poll()
        poll.register(of, select.POLLIN)
        assert poll.poll(3_600_000)
    else:
        epoll = select.epoll()
        epoll.register(of, select.EPOLLIN)
        assert epoll.poll()


if way == "asyncio":
    if world.rank == 0:
        asyncio.run(serve())
    else:
        assert asyncio.run(ask(world.recv(source=0))) == b"HELLO\n"
elif way == "limit":
    if world.rank == 0:
        listens = socket.create_server(("127.0.0.1", 0))
        world.send(listens.getsockname()[1], dest=1)
        connection, _ = listens.accept()
        assert world.recv(source=1) == "send"
        connection.sendall(b"hello")
    else:
        connection = socket.create_connection(("127.0.0.1", world.recv(source=0)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 3600, 0))
        world.send("send", dest=0)
        assert connection.recv(100) == b"hello"
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 500_000))
        began = MPI.Wtime()
        try:
            raise AssertionError(connection.recv(100))
        except BlockingIOError:
            assert 0.5 <= MPI.Wtime() - began < 1.1  # in steps that double
elif world.rank == 0:
    listens = socket.create_server(("127.0.0.1", 0))
    listens.setblocking(False)
    world.send(listens.getsockname()[1], dest=1)
    until_readable(listens)
    connection, _ = listens.accept()
    connection.sendall(b"hello")
    connection.close()
else:
    connection = socket.create_connection(("127.0.0.1", world.recv(source=0)))
    connection.setblocking(False)
    until_readable(connection)
    assert connection.recv(100) == b"hello"
    # Nothing more comes: the limit is over in virtual time.
    quiet = socket.create_server(("127.0.0.1", 0))
    began = MPI.Wtime()
    assert select.select([quiet], [], [], 0.5) == ([], [], [])
    assert 0.5 <= MPI.Wtime() - began < 0.51
world.Barrier()
if world.rank == 0:
    print("ok", world.size)
