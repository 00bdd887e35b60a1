# SPDX-License-Identifier: Apache-2.0
"""How large what a network interface has is, tried on the Verilated one: mailboxes, messages, global addresses."""

from __future__ import annotations

from exanet.karma.driver import MAILBOX, RING, Driver
from exanet.karma.interface import LINE_BYTES, MAILBOXES, Bench, What, field
from exanet.karma.layouts import LAYOUTS
from exanet.karma.stages import Row

LOG_MOST_ENTRIES = 13
ENTRY_BYTES = 128
MOST_MESSAGE_BYTES = 64
_AT_A_TIME = 32
_ANSWERED_CYCLES = 200
_RING = RING + (1 << 30)


def mailbox() -> Row:
    """Fills the last mailbox of a node, as large as one can be, and sends one message more, which is to be refused
    as it is full."""
    number, entries = MAILBOXES - 1, 1 << LOG_MOST_ENTRIES
    with Bench(1) as bench:
        driver = Driver(bench)
        driver.open_mailbox(0, number, _RING, LOG_MOST_ENTRIES)
        bench.settle()
        bench.record([What.SLOT, What.ENTRY_ADDRESS])
        for first in range(0, entries, _AT_A_TIME):
            for i in range(_AT_A_TIME):
                driver.message(0, 0, (first + i).to_bytes(4, "little"), context=i % 16, mailbox=number)
            driver.until_received(0, first + _AT_A_TIME - 1, ring=_RING)
            bench.run(_ANSWERED_CYCLES)
        stored = [event.value & (1 << 64) - 1 for event in bench.events() if event.what == What.ENTRY_ADDRESS]
        bench.record([What.SLOT])
        driver.message(0, 0, b"", mailbox=number)
        bench.run(_ANSWERED_CYCLES)
        (answer,) = bench.events()
    whole = len(stored) == entries and {(at - _RING) // ENTRY_BYTES for at in stored} == set(range(entries))
    return {"mailboxes": number + 1, "bytes": entries * ENTRY_BYTES if whole else 0, "refused_when_full": answer.value == _REFUSED_FULL}


_REFUSED_FULL = 1 << 64
"""Of a slot: not free, and the reason Full."""


def message_burst() -> Row:
    """The largest message: packets that it is, and beats of the one burst that has it and the entry that reports it."""
    with Bench(2) as bench:
        driver = Driver(bench)
        bench.record([What.HEADER_IN, What.ENTRY_DATA])
        driver.message(0, 1, bytes(range(MOST_MESSAGE_BYTES)), mailbox=MAILBOX)
        driver.until_received(1, 0)
        events = bench.events()
    packets = sum(event.what == What.HEADER_IN and event.node == 0 for event in events)
    beats = [event for event in events if event.what == What.ENTRY_DATA]
    bursts = sum(event.last for event in beats)
    data = b"".join(event.value.to_bytes(LINE_BYTES, "little") for event in beats[:-1])
    return {"packets": packets, "bursts": bursts, "payload_bytes": len(data) if set(data) == set(range(MOST_MESSAGE_BYTES)) else 0}


def global_address() -> Row:
    """Bits of a global virtual address, and whether the highest one in memory comes out of the interface in a header
    as it was stored."""
    target = (1 << LAYOUTS["header"][1]["dmadd"][1]) - 512
    with Bench(2) as bench:
        driver = Driver(bench)
        bench.record([What.HEADER_OUT])
        driver.until_ended(0, driver.transfer(0, 1, 16, target=target))
        header = bench.events()[0].value
    bits = {name: LAYOUTS["header"][1][name][1] for name in ("pdid", "dcid", "dmadd")}
    return {"bits": sum(bits.values()), "fields": bits, "carried": field("header", "dmadd", header) == target}
