# SPDX-License-Identifier: Apache-2.0
"""Links as fast as those of an Ethernet MAC: a full link of the packet simulator, the Trenz boards' link with another
rate and word, without framing. The rate is given (R16, and so "calibrated"); what coding leaves of it, and how often
words and packets come, follows."""

from __future__ import annotations

import functools
from typing import Any

from exanet.machine import located
from exanet.validate.full_link import full_link_of
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_BASE = "trenz-2x2"
_WINDOW_PS = 10**9
_HEADER_AND_FOOTER = 32
_WORD_BITS = 264
"""The shortest word of so many bytes that takes whole picoseconds at 103.125 Gb/s; packets are multiples of it."""
_PACKET_BYTES = 16 * _WORD_BITS // 8
_PAUSE_EVERY = 32
"""Words after which one is coding: RS(528,514) and 256B/257B leave 514/528 of 256/257, which is 32 of 33."""
_UNITS, _UNIT_GHZ = 32, 1


@functools.cache
def _full(runner: Runner, rate: str, word_bits: int, packet_bytes: int, pause_every: int = 0) -> dict[str, Any]:
    payload = packet_bytes - _HEADER_AND_FOOTER
    changes = {
        "links.link.rate": rate,
        "links.link.word": f"{word_bits} bit",
        "links.link.pause_every": f"{pause_every} words",
        "links.link.framing": "0 words",
        "links.link.latency": "10 ns",  # so short that buffers never hold up packets
        "router.clock": "2 GHz",
        "router.max_payload": f"{payload} B",
        "ni.eager_max": "0 B",
        "ni.packet_max": "32 B",
    }
    return full_link_of(runner.machine(_BASE, located.values(changes, "exanet validate")), payload, _WINDOW_PS)


def _raw(runner: Runner) -> float:
    """Gb/s of all words on the link."""
    return float(_full(runner, "103.125 Gb/s", _WORD_BITS, _PACKET_BYTES)["gbps"])


@experiment("R16", kind="calibrated")
def four_lanes(runner: Runner) -> Measured:
    return Measured(_raw(runner), f"words on a full link of {_BASE} with this rate, which is given")


@experiment("R17", kind="predicted")
def words_of_128_bits(runner: Runner) -> Measured:
    return Measured(_raw(runner) / 128 * 1000, "words of 128 bits a microsecond on the full link of R16")


@experiment("R18", kind="predicted")
def words_of_512_bits(runner: Runner) -> Measured:
    return Measured(_raw(runner) / 512 * 1000, "words of 512 bits a microsecond on the full link of R16")


@experiment("D17", kind="predicted")
def what_coding_leaves(runner: Runner) -> Measured:
    found = _full(runner, "103.125 Gb/s", _WORD_BITS, _PACKET_BYTES, _PAUSE_EVERY)
    return Measured(float(found["gbps"]), f"the full link of R16 with a pause of a word after {_PAUSE_EVERY}, as much as both codes take")


@experiment("D14", kind="structural")
def cycles_of_a_packet(runner: Runner) -> Measured:
    """Cycles of all processing units between two packets of a full link at 200 Gb/s, headers included."""
    sizes = (64, 1024)
    payload = {size: float(_full(runner, "200 Gb/s", 64, size)["payload_gbytes_per_s"]) for size in sizes}
    cycles = tuple(_UNITS * _UNIT_GHZ * (size - _HEADER_AND_FOOTER) / rate for size, rate in payload.items())
    return Measured(
        cycles, f"packets of {sizes[0]} and {sizes[1]} B on a full link; {_UNITS} units of {_UNIT_GHZ} GHz take one each in turn"
    )
