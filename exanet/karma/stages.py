# SPDX-License-Identifier: Apache-2.0
"""Where each cycle of a message, a write and a read goes, from the last store to the end: what is seen at the
interface's ports.

Rows are dicts, ready for a table, JSON and a page. `model_cycles` is what the model says of the same moment, where it
reports it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exanet.karma import interface_model
from exanet.karma.driver import OWN, PAGE, TARGET, Driver
from exanet.karma.interface import Bench, Event, What
from exanet.karma.interface_model import Seen

Row = dict[str, Any]
Pages = Literal["none", "hit", "miss"]
"""How addresses of transfers become those of memory: not at all, by what the TLB knows, by a walk for each page."""
PAGES: tuple[Pages, ...] = ("none", "hit", "miss")
MESSAGE_BYTES = (0, 16, 32, 64)
TRANSFER_BYTES = (64, 16384)
MESSAGES, ANSWERS, TRANSFERS = 0, 1, 2
"""Intra-tile ports of a node."""
PHASES = 48
"""After so many cycles the interface's turns are as before: steps of three cycles, every sixteenth a look for what
is to be sent again."""
QUIET_CYCLES = 1000
"""After which nothing of what was measured is under way."""


@dataclass(frozen=True)
class Moment:
    """A stage's end: the event of the gateware, the so many-th at its node and place, counted from behind if
    negative."""

    stage: str
    what: What
    node: int
    place: int | None = None
    number: int = 0
    last: bool | None = None  # beats: the burst's last

    def cycle(self, events: Sequence[Event]) -> int:
        found = [event for event in events if self._is(event.what, event.node, event.place) and self.last in (None, event.last)]
        return found[self.number].cycle

    def _is(self, what: What, node: int, place: int) -> bool:
        return what == self.what and node == self.node and self.place in (None, place)

    def model_cycle(self, seen: Sequence[Seen]) -> int | None:
        """The same by the model; None where it does not report it."""
        name = interface_model.NAMES.get(self.what)
        if name is None or (self.what in interface_model.BEATS and not self.last):
            return None
        return [cycle for cycle, what, node, place in seen if what == name and node == self.node and self.place in (None, place)][
            self.number
        ]


_MESSAGE = (
    Moment("interface: header at the router", What.HEADER_IN, 0, MESSAGES),
    Moment("router, link: first word on the line", What.LINE_WORD, 0),
    Moment("line, link, router: header at the far interface", What.HEADER_OUT, 1, MESSAGES),
    Moment("payload: footer there", What.FOOTER_OUT, 1, MESSAGES),
    Moment("CRC, lookups: first beat to memory", What.ENTRY_DATA, 1),
    Moment("beats: the message is in its mailbox", What.ENTRY_DATA, 1, last=True),
    Moment("memory: its answer", What.ENTRY_ANSWER, 1),
    Moment("interface: answer at the router", What.HEADER_IN, 1, ANSWERS),
    Moment("router, link, line: answer at the sender", What.FOOTER_OUT, 0, ANSWERS),
    Moment("interface: its slot is free", What.SLOT, 0),
)
_WRITE = (
    Moment("interface, TLB: first read of memory", What.READ_ADDRESS, 0),
    Moment("memory: first data", What.READ_DATA, 0),
    Moment("beats: header at the router", What.HEADER_IN, 0, TRANSFERS),
    Moment("router, link, line: header at the far interface", What.HEADER_OUT, 1, TRANSFERS),
    Moment("all packets: last footer there", What.FOOTER_OUT, 1, TRANSFERS, -1),
    Moment("CRC, lookups, TLB: last write's address", What.WRITE_ADDRESS, 1, None, -1),
    Moment("beats: all bytes are in the other memory", What.WRITE_DATA, 1, None, -1, last=True),
    Moment("memory: its answer", What.WRITE_ANSWER, 1, None, -1),
    Moment("interface: acknowledgement at the router", What.HEADER_IN, 1, ANSWERS, -1),
    Moment("router, link, line: acknowledgement at the sender", What.FOOTER_OUT, 0, ANSWERS, -1),
    Moment("interface, TLB: transfer_end is in memory", What.WRITE_DATA, 0, None, -1, last=True),
)
_READ = (
    Moment("interface: request at the router", What.HEADER_IN, 0, TRANSFERS),
    Moment("router, link, line: request at the other interface", What.FOOTER_OUT, 1, TRANSFERS),
    Moment("CRC, a channel, TLB: first read of its memory", What.READ_ADDRESS, 1),
    Moment("memory: first data", What.READ_DATA, 1),
    Moment("beats: header at its router", What.HEADER_IN, 1, TRANSFERS),
    Moment("router, link, line: header at the reader", What.HEADER_OUT, 0, TRANSFERS),
    Moment("all packets: last footer there", What.FOOTER_OUT, 0, TRANSFERS, -2),
    Moment("CRC, lookups, TLB: last write's address", What.WRITE_ADDRESS, 0, None, -2),
    Moment("beats: all bytes are in the own memory", What.WRITE_DATA, 0, None, -2, last=True),
    Moment("memory, the other's end, TLB: transfer_end is in memory", What.WRITE_DATA, 0, None, -1, last=True),
)


def message(payload: int, *, line_cycles: int, memory_cycles: int) -> Row:
    """A message from one node to a mailbox of the next."""
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench)
        bench.record()
        driver.message(0, 1, bytes(range(1, payload + 1)))
        driver.until_received(1, 0)
        return {"bytes": payload} | _stages(driver, _MESSAGE)


def transfer(count: int, *, read: bool, pages: Pages, line_cycles: int, memory_cycles: int) -> Row:
    """A write to the next node, or a read from there, alone."""
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench, translate=pages != "none")
        bench.record()
        source, sink = (1, 0) if read else (0, 1)
        own, target = (TARGET, OWN) if read else (OWN, TARGET)
        driver.map_transfers(source, OWN, count)
        driver.map_transfers(sink, TARGET, count)
        data = bytes((3 * i + 1) % 251 for i in range(count))
        bench.set(source, driver.memory(OWN), data)

        def one() -> None:
            driver.until_ended(0, driver.transfer(0, 1, count, own=own, target=target, read=read))

        if pages == "hit":
            one()
            bench.run(QUIET_CYCLES)
        before = bench.cycle
        one()
        if bench.get(sink, driver.memory(TARGET), count) != data:
            raise RuntimeError(f"{count} bytes: what is in the other memory is not what was sent")
        return {"read": read, "bytes": count, "pages": pages} | _stages(driver, _READ if read else _WRITE, before)


def phases(driver: Driver, handing: Callable[[int], object], moment: Moment) -> list[int]:
    """Cycles from the last store of what `handing` hands over, given the phase, to a moment; each phase of the
    interface's turns alone."""
    found, bench = [], driver.bench
    for phase in range(PHASES):
        bench.run(QUIET_CYCLES + (phase - bench.cycle - QUIET_CYCLES) % PHASES)
        driver.operations.clear()
        bench.record()
        handing(phase)
        bench.run(QUIET_CYCLES)
        events = bench.events()
        found.append(moment.cycle(events) - driver.handed_over(events)[0])
    return found


