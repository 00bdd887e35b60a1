# SPDX-License-Identifier: Apache-2.0
"""Measures the Verilated network interface and its model, and shows where each cycle goes, beside what was
published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from exanet import terminal
from exanet.files import json_bytes
from exanet.karma import options, stages, streams
from exanet.karma.board import CYCLE_NS
from exanet.karma.interface import LINE_CYCLES, MEMORY_CYCLES
from exanet.karma.stages import Row
from exanet.validate.registry import published

PROTOTYPE_BYTES = 40
"""What a small MPI message of the prototype moves: 8 bytes and their envelope (docs/calibration.md)."""
COMPLETION_BYTES = (8, 32, 64)
_WIDE = 170  # columns when the output is no terminal
_FACTS = ("R33", "R34", "R35", "R36", "R38", "R44", "P03", "P04", "A03", "A04", "E08")


def measure(
    line_cycles: int = LINE_CYCLES, memory_cycles: int = MEMORY_CYCLES, progress: Callable[[float], None] = lambda share: None
) -> dict[str, Any]:
    """Everything that the command shows. `progress` gets the share of it that has been measured.

    Raises InputError when the model cannot be built.
    """
    at = {"line_cycles": line_cycles, "memory_cycles": memory_cycles}
    steps, found = _steps(**at), dict[str, list[Any]]()
    for number, (key, step) in enumerate(steps, 1):
        rows = step()
        found.setdefault(key, []).extend(rows if isinstance(rows, list) else [rows])
        progress(number / len(steps))
    return {
        "cycle_ns": CYCLE_NS,
        **at,
        **found,
        "small_writes": found["small_writes"][0],
        "published": {row: {key: published()[row][key] for key in ("quantity", "value", "unit", "source")} for row in _FACTS},
    }


def _steps(line_cycles: int, memory_cycles: int) -> list[tuple[str, Callable[[], Row | list[Any]]]]:
    """The measurements, each with the key that its rows get, or its row."""
    at = {"line_cycles": line_cycles, "memory_cycles": memory_cycles}
    return [
        *(("messages", partial(stages.message, payload, **at)) for payload in sorted((*stages.MESSAGE_BYTES, PROTOTYPE_BYTES))),
        *(
            ("transfers", partial(stages.transfer, count, read=read, pages=pages, **at))
            for read in (False, True)
            for count in stages.TRANSFER_BYTES
            for pages in stages.PAGES
        ),
        ("first_read_cycles", stages.first_reads),
        ("first_read_hit_cycles", partial(stages.first_reads, "hit")),
        ("first_read_walk_cycles", partial(stages.first_reads, "miss")),
        ("message_header_cycles", stages.message_headers),
        ("descriptor_stores_cycles", stages.store_cycles),
        *(("packetizer", partial(streams.packetizer, payload)) for payload in streams.PACKETIZER_BYTES),
        ("small_writes", partial(streams.small_writes, memory_cycles=memory_cycles)),
        *(("large", partial(streams.large, count, read=read, **at)) for read in (False, True) for count in streams.AT_A_TIME),
        *(("translation", partial(options.translation, to_itself=itself, memory_cycles=memory_cycles)) for itself in (False, True)),
        *(
            ("reads_ahead", partial(options.reads_ahead, to_itself=itself, memory_cycles=cycles))
            for itself in (False, True)
            for cycles in options.READS_CYCLES
        ),
        *(("completions", partial(options.completions, count, **at)) for count in COMPLETION_BYTES),
    ]


def write(directory: Path, found: dict[str, Any]) -> None:
    """report.html and summary.json. Raises InputError when they cannot be written."""
    from exanet import results
    from exanet.results import report

    title = "KARMA: the network interface, measured"
    data = {"title": title, "beside": beside(found)} | found
    page = report.fill(title, data, ("format.js", "parts.js", "interface.js"))
    results.publish(directory, {"report.html": page.encode(), "summary.json": json_bytes(found)})


# -- beside what was published -----------------------------------------------------------------------------------------


def since_store(of: Row, stage: str) -> int:
    """Cycles from the last store to the end of the stage whose name has this text."""
    (found,) = (row["since_store_cycles"] for row in of["stages"] if stage in row["stage"])
    return int(found)


def interface_cycles(of: Row) -> int:
    """Cycles of a message in both interfaces: last store to its header at the router, and behind its footer to its
    last beat at memory."""
    return since_store(of, "header at the router") + since_store(of, "in its mailbox") - since_store(of, "footer there") - 1


def beside(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Published figure, what it says, ours, and what differs."""
    messages = {of["bytes"]: of for of in found["messages"]}
    write = next(of for of in found["transfers"] if not of["read"] and of["bytes"] == 64 and of["pages"] == "none")
    rate = {of["payload_bytes"]: of["cycles_a_packet"] for of in found["packetizer"]}
    known, walked = max(found["first_read_hit_cycles"]), max(found["first_read_walk_cycles"])
    reads, headers = found["first_read_cycles"], found["message_header_cycles"]
    stored, whole = since_store(messages[16], "in its mailbox"), since_store(write, "in the other memory")
    inside = interface_cycles(messages[PROTOTYPE_BYTES])
    stores = max(found["descriptor_stores_cycles"][:-1])
    return [
        ("R33", "4 stores of 64 bits, one a cycle; 10 cycles to the first read of memory", f"one in {stores} cycle; {known} cycles",
         f"ours is the engine's read, its page in the TLB ({max(reads)} cycles without translation, {walked} with a walk); theirs "
         "is the first access to a page, its walk within the ten cycles or behind them"),
        ("R34", "< 12 cycles from processor to interface", f"{_span(headers)} cycles to the header of 16 B at the router",
         "theirs has the core's own store; ours begins where the bus takes it"),
        ("R35", "72 cycles, 20 of them in the transceivers", f"{stored} cycles, {found['line_cycles']} of them on the line",
         f"ours ends in memory, {found['memory_cycles']} cycles before memory's answer, and has no processor's store and load in it"),
        ("R36", "RDMA < 0.5 µs", f"{whole} cycles, {whole * CYCLE_NS / 1000:.2f} µs at 156.25 MHz, {whole / 100:.2f} µs at 100 MHz",
         f"64 B from memory to memory, of {found['memory_cycles']} cycles for the read; what theirs begins and ends with is not stated"),
        ("R38", "RDMA: a packet in 4 cycles", f"writes of 64 B: one in {found['small_writes']['cycles_a_write']:.2f} cycles",
         f"size of theirs is not stated. Messages: {', '.join(f'{size} B in {cycles:g}' for size, cycles in rate.items())}"),
        ("P04", "0.47 µs of 1.3 µs in interface and library", f"{inside} cycles, {inside * CYCLE_NS / 1000:.2f} µs, in both interfaces",
         f"{PROTOTYPE_BYTES} B; stores, memory, load and library are the rest (docs/calibration.md)"),
        ("R44", "32 B of payload in a completion", "up to 64 B in a message sent when its transfer has ended, 8 B in a fence",
         "theirs is that of a DMA engine for a host"),
    ]  # fmt: skip


