# SPDX-License-Identifier: Apache-2.0
"""Boards of the KARMA bench, Verilated, and their registers by name.

All is done by reading and writing registers (spec/node.rdl, spec/karma.rdl): what a processor beside the real IP would
do. Only `line_words` looks at something that a board does not show, the words on a line.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from exanet.gateware import build
from exanet.karma import library, registers
from exanet.karma.library import Opened, Signatures

CYCLE_NS = 6.4
"""156.25 MHz, the published clock (KARMA'17, section 4)."""

_WRAPPER = "gateware/karma/tb/karma_bench.cpp"
_LIMIT_CYCLES = 4_000_000


@dataclass(frozen=True)
class Line:
    """The line between two ports, each (board, port); both directions are alike."""

    a: tuple[int, int]
    b: tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """Boards by their places in two dimensions, and the lines between them."""

    name: str
    places: tuple[tuple[int, int], ...]
    lines: tuple[Line, ...]


ONE = Layout("1 board", ((0, 0),), ())
TWO = Layout("2 boards", ((0, 0), (1, 0)), (Line((0, 0), (1, 0)),))
FOUR = Layout(
    "2x2 boards",
    ((0, 0), (1, 0), (0, 1), (1, 1)),
    (Line((0, 0), (1, 0)), Line((2, 0), (3, 0)), Line((0, 1), (2, 1)), Line((1, 1), (3, 1))),
)
"""KARMA'17, section 3.1: four Trenz boards in a 2x2 mesh through two connectors each; port 0 along x, port 1 along
y."""


class Bench(Opened):
    """Boards under power: their registers, and the passing of cycles. Close it, or use it as a context.

    line_cycles: latency of a transceiver and its line, one way, in cycles of 6.4 ns.
    pause_every: words after which a transceiver takes one word time for itself; 0 for none.
    Raises InputError when the model cannot be built.
    """

    _closes = "karma_close"

    def __init__(self, layout: Layout, *, line_cycles: int = 0, pause_every: int = 0, bit_error_rate: float = 0.0, seed: int = 1) -> None:
        self.layout = layout
        self._library = _load()
        flat = [number for line in layout.lines for number in (*line.a, *line.b)]
        lines = (ctypes.c_uint * len(flat))(*flat)
        self._handle = self._library.karma_open(
            len(layout.places), lines, len(layout.lines), line_cycles, pause_every, bit_error_rate, seed
        )
        if not self._handle:
            raise ValueError(f"{layout.name}: a line leads to a board or port that is not there")
        for board, (x, y) in enumerate(layout.places):
            self._place(board, x, y)

    def _place(self, board: int, x: int, y: int) -> None:
        """Writes what a node of a 2x2 mesh must know; last dimension first, packet type t to intra-tile port t
        modulo 3."""
        for dimension, at in enumerate((x, y, 0)):
            port = dimension if dimension < 2 else 0
            side = 2 if dimension < 2 else 1
            self.write(board, "node", f"dimension[{dimension}]", coordinate=at, side=side, plus_port=port, minus_port=port)
        self.write(board, "node", "routing", order_0=2, order_1=1, order_2=0, enabled=1)
        self.write(board, "node", "type_port", ports=sum(kind % 3 << 2 * kind for kind in range(16)))
        self.write(board, "karma", "source", dcid=self.address(board))

    def address(self, board: int) -> int:
        """The board's DCID: coordinates of 8, 7 and 7 bits, the first lowest."""
        x, y = self.layout.places[board]
        return x | y << 8

    def write(self, board: int, block: str, register: str, **fields: int) -> None:
        """Writes a register of block "node" or "karma"; fields that are not given become zero. Raises ValueError for
        what does not fit."""
        address, known = _registers(block)[register]
        word = 0
        for name, value in fields.items():
            low, bits = known[name]
            if not 0 <= value < 1 << bits:
                raise ValueError(f"{block}.{register}.{name} = {value} does not fit into {bits} bits")
            word |= value << low
        if self._library.karma_write(self._handle, board, _BLOCKS.index(block), address, word):
            raise RuntimeError(f"board {board} does not answer a write to {block}.{register}")

    def read(self, board: int, block: str, register: str, field: str | None = None) -> int:
        """A field of a register, or the whole register."""
        address, known = _registers(block)[register]
        word = ctypes.c_uint32()
        if self._library.karma_read(self._handle, board, _BLOCKS.index(block), address, ctypes.byref(word)):
            raise RuntimeError(f"board {board} does not answer a read of {block}.{register}")
        low, bits = known[field] if field else (0, 32)
        return word.value >> low & (1 << bits) - 1

    def run(self, cycles: int) -> None:
        """Lets cycles pass on all boards."""
        self._library.karma_run(self._handle, cycles)

    @property
    def cycle(self) -> int:
        return int(self._library.karma_cycle(self._handle))

    def run_until_idle(self, ports: Sequence[tuple[int, int]]) -> None:
        """Runs until none of these generators, each (board, port), has anything left, and then until all of it must
        have arrived."""
        limit = self.cycle + _LIMIT_CYCLES
        while any(self.read(board, "karma", f"port[{port}].control", "busy") for board, port in ports):
            self.run(200)
            if self.cycle > limit:
                raise RuntimeError(f"{self.layout.name}: generators {ports} do not come to their end")

    def record(self, words: int) -> None:
        """Keeps the first words that leave on each line from now on."""
        self._library.karma_record(self._handle, words)

    def line_words(self, board: int, port: int) -> list[tuple[int, int]]:
        """The words recorded on the line that leaves this port: (cycle, word)."""
        count = self._library.karma_recorded(self._handle, board, port, None, None, 0)
        cycles, words = (ctypes.c_uint64 * count)(), (ctypes.c_uint64 * count)()
        self._library.karma_recorded(self._handle, board, port, cycles, words, count)
        return list(zip(cycles, words, strict=True))


_BLOCKS = ("node", "karma")


def _registers(block: str) -> dict[str, tuple[int, dict[str, tuple[int, int]]]]:
    return registers.NODE if block == "node" else registers.KARMA


def _load() -> ctypes.CDLL:
    parameters = {"InterPorts": 2, "IntraPorts": 3, "Dimensions": 2}
    word, long, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    signatures: Signatures = {
        "karma_open": (pointer, [ctypes.c_uint, ctypes.POINTER(ctypes.c_uint), *[ctypes.c_uint] * 3, ctypes.c_double, long]),
        "karma_close": (None, [pointer]),
        "karma_write": (ctypes.c_int, [pointer, ctypes.c_uint, ctypes.c_uint, word, word]),
        "karma_read": (ctypes.c_int, [pointer, ctypes.c_uint, ctypes.c_uint, word, ctypes.POINTER(word)]),
        "karma_run": (None, [pointer, long]),
        "karma_cycle": (long, [pointer]),
        "karma_record": (None, [pointer, long]),
        "karma_recorded": (long, [pointer, ctypes.c_uint, ctypes.c_uint, ctypes.POINTER(long), ctypes.POINTER(long), long]),
    }
    return library.load("karma", build.Recipe(tops={"karma_board": parameters}, wrapper=[_WRAPPER]), signatures)
