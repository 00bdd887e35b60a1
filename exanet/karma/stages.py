# SPDX-License-Identifier: Apache-2.0
"""Where each cycle of a message, a write and a read goes, from the last store to the end: what is seen at the interface's ports.

Rows are dicts, ready for a table, JSON and a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exanet.karma.driver import Driver
from exanet.karma.interface import Bench, Event, What

Row = dict[str, Any]
MESSAGE_BYTES = (0, 16, 32, 64)
_QUIET = 600
"""Cycles after which all of a message and its answer is over."""
_MESSAGES, _ANSWERS, _TRANSFERS = 0, 1, 2
"""Intra-tile ports of a node."""


class Log:
    """Events, and which of them there were at a place."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    def cycles(self, what: What, node: int, *, place: int | None = None, last: bool | None = None) -> list[int]:
        """Cycles of the events of a kind at a node."""
        return [
            event.cycle
            for event in self.events
            if event.what == what and event.node == node and place in (None, event.place) and last in (None, event.last)
        ]


def message(payload: int, *, line_cycles: int, memory_cycles: int) -> list[Row]:
    """A message from one node to the next."""
    with Bench(2, line_cycles=line_cycles, memory_cycles=memory_cycles) as bench:
        driver = Driver(bench)
        bench.record()
        driver.message(0, 1, bytes(range(1, payload + 1)))
        bench.run(_QUIET)
        log = Log(bench.events())
    return _rows(
        log.cycles(What.STORE, 0)[-1],
        [
            ("interface: header at the router", log.cycles(What.HEADER_IN, 0, place=_MESSAGES)[0]),
            ("router and link: first word on the line", log.cycles(What.LINE_WORD, 0)[0]),
            ("line, link, router: header at the far interface", log.cycles(What.HEADER_OUT, 1, place=_MESSAGES)[0]),
            ("payload: footer there", log.cycles(What.FOOTER_OUT, 1, place=_MESSAGES)[0]),
            ("CRC, lookups: first beat to memory", log.cycles(What.ENTRY_DATA, 1)[0]),
            ("beats: last one, the message is in its mailbox", log.cycles(What.ENTRY_DATA, 1, last=True)[0]),
            ("memory's answer", log.cycles(What.ENTRY_ANSWER, 1)[0]),
            ("interface: answer at the router", log.cycles(What.HEADER_IN, 1, place=_ANSWERS)[0]),
            ("router, link, line: answer at the sender's interface", log.cycles(What.FOOTER_OUT, 0, place=_ANSWERS)[0]),
            ("interface: its slot is free", log.cycles(What.SLOT, 0)[0]),
        ],
    )


def _rows(begin: int, milestones: Sequence[tuple[str, int]]) -> list[Row]:
    before, rows = begin, []
    for name, cycle in milestones:
        rows.append({"stage": name, "cycles": cycle - before, "since_store_cycles": cycle - begin})
        before = cycle
    return rows
