# SPDX-License-Identifier: Apache-2.0
"""A key-value store on rank 0, by asyncio; every other rank writes to it, and says how long a request took:

exanet run -m exanest -n 4 --compute off --mpi none --sockets fabric -- python examples/sockets/store.py 4
"""

import asyncio
import os
import sys
import time

RANK, RANKS = int(os.environ["EXANET_RANK"]), int(sys.argv[1])
REQUESTS = 20


async def serve() -> None:
    store: dict[bytes, bytes] = {}
    left, done = RANKS - 1, asyncio.Event()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        while line := await reader.readline():
            _, key, value = line.split()
            store[key] = value
            writer.write(store[key] + b"\n")
            await writer.drain()
        writer.close()
        left -= 1
        if not left:
            done.set()

    server = await asyncio.start_server(client, "0.0.0.0", 7000)
    await done.wait()
    server.close()
    print(f"{len(store)} keys")


async def use() -> None:
    reader, writer = await asyncio.open_connection("rank0", 7000)
    start = time.monotonic()
    for i in range(REQUESTS):
        writer.write(b"set %d.%d %d\n" % (RANK, i, i))
        assert await reader.readline() == b"%d\n" % i
    print(f"rank {RANK}: {1e6 * (time.monotonic() - start) / REQUESTS:.3f} us", flush=True)
    writer.close()
    await writer.wait_closed()


asyncio.run(serve() if RANK == 0 else use())
