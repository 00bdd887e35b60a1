# SPDX-License-Identifier: Apache-2.0
"""Logic levels of every path of a netlist that Yosys has mapped to an UltraScale+ device.

A level is a LUT, the read of a distributed memory, or a carry chain; wide multiplexers (MUXF7 to 9) come with their LUTs. Paths begin at
registers, at block memories and at ports, and end there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

Module = dict[str, Any]  # as Yosys writes it: cells, with their types, connections and directions, and ports
Levels = dict[int, int]  # how many ends of paths there are with so many

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
    """Raises ValueError where logic stands in a cycle."""
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
                raise ValueError("the netlist has a cycle of logic without a register")
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
