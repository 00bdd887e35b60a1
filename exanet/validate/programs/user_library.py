# SPDX-License-Identifier: Apache-2.0
"""libexanet as the measuring programs use it, without any MPI: it is in the process already, as `exanet run`
preloads it."""

import ctypes
import sys
from collections.abc import Callable

WARM_UP, ROUNDS = 10, 100
RAW = 2
FOR_EVER = 2**64 - 1
SILENT, HAS_DATA = 2, 4
REMOTE_WRITE, OFFSET_ADDRESSED = 2, 4


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
_pointer, _word, _long, _size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
library.exanet_rank.argtypes = (_pointer,)
library.exanet_clock_ps.argtypes = (_pointer,)
library.exanet_clock_ps.restype = _long
library.exanet_packet_send.argtypes = (_pointer, ctypes.c_uint16, _long, _pointer, _size)
library.exanet_mem_register.argtypes = (_pointer, _pointer, _size, _word, ctypes.c_int, ctypes.POINTER(_long))
library.exanet_put.argtypes = (_pointer, ctypes.c_uint16, _long, _pointer, _size, _long, _long, _long, _word, _long)
library.exanet_wait.argtypes = (_pointer, ctypes.POINTER(Completion), ctypes.c_int, _long)


def must(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"{what} failed: errno {-result}")
    return result


class Process:
    """One of two ranks, with an endpoint of its interface."""

    def __init__(self) -> None:
        self.ni, self.ep, self.got = ctypes.c_void_p(), ctypes.c_uint16(), Completion()
        must(library.exanet_open(ctypes.byref(self.ni)), "exanet_open")
        must(library.exanet_ep_open(self.ni, RAW, ctypes.byref(self.ep)), "exanet_ep_open")
        self.rank = int(library.exanet_rank(self.ni))
        self.peer = 1 - self.rank  # exanet_address(rank, endpoint 0)

    def wait(self) -> Completion:
        must(library.exanet_wait(self.ni, ctypes.byref(self.got), 1, FOR_EVER), "exanet_wait")
        return self.got

    def clock_ps(self) -> int:
        return int(library.exanet_clock_ps(self.ni))

    def ping_pong_ns(self, send: Callable[[], None], receive: Callable[[], None]) -> float:
        """Half a round trip, the mean of many: rank 0 sends first."""
        start = 0
        for step in range(WARM_UP + ROUNDS):
            if step == WARM_UP:
                start = self.clock_ps()
            for act in (send, receive) if self.rank == 0 else (receive, send):
                act()
        return (self.clock_ps() - start) / (2 * ROUNDS) / 1000

    def start(self) -> None:
        must(library.exanet_start(self.ni), "exanet_start")

    def end(self) -> None:
        must(library.exanet_finish(self.ni), "exanet_finish")