def first_reads(pages: Pages = "none") -> list[int]:
    """From a descriptor's last store to the first read of data, by phase; "miss": each transfer is the first to its
    page."""
    with Bench(2) as bench:
        driver = Driver(bench, translate=pages != "none")
        for node, address in ((0, OWN), (1, TARGET)):
            driver.map_transfers(node, address, PAGE * PHASES)
        step = PAGE if pages == "miss" else 0
        if pages == "hit":
            driver.until_ended(0, driver.transfer(0, 1, 64))

        def handing(phase: int) -> None:
            driver.transfer(0, 1, 64, own=OWN + step * phase, target=TARGET + step * phase)

        return phases(driver, handing, Moment("", What.READ_ADDRESS, 0))


def message_headers() -> list[int]:
    """From the last store of a message of 16 bytes to its header at the router."""
    with Bench(2) as bench:
        driver = Driver(bench)
        return phases(driver, lambda _: driver.message(0, 1, bytes(16)), Moment("", What.HEADER_IN, 0, MESSAGES))


def store_cycles() -> list[int]:
    """Cycles between the four stores of 8 bytes of a descriptor, back to back, as the bus takes them, then to the
    first read."""
    with Bench(2) as bench:
        driver = Driver(bench)
        bench.record()
        driver.until_ended(0, driver.transfer(0, 1, 64, narrow=True))
        events = bench.events()
    taken = [event.cycle for event in events if event.what == What.STORE]
    at = [*taken, Moment("", What.READ_ADDRESS, 0).cycle(events)]
    return [later - earlier for earlier, later in itertools.pairwise(at)]


def _stages(driver: Driver, moments: Sequence[Moment], since: int = 0) -> Row:
    """The stages of what was handed over last, the only thing from `since` on, and whether the model has all the
    same."""
    driver.bench.run(QUIET_CYCLES)
    events = driver.bench.events()
    by_gateware, seen = interface_model.compared(driver, events)
    store = driver.handed_over(events)[-1]
    events = [event for event in events if event.cycle >= since]
    late = [found for found in seen if found[0] >= since]
    before, stages = store, list[Row]()
    for moment in moments:
        cycle, model = moment.cycle(events), moment.model_cycle(late)
        since_store = {"since_store_cycles": cycle - store, "model_cycles": None if model is None else model - store}
        stages.append({"stage": moment.stage, "cycles": cycle - before} | since_store)
        before = cycle
    return {"stages": stages, "model_equal": seen == by_gateware, "compared": len(by_gateware)}
