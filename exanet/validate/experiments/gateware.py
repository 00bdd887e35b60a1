# SPDX-License-Identifier: Apache-2.0
"""The network IP itself, Verilated: latency and bandwidth by its bench KARMA, resources by Yosys.

Nothing here is fitted. Latencies take the transceiver from its maker's data sheet (AMD PG074: 54 cycles for an Aurora
64B/66B core on GTH), and for E03 the processor's share from the KARMA paper. Rows of kind "bound" are those in which
ours need not be what theirs was: a router without dead cycles, an IP of fewer gates.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from exanet.errors import InputError
from exanet.gateware import build
from exanet.karma import experiments as karma
from exanet.karma.board import CYCLE_NS
from exanet.optional import VERILATED
from exanet.validate.experiments.bare_packets import ONE_HOP, TWO_HOPS, one_way_ns
from exanet.validate.registry import Measured, Off, Reading, experiment
from exanet.validate.runner import RunFailed, Runner

PUBLISHED_BYTES = 512
STORE_NS, LOAD_NS = 3 * 4 * CYCLE_NS, 3 * 20 * CYCLE_NS
"""Cycles of the processor to write and to read a small packet of three words at the intra-tile port: 4 and 20 cycles
a word (KARMA'17, section 4.2, K07 and K06)."""
_NO_INTERFACE = Off(
    -0.164,
    "the Verilated IP ends at the ports of its router: packetizer and mailbox, which the published path has, are missing. By the constants "
    "that machines/exanest.yaml has for them (32 ns, and 100 ns with 6.4 ns for each of three words) they are 151 of the 262 ns that are "
    "missing; what the other 111 are is not published",
)
_LOADS_AND_STORES = Off(
    0.856,
    "theirs does not add up: loads and stores at both ends are 922 ns of less than 1000 (section 4.2), and leave 78 to two crossings of a "
    "transceiver, which takes up to 346 ns by its data sheet. Theirs took less, or the 1000 ns are without them",
)
_NO_DEAD_CYCLES = Off(
    -0.096,
    "our router has no dead cycle. Theirs has eight a packet (by K10), 51 ns, which are more than the 44 ns that are missing, if a header "
    "waits for them once a hop; whether it does, and whether the figure is one way at all, is not stated",
)
_SYNTH_LIMIT_S = 900

T = TypeVar("T")


def _run(measure: Callable[[], T]) -> T:
    """Fails the row of a part that cannot be built, and no other."""
    try:
        return measure()
    except InputError as error:
        raise RunFailed(str(error)) from None


@functools.cache
def _hop(line_cycles: int) -> float:
    return float(_run(lambda: karma.hop(line_cycles=line_cycles))[-1]["ns"])


@functools.cache
def _latency(payload: int) -> dict[int, karma.Row]:
    """By hops, with transceivers."""
    return {row["hops"]: row for row in _run(lambda: karma.latency(line_cycles=karma.LINE_CYCLES, sizes=(payload,)))}


@functools.cache
def _router() -> dict[str, karma.Row]:
    """By senders, for 512 B."""
    return {row["flows"]: row for row in _run(lambda: karma.router_bandwidth((PUBLISHED_BYTES,)))}


@functools.cache
def _link() -> dict[tuple[str, int], karma.Row]:
    return {(row["flows"], row["pause_words"]): row for row in _run(lambda: karma.link_bandwidth((PUBLISHED_BYTES,)))}


# -- latency -----------------------------------------------------------------------------------------------------------


@experiment("E03", kind="predicted", off=_NO_INTERFACE, needs=VERILATED)
def two_hops_small(runner: Runner) -> Measured:
    hardware = _latency(16)[2]["one_way_ns"]
    return Measured(
        (hardware + STORE_NS + LOAD_NS) / 1000,
        f"16 B in the Verilated IP {hardware:.0f} ns, of which transceivers {2 * karma.LINE_CYCLES * CYCLE_NS:.0f} (AMD PG074); the "
        f"processor's stores {STORE_NS:.0f} and loads {LOAD_NS:.0f} (KARMA'17, section 4.2)",
        data={"hardware_ns": hardware, "store_ns": STORE_NS, "load_ns": LOAD_NS},
    )


@experiment("E04", kind="predicted", needs=VERILATED)
def further_hop(runner: Runner) -> Measured:
    alone = _hop(0)
    packets = one_way_ns(runner, TWO_HOPS)[8] - one_way_ns(runner, ONE_HOP)[8]
    return Measured(
        _hop(karma.LINE_CYCLES),
        f"router and link {alone:.0f} ns, Verilated; transceiver {karma.LINE_CYCLES} cycles = {karma.LINE_CYCLES * CYCLE_NS:.1f} ns, its "
        "maker's maximum (AMD PG074). `exanet karma` shows where each goes",
        data={"alone_ns": alone, "line_cycles": karma.LINE_CYCLES},
        readings=(Reading("E03 less E01 on trenz-2x2, with the prototype's transceiver", packets, 400),),
    )


@experiment("K05", kind="predicted", off=_NO_DEAD_CYCLES, needs=VERILATED)
def two_hops_less_one(runner: Runner) -> Measured:
    trips = _latency(16)
    difference = trips[2]["round_trip_ns"] - trips[1]["round_trip_ns"]
    return Measured(
        difference / 2,
        f"half the difference of our round trips, {difference:.1f} ns, against their figure taken as one way, as E04 suggests",
        data={"difference_of_round_trips_ns": difference},
        readings=(Reading("theirs as a difference of round trips", difference, 460),),
    )


@experiment("K08", kind="bound", off=_LOADS_AND_STORES, needs=VERILATED)
def round_trip(runner: Runner) -> Measured:
    hardware = _latency(16)[1]["round_trip_ns"]
    ours = hardware + 2 * (STORE_NS + LOAD_NS)
    return Measured(
        ours,
        f"16 B from user space: the Verilated IP with its transceivers {hardware:.0f} ns, answered by the far board's generator; stores "
        f"and loads of both processors {2 * (STORE_NS + LOAD_NS):.0f} (KARMA'17, section 4.2)",
        holds=ours <= 1000,
        data={"hardware_ns": hardware, "processors_ns": 2 * (STORE_NS + LOAD_NS)},
        readings=(Reading("theirs without loads and stores", hardware, 1000),),
    )


# -- bandwidth ---------------------------------------------------------------------------------------------------------


def _percent(row: karma.Row) -> float:
    return float(row["efficiency_percent"])


@experiment("K09", kind="structural", needs=VERILATED)
def router_peak(runner: Runner) -> Measured:
    return Measured(_router()["1 sender"]["raw_gbps"], "header and footer included: a word in every cycle")


@experiment("K10", kind="bound", needs=VERILATED)
def router_one_sender(runner: Runner) -> Measured:
    ours = _percent(_router()["1 sender"])
    return Measured(ours, "no dead cycle between packets: at the limit of 32 words in 34; theirs lost 8 cycles a packet", holds=ours >= 76)


@experiment("K11", kind="structural", needs=VERILATED)
def router_overhead(runner: Runner) -> Measured:
    return Measured(100 * (100 / _percent(_router()["1 sender"]) - 1), "cycles a packet beyond its 32 words of payload, in a full stream")


@experiment("K12", kind="bound", needs=VERILATED)
def router_two_senders(runner: Runner) -> Measured:
    ours = _percent(_router()["2 senders to one port"])
    alone = _percent(_router()["3 senders, each its own port"])
    return Measured(ours, f"at the limit; three senders with a port each reach {alone:.2f} % each", holds=ours >= 89.5)


@experiment("K13", kind="structural", needs=VERILATED)
def line(runner: Runner) -> Measured:
    return Measured(_run(karma.line_rate), "64 bits in every cycle of a full stream")


@experiment("K14", kind="structural", needs=VERILATED)
def link(runner: Runner) -> Measured:
    rates = {f"{flows}, pause every {pause}" if pause else flows: _percent(row) for (flows, pause), row in _link().items()}
    paused = _percent(_link()["one way", karma.PAUSE_WORDS])
    both = _percent(_link()["both ways", 0])
    return Measured(
        _percent(_link()["one way", 0]),
        f"with credits, at the limit of 64 words in 70; both ways full {both:.2f} % each; with the pauses of a 64b/66b gearbox "
        f"on a line of 10.0 Gb/s {paused:.2f} %",
        data={"percent": rates},
    )


# -- derived from the above --------------------------------------------------------------------------------------------

_PAYLOAD_WORDS, _AROUND = PUBLISHED_BYTES // 16, 2
"""Router words of a packet's payload, and of its header and footer."""


def _dead_cycles(flows: str) -> float:
    """Cycles of a full stream in which no word of a packet passes, for each packet."""
    return round(_PAYLOAD_WORDS / (_percent(_router()[flows]) / 100) - _PAYLOAD_WORDS - _AROUND, 6)


def _a_packet(flows: str) -> float:
    """Cycles of the link for each packet of a full stream."""
    return 2 * _PAYLOAD_WORDS / (_percent(_link()[flows, 0]) / 100)


@experiment("K04", kind="structural", needs=VERILATED)
def framing(runner: Runner) -> Measured:
    """Cycles of a full link for each packet, less those of header, payload and footer."""
    cycles, link_words = _a_packet("one way"), runner.machine("trenz-2x2").resolve()["links"][0]["framing_words"]
    if link_words != round(cycles - 2 * (_PAYLOAD_WORDS + _AROUND)):
        raise RunFailed(f"the gateware's link takes {cycles:.2f} cycles a packet, the machine trenz-2x2 has {link_words} words of framing")
    return Measured(cycles - 2 * (_PAYLOAD_WORDS + _AROUND), f"{cycles:.2f} cycles a packet in a full stream, 68 of them its words")


@experiment("D03", kind="bound", needs=VERILATED)
def dead_cycles_alone(runner: Runner) -> Measured:
    """Cycles of a full router for each packet, less its words."""
    ours = _dead_cycles("1 sender")
    return Measured(ours, "cycles a packet beyond its 34 words, in a full stream (K10)", holds=ours <= 8.1)


@experiment("D04", kind="bound", needs=VERILATED)
def dead_cycles_of_two(runner: Runner) -> Measured:
    """As D03, of two senders to one port."""
    ours = _dead_cycles("2 senders to one port")
    return Measured(ours, "cycles a packet beyond its 34 words, in a full stream (K12)", holds=ours <= 1.75)


@experiment("D09", kind="bound", needs=VERILATED)
def idle_words(runner: Runner) -> Measured:
    """What the packets' framing leaves, less what a full link carries, with credits both ways."""
    words = 2 * (_PAYLOAD_WORDS + _AROUND) + runner.machine("trenz-2x2").resolve()["links"][0]["framing_words"]
    ceiling = 100 * 2 * _PAYLOAD_WORDS / words
    ours, both = (ceiling - _percent(_link()[flows, 0]) for flows in ("one way", "both ways"))
    return Measured(
        ours,
        f"{ceiling:.2f} % less what a full stream takes (K14); with both ways full {both:.2f} points",
        holds=ours <= 1.43,
        readings=(Reading("with both ways full", both, 1.43),),
    )


@experiment("D11", kind="predicted", needs=VERILATED)
def hop_cycles(runner: Runner) -> Measured:
    """E04 in cycles of the gateware."""
    ours = _hop(karma.LINE_CYCLES) / CYCLE_NS
    return Measured(
        ours,
        f"router and link {ours - karma.LINE_CYCLES:.0f} cycles, transceiver {karma.LINE_CYCLES}",
        readings=(Reading("K05 as one way", ours, 71.9), Reading("K05 as there and back", ours, 35.9)),
    )


# -- resources ---------------------------------------------------------------------------------------------------------


@functools.cache
def _resources() -> dict[str, dict[str, dict[str, float]]]:
    """Counts of gateware/synth.py, by part."""
    script = _run(build.sources) / "gateware/synth.py"
    try:
        done = subprocess.run(
            [sys.executable, str(script), "--json"], capture_output=True, text=True, errors="replace", timeout=_SYNTH_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"counting resources did not end within {_SYNTH_LIMIT_S} s") from None
    if done.returncode != 0:
        raise RunFailed(f"counting resources failed: {' | '.join((done.stdout + done.stderr).splitlines()[-4:])}")
    found: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _taken(part: str, times: int = 1) -> Measured:
    found: dict[str, Any] = _resources()[part]
    ours, theirs = found["ours"], found["published"]
    names = {"lut": "LUT", "ff": "FF", "bram36": "BRAM36"}
    shown = [f"{names[key]} {times * ours[key]:g} ({times * value:g})" for key, value in theirs.items()]
    return Measured(
        times * ours["lut"],
        f"ours (theirs): {', '.join(shown)}; of our LUT {times * ours['lut_memory']:g} are memory. By Yosys, theirs by the vendor's tool",
        holds=all(ours[key] <= value for key, value in theirs.items()),
        text=f"{times * ours['lut']:,.0f} LUT",
        data=found,
    )


@experiment("K17", kind="bound", needs=("yosys",), long=True)
def whole_ip(runner: Runner) -> Measured:
    return _taken("ip")


@experiment("K18", kind="bound", needs=("yosys",), long=True)
def router_resources(runner: Runner) -> Measured:
    return _taken("router")


@experiment("K19", kind="bound", needs=("yosys",), long=True)
def link_resources(runner: Runner) -> Measured:
    return _taken("link", 2)


@experiment("K20", kind="bound", needs=("yosys",), long=True)
def register_resources(runner: Runner) -> Measured:
    return _taken("registers")
