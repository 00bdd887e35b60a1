# SPDX-License-Identifier: Apache-2.0
"""Counts the logic levels of every path through router and links, mapped to an UltraScale+ device with Yosys.

usage: python gateware/timing.py [link] [link-wide] [router-3x2] [router-6x1] [--json] [--keep FOLDER]     (needs pyosys; minutes for all)

A level is a LUT, the read of a distributed memory, or a carry chain; wide multiplexers (MUXF7 to 9) come with their LUTs. Paths begin at
registers, at block memories and at ports, and end there. The exit status is 1 when some path of a part has more levels than LIMITS allows.
With --keep what was counted is written down in that folder, and counted again when a source, Yosys or this file has changed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import passed
import synth

Module = dict[str, Any]  # as Yosys writes it: cells, with their types, connections and directions, and ports
Levels = dict[int, int]  # how many ends of paths there are with so many

TARGETS = {
    "link": synth.Target("exanet_link", {}, {}),
    "link-wide": synth.Target("exanet_link", {"LineBits": 128}, {}),
    "router-3x2": synth.Target("exanet_router", {"InterPorts": 3, "IntraPorts": 2, "Dimensions": 3}, {}),
    "router-6x1": synth.Target("exanet_router", {"InterPorts": 6, "IntraPorts": 1, "Dimensions": 3}, {}),
}
LIMITS = {"link": 10, "link-wide": 11, "router-3x2": 21, "router-6x1": 24}
"""Ten are what 156.25 MHz leave room for at half a nanosecond a level. Those of a wide link and of routers are what they have, so that they
get no longer."""

_CLOCKS = {"C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"}


def _bits(cell: Module, direction: str) -> Iterator[tuple[str, int]]:
    """Ports of a cell in that direction, with each net that is no constant."""
    for port, nets in cell["connections"].items():
        if cell["port_directions"][port] == direction:
            yield from ((port, net) for net in nets if isinstance(net, int))


def _is_register(kind: str) -> bool:
    return kind.startswith(("FD", "RAMB", "URAM"))


def _read_of(kind: str, out: str, port: str) -> bool:
    """Whether an output of a cell depends on that input without a clock edge."""
    if not kind.startswith("RAM"):
        return True
    pairs = {"SPO": "A", "DPO": "DPRA"} | {f"DO{letter}": f"ADDR{letter}" for letter in "ABCDEFGH"}
    return port.rstrip("0123456789") == pairs[out]


def count_levels(module: Module) -> Levels:
    """Raises ValueError where logic stands in a circle."""
    cells: dict[str, Module] = module["cells"]
    driver = {net: (name, port) for name, cell in cells.items() for port, net in _bits(cell, "output")}
    found: dict[int, int] = {}

    def steps(net: int) -> list[tuple[int, int]]:
        """The nets that `net` follows from without a register, and what each adds."""
        name, out = driver.get(net, (None, ""))
        if name is None or _is_register(cells[name]["type"]):
            return []
        kind = cells[name]["type"]
        inputs = [(port, before) for port, before in _bits(cells[name], "input") if _read_of(kind, out, port)]
        if kind.startswith("MUXF"):
            return [(before, 0) for _, before in inputs]
        if not kind.startswith("CARRY"):
            return [(before, 1) for _, before in inputs]
        chained = {
            before for port, before in inputs if port == "CI" and cells.get(driver.get(before, ("", ""))[0], {"type": ""})["type"] == kind
        }
        return [(before, 0 if port == "CI" and before in chained else 1) for port, before in inputs]

    def level(end: int) -> int:
        todo, open_nets = [end], set()
        while todo:
            net = todo[-1]
            before = steps(net)
            waits = [source for source, _ in before if source not in found]
            if net in found or not waits:
                found.setdefault(net, max((found[source] + cost for source, cost in before), default=0))
                open_nets.discard(net)
                todo.pop()
                continue
            if net in open_nets:
                raise ValueError("the netlist has a circle of logic without a register")
            open_nets.add(net)
            todo += waits
        return found[end]

    ends = [
        net
        for cell in cells.values()
        if _is_register(cell["type"]) or cell["type"].startswith("RAM")
        for port, net in _bits(cell, "input")
        if port not in _CLOCKS
    ]
    ends += [net for port in module["ports"].values() if port["direction"] == "output" for net in port["bits"] if isinstance(net, int)]
    return dict(sorted(Counter(map(level, ends)).items(), reverse=True))


def measure(name: str, folder: Path | None) -> Levels:
    """Counted, or what `folder` holds of an earlier run on the same sources."""
    target = TARGETS[name]
    if folder is None:
        return count_levels(synth.mapped(target))
    kept = passed.Kept(folder)
    files = [*synth.sources(), synth.ROOT / "gateware/files.f", Path(__file__), Path(synth.__file__), Path(passed.__file__)]
    key = passed.key(files=files, distributions=["pyosys"], arguments=(sys.version, name, target.top, sorted(target.parameters.items())))
    found = kept.find(key)
    if found is not None:
        return {int(levels): number for levels, number in found.items()}
    counted = count_levels(synth.mapped(target))
    kept.keep(key, {str(levels): number for levels, number in counted.items()})
    return counted


def exceeded(results: dict[str, Levels]) -> list[str]:
    """What has longer paths than it may, in words."""
    lines = []
    for name, found in results.items():
        beyond = sum(number for levels, number in found.items() if levels > LIMITS[name])
        if beyond:
            lines.append(f"{name} has paths of {max(found)} levels, {beyond} of more than {LIMITS[name]}")
    return lines


def main() -> int:
    words, folder = sys.argv[1:], None
    if "--keep" in words[:-1]:
        at = words.index("--keep")
        folder = Path(words[at + 1])
        del words[at : at + 2]
    names = [name for name in words if not name.startswith("-")] or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        print(f"error: {', '.join(unknown)}: there is no such part; give some of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    results = {name: measure(name, folder) for name in names}
    if "--json" in words:
        print(json.dumps({name: {"levels": found, "most": max(found), "limit": LIMITS[name]} for name, found in results.items()}))
    else:
        print(f"{'':12}{'levels':>8}{'limit':>8}   ends of paths by their levels")
        for name, found in results.items():
            longest = ", ".join(f"{levels}: {number}" for levels, number in list(found.items())[:6])
            print(f"{name:12}{max(found):>8}{LIMITS[name]:>8}   {longest}, …")
    for line in exceeded(results):
        print(f"error: {line}", file=sys.stderr)
    return 1 if exceeded(results) else 0


if __name__ == "__main__":
    sys.exit(main())
