# SPDX-License-Identifier: Apache-2.0
"""Nodes with network interface, router and links, Verilated, between a processor's stores and a memory.

What a driver does is done by stores and loads at an interface's window and in memory; `events` is what went over its
ports.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from exanet.gateware import build
from exanet.karma import library
from exanet.karma.layouts import FORMER_NAMES, LAYOUTS
from exanet.karma.library import Opened, Signatures

_WRAPPER = "gateware/karma/tb/interface_bench.cpp"
_NODE = "gateware/ni/tb/ni_node.sv"
LINE_CYCLES, MEMORY_CYCLES = 20, 20
"""A line as that of caRVnet (R35, 20 cycles in its transceivers), and a memory that answers in 128 ns."""
MAILBOXES = 1024
_PARAMETERS = {"Mailboxes": MAILBOXES}
LINE_BYTES = 16
WAIT_CYCLES = 1_000_000


class What(IntEnum):
    """What was on a port in a cycle; as gateware/karma/tb/interface_bench.cpp has it."""

    STORE = 0
    READ_ADDRESS = 1
    READ_DATA = 2
    WRITE_ADDRESS = 3
    WRITE_DATA = 4
    WRITE_ANSWER = 5
    ENTRY_ADDRESS = 6
    ENTRY_DATA = 7
    ENTRY_ANSWER = 8
    WALK_ADDRESS = 9
    WALK_DATA = 10
    HEADER_IN = 11
    FOOTER_IN = 12
    HEADER_OUT = 13
    FOOTER_OUT = 14
    LINE_WORD = 15
    SLOT = 16


@dataclass(frozen=True)
class Event:
    """A cycle of a port. `place` is a port of the router, of a line, or a slot, and of a store the number of its
    bytes; `last`: of a burst; `value` is the word or the address."""

    cycle: int
    node: int
    what: What
    place: int
    last: bool
    value: int


def _bits(layout: str, name: str) -> tuple[int, int]:
    """The field's lowest bit and its bits. Accepts a name of the release before, with a warning."""
    today = FORMER_NAMES.get(layout, {}).get(name, name)
    if today != name:
        warnings.warn(f"{layout}.{name} is {layout}.{today} now; the next release drops the old name", FutureWarning, stacklevel=3)
    return LAYOUTS[layout][1][today]


def pack(layout: str, **fields: int) -> int:
    """A record of spec/packet.yaml; fields that are not given are zero. Raises ValueError for what does not fit."""
    word = 0
    for name, value in fields.items():
        low, bits = _bits(layout, name)
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{layout}.{name} = {value} does not fit into {bits} bits")
        word |= value << low
    return word


def field(layout: str, name: str, word: int) -> int:
    """A field of such a record."""
    low, bits = _bits(layout, name)
    return word >> low & (1 << bits) - 1


