# SPDX-License-Identifier: Apache-2.0
"""What a link of a machine carries when packets stand ready for it all the time."""

from __future__ import annotations

import functools
from typing import Any

from exanet import sim
from exanet.machine import Machine
from exanet.validate.runner import Runner

WINDOW_PS = 100_000_000


@functools.cache
def full_link(runner: Runner, name: str, payload: int) -> dict[str, Any]:
    """The link from one sender to its neighbour, offered half as much again as it takes, in packets of `payload` bytes.

    `gbps` counts all words on the line, `payload_gbytes_per_s` what of them is payload.
    """
    return full_link_of(runner.machine(name), payload)


def full_link_of(machine: Machine, payload: int, window_ps: int = WINDOW_PS) -> dict[str, Any]:
    """The same of a machine."""
    spec = sim.TrafficSpec(traffic="incast:1", packet_bytes=payload, measure_ps=window_ps)
    point = sim.simulate(machine, offered=1.5, spec=spec)
    link, router = machine.resolve()["links"][0], machine.resolve()["router"]
    packet_bits = (router["header_words"] + router["footer_words"]) * router["word_bits"] + 8 * payload
    words = link["framing_words"] + packet_bits // link["word_bits"]
    return {
        "packet_bytes": payload,
        "gbps": int(point["links"]["packets"].max()) * words * link["word_bits"] / window_ps * 1000,
        "payload_gbytes_per_s": float(point["accepted_gbps"]) / 8,
        "links": int((point["links"]["node"] == 0).sum()),
        "buffer_bytes": (router["inter_fifo_words"] + router["header_fifo_words"]) * router["word_bits"] // 8,
    }
