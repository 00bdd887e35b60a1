# SPDX-License-Identifier: Apache-2.0
"""Shows the logic levels of every path through router and links, mapped to an UltraScale+ device with Yosys.

usage: python gateware/timing.py [PART...] [--json] [OPTIONS OF FINDINGS]     (needs pyosys; minutes for all)

Parts are router, router-6x1, router-qfdb, router-multicast, tor, tor-input, tor-match, link, link-wide, phy, phy-lanes, acc-point,
acc-limiter, ni-port, ni-packetizer, ni-mailbox, ni-transfers, ni-gather, ni-blocks, ni-translate, ni-reduce, ni and reduce (parts of an
interface, and of the unit that reduces, together), lofamo, ethernet-encoder, ethernet-decoder, ethernet-tx and ethernet-rx.

What a level is says gateware/levels.py. The exit status is 1 when some path of a part has more levels than LIMIT allows. With --keep what
was counted is written down in that folder, with the resources that gateware/synth.py shows, and counted again when a source, Yosys or a
script has changed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import synth
from levels import Levels

PARTS = (
    "router",
    "router-6x1",
    "router-qfdb",
    "router-multicast",
    "tor",
    "tor-input",
    "tor-match",
    "link",
    "link-wide",
    "phy",
    "phy-lanes",
    "acc-point",
    "acc-limiter",
    "ni-port",
    "ni-packetizer",
    "ni-mailbox",
    "ni-transfers",
    "ni-gather",
    "ni-blocks",
    "ni-translate",
    "ni-reduce",
    "ni",
    "reduce",
    "lofamo",
    "ethernet-encoder",
    "ethernet-decoder",
    "ethernet-tx",
    "ethernet-rx",
)
LIMIT = 10
"""Levels that fit 156.25 MHz at half a nanosecond each."""


def exceeded(results: dict[str, Levels]) -> list[str]:
    """Parts with longer paths than they may have, in words."""
    lines = []
    for name, found in results.items():
        beyond = sum(number for levels, number in found.items() if levels > LIMIT)
        if beyond:
            lines.append(f"{name} has paths of {max(found)} levels, {beyond} of more than {LIMIT}")
    return lines


def main() -> int:
    words = sys.argv[1:]
    counted = synth.counted(words, PARTS)
    if counted is None:
        return 2
    results = {name: one.levels for name, one in counted.items()}
    if "--json" in words:
        print(json.dumps({name: {"levels": found, "most": max(found), "limit": LIMIT} for name, found in results.items()}))
    else:
        print(f"{'':16}{'levels':>8}   ends of paths by their levels")
        for name, found in results.items():
            longest = ", ".join(f"{levels}: {number}" for levels, number in list(found.items())[:6])
            print(f"{name:16}{max(found):>8}   {longest}, …")
    for line in exceeded(results):
        print(f"error: {line}", file=sys.stderr)
    return 1 if exceeded(results) else 0


if __name__ == "__main__":
    sys.exit(main())
