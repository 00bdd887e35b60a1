# SPDX-License-Identifier: Apache-2.0
"""Tests of two nodes and the line between them (pair.sv), with the AXI masters, sources and sinks of cocotbext-axi.

`Node` is what a bench needs of a node: frames in and out, and registers by their names. Copy it, and `bring_up`, for a
bench of your own.
"""

from __future__ import annotations

import random
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamMonitor, AxiStreamSink, AxiStreamSource
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
# name: (address, {field: (lowest bit, bits)})
REGISTERS = runpy.run_path(str(ROOT / "exanet/karma/registers.py"))["NODE"]
USER = YAML(typ="safe").load(ROOT / "spec/packet.yaml")["layouts"]["ni_user"]["fields"]
PRIORITY = sum(field["bits"] for field in USER[: [field["name"] for field in USER].index("high_priority")])
CORE_NS, LINE_NS = 6.4, 6.206  # 156.25 MHz, and a transceiver's clock at 10.3125 Gb/s on 64 bits


def user(**fields: int) -> int:
    """TUSER with these fields of ni_user, all others zero."""
    value, low = 0, 0
    for field in USER:
        given = fields.pop(field["name"], 0)
        assert given < 1 << field["bits"], field["name"]
        value |= given << low
        low += field["bits"]
    assert not fields, f"ni_user has no {', '.join(fields)}"
    return value


class Node:
    """One node of the pair. Its address is its number."""

    def __init__(self, dut: Any, number: int) -> None:
        self.dut, self.number = dut, number
        reset = {"reset": dut.rst_n, "reset_active_level": False}
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"axil{number}"), dut.clk, **reset)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, f"send{number}"), dut.clk, **reset)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, f"receive{number}"), dut.clk, **reset)

    async def read(self, register: str, field: str) -> int:
        address, fields = REGISTERS[register]
        low, bits = fields[field]
        data = (await self.master.read(address, 4)).data
        return int.from_bytes(data, "little") >> low & (1 << bits) - 1

    async def write(self, register: str, **values: int) -> None:
        """Writes the whole register; fields that are not given become zero."""
        address, fields = REGISTERS[register]
        word = sum(value << fields[name][0] for name, value in values.items())
        await self.master.write(address, word.to_bytes(4, "little"))

    async def send(self, data: bytes, **fields: int) -> int:
        """Hands a frame for the other node to the source, and returns its TUSER."""
        tuser = user(dcid=1 - self.number, source_dcid=self.number, **fields)
        await self.source.send(AxiStreamFrame(data, tuser=tuser))
        return tuser

    async def receive(self) -> tuple[bytes, int]:
        """The next frame and its TUSER, which is the same in all beats."""
        frame = await with_timeout(self.sink.recv(), 100, "us")
        return bytes(frame.tdata), frame.tuser


async def bring_up(dut: Any) -> tuple[Node, Node]:
    """Clocks, a reset, the channel up, and both routers with their place in a row of two."""
    cocotb.start_soon(Clock(dut.clk, CORE_NS, "ns").start())
    cocotb.start_soon(Clock(dut.line_clk, LINE_NS, "ns").start())
    dut.flip0.value = 0
    nodes = Node(dut, 0), Node(dut, 1)
    dut.rst_n.value = 0
    await ClockCycles(dut.clk, 10)
    dut.rst_n.value = 1
    await ClockCycles(dut.clk, 10)
    for node in nodes:
        await node.write("dimension[0]", coordinate=node.number, side=2, plus_port=0, minus_port=0)
        await node.write("routing", order_0=0, order_1=1, order_2=2, enabled=1)
        for _ in range(200):
            if await node.read("channels", "up"):
                break
        else:
            raise AssertionError("the channel does not come up")
    return nodes


def pauses(share: float, seed: int) -> Iterator[bool]:
    """Whether to pause, cycle by cycle."""
    chance = random.Random(seed)
    while True:
        yield chance.random() < share


