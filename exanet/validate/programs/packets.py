# SPDX-License-Identifier: Apache-2.0
"""Bare ping-pong of single packets between the mailboxes of ranks 0 and 1, through libexanet and without any MPI. Arguments: answer, sizes
in bytes. The library is in the process already: `exanet run` preloads it."""

import ctypes
import json
import sys
from pathlib import Path

WARM_UP, ROUNDS = 10, 100
RAW = 2
FOR_EVER = 2**64 - 1


class Completion(ctypes.Structure):
    """struct exanet_completion of exanet/exanet.h."""

    _fields_ = (
        ("kind", ctypes.c_uint8),
        ("tagged", ctypes.c_uint8),
        ("ep", ctypes.c_uint16),
        ("status", ctypes.c_int32),
        ("peer", ctypes.c_uint64),
        ("cookie", ctypes.c_uint64),
        ("tag", ctypes.c_uint64),
        ("len", ctypes.c_uint64),
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint64),
        ("buf", ctypes.c_void_p),
        ("access", ctypes.c_uint32),
        ("has_data", ctypes.c_uint16),
        ("packet_len", ctypes.c_uint16),
        ("packet", ctypes.c_uint8 * 256),
    )


library = ctypes.CDLL(None)
for function in ("exanet_open", "exanet_ep_open", "exanet_start", "exanet_packet_send", "exanet_wait", "exanet_finish", "exanet_close"):
    getattr(library, function)  # an unpreloaded process fails here, by name
library.exanet_rank.argtypes = (ctypes.c_void_p,)
library.exanet_clock_ps.argtypes = (ctypes.c_void_p,)
library.exanet_clock_ps.restype = ctypes.c_uint64
library.exanet_packet_send.argtypes = (ctypes.c_void_p, ctypes.c_uint16, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)
library.exanet_wait.argtypes = (ctypes.c_void_p, ctypes.POINTER(Completion), ctypes.c_int, ctypes.c_uint64)


def must(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"{what} failed: errno {-result}")
    return result


ni, ep, got = ctypes.c_void_p(), ctypes.c_uint16(), Completion()
must(library.exanet_open(ctypes.byref(ni)), "exanet_open")
must(library.exanet_ep_open(ni, RAW, ctypes.byref(ep)), "exanet_ep_open")
rank = library.exanet_rank(ni)
peer = 1 - rank  # exanet_address(rank, endpoint 0)


def send(payload: bytes) -> None:
    must(library.exanet_packet_send(ni, ep, peer, payload, len(payload)), "exanet_packet_send")


def receive(payload: bytes) -> None:
    must(library.exanet_wait(ni, ctypes.byref(got), 1, FOR_EVER), "exanet_wait")
    if bytes(got.packet[: got.packet_len]) != payload:
        sys.exit("a packet arrived damaged")


def one_way_ns(size: int) -> float:
    payload = bytes(n % 251 for n in range(size))
    start: int = 0
    for step in range(WARM_UP + ROUNDS):
        if step == WARM_UP:
            start = library.exanet_clock_ps(ni)
        if rank == 0:
            send(payload)
            receive(payload)
        else:
            receive(payload)
            send(payload)
    return float(library.exanet_clock_ps(ni) - start) / (2 * ROUNDS) / 1000


must(library.exanet_start(ni), "exanet_start")
latency = {size: one_way_ns(int(size)) for size in sys.argv[2:]}
must(library.exanet_finish(ni), "exanet_finish")
if rank == 0:
    Path(sys.argv[1]).write_text(json.dumps({"one_way_ns": latency}))
library.exanet_close(ni)
