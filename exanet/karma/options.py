# SPDX-License-Identifier: Apache-2.0
"""Options of a network interface's design, each off and on: what they save, in cycles of the Verilated interface.

Rows are dicts, ready for a table, JSON and a page. What the gateware does not have is not measured.
"""

from __future__ import annotations

from typing import Any

from exanet.karma import interface_model
from exanet.karma.driver import FENCES, OWN, PAGE, TARGET, Driver
from exanet.karma.interface import Bench, What
from exanet.karma.stages import QUIET_CYCLES, Row
from exanet.karma.streams import LARGE, LINK_WORDS, pages, stream, write_headers

KNOWN_PAGES, MANY_PAGES = 16, 128
"""Fewer pages of 4 KiB than a TLB keeps (32), and so many that each has left it when its turn comes again."""
PACKET_BYTES = 512
READS_CYCLES = (20, 50, 100, 200)
BEHIND_BYTES = 32
"""Payload of a message that reports a transfer: as much as the published completion has (R44)."""
_TRANSFERS = 384
_WARM = 2 * MANY_PAGES
"""Transfers that are not counted: after them a TLB holds what it can."""
_COUNTS = 0x104070


def translation(*, to_itself: bool, memory_cycles: int) -> list[Row]:
    """Writes of one packet, 16 under way: addresses of memory; pages that the TLB keeps; a walk for each access, as
    without a TLB."""
    rows: list[Row] = []
    for what, number in (("no translation", 0), ("TLB", KNOWN_PAGES), ("a walk for each packet", MANY_PAGES)):
        with Bench(2, memory_cycles=memory_cycles) as bench:
            driver = Driver(bench, translate=number > 0, kept_channels=[0, 0])
            to = 0 if to_itself else 1
            if number:
                driver.map_transfers(0, OWN, PAGE * number)
                driver.map_transfers(to, TARGET, PAGE * number)
            bench.record((*interface_model.NEEDED, What.HEADER_OUT))
            stream(driver, to, PACKET_BYTES, pages(_WARM, number or KNOWN_PAGES), 16)
            walks = _walks(bench)
            stream(driver, to, PACKET_BYTES, pages(_TRANSFERS, number or KNOWN_PAGES), 16)
            bench.run(QUIET_CYCLES)
            walked = (_walks(bench) - walks) / _TRANSFERS
            events = bench.events()
            by_gateware, by_model = interface_model.compared(driver, events)
        cycles = _gap(write_headers(events, to)[_WARM:])
        row = {"what": what, "to_itself": to_itself, "cycles_a_packet": cycles, "walks_a_packet": walked}
        rows.append(row | {"model_equal": by_gateware == by_model})
    for row in rows:
        row["bandwidth_percent"] = 100 * rows[-1]["cycles_a_packet"] / row["cycles_a_packet"] - 100
    return rows


def _walks(bench: Bench) -> int:
    """Pages that all nodes have walked to."""
    return sum(bench.load(node, _COUNTS) & 0xFFFFFFFF for node in range(bench.nodes))


def reads_ahead(*, to_itself: bool, memory_cycles: int) -> list[Row]:
    """A write of 16 KiB, with one read of memory at a time, with two, and as many as the interface asks for (16
    packets)."""
    rows: list[Row] = []
    for reads in (1, 2, 0):
        with Bench(2, memory_cycles=memory_cycles, reads=reads) as bench:
            driver = Driver(bench)
            to = 0 if to_itself else 1
            bench.record([What.HEADER_OUT])
            begin = bench.cycle
            stream(driver, to, LARGE, [(OWN, TARGET)], 1)
            headers = write_headers(bench.events(), to)
            last = headers[-1] - begin
        rows.append(
            {"reads": reads, "to_itself": to_itself, "memory_cycles": memory_cycles, "cycles_a_packet": _gap(headers), "cycles": last}
        )
    for row in rows:
        row["time_saved_percent"] = 100 - 100 * row["cycles"] / rows[0]["cycles"]
        row["percent_of_link"] = None if to_itself else 100 * LINK_WORDS / row["cycles_a_packet"]
    return rows


def _gap(headers: list[int]) -> float:
    return (headers[-1] - headers[0]) / (len(headers) - 1)


def completions(count: int, *, line_cycles: int, memory_cycles: int) -> dict[str, Any]:
    """Cycles from the first store of what sends `count` bytes (at most 64) until a process of the other node that
    polls its memory sees it that they are all there, in several ways."""

    def begun(driver: Driver) -> int:
        driver.bench.run(1000)
        driver.bench.set(0, OWN, bytes(range(1, count + 1)))
        return driver.bench.cycle

    found: dict[str, Any] = {"bytes": count}
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench)
        begin = begun(driver)
        driver.message(0, 1, bytes(range(1, count + 1)))
        driver.until_received(1, 0)
        found["message"] = bench.cycle - begin
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench)
        begin = begun(driver)
        driver.transfer(0, 1, count, fence=b"\1".ljust(8, b"\0"))
        bench.wait(1, FENCES)
        found["write_and_fence"] = bench.cycle - begin
        _holds(bench, count)
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench)
        begin = begun(driver)
        driver.until_ended(0, driver.transfer(0, 1, count))
        found["end_at_sender"] = bench.cycle - begin
        driver.message(0, 1, b"")
        driver.until_received(1, 0)
        found["write_and_message"] = bench.cycle - begin
        _holds(bench, count)
    for payload, notify in ((0, False), (BEHIND_BYTES, False), (0, True)):
        with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
            driver = Driver(bench)
            begin = begun(driver)
            driver.message(0, 1, bytes(range(payload)), behind=True)
            driver.transfer(0, 1, count, message_slot=0, notify=notify)
            driver.until_received(1, 0)
            found["message_behind_word" if notify else f"message_behind_{payload}"] = bench.cycle - begin
            _holds(bench, count)
    return found


def _holds(bench: Bench, count: int) -> None:
    if bench.get(1, TARGET, count) != bytes(range(1, count + 1)):
        raise RuntimeError(f"{count} bytes are not in the other memory when that is reported")
