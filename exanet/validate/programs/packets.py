# SPDX-License-Identifier: Apache-2.0
"""Bare ping-pong of single packets between the mailboxes of ranks 0 and 1, through libexanet and without any MPI.
Arguments: answer, sizes in bytes."""

import json
import sys
from pathlib import Path

from exanet.validate.programs.user_library import Process, library, must


def one_way_ns(process: Process, size: int) -> float:
    payload = bytes(n % 251 for n in range(size))

    def send() -> None:
        must(library.exanet_packet_send(process.ni, process.ep, process.peer, payload, size), "exanet_packet_send")

    def receive() -> None:
        got = process.wait()
        if bytes(got.packet[: got.packet_len]) != payload:
            sys.exit("a packet arrived damaged")

    return process.ping_pong_ns(send, receive)


process = Process()
process.start()
latency = {size: one_way_ns(process, int(size)) for size in sys.argv[2:]}
process.end()
if process.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"one_way_ns": latency}), encoding="utf-8")
library.exanet_close(process.ni)
