# SPDX-License-Identifier: Apache-2.0
"""usage: tcp_rate.py ANSWER BYTES: rank 1 sends so many bytes to rank 0 by a TCP socket; the rate from the first byte's
arrival to the end."""

import json
import os
import socket
import sys
import time

PORT, PIECE = 7000, 128 << 10  # what iperf3 writes at once


def serve(answer: str, wanted: int) -> None:
    client, _ = socket.create_server(("", PORT)).accept()
    got, start = len(client.recv(PIECE)), time.monotonic()
    first = got
    while data := client.recv(PIECE):
        got += len(data)
    seconds = time.monotonic() - start
    assert got == wanted
    with open(answer, "w", encoding="utf-8") as file:
        json.dump({"gbps": 8e-9 * (got - first) / seconds, "bytes": got}, file)


def send(wanted: int) -> None:
    with socket.create_connection(("rank0", PORT)) as server:
        piece = bytes(PIECE)
        for _ in range(wanted // PIECE):
            server.sendall(piece)


if __name__ == "__main__":
    size = int(sys.argv[2]) // PIECE * PIECE
    serve(sys.argv[1], size) if os.environ["EXANET_RANK"] == "0" else send(size)