def _span(cycles: Sequence[int]) -> str:
    least, most = min(cycles), max(cycles)
    return f"{least}" if least == most else f"{least} (in {cycles.count(least)} of {len(cycles)} phases) to {most}"


# -- tables ------------------------------------------------------------------------------------------------------------


def show(found: dict[str, Any], directory: Path | None) -> None:
    """All tables, and where the report is."""
    console = terminal.console(_WIDE)
    console.print(
        f"Line of {found['line_cycles']} cycles each way, memory that answers after {found['memory_cycles']}, of {CYCLE_NS} ns.\n"
    )
    console.print("[bold]A message, user to user: cycles of each stage, and from the last store on[/]\n")
    _show_stages(console, found["messages"], [f"{of['bytes']} B" for of in found["messages"]])
    for read in (False, True):
        for count in stages.TRANSFER_BYTES:
            size = f"{count} B" if count < 1024 else f"{count // 1024} KiB"
            console.print(f"[bold]A {'read' if read else 'write'} of {size}, stage by stage[/]\n")
            these = [of for of in found["transfers"] if of["read"] == read and of["bytes"] == count]
            _show_stages(console, these, [_PAGES[of["pages"]] for of in these])
    _show_streams(console, found)
    _show_options(console, found)
    console.print("[bold]Beside what was published[/]\n")
    table = terminal.table("row", "published", "ours", "what differs", left=4)
    for cells in beside(found):
        table.add_row(*cells)
    console.print(table)
    if directory is not None:
        console.print(f"\nReport: {directory / 'report.html'}", style="dim")


_PAGES = {"none": "no translation", "hit": "TLB hit", "miss": "TLB miss"}


