# SPDX-License-Identifier: Apache-2.0
"""Tests of reductions.sv, a node that is both ends of a tree, with the AXI master and memory of cocotbext-axi.

Tree 0 has two processes; the node above it is the same node's tree 1, which has a third process and is the root.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiMaster, AxiRamWrite, AxiWriteBus
from test_messages import REASONS, SPEC, pack, pauses, unpack

OPERATIONS = [value["name"] for value in SPEC["enums"]["reduce_operation"]["values"]]
TYPES = [value["name"] for value in SPEC["enums"]["reduce_type"]["values"]]
FORMATS = dict(zip(TYPES, "iqIQfd", strict=True))
CALL, TREES, CONFIG, COUNTS, NEIGHBOURS, END = 0x200, 0x80000, 0x80100, 0x80110, 0x81000, 0x3F0
DCID, DOMAIN, ABOVE = 0, 77, 8
PROCESSES = ((0, 1), (0, 6), (1, 4))  # tree and branch, in the order in which their vectors are combined


def results(process: int) -> int:
    return 1024 * (process + 1)


class Node:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        reset = {"reset": dut.rst_n, "reset_active_level": False}
        self.processor = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, **reset)
        self.memory = AxiRamWrite(AxiWriteBus.from_prefix(dut, "m_axi"), dut.clk, **reset, size=2**14)
        self.number = 0  # of the next reduction

    async def store(self, address: int, data: bytes) -> None:
        assert (await self.processor.write(address, data)).resp == 0

    async def open(self, *, epoch: int) -> None:
        """The branch of tree 0 at the root is behind that of the root's process."""
        self.memory.write(0, bytes(2**14))
        self.number = epoch << 16
        for process, (tree, branch) in enumerate(PROCESSES):
            await self.store(NEIGHBOURS + 256 * tree + 16 * branch, pack("ni_reduce_place", line=results(process) // 1024))
        await self.store(NEIGHBOURS + 256 + 16 * 2, pack("ni_reduce_node", dcid=DCID, tree=0))
        await self.store(NEIGHBOURS + 16 * ABOVE, pack("ni_reduce_node", dcid=DCID, tree=1, branch=2))
        fields = {"pdid": DOMAIN, "epoch": epoch, "enabled": 1}
        await self.store(TREES + 16, pack("ni_reduce_tree", branches=0b10100, locals=0b10000, root=1, **fields))
        await self.store(TREES, pack("ni_reduce_tree", branches=0b1000010, locals=0b1000010, **fields))

    async def call(self, process: int, operation: str, element: str, vector: bytes) -> None:
        tree, branch = PROCESSES[process]
        page = 0x1000 * (8 * tree + branch)
        # In pieces of any width.
        at = 0
        while at < len(vector):
            piece = vector[at : at + random.randrange(1, 70)]
            await self.store(page + at, piece)
            at += len(piece)
        call = pack("reduce_call", operation=OPERATIONS.index(operation), element=TYPES.index(element), bytes=len(vector))
        await self.store(page + CALL, call)

    def end(self, process: int) -> dict[str, int]:
        return unpack("reduce_end", self.memory.read(results(process) + END, 16))

    async def wait(self, process: int, *, cycles: int = 4000) -> dict[str, int]:
        for _ in range(cycles):
            end = self.end(process)
            if end["valid"] and (end["reason"] or end["number"] == self.number):
                return end
            await ClockCycles(self.dut.clk, 1)
        raise AssertionError(f"no end within {cycles} cycles")

    async def counts(self) -> tuple[int, ...]:
        """Reductions ended, failed, packets sent again, and that nobody waited for."""
        return struct.unpack("<4I", (await self.processor.read(COUNTS, 16)).data)


async def bring_up(dut: Any) -> Node:
    cocotb.start_soon(Clock(dut.clk, 6.4, unit="ns", period_high=3.2).start())
    dut.rst_n.value = 0
    node = Node(dut)
    await ClockCycles(dut.clk, 8)
    dut.rst_n.value = 1
    await node.store(CONFIG, pack("ni_reduce_config", dcid=DCID, timeout=20, limit=40))
    return node


def combined(operation: str, element: str, first: float, second: float) -> float:
    if operation == "Sum":
        total = first + second
        if FORMATS[element] in "fd":
            return struct.unpack("<" + FORMATS[element], struct.pack("<" + FORMATS[element], total))[0]
        width = 32 if FORMATS[element] in "iI" else 64
        total = int(total) % (1 << width)
        return total - (1 << width) if FORMATS[element] in "iq" and total >> (width - 1) else total
    if operation in ("Min", "Max"):
        return min(first, second) if operation == "Min" else max(first, second)
    return {"And": int.__and__, "Or": int.__or__, "Xor": int.__xor__}[operation](int(first), int(second))


def drawn(element: str, count: int) -> list[float]:
    kind = FORMATS[element]
    if kind in "fd":
        return [struct.unpack("<" + kind, struct.pack("<" + kind, random.uniform(-1e6, 1e6)))[0] for _ in range(count)]
    return [struct.unpack("<" + kind, random.randbytes(struct.calcsize(kind)))[0] for _ in range(count)]


@cocotb.test()
async def every_operation_on_every_type(dut: Any) -> None:
    node = await bring_up(dut)
    await node.open(epoch=3)
    kinds = [(o, e) for e in TYPES for o in OPERATIONS if FORMATS[e] not in "fd" or o in ("Sum", "Min", "Max")]
    for operation, element in kinds:
        kind = "<%d" + FORMATS[element]
        count = random.choice((1, 2, 5, 512 // struct.calcsize("<" + FORMATS[element])))
        vectors = [drawn(element, count) for _ in PROCESSES]
        for process in random.sample(range(3), 3):
            await node.call(process, operation, element, struct.pack(kind % count, *vectors[process]))
        wanted = [combined(operation, element, combined(operation, element, a, b), c) for a, b, c in zip(*vectors, strict=True)]
        for process in range(3):
            end = await node.wait(process)
            assert end["reason"] == 0 and end["bytes"] == struct.calcsize(kind % count)
            begin = results(process) + END - (end["bytes"] + 15) // 16 * 16
            assert node.memory.read(begin, end["bytes"]) == struct.pack(kind % count, *wanted), (operation, element)
        node.number += 1
    assert await node.counts() == (2 * len(kinds), 0, 0, 0)


@cocotb.test()
async def barriers_at_any_pace(dut: Any) -> None:
    node = await bring_up(dut)
    for seed, bus in enumerate((node.processor.write_if, node.memory)):
        for number, channel in enumerate((bus.aw_channel, bus.w_channel, bus.b_channel)):
            channel.set_pause_generator(pauses(3 * seed + number))
    await node.open(epoch=255)
    for _ in range(20):
        late = random.randrange(3)
        for process in range(3):
            if process != late:
                await node.call(process, "Sum", "Int32", b"")
        await ClockCycles(dut.clk, random.randrange(300))
        assert all(not (end := node.end(process))["valid"] or end["number"] < node.number for process in range(3))
        await node.call(late, "Sum", "Int32", b"")
        for process in range(3):
            assert (await node.wait(process))["reason"] == 0
        node.number += 1


@cocotb.test()
async def failures_are_reported(dut: Any) -> None:
    node = await bring_up(dut)
    await node.open(epoch=0)
    await node.call(0, "Sum", "Int32", bytes(16))
    await node.call(1, "Sum", "Int32", bytes(12))
    for process in range(3):
        assert REASONS[(await node.wait(process))["reason"]] == "Mismatch"
    await node.open(epoch=1)
    await node.call(0, "Sum", "Int32", bytes(16))
    await node.call(2, "Sum", "Int32", bytes(16))
    for process in range(3):
        assert REASONS[(await node.wait(process, cycles=256 * 45))["reason"]] == "Silent"
    await node.open(epoch=2)
    for process in range(3):
        await node.call(process, "Sum", "Int32", struct.pack("<i", process + 1))
    for process in range(3):
        assert (await node.wait(process))["reason"] == 0
        assert node.memory.read(results(process) + END - 16, 4) == struct.pack("<i", 6)
    # Not a burst of kind INCR: an error at the bus.
    assert (await node.processor.write(0x1000, bytes(16), burst=0)).resp != 0
