# SPDX-License-Identifier: Apache-2.0
"""The model of the network interface beside the Verilated one: the same stores in the same cycles, and what is at
the same ports."""

from __future__ import annotations

from collections.abc import Sequence

from exanet import _core
from exanet.karma.driver import CHANNELS, CONTEXTS, DOMAIN, MAILBOX, TABLES, TIMEOUT, TRIES, Driver
from exanet.karma.interface import Event, What

_PEERS = 64
NAMES = {
    What.HEADER_IN: "header_in",
    What.FOOTER_OUT: "footer_out",
    What.ENTRY_DATA: "entry",
    What.WRITE_DATA: "write",
    What.SLOT: "slot",
}
"""What both report."""
NEEDED = (What.STORE, *NAMES)
"""Kinds of events to record for a comparison."""
BEATS = (What.ENTRY_DATA, What.WRITE_DATA)
"""Of which they report a burst's last."""
_PLACES = (What.HEADER_IN, What.FOOTER_OUT, What.SLOT)

Seen = tuple[int, str, int, int]
"""Cycle, what, node, place."""


def by_model(driver: Driver, handed_over: list[int], end: int) -> list[Seen]:
    """What the model says, up to a cycle, of a driver's operations, taken by the bus in these cycles. Each node
    keeps as many channels."""
    bench = driver.bench
    (kept,) = set(driver.kept_channels)
    machine = {
        "nodes": bench.nodes,
        "line_cycles": bench.line_cycles,
        "memory_cycles": bench.memory_cycles,
        "contexts": CONTEXTS,
        "channels": CHANNELS,
        # The tables are clear: one peer a cycle, one slot of a transfer a cycle.
        "messages_begin": _PEERS,
        "transfers_begin": 4 * CHANNELS,
        "timeout": TIMEOUT,
        "tries": TRIES,
        "kept_channels": kept,
        "translate": driver.translate,
        "mailbox": MAILBOX,
        "domain": DOMAIN,
        "entries": 1 << driver.log_entries,
        "root": TABLES,
    }
    operations = [operation | {"cycle": cycle} for operation, cycle in zip(driver.operations, handed_over, strict=True)]
    return sorted(_core.run_interfaces(machine, driver.tables, operations, end))


def seen(event: Event) -> Seen | None:
    """An event of the gateware as the model has it; None for one that the model does not report."""
    if event.what not in NAMES or (event.what in BEATS and not event.last):
        return None
    return event.cycle, NAMES[event.what], event.node, event.place if event.what in _PLACES else 0


def compared(driver: Driver, events: Sequence[Event]) -> tuple[list[Seen], list[Seen]]:
    """What both report, the gateware's first. The events are of all that was handed over, and up to the present
    cycle."""
    by_gateware = sorted(found for event in events if (found := seen(event)) is not None)
    return by_gateware, by_model(driver, driver.handed_over(events), driver.bench.cycle)