@cocotb.test
async def registers(dut: Any) -> None:
    """What the node is can be read, what is written is there, and an interrupt stays until it is cleared."""
    node, _ = await bring_up(dut)
    assert await node.read("id", "magic") == int.from_bytes(b"EXN", "big")
    assert [await node.read("shape", name) for name in ("inter_ports", "intra_ports", "dimensions")] == [1, 1, 1]
    await node.write("credit", threshold=7, interval=300)
    assert [await node.read("credit", "threshold"), await node.read("credit", "interval")] == [7, 300]
    assert not dut.interrupt0.value
    await node.write("interrupts_enabled", came_up=1)
    await ClockCycles(dut.clk, 2)
    assert dut.interrupt0.value
    await node.write("interrupts", came_up=1)
    await ClockCycles(dut.clk, 2)
    assert not dut.interrupt0.value


@cocotb.test
async def a_message(dut: Any) -> None:
    """The first frame to try: 20 bytes from node 0 to node 1, with all that TUSER says."""
    first, second = await bring_up(dut)
    message = b"ExaNet, node to node"
    said = await first.send(message, kind=0, pdid=5, dmadd=0x1234_5678_9ABC, number=1, last=1)
    assert await second.receive() == (message, said)


@cocotb.test
async def frames_at_random_rates(dut: Any) -> None:
    """Frames of 1 to 512 bytes both ways; masters pause within frames and slaves hold beats up. All arrive, once and
    in order."""
    nodes = await bring_up(dut)
    chance = random.Random(cocotb.RANDOM_SEED)
    frames = 25
    for node in nodes:
        node.source.set_pause_generator(pauses(0.3, chance.getrandbits(32)))
        node.sink.set_pause_generator(pauses(0.7, chance.getrandbits(32)))
    sent: dict[Node, list[tuple[bytes, int]]] = {node: [] for node in nodes}
    for number in range(frames):
        for node in nodes:
            data = chance.randbytes(chance.choice((1, 15, 16, 17, 512, chance.randint(1, 512))))
            said = await node.send(data, kind=chance.randrange(8), number=number, high_priority=number % 4 == 0)
            sent[node].append((data, said))
    for node, other in (nodes, nodes[::-1]):
        got = [await other.receive() for _ in range(frames)]
        for priority in (0, 1):  # classes may pass each other in the router
            of_class = [[(data, said) for data, said in list if said >> PRIORITY & 1 == priority] for list in (got, sent[node])]
            assert of_class[0] == of_class[1]
        assert await node.read("link[0].tx_packets", "count") == frames


@cocotb.test
async def a_damaged_packet(dut: Any) -> None:
    """A bit of the line that turns within a payload costs that packet, which is counted, and nothing else."""
    first, second = await bring_up(dut)
    monitor = AxiStreamMonitor(AxiStreamBus.from_prefix(dut, "send0"), dut.clk)
    for number in range(3):
        said = await first.send(bytes(range(256)) * 2, number=number)
        await monitor.recv()  # its last beat has been taken
        if number == 1:
            await ClockCycles(dut.line_clk, 60)
            dut.flip0.value = 1 << 17
            await ClockCycles(dut.line_clk, 1)
            dut.flip0.value = 0
        else:
            assert await second.receive() == (bytes(range(256)) * 2, said)
        await ClockCycles(dut.clk, 200)
    assert second.sink.empty()
    assert await second.read("link[0].rx_bad_payloads", "count") == 1
    assert await second.read("link[0].rx_packets", "count") == 3
    assert dut.dropped1.value == 1


@cocotb.test
async def a_frame_that_is_too_long(dut: Any) -> None:
    """513 bytes are taken from the stream and counted, and the next frame goes."""
    first, second = await bring_up(dut)
    await first.send(bytes(513), number=1)
    said = await first.send(b"next", number=2)
    assert await second.receive() == (b"next", said)
    assert dut.refused0.value == 1
