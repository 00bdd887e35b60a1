# SPDX-License-Identifier: Apache-2.0
"""Measures as KARMA does: round trips, bandwidth, and where the time of a hop goes. The boards' own counters count
every figure in cycles.

Rows are dicts, ready for a table, JSON and a page; `_cycles` are cycles of 6.4 ns. The published conditions are those
of section 4 of the KARMA paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exanet.karma.board import CYCLE_NS, FOUR, ONE, TWO, Bench

Row = dict[str, Any]

LATENCY_BYTES = (0, 16, 32, 48, 64, 80, 96, 112, 128, 192, 256, 320, 384, 448, 512)
BANDWIDTH_BYTES = (16, 32, 64, 96, 128, 192, 256, 384, 512)
LINE_PARTS = {"logic": 46, "gearbox": 1, "clock compensation": 7}
"""Cycles of an Aurora 64B/66B core with its GTH transceivers, one way, as its maker states them (AMD PG074,
Latency)."""
LINE_CYCLES = sum(LINE_PARTS.values())
PAUSE_WORDS = 32
"""Words after which the 64b/66b gearbox takes one word time (AMD PG074)."""

MAGIC, START, KIND_BITS = 0xA5C3_96F0_5A3C_690F, 1, 2  # spec/packet.yaml
_ECHOES = 8
_PING_PONG, _ECHO = 1, 2
_SETTLE_CYCLES = 3000


@dataclass(frozen=True)
class Flow:
    """A generator that sends to an intra-tile port of a board; each (board, port)."""

    source: tuple[int, int]
    target: tuple[int, int]


def counter(bench: Bench, at: tuple[int, int], name: str) -> int:
    """A counter of the bench at (board, port), by its register's name."""
    return bench.read(at[0], "karma", f"port[{at[1]}].{name}")


def prepare(bench: Bench, flow: Flow, payload: int, *, mode: int = 0) -> None:
    """Sets where the flow's generator sends packets of `payload` bytes, and how: stream (0), ping-pong (1) or echo
    (2)."""
    board, port = flow.source
    bench.write(board, "karma", f"port[{port}].destination", dcid=bench.address(flow.target[0]))
    bench.write(board, "karma", f"port[{port}].form", length=payload, kind=flow.target[1], mode=mode)


def start(bench: Bench, at: tuple[int, int], packets: int) -> None:
    """Lets the generator at (board, port) send so many packets from now on."""
    bench.write(at[0], "karma", f"port[{at[1]}].packets", count=packets)
    bench.write(at[0], "karma", f"port[{at[1]}].control", start=1)


def clear(bench: Bench, at: tuple[int, int]) -> None:
    """Sets the counters at (board, port) to zero."""
    bench.write(at[0], "karma", f"port[{at[1]}].control", clear=1)


def check(bench: Bench, at: tuple[int, int], packets: int) -> None:
    """Raises RuntimeError unless so many packets, all sound, have arrived at (board, port)."""
    received, bad = counter(bench, at, "received"), counter(bench, at, "bad")
    if received != packets or bad:
        raise RuntimeError(f"board {at[0]} port {at[1]}: {received} packets of {packets} arrived, {bad} of them damaged")


# -- latency -----------------------------------------------------------------------------------------------------------


def round_trips(bench: Bench, far: int, payload: int) -> Row:
    """Ping-pong from board 0 to board `far` and back, packets of `payload` bytes, answered by the far board's own
    generator."""
    here, there = (0, 0), (far, 0)
    prepare(bench, Flow(there, here), payload, mode=_ECHO)
    prepare(bench, Flow(here, there), payload, mode=_PING_PONG)
    for at in (here, there):
        clear(bench, at)
    start(bench, here, _ECHOES)
    bench.run_until_idle([here, there])
    check(bench, here, _ECHOES)
    check(bench, there, _ECHOES)
    hops = sum(a != b for a, b in zip(bench.layout.places[0], bench.layout.places[far], strict=True))
    return {
        "hops": hops,
        "payload_bytes": payload,
        "round_trip_cycles": counter(bench, here, "trip_sum") / _ECHOES,
        "least_cycles": counter(bench, here, "trip_min"),
        "most_cycles": counter(bench, here, "trip_max"),
        # All boards count from the same reset, so a single packet's way can be followed too: the first, on an idle
        # line.
        "one_way_cycles": counter(bench, there, "first_tail") - counter(bench, here, "first_sent"),
    }


def latency(*, line_cycles: int, sizes: Sequence[int] = LATENCY_BYTES) -> list[Row]:
    """Round trips over one hop and two, without pauses of the gearbox (figures 7 and 8)."""
    rows = []
    for layout, far in ((TWO, 1), (FOUR, 3)):
        with Bench(layout, line_cycles=line_cycles) as bench:
            rows += [round_trips(bench, far, size) for size in sizes]
    for row in rows:
        row["line_cycles"] = line_cycles
        row["round_trip_ns"] = row["round_trip_cycles"] * CYCLE_NS
        row["one_way_ns"] = row["one_way_cycles"] * CYCLE_NS
    return rows


