# SPDX-License-Identifier: Apache-2.0
"""The network interface, Verilated between a processor's stores and a memory: cycles of its stages, packets,
completions and options.

Nothing in the gateware is fitted; R35 fixes what the machine `carvnet` has around it. Rows of kind "beside" rest on
what was not published: the processors and memories of those machines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from exanet.errors import InputError
from exanet.karma import options, sizes, stages, streams
from exanet.karma.board import CYCLE_NS
from exanet.karma.interface import LINE_CYCLES, MEMORY_CYCLES
from exanet.karma.stages import Row
from exanet.optional import VERILATED
from exanet.validate.interface import interface_cycles, since_store
from exanet.validate.registry import Measured, Off, Reading, experiment
from exanet.validate.runner import RunFailed, Runner

_SMALL_WRITES = Off(
    0.815,
    "a write of 64 B is four words of payload, a header and a footer: 6 cycles at the port even without an idle cycle. Four cycles a "
    "packet of 16 B words leave 32 B of payload",
)
_RDMA_US = 0.5
_READS_MEMORY = Off(
    0.165,
    "20 of the 91 cycles are memory's answer to the read of the bytes; without them the write takes 0.454 us. Whether the published time "
    "has such a read in it, at which distance, and at which clock the interface runs, is not stated",
)
_CHECKS_AND_LOOKUPS = Off(
    2.5,
    "towards memory, 4 of the 7 cycles check the packet's codes and pass its buffer and 2 look up the mailbox and what is known of the "
    "sender, which an adapter alone does not have; towards the network, 3 of the 4 hold the whole frame, its record and the header's "
    "register",
)
_NEIGHBOURS = (0, 1)

T = TypeVar("T")


def _run(measure: Callable[[], T]) -> T:
    """Fails the row of what cannot be built, or does what it should not, and no other."""
    try:
        return measure()
    except (InputError, RuntimeError) as error:
        raise RunFailed(str(error)) from None


@functools.cache
def _message(payload: int) -> Row:
    return _run(lambda: stages.message(payload, line_cycles=LINE_CYCLES, memory_cycles=MEMORY_CYCLES))


@functools.cache
def _write() -> Row:
    measure = functools.partial(stages.transfer, 64, read=False, pages="none", line_cycles=LINE_CYCLES)
    return _run(lambda: measure(memory_cycles=MEMORY_CYCLES))


@experiment("R33", kind="bound", needs=VERILATED)
def descriptor(runner: Runner) -> Measured:
    stores = _run(stages.store_cycles)
    reads = {pages: _run(lambda pages=pages: stages.first_reads(pages)) for pages in stages.PAGES}  # type: ignore[misc]
    most = {pages: max(cycles) for pages, cycles in reads.items()}
    return Measured(
        most["hit"],
        f"to the engine's first read, its page in the TLB, the most of {len(reads['hit'])} phases; {most['none']} without translation. The "
        "four stores are taken one a cycle. Figure 23 shows the first access to a page: whether the walk lies within the ten cycles or "
        "behind them, in the IOMMU, is not stated",
        holds=stores[:-1] == [1, 1, 1] and most["hit"] <= 10,
        data={"cycles": reads, "stores": stores},
        readings=(Reading("with the walk for the first access to a page", most["miss"], 10),),
    )


@experiment("R34", kind="bound", needs=VERILATED)
def processor_to_interface(runner: Runner) -> Measured:
    headers = _run(stages.message_headers)
    return Measured(
        max(headers),
        f"last store on the bus to the header of 16 B at the router, the most of {len(headers)} phases; the core's own part is not in it",
        holds=max(headers) < 12,
    )


@functools.cache
def _one_way_ns(runner: Runner, program: str, machine: str, payload: int) -> float:
    """User to user between neighbours of a machine, without any MPI."""
    answer = runner.run(program, machine, _NEIGHBOURS, payload, mpi="none")
    return float(answer["one_way_ns"][str(payload)])


@experiment("R35", kind="calibrated", needs=VERILATED)
def user_level(runner: Runner) -> Measured:
    message = _message(16)
    cycles = since_store(message, "in its mailbox")
    ours = {name: _one_way_ns(runner, "packets", name, 16) for name in ("carvnet-100mhz", "carvnet", "carvnet-a53")}
    return Measured(
        ours["carvnet-100mhz"] / 10,
        f"16 B on carvnet-100mhz, user to user; fixes mailbox, mailbox_read and library_receive there and on carvnet. The gateware alone "
        f"takes {cycles} in the bench, last store on the bus to memory written, {LINE_CYCLES} of it on a line of 64 bits as there, "
        f"{interface_cycles(message)} in the interfaces. On carvnet {ours['carvnet']:.0f} ns, with cores of 1 GHz "
        f"{ours['carvnet-a53']:.0f}",
        data={"one_way_ns": ours, "bench_cycles": cycles},
    )


@experiment("R36", kind="bound", off=_READS_MEMORY, needs=VERILATED)
def rdma(runner: Runner) -> Measured:
    """A write of 64 B in the gateware's cycles, from the last store of its descriptor to its last byte in the other
    memory."""
    cycles = since_store(_write(), "in the other memory")
    ours_us = cycles * CYCLE_NS / 1000
    ours = {name: _one_way_ns(runner, "puts", name, 64) for name in ("carvnet", "carvnet-100mhz", "carvnet-a53")}
    return Measured(
        ours_us,
        f"{cycles} cycles of {CYCLE_NS:g} ns, line {LINE_CYCLES} and memory {MEMORY_CYCLES} of them. User to user, by a word behind the "
        f"bytes that the target polls: {', '.join(f'{ns / 1000:.2f} us on {name}' for name, ns in ours.items())}. What theirs begins and "
        "ends with is not stated",
        holds=ours_us < _RDMA_US,
        data={"one_way_ns": ours, "cycles": cycles},
        readings=(
            Reading("the same cycles at the core's 100 MHz", cycles / 100, _RDMA_US),
            Reading("user to user on carvnet, by a word that the target polls", ours["carvnet"] / 1000, _RDMA_US),
        ),
    )


@experiment("R38", kind="bound", off=_SMALL_WRITES, needs=VERILATED)
def packet_rate(runner: Runner) -> Measured:
    writes = _run(lambda: streams.small_writes(memory_cycles=MEMORY_CYCLES))["cycles_a_write"]
    rates = {payload: _run(lambda payload=payload: streams.packetizer(payload))["cycles_a_packet"] for payload in streams.PACKETIZER_BYTES}  # type: ignore[misc]
    shown = ", ".join(f"{payload} B in {cycles:g}" for payload, cycles in rates.items())
    return Measured(
        writes,
        f"RDMA writes of 64 B, 64 under way. The size of theirs is not stated. Messages, each a packet of the packetizer: {shown}",
        holds=writes <= 4,
        data={"write_cycles": writes, "message_cycles": rates},
        readings=(Reading("messages of 32 B by the packetizer", rates[32], 4),),
    )


@experiment("R44", kind="bound", needs=VERILATED)
def payload_in_completion(runner: Runner) -> Measured:
    found = _run(sizes.message_burst)
    return Measured(
        found["payload_bytes"],
        f"payload of a message and the entry that reports it are {found['bursts']} burst, of one behind a transfer too; a fence has 8 B",
        holds=found["bursts"] == 1 and found["payload_bytes"] >= 32,
    )


@experiment("A03", kind="beside", needs=VERILATED)
def reads_ahead(runner: Runner) -> Measured:
    saved = {}
    for cycles in options.READS_CYCLES:
        _, two, many = _run(lambda cycles=cycles: options.reads_ahead(to_itself=False, memory_cycles=cycles))  # type: ignore[misc]
        saved[cycles] = {"two": two["time_saved_percent"], "up to 16": many["time_saved_percent"]}
    shown = ", ".join(f"{of['two']:.0f} and {of['up to 16']:.0f} % at {cycles} cycles" for cycles, of in saved.items())
    return Measured(
        saved[options.READS_CYCLES[1]]["two"],
        "16 KiB over a link, with two reads of memory under way, and as many as are asked for, in place of one, by memory's time: "
        f"{shown}. Theirs depends on a host's PCIe, whose times are not published",
        data=saved,
    )


@experiment("A04", kind="beside", needs=VERILATED)
def translation(runner: Runner) -> Measured:
    shares = {}
    for itself in (False, True):
        rows = _run(lambda itself=itself: options.translation(to_itself=itself, memory_cycles=MEMORY_CYCLES))  # type: ignore[misc]
        shares["to itself" if itself else "link"] = rows[1]["bandwidth_percent"]
    return Measured(
        shares["link"],
        f"512 B each, over a link, memory {MEMORY_CYCLES} cycles: pages that the TLB keeps against a walk for each; to the node "
        f"itself, where one walker serves both ends, {shares['to itself']:.0f} %. Theirs is against translation by a processor",
        data=shares,
    )


@experiment("E07", kind="shape", needs=VERILATED)
def mailboxes(runner: Runner) -> Measured:
    found = _run(sizes.mailbox)
    return Measured(
        found["mailboxes"],
        "the last one filled to its last entry, and one message more, which is answered as it is full, and waits in its slot",
        holds=found["mailboxes"] >= 1024 and found["bytes"] >= 1 << 20 and found["refused_when_full"],
        text=f"{found['mailboxes']} x {found['bytes'] >> 20} MiB",
        data=found,
    )


@experiment("E08", kind="bound", off=_CHECKS_AND_LOOKUPS, needs=VERILATED)
def adapters(runner: Runner) -> Measured:
    """Cycles of the slower of two adapters: from memory's bus to the router, and from the router to memory's bus."""
    write = _write()
    beats = 64 // 16
    into = since_store(write, "header at the router") - since_store(write, "first data") - (beats - 1)
    message = _message(16)
    out = since_store(message, "first beat to memory") - since_store(message, "footer there")
    return Measured(
        max(into, out),
        f"{into} from the last beat of a read to the header at the router, {out} from the footer to the first beat of a message",
        holds=max(into, out) <= 2,
        text=f"{into} and {out} cycles",
        data={"to the network": into, "to memory": out},
        readings=(Reading("the adapter towards the network alone", into, 2),),
    )


@experiment("E09", kind="bound", needs=VERILATED)
def atomic_message(runner: Runner) -> Measured:
    found = _run(sizes.message_burst)
    bits = 8 * found["payload_bytes"]
    whole = found["packets"] == found["bursts"] == 1
    return Measured(bits, "64 B by plain stores are one packet and one burst into memory", holds=whole and bits >= 256)


@experiment("E10", kind="structural", needs=VERILATED)
def global_address(runner: Runner) -> Measured:
    found = _run(sizes.global_address)
    if not found["carried"]:
        raise RunFailed("the address in the header is not the one that was stored")
    fields = " + ".join(f"{name} {bits}" for name, bits in found["fields"].items())
    return Measured(found["bits"], f"{fields}; an address at the end of 48 bits comes out as it was stored. Their split is not published")
