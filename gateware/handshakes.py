# SPDX-License-Identifier: Apache-2.0
"""Looks for combinational paths between the handshakes of ports, on netlists of Yosys; exit status 1 where there is one.

usage: python gateware/handshakes.py [TOP...] [OPTIONS OF FINDINGS]     (needs pyosys)

Problem: where an output `ready` follows from an input `valid` in the same cycle, or an output `valid` from an input `ready`, two modules
that do so close a cycle of logic when they are joined, and a bench that waits for one before it sets the other never goes on. Each alone
passes.

Model: the netlist of a top, flattened, with each bit of its simple gates for itself. What else there is, sums and memories that are read
without a clock, is taken as if each output followed from each input. So a path may be shown that is none, and none is overlooked. Limits:
the parameters in TOPS; paths in what a user puts beside a top are not seen.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import synth

SMALL = {"Contexts": 4, "Mailboxes": 4, "Peers": 8}
TOPS: dict[str, dict[str, int]] = {
    "ni_port": {},
    "ni_dma_send": {},
    "ni_dma_receive": {},
    "exanet_ni": SMALL,
    "exanet_reduce": {},
    "exanet_phy": {},
    "node_registers": {},
    "node_registers_link": {},
    "karma_registers": {},
    "exanet_link": {},
    "exanet_node": {"InterPorts": 2, "IntraPorts": 1, "Dimensions": 1},
    "exanet_ip": {"InterPorts": 2, "IntraPorts": 1, "Dimensions": 1},
    "exanet_endpoint": {"InterPorts": 2, "IntraPorts": 1, "Dimensions": 1},
}
"""Each module that is a top for somebody, with parameters that keep it small; `exanet_ni` has transfers in TRANSFERS."""
TRANSFERS = {**SMALL, "Channels": 4, "Window": 4}
PARTS = {name: (name, parameters) for name, parameters in TOPS.items()} | {"exanet_ni-transfers": ("exanet_ni", TRANSFERS)}
REGISTERS = ("$_DFF", "$_SDFF", "$_ALDFF", "$_DLATCH", "$dff", "$adff", "$sdff", "$aldff", "$dlatch")
Module = dict[str, Any]


@dataclass(frozen=True)
class Found:
    paths: list[tuple[str, str]]  # input, output
    checked: int  # outputs of handshakes


def is_register(cell: Module) -> bool:
    return cell["type"].startswith(REGISTERS)


def clocked_read(cell: Module, index: int) -> bool:
    return cell["parameters"]["RD_CLK_ENABLE"][::-1][index] == "1"


def sources_of(module: Module) -> dict[int, list[int]]:
    """For each net that a cell without a register drives, the nets that it follows from."""
    sources: dict[int, list[int]] = defaultdict(list)
    for name, cell in module["cells"].items():
        if is_register(cell) or cell["type"] in ("$check", "$print", "$scopeinfo"):
            continue
        pins = {port: [bit for bit in bits if isinstance(bit, int)] for port, bits in cell["connections"].items()}
        outputs = [port for port in pins if cell["port_directions"][port] == "output"]
        if cell["type"] == "$mem_v2":
            reads = int(cell["parameters"]["RD_PORTS"], 2)
            width = int(cell["parameters"]["WIDTH"], 2)
            address = int(cell["parameters"]["ABITS"], 2)
            for read in range(reads):
                if clocked_read(cell, read):
                    continue
                data = cell["connections"]["RD_DATA"][width * read : width * (read + 1)]
                at = cell["connections"]["RD_ADDR"][address * read : address * (read + 1)]
                for bit in data:
                    if isinstance(bit, int):
                        sources[bit] += [net for net in at if isinstance(net, int)]
            continue
        inputs = [bit for port, bits in pins.items() if port not in outputs for bit in bits]
        if not outputs and inputs:
            raise ValueError(f"{name} of kind {cell['type']} is not known")
        for port in outputs:
            for bit in pins[port]:
                sources[bit] += inputs
    return sources


def handshakes(module: Module, kind: str, direction: str) -> dict[int, str]:
    """Nets of ports of that direction whose name says that they are of a handshake's `kind`: `valid` or `ready`."""
    return {
        bit: name + (f"[{index}]" if len(port["bits"]) > 1 else "")
        for name, port in module["ports"].items()
        if port["direction"] == direction and name.removesuffix("_i").removesuffix("_o").endswith(kind)
        for index, bit in enumerate(port["bits"])
        if isinstance(bit, int)
    }


def paths(module: Module) -> Found:
    """Paths from an input `valid` to an output `ready`, and from an input `ready` to an output `valid`."""
    sources = sources_of(module)
    found, checked = [], 0
    for given, shown in (("valid", "ready"), ("ready", "valid")):
        inputs = handshakes(module, given, "input")
        for end, name in handshakes(module, shown, "output").items():
            checked += 1
            seen, todo = {end}, [end]
            while todo:
                for net in sources.get(todo.pop(), ()):
                    if net not in seen:
                        seen.add(net)
                        todo.append(net)
            found += [(inputs[net], name) for net in sorted(seen & inputs.keys())]
    return Found(found, checked)


def netlist(top: str, parameters: dict[str, int]) -> Module:
    """The top flattened, each bit of its simple gates for itself."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "netlist.json"
        passes = ["proc", "flatten", "opt_expr", "opt_clean", "memory_dff", "memory_collect", "simplemap", "opt_clean"]
        synth.run_yosys(synth.read(top, parameters), f"hierarchy -top {top}", *passes, f"write_json {file}")
        modules = json.loads(file.read_text())["modules"]
    (module,) = (value for value in modules.values() if "top" in value["attributes"])
    return dict(module)


def main() -> int:
    sys.path.insert(0, str(synth.ROOT / "tools"))
    import passed

    kept, words = passed.take(sys.argv[1:])
    if unknown := [word for word in words if word not in PARTS]:
        print(f"error: {', '.join(unknown)}: there is no such top; give some of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in words or PARTS:
        top, parameters = PARTS[name]
        files = [*synth.needed(top), *synth.SCRIPTS, Path(__file__)]
        key = passed.key(files=files, distributions=["pyosys"], arguments=(top, sorted(parameters.items())), ignoring_comments=True)
        if kept.find(key) == "none":
            print(f"{name}: not looked at again, nothing that it depends on has changed")
            continue
        found = paths(netlist(top, parameters))
        print(f"{name}: {found.checked} outputs of handshakes, {len(found.paths)} paths to them from inputs of handshakes")
        for source, end in found.paths:
            print(f"  {source} to {end}")
        failed += bool(found.paths)
        if not found.paths:
            kept.keep(key, "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
