# SPDX-License-Identifier: Apache-2.0
"""Whether a machine's routers keep up with its links."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from exanet import units
from exanet.machine.schema import Link


def slow_router(links: Mapping[str, Link], resolved: Mapping[str, Any]) -> str | None:
    """That the router passes a full packet in more time than a link takes for it, as a sentence; None where it does
    not.

    `links` are those of the description, `resolved` is what Machine.resolve() returns. An ExaNet router takes a word a
    cycle. Input-queued switches have a speed-up over their links, whatever their clock.
    """
    router = resolved["router"]
    if "switch" in router:
        return None
    words = router["header_words"] + -(-router["max_payload_bytes"] * 8 // router["word_bits"]) + router["footer_words"]
    link_ps: dict[str, Fraction] = {}
    for link in resolved["links"]:
        pauses = Fraction(link["pause_every"] + 1, link["pause_every"]) if link["pause_every"] else Fraction(1)
        on_link = -(-words * router["word_bits"] // link["word_bits"]) + link["framing_words"]
        link_ps[link["name"]] = on_link * link["word_time_ps"] * pauses
    router_ps = words * router["cycle_ps"]
    used = {name: float(ps / router_ps) for name, ps in sorted(link_ps.items(), key=lambda item: item[1]) if ps < router_ps}
    if not used:
        return None
    shares = ", ".join(f"{share:.0%} ({name}, {units.format_rate(links[name].rate.value)})" for name, share in used.items())
    rate = units.format_rate(router["word_bits"] * 10**12 // router["cycle_ps"])
    return (
        f"the router is slower than its links: a word of {router['word_bits']} bit a cycle is {rate}, so links are used to {shares} "
        "at most; raise router.clock or router.word, or lower the rate"
    )
