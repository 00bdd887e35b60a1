# SPDX-License-Identifier: Apache-2.0
"""What network interfaces carry: messages back to back, and transfers with one, two or many channels at work.

Rows are dicts, ready for a table, JSON and a page.
"""

from __future__ import annotations

from collections.abc import Sequence

from exanet.karma import interface_model
from exanet.karma.driver import CHANNELS, OWN, PAGE, TARGET, Driver
from exanet.karma.interface import WAIT_CYCLES, Bench, Event, What, field
from exanet.karma.layouts import PACKET_TYPE
from exanet.karma.stages import MESSAGES, QUIET_CYCLES, TRANSFERS, Row

PACKETIZER_BYTES = (16, 32, 48, 64)
AT_A_TIME = (1, 2, 64)
LARGE = 16384
LINK_WORDS = 2 * 34 + 2
"""Of a packet of 512 bytes: header, 32 words and footer of two each, and two that announce it."""
_MESSAGES = 60
"""Fewer than the router's port has space for, so that nothing behind the interface holds it up."""
_SMALL_WRITES = 400
_PLACE = 0x10000


def packetizer(payload: int) -> Row:
    """Messages of several contexts to four nodes, as fast as they can be stored."""
    with Bench(4, memory_cycles=4) as bench:
        driver = Driver(bench)
        bench.record(interface_model.NEEDED)
        for i in range(_MESSAGES):
            driver.message(0, i % 4, bytes(payload), context=i // 4)
        bench.run(3000)
        events = bench.events()
        equal = _equal(driver, events)
    headers = [event.cycle for event in events if (event.what, event.node, event.place) == (What.HEADER_IN, 0, MESSAGES)]
    return {"payload_bytes": payload, "packets": len(headers), "cycles_a_packet": _mean(headers[4:]), "model_equal": equal}


def large(at_a_time: int, *, read: bool, line_cycles: int, memory_cycles: int) -> Row:
    """So many transfers of 16 KiB to the next node, or from there, all at once."""
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        half = CHANNELS // 2
        driver = Driver(bench, kept_channels=[0, 0] if not read else [half, half] if at_a_time <= half else [0, CHANNELS])
        bench.record((*interface_model.NEEDED, What.HEADER_OUT))
        places = [(OWN + _PLACE * i, TARGET + _PLACE * i) for i in range(at_a_time)]
        stream(driver, 1, LARGE, places, at_a_time, read=read)
        bench.run(QUIET_CYCLES)
        events = bench.events()
        equal = _equal(driver, events)
    cycles = _mean(write_headers(events, 0 if read else 1))
    shares = {"cycles_a_packet": cycles, "percent_of_link": 100 * LINK_WORDS / cycles}
    return {"read": read, "at_a_time": at_a_time, "model_equal": equal} | shares


def small_writes(*, memory_cycles: int) -> Row:
    """Writes of 64 bytes, 64 under way, to the node itself: a link takes longer for one."""
    with Bench(2, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench, kept_channels=[0, 0])
        bench.record((*interface_model.NEEDED, What.HEADER_OUT))
        places = [(OWN + _PLACE * (i % CHANNELS), TARGET + _PLACE * (i % CHANNELS)) for i in range(_SMALL_WRITES)]
        stream(driver, 0, 64, places, CHANNELS)
        bench.run(QUIET_CYCLES)
        events = bench.events()
        equal = _equal(driver, events)
    return {"bytes": 64, "under_way": CHANNELS, "cycles_a_write": _mean(write_headers(events, 0)), "model_equal": equal}


def stream(driver: Driver, to: int, count: int, places: Sequence[tuple[int, int]], at_a_time: int, *, read: bool = False) -> None:
    """A transfer of `count` bytes for each of the places (own, target), so many of them under way, until all have
    ended.

    Raises RuntimeError where none ends for WAIT_CYCLES.
    """
    begun, open_ends, limit = 0, list[int](), driver.bench.cycle + WAIT_CYCLES
    while begun < len(places) or open_ends:
        # As many as the bus takes meanwhile; more would wait in front of it.
        while begun < len(places) and len(open_ends) < at_a_time and driver.bench.stores(0) < 4:
            own, target = places[begun]
            open_ends.append(driver.transfer(0, to, count, own=own, target=target, read=read, context=begun % 16))
            begun += 1
        if begun < len(places) and len(open_ends) == at_a_time:
            try:
                driver.bench.wait(0, *map(driver.memory, open_ends), most=limit - driver.bench.cycle + 1)
            except RuntimeError:
                if driver.bench.cycle <= limit:  # it is not that none has ended
                    raise
        else:
            driver.bench.run(1 if begun < len(places) else 16)
        if driver.bench.cycle > limit:
            raise RuntimeError(f"{len(open_ends)} of {len(places)} transfers do not end")
        under_way = len(open_ends)
        open_ends = [end for end in open_ends if not driver.ended(0, end)]
        if len(open_ends) < under_way:
            limit = driver.bench.cycle + WAIT_CYCLES


def write_headers(events: Sequence[Event], node: int) -> list[int]:
    """Cycles of the headers of Writes that come out of the network at a node."""
    return [
        event.cycle
        for event in events
        if event.what == What.HEADER_OUT
        and event.node == node
        and event.place == TRANSFERS
        and PACKET_TYPE[field("header", "kind", event.value)] == "Write"
    ]


def pages(count: int, number: int) -> list[tuple[int, int]]:
    """Places of `count` transfers, each in the next of so many pages."""
    return [(OWN + PAGE * (i % number), TARGET + PAGE * (i % number)) for i in range(count)]


def _equal(driver: Driver, events: Sequence[Event]) -> bool | None:
    """Whether the model has all the same; None where nodes keep different numbers of channels, which it does not
    know."""
    if len(set(driver.kept_channels)) > 1:
        return None
    by_gateware, by_model = interface_model.compared(driver, events)
    return by_gateware == by_model


def _mean(cycles: Sequence[int]) -> float:
    return (cycles[-1] - cycles[0]) / (len(cycles) - 1)