def hop(*, line_cycles: int) -> list[Row]:
    """Where the cycles of a further hop go, from the words on the lines of a packet that takes two; the last row is
    the hop as a whole."""
    with Bench(ONE) as bench:
        flow = Flow((0, 0), (0, 1))
        prepare(bench, flow, 0)
        start(bench, flow.source, 1)
        bench.run_until_idle([flow.source])
        bench.run(_SETTLE_CYCLES)
        router = counter(bench, flow.target, "first_head") - counter(bench, flow.source, "first_sent")
    with Bench(FOUR, line_cycles=line_cycles) as bench:
        flow = Flow((0, 0), (3, 1))
        prepare(bench, flow, 0)
        bench.run(_SETTLE_CYCLES)
        bench.record(1000)
        start(bench, flow.source, 1)
        bench.run(_SETTLE_CYCLES)
        check(bench, flow.target, 1)
        sent = counter(bench, flow.source, "first_sent")
        first, second = _packet_on(bench.line_words(0, 1)), _packet_on(bench.line_words(2, 0))
    whole = second[0] - first[0]
    parts = {
        "router": router,
        "the link's buffer and its register": first[0] - sent - router,
        "Magic and Start": first[2] - first[0],
        "header, two link words": first[3] - first[2] + 1,
        "transceiver and line": line_cycles,
    }
    parts["receiver: header checked and handed on"] = whole - sum(parts.values())
    parts["a hop"] = whole
    return [{"part": part, "cycles": cycles, "ns": cycles * CYCLE_NS} for part, cycles in parts.items()]


def _packet_on(words: Sequence[tuple[int, int]]) -> list[int]:
    """Cycles of Magic, Start and the header's two halves of the first packet among the words of a line."""
    for at in range(len(words) - 3):
        if words[at][1] == MAGIC and words[at + 1][1] % (1 << KIND_BITS) == START:
            return [cycle for cycle, _ in words[at : at + 4]]
    raise RuntimeError("no packet came over the line")


# -- bandwidth ---------------------------------------------------------------------------------------------------------

ROUTER_FLOWS = {
    "1 sender": [Flow((0, 0), (0, 1))],
    "2 senders to one port": [Flow((0, 0), (0, 2)), Flow((0, 1), (0, 2))],
    "3 senders, each its own port": [Flow((0, 0), (0, 1)), Flow((0, 1), (0, 2)), Flow((0, 2), (0, 0))],
}
LINK_FLOWS = {
    "one way": [Flow((0, 0), (1, 1))],
    "both ways": [Flow((0, 0), (1, 1)), Flow((1, 0), (0, 1))],
}


def stream(bench: Bench, flows: Sequence[Flow], payload: int, *, word_bits: int, warm_up: int = 40, packets: int = 160) -> Row:
    """Rate at the slowest receiving port from its first packet after the warm-up to its last, in share of
    `word_bits` a cycle."""
    sources = [flow.source for flow in flows]
    targets = list(dict.fromkeys(flow.target for flow in flows))
    words = -(-payload // 16) + 2
    for flow in flows:
        prepare(bench, flow, payload)
    for at in sources:
        start(bench, at, warm_up + packets)
    bench.run(warm_up * words * 128 // word_bits)
    for at in targets:
        clear(bench, at)
    bench.run_until_idle(sources)
    drain(bench, targets)
    rates = []
    for at in targets:
        received, span = counter(bench, at, "received"), counter(bench, at, "last_tail") - counter(bench, at, "first_tail")
        if received < packets // 2 or counter(bench, at, "bad"):
            raise RuntimeError(f"board {at[0]} port {at[1]}: {received} packets, {counter(bench, at, 'bad')} of them damaged")
        rates.append((received - 1) * payload * 8 / span)
    bits = min(rates)  # of payload, a cycle
    return {
        "payload_bytes": payload,
        "senders": len(sources),
        "gbps": bits / CYCLE_NS,
        "efficiency_percent": 100 * bits / word_bits,
        "raw_gbps": bits / CYCLE_NS * words * 16 / payload,
    }


def drain(bench: Bench, targets: Sequence[tuple[int, int]]) -> None:
    """Runs until nothing arrives any more: what is sent may wait in the router's FIFOs."""
    before: list[int] = []
    while (now := [counter(bench, at, "received") for at in targets]) != before:
        before = now
        bench.run(_SETTLE_CYCLES)


def router_bandwidth(sizes: Sequence[int] = BANDWIDTH_BYTES) -> list[Row]:
    """Payload through the router from intra-tile port to intra-tile port, of 20 Gb/s a port (figure 9)."""
    rows = []
    with Bench(ONE) as bench:
        for name, flows in ROUTER_FLOWS.items():
            rows += [{"flows": name} | stream(bench, flows, size, word_bits=128) for size in sizes]
    return rows


def link_bandwidth(sizes: Sequence[int] = BANDWIDTH_BYTES, *, line_cycles: int = LINE_CYCLES) -> list[Row]:
    """Payload through a link, of 10 Gb/s (figure 10); with and without the gearbox's pauses."""
    rows = []
    for pause in (0, PAUSE_WORDS):
        with Bench(TWO, line_cycles=line_cycles, pause_every=pause) as bench:
            for name, flows in LINK_FLOWS.items():
                rows += [{"flows": name, "pause_words": pause} | stream(bench, flows, size, word_bits=64) for size in sizes]
    return rows


def line_rate() -> float:
    """Highest rate of the line in Gb/s: link words of 64 bits while a stream of the largest packets is under way."""
    with Bench(TWO, line_cycles=LINE_CYCLES) as bench:
        flow = LINK_FLOWS["one way"][0]
        prepare(bench, flow, 512)
        start(bench, flow.source, 100)
        bench.run(2000)
        bench.record(2000)
        bench.run(3000)
        words = bench.line_words(0, 0)
    return len(words) * 64 / ((words[-1][0] - words[0][0] + 1) * CYCLE_NS)