class Bench(Opened):
    """Nodes on a ring, under power. Close it, or use it as a context.

    line_cycles: latency of a transceiver and its line, one way. memory_cycles: from the last beat or the address of a
    burst to memory's answer, 1 at least. reads: that memory's port takes before it has given the first of them whole;
    0: any number. Raises InputError when the model cannot be built, and RuntimeError whenever a node does what it
    should not.
    """

    _closes = "interface_close"

    def __init__(self, nodes: int = 2, *, line_cycles: int = LINE_CYCLES, memory_cycles: int = MEMORY_CYCLES, reads: int = 0) -> None:
        if memory_cycles < 1:
            raise ValueError(f"memory_cycles = {memory_cycles}: memory answers in the next cycle at the earliest")
        self.nodes = nodes
        self.line_cycles, self.memory_cycles = line_cycles, memory_cycles
        self._library = _load()
        self._handle = self._library.interface_open(nodes, line_cycles, memory_cycles, reads)
        if not self._handle:
            raise RuntimeError(self._said())

    def store(self, node: int, address: int, value: int, size: int = 8) -> None:
        """A store of 8 or 16 bytes by the node's processor, offered behind those before it."""
        at = address % LINE_BYTES
        data = value.to_bytes(size, "little").rjust(at + size, b"\0").ljust(LINE_BYTES, b"\0")
        self._library.interface_store(self._handle, node, address - at, data, ((1 << size) - 1) << at)

    def stores(self, node: int) -> int:
        """Stores that the bus has yet to take."""
        return int(self._library.interface_stores(self._handle, node))

    def load(self, node: int, address: int) -> int:
        """16 bytes that the processor loads, while the network goes on."""
        words = (ctypes.c_uint64 * 2)()
        self._check(self._library.interface_load(self._handle, node, address, words))
        return words[0] | words[1] << 64

    def run(self, cycles: int) -> None:
        self._check(self._library.interface_run(self._handle, cycles))

    def settle(self) -> None:
        """Runs until all stores have been taken and have had their effect on tables."""
        self._check(self._library.interface_settle(self._handle))

    def wait(self, node: int, *addresses: int, mask: int = 1, value: int = 1, most: int = WAIT_CYCLES) -> None:
        """Runs until the byte at one of the addresses in the node's memory has these bits, which a process would
        poll."""
        polled = (ctypes.c_uint64 * len(addresses))(*addresses)
        self._check(self._library.interface_wait(self._handle, node, polled, len(addresses), mask, value, most))

    @property
    def cycle(self) -> int:
        return int(self._library.interface_cycle(self._handle))

    def get(self, node: int, address: int, count: int) -> bytes:
        """What is in the node's memory."""
        found = ctypes.create_string_buffer(count)
        self._library.interface_get(self._handle, node, address, found, count)
        return found.raw

    def set(self, node: int, address: int, data: bytes) -> None:
        self._library.interface_set(self._handle, node, address, data, len(data))

    def record(self, kinds: Iterable[What] = What) -> None:
        """Writes down what is on ports from now on, of these kinds, and forgets what was before."""
        self._library.interface_record(self._handle, sum(1 << what for what in kinds))

    def events(self) -> list[Event]:
        """What has been on ports since `record`, in order."""
        count = self._library.interface_recorded(self._handle, None, 0)
        found = (_Event * count)()
        self._library.interface_recorded(self._handle, found, count)
        return [Event(e.cycle, e.node, What(e.what), e.place, bool(e.last), e.low | e.high << 64) for e in found]

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeError(self._said())

    def _said(self) -> str:
        return str(self._library.interface_error().decode())


class _Event(ctypes.Structure):
    _fields_ = (
        ("cycle", ctypes.c_uint64),
        ("node", ctypes.c_uint32),
        ("what", ctypes.c_uint32),
        ("place", ctypes.c_uint32),
        ("last", ctypes.c_uint32),
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
    )


def _load() -> ctypes.CDLL:
    word, long, pointer, status, text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    signatures: Signatures = {
        "interface_open": (pointer, [word] * 4),
        "interface_close": (None, [pointer]),
        "interface_error": (text, []),
        "interface_store": (None, [pointer, word, word, text, word]),
        "interface_stores": (long, [pointer, word]),
        "interface_load": (status, [pointer, word, word, ctypes.POINTER(long)]),
        "interface_run": (status, [pointer, long]),
        "interface_settle": (status, [pointer]),
        "interface_cycle": (long, [pointer]),
        "interface_wait": (status, [pointer, word, ctypes.POINTER(long), long, word, word, long]),
        "interface_get": (None, [pointer, word, long, text, long]),
        "interface_set": (None, [pointer, word, long, text, long]),
        "interface_record": (None, [pointer, word]),
        "interface_recorded": (long, [pointer, ctypes.POINTER(_Event), long]),
    }
    return library.load("interface", build.Recipe(tops={"ni_node": _PARAMETERS}, wrapper=[_WRAPPER], sources=[_NODE]), signatures)
