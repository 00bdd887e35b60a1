# SPDX-License-Identifier: Apache-2.0
"""Asks another host for the time by datagrams, as SNTP does (RFC 4330).

Rank 0 answers, by asyncio; each other rank asks eight times and says how long the way takes and how far the clocks are
apart. Its clock and rank 0's are the same, so that what it finds is the network's doing alone.

usage: exanet run -m MACHINE -n RANKS --map round-robin --compute off --sockets fabric --mpi none -- python clock.py
"""

import asyncio
import os
import socket
import struct
import sys
import time

PORT = 1123
QUESTION = struct.Struct("!Bxxx20xdd8x")
"""48 bytes: version and mode, the client's time, the server's times when it had the question and when it answered."""
ASKS, ANSWERS = 0x23, 0x24
TIMES = 8


class Server(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: tuple) -> None:
        came = time.monotonic()
        mode, asked, _ = QUESTION.unpack(data)
        if mode == ASKS:
            self.transport.sendto(QUESTION.pack(ANSWERS, asked, came), address)


async def serve() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(Server, local_addr=("0.0.0.0", PORT))
    await asyncio.Event().wait()  # the run ends a server whose clients have all ended


def ask(rank: int) -> None:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect(("rank0", PORT))
        for _ in range(TIMES):
            asked = time.monotonic()
            s.send(QUESTION.pack(ASKS, asked, 0.0))
            _, sent, there = QUESTION.unpack(s.recv(100))
            now = time.monotonic()
            assert sent == asked
            found.append((now - asked, there - (asked + now) / 2))
    delay, offset = min(found)
    print(f"rank {rank}: {1e6 * delay:.2f} us there and back, {1e6 * offset:.2f} us apart", flush=True)


if __name__ == "__main__":
    if os.environ.get("EXANET_RANK") is None:
        sys.exit(__doc__)
    rank = int(os.environ["EXANET_RANK"])
    asyncio.run(serve()) if rank == 0 else ask(rank)
