# SPDX-License-Identifier: Apache-2.0
"""usage: tcp_rate.py ANSWER BYTES PIECE: rank 1 sends so many bytes to rank 0 by a TCP socket, each write a piece; the
rate from the first byte's arrival to the end."""

import json
import os
import socket
import sys
import time

PORT, READ = 7000, 64 << 10


def serve(answer: str, wanted: int) -> None:
    client, _ = socket.create_server(("", PORT)).accept()
    got, start = len(client.recv(READ)), time.monotonic()
    first = got
    while data := client.recv(READ):
        got += len(data)
    seconds = time.monotonic() - start
    assert got == wanted
    with open(answer, "w", encoding="utf-8") as file:
        json.dump({"gbps": 8e-9 * (got - first) / seconds, "bytes": got}, file)


def send(wanted: int, piece: int) -> None:
    with socket.create_connection(("rank0", PORT)) as server:
        bytes_of_it = bytes(piece)
        for _ in range(wanted // piece):
            server.sendall(bytes_of_it)


if __name__ == "__main__":
    size, piece = int(sys.argv[2]), int(sys.argv[3])
    serve(sys.argv[1], size // piece * piece) if os.environ["EXANET_RANK"] == "0" else send(size, piece)
