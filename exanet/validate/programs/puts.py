# SPDX-License-Identifier: Apache-2.0
"""Ping-pong of RDMA writes between the memories of ranks 0 and 1, through libexanet and without any MPI: each is
reported by a word behind its bytes, which the target polls. Arguments: answer, sizes in bytes."""

import ctypes
import json
import sys
from pathlib import Path

from exanet.validate.programs.user_library import HAS_DATA, OFFSET_ADDRESSED, REMOTE_WRITE, SILENT, Process, library, must

KEY = 1
PAYLOAD = bytes(n % 251 for n in range(1 << 16))  # stays: the interface reads it behind a put's return


def one_way_ns(process: Process, memory: ctypes.Array[ctypes.c_char], size: int) -> float:
    flags = SILENT | HAS_DATA

    def send() -> None:
        must(library.exanet_put(process.ni, process.ep, process.peer, PAYLOAD, size, 0, KEY, size, flags, 0), "exanet_put")

    def receive() -> None:
        if process.wait().data != size or memory.raw[:size] != PAYLOAD[:size]:
            sys.exit("a write arrived damaged")

    return process.ping_pong_ns(send, receive)


process = Process()
memory = ctypes.create_string_buffer(len(PAYLOAD))
access = REMOTE_WRITE | OFFSET_ADDRESSED
must(library.exanet_mem_register(process.ni, memory, len(PAYLOAD), access, 0, ctypes.byref(ctypes.c_uint64(KEY))), "exanet_mem_register")
process.start()
latency = {size: one_way_ns(process, memory, int(size)) for size in sys.argv[2:]}
process.end()
if process.rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"one_way_ns": latency}), encoding="utf-8")
library.exanet_close(process.ni)
