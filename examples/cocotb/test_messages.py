# SPDX-License-Identifier: Apache-2.0
"""Tests of messages.sv, a node that sends messages and transfers to itself, with the AXI master and memories of
cocotbext-axi.

`Node` is what a bench needs: records by the names of their fields in spec/packet.yaml, messages by stores, mailboxes in
memory, transfers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiMaster, AxiRam, AxiRamWrite, AxiWriteBus
from ruamel.yaml import YAML

SPEC = YAML(typ="safe").load(Path(__file__).resolve().parents[2] / "spec/packet.yaml")
LAYOUTS = {name: layout["fields"] for name, layout in SPEC["layouts"].items()}
REASONS = [value["name"] for value in SPEC["enums"]["nack_reason"]["values"]]
SEND, TRANSFER, FENCE, STATUS, RELEASE = 0x40, 0x80, 0xA0, 0xC0, 0xC8
CONTEXTS, CONFIG, MAILBOXES = 0x100000, 0x104000, 0x108000
DCID, DOMAIN, MAILBOX, RING, LOG_ENTRIES, ENDS = 0, 77, 9, 0x2000, 3, 0x10000


def pack(layout: str, **fields: int) -> bytes:
    value, low = 0, 0
    for field in LAYOUTS[layout]:
        value |= fields.pop(field["name"], 0) << low
        low += field["bits"]
    assert not fields, f"{layout} has no {', '.join(fields)}"
    return value.to_bytes(low // 8, "little")


def unpack(layout: str, data: bytes) -> dict[str, int]:
    value, found = int.from_bytes(data, "little"), {}
    for field in LAYOUTS[layout]:
        found[field["name"]] = value & (1 << field["bits"]) - 1
        value >>= field["bits"]
    return found


class Node:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        reset = {"reset": dut.rst_n, "reset_active_level": False}
        self.processor = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, **reset)
        self.memory = AxiRamWrite(AxiWriteBus.from_prefix(dut, "m_axi"), dut.clk, **reset, size=2**16)
        self.transfers = AxiRam(AxiBus.from_prefix(dut, "m_axi_dma"), dut.clk, **reset, size=2**17)
        self.read_to = 0  # entries that were read

    async def store(self, address: int, data: bytes) -> None:
        assert (await self.processor.write(address, data)).resp == 0

    async def send(self, context: int, data: bytes, mailbox: int = MAILBOX) -> None:
        if data:
            await self.store(0x1000 * context, data)
        await self.store(0x1000 * context + SEND, pack("message_send", dcid=DCID, mailbox=mailbox, length=len(data)))

    async def transfer(self, context: int, *, fence: tuple[int, int] | None = None, end: int, **fields: int) -> None:
        """A transfer, with the address and the value of the word behind it, if it is to have one."""
        if fence:
            await self.store(0x1000 * context + FENCE, pack("transfer_fence", word=fence[0] // 8, value=fence[1]))
        record = pack("transfer", dcid=DCID, end_word=end // 8, notify=1, fence=fence is not None, **fields)
        await self.store(0x1000 * context + TRANSFER, record)

    async def status(self, context: int) -> dict[str, int]:
        return unpack("ni_status", (await self.processor.read(0x1000 * context + STATUS, 8)).data)

    def receive(self) -> tuple[dict[str, int], bytes] | None:
        """The next message of the mailbox, by the phase of its entry."""
        rounds, at = divmod(self.read_to, 1 << LOG_ENTRIES)
        end = RING + 128 * at + 112
        entry = unpack("mailbox_entry", self.memory.read(end, 16))
        if entry["phase"] == rounds % 2:
            return None
        self.read_to += 1
        begin = end - 16 * ((entry["length"] + 15) // 16)
        return entry, self.memory.read(begin, entry["length"])

    async def release(self) -> None:
        place = self.read_to % (2 << LOG_ENTRIES)
        await self.store(0x3000 + RELEASE, pack("mailbox_release", mailbox=MAILBOX, place=place))


async def bring_up(dut: Any) -> Node:
    cocotb.start_soon(Clock(dut.clk, 6.4, unit="ns", period_high=3.2).start())
    dut.rst_n.value = 0
    node = Node(dut)
    await ClockCycles(dut.clk, 8)
    dut.rst_n.value = 1
    node.memory.write(0, bytes(2**16))  # entries begin with phase 0
    await node.store(CONFIG, pack("ni_config", dcid=DCID, y_shift=4, z_shift=8, timeout=2, tries=3, block_timeout=2, kept_channels=4))
    for context in range(8):
        await node.store(CONTEXTS + 16 * context, pack("ni_context", pdid=DOMAIN, enabled=1))
    await node.store(MAILBOXES + 16 * MAILBOX, pack("ni_mailbox", line=RING // 128, log_entries=LOG_ENTRIES, pdid=DOMAIN, open=1))
    return node


async def wait_for(node: Node, *, cycles: int = 4000) -> tuple[dict[str, int], bytes]:
    for _ in range(cycles):
        if message := node.receive():
            return message
        await ClockCycles(node.dut.clk, 1)
    raise AssertionError(f"no message within {cycles} cycles")


@cocotb.test()
async def messages_of_every_length(dut: Any) -> None:
    node = await bring_up(dut)
    for length in (0, 1, 15, 16, 17, 32, 63, 64):
        data = random.randbytes(length)
        await node.send(3, data)
        entry, received = await wait_for(node)
        assert received == data
        assert entry["length"] == length and entry["pdid"] == DOMAIN and entry["channel"] // 4 == 3
        await node.release()
    await ClockCycles(dut.clk, 100)
    status = await node.status(3)
    assert status["free_slots"] == 0xF and status["failed"] == status["refused"] == 0


@cocotb.test()
async def failures_are_reported(dut: Any) -> None:
    node = await bring_up(dut)
    await node.store(MAILBOXES + 16 * 10, pack("ni_mailbox", line=0x4000 // 128, log_entries=0, pdid=DOMAIN + 1, open=1))
    for mailbox, reason in ((10, "Domain"), (11, "Closed"), (5000, "Closed")):
        await node.send(5, b"not for you", mailbox)
        await ClockCycles(dut.clk, 200)
        assert REASONS[(await node.status(5))["failure"]] == reason
    assert (await node.status(5))["failed"] == 3
    await node.store(0x5000 + SEND, pack("message_send", dcid=DCID, mailbox=MAILBOX, length=65))
    assert (await node.status(5))["refused"] == 1
    assert node.memory.read(0x4000, 128) == bytes(128)
    # Not a burst of kind INCR: an error at the bus.
    assert (await node.processor.write(0x5000, bytes(16), burst=0)).resp != 0


def pauses(seed: int) -> Iterator[int]:
    chance = random.Random(seed)
    while True:
        yield chance.random() < 0.4


@cocotb.test()
async def any_pace_and_a_full_mailbox(dut: Any) -> None:
    node = await bring_up(dut)
    for seed, bus in enumerate((node.processor.write_if, node.memory)):
        for number, channel in enumerate((bus.aw_channel, bus.w_channel, bus.b_channel)):
            channel.set_pause_generator(pauses(3 * seed + number))
    # Three times what the ring holds: the rest waits in slots, and comes when there is space.
    sent = [random.randbytes(random.randrange(65)) for _ in range(3 << LOG_ENTRIES)]
    for number, data in enumerate(sent):
        await node.send(number % 8, data)
    await ClockCycles(dut.clk, 500)
    received = []
    while len(received) < len(sent):
        received.append((await wait_for(node, cycles=20000))[1])
        await node.release()
    assert sorted(received) == sorted(sent)
    assert (await node.status(0))["refused"] == 0


@cocotb.test()
async def transfers_of_any_address_at_any_pace(dut: Any) -> None:
    node = await bring_up(dut)
    ports = node.transfers.write_if, node.transfers.read_if
    channels = [ports[0].aw_channel, ports[0].w_channel, ports[0].b_channel, ports[1].ar_channel, ports[1].r_channel]
    data = random.randbytes(2**16)
    node.transfers.write(0, data + bytes(2**16))
    written, at = {}, ENDS + 256
    for token in range(24):
        if token == 12:
            for number, channel in enumerate(channels):
                channel.set_pause_generator(pauses(number))
        length, own = random.choice((1, 16, 64, 513, random.randrange(2500))), random.randrange(2**15)
        at += random.randrange(16)
        await node.transfer(token % 8, own=own, target=at, length=length, end=ENDS + 8 * token, token=token)
        written[token] = at, own, length
        at += length
        if token % 6 == 5:
            at += 512
            await ClockCycles(dut.clk, 6000)
    for token, (target, own, length) in written.items():
        end = unpack("transfer_end", node.transfers.read(ENDS + 8 * token, 8))
        assert end["done"] == 1 and end["failure"] == 0 and end["token"] == token
        assert node.transfers.read(target, length) == data[own : own + length]
    assert node.transfers.read(at, 256) == bytes(256)


@cocotb.test()
async def a_word_behind_each_transfer(dut: Any) -> None:
    node = await bring_up(dut)
    writes = node.transfers.write_if
    for number, channel in enumerate((writes.aw_channel, writes.w_channel, writes.b_channel)):
        channel.set_pause_generator(pauses(number))
    data = random.randbytes(2**15)
    node.transfers.write(0, data + bytes(2**17 - 2**15))
    at, words = ENDS + 1024, ENDS + 512
    for token, length in enumerate((0, 1, 64, 513, 2000, 5000)):
        own, word, value = random.randrange(2**14), words + 8 * token, random.randrange(1, 2**64)
        fields = {"own": own, "target": at, "length": length, "token": token}
        await node.transfer(token, end=ENDS + 8 * token, fence=(word, value), **fields)
        for _ in range(5000):
            if node.transfers.read(word, 8) != bytes(8):
                break
            assert node.transfers.read(ENDS + 8 * token, 8) == bytes(8)  # the end comes behind it
            await ClockCycles(dut.clk, 1)
        assert int.from_bytes(node.transfers.read(word, 8), "little") == value
        assert node.transfers.read(at, length) == data[own : own + length]
        at += length + random.randrange(16)


@cocotb.test()
async def reads_of_any_address(dut: Any) -> None:
    node = await bring_up(dut)
    data = random.randbytes(2**15)
    node.transfers.write(0, data + bytes(2**17 - 2**15))
    at = ENDS + 1024
    for token, length in enumerate((0, 1, 64, 513, 2000, 5000)):
        there = random.randrange(2**14)
        await node.transfer(token, own=at, target=there, length=length, read=1, end=ENDS + 8 * token, token=token)
        for _ in range(5000):
            end = unpack("transfer_end", node.transfers.read(ENDS + 8 * token, 8))
            if end["done"]:
                break
            await ClockCycles(dut.clk, 1)
        assert end["done"] == 1 and end["failure"] == 0 and end["token"] == token
        assert node.transfers.read(at, length) == data[there : there + length]
        at += length + random.randrange(16)
    assert node.transfers.read(at, 256) == bytes(256)