def _show_stages(console: Console, these: Sequence[Row], names: Sequence[str]) -> None:
    table = terminal.table("stage ends with", *(heading for name in names for heading in (name, "sum")))
    for rows in zip(*(of["stages"] for of in these), strict=True):
        table.add_row(rows[0]["stage"], *(str(row[key]) for row in rows for key in ("cycles", "since_store_cycles")))
    console.print(table)
    shared = sum(row["model_cycles"] is not None for row in these[0]["stages"])
    same = [of["model_equal"] for of in these]
    events = sum(of["compared"] for of in these)
    said = f"the same at all {shared} stages that it has, and in all {events} packets, bursts and answers" if all(same) else "NOT the same"
    console.print(f"the model: {said}\n")


def _show_streams(console: Console, found: dict[str, Any]) -> None:
    console.print("[bold]Streams[/]\n")
    table = terminal.table("", "cycles each", "% of the link", "the model")
    for row in found["packetizer"]:
        table.add_row(f"messages of {row['payload_bytes']} B, back to back", f"{row['cycles_a_packet']:g}", "", _SAID[row["model_equal"]])
    small = found["small_writes"]
    table.add_row(
        f"writes of 64 B, {small['under_way']} under way, to the node itself",
        f"{small['cycles_a_write']:.2f}",
        "",
        _SAID[small["model_equal"]],
    )
    for row in found["large"]:
        what = f"packets of {'reads' if row['read'] else 'writes'} of 16 KiB, {row['at_a_time']} at a time"
        table.add_row(what, f"{row['cycles_a_packet']:.2f}", f"{row['percent_of_link']:.1f}", _SAID[row["model_equal"]])
    console.print(table)
    console.print()


def _show_options(console: Console, found: dict[str, Any]) -> None:
    console.print(f"[bold]Translation, writes of {options.PACKET_BYTES} B[/]\n")
    table = terminal.table(
        "", "link: cycles a packet", "bandwidth, %", "itself: cycles a packet", "bandwidth, %", "walks a packet", "the model"
    )
    rows = found["translation"]
    for far, near in zip(rows[: len(rows) // 2], rows[len(rows) // 2 :], strict=True):
        cells = [f"{of[key]:{form}}" for of in (far, near) for key, form in _CYCLES]
        same = _SAID[far["model_equal"] and near["model_equal"]]
        table.add_row(far["what"], *cells, f"{near['walks_a_packet']:g}", same)
    console.print(table)
    console.print(
        f"published: {found['published']['A04']['value']} % more bandwidth with the TLB (A04); without it a processor translates there\n"
    )
    console.print("[bold]Reads of memory ahead, a write of 16 KiB: cycles to its last packet's arrival, and time saved[/]\n")
    table = terminal.table("memory answers in", *(f"{where}: {_READS[reads]}" for where in ("link", "itself") for reads in _READS))
    for cycles in options.READS_CYCLES:
        cells = [f"{of['cycles']} ({of['time_saved_percent']:.0f} %)" for of in found["reads_ahead"] if of["memory_cycles"] == cycles]
        table.add_row(f"{cycles} cycles", *cells)
    console.print(table)
    console.print(
        f"published: up to {found['published']['A03']['value']} % of time saved by two DMA engines and a prefetched queue (A03)\n"
    )
    console.print("[bold]Completions: cycles from the first store until a process of the other node finds the bytes and knows it[/]\n")
    table = terminal.table("", *(f"{of['bytes']} B" for of in found["completions"]))
    for key, text in _COMPLETIONS.items():
        table.add_row(text, *(str(of[key]) for of in found["completions"]))
    console.print(table)
    console.print()


_SAID = {True: "the same", False: "NOT the same", None: ""}
_CYCLES = (("cycles_a_packet", ".2f"), ("bandwidth_percent", "+.0f"))
_READS = {1: "1 read", 2: "2 reads", 0: "up to 16"}
_COMPLETIONS = {
    "message": "fast send: bytes in the stores, and beside the mailbox's entry",
    "write_and_fence": "direct completion: a write, and a word behind it in user memory (fence)",
    "message_behind_0": "completion in a mailbox: a message that the interface sends when the write has ended",
    f"message_behind_{options.BEHIND_BYTES}": f"the same with {options.BEHIND_BYTES} B of payload in it",
    "message_behind_word": "the same without, behind the word that notifies the sender, when memory has it",
    "write_and_message": "by the processor: a write, its end polled, then a message",
    "end_at_sender": "  of that, until the sender has polled its end",
}
