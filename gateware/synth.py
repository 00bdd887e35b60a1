# SPDX-License-Identifier: Apache-2.0
"""Counts what the published configuration takes on an UltraScale+ device, with Yosys.

usage: python gateware/synth.py [router] [link] [node] [--json]     (needs pyosys; about a minute for each)

Yosys' mapping is an estimate: the published figures are those of the vendor's tool. No timing: Yosys knows none for this family.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RAM_LUTS = {"RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "SRL16E": 1, "SRLC32E": 1}


@dataclass(frozen=True)
class Target:
    top: str
    parameters: dict[str, int]
    published: dict[str, float]  # K17 to K19; a link is half of the two published


TARGETS = {
    "router": Target("exanet_router", {"InterPorts": 2, "IntraPorts": 3}, {"lut_logic": 9599, "lut_memory": 3162, "ff": 7649}),
    "link": Target("exanet_link", {}, {"lut_logic": 2627, "lut_memory": 849, "ff": 2427}),
    "node": Target("exanet_node", {"InterPorts": 2, "IntraPorts": 3}, {"lut_logic": 17287, "ff": 18954, "bram36": 116.5}),
}


def count(cells: dict[str, int]) -> dict[str, float]:
    """Sums a cell histogram into what data sheets list. Wide multiplexers (MUXF7 to 9) come with the LUTs and are not counted."""
    memory = sum(RAM_LUTS[name] * number for name, number in cells.items() if name in RAM_LUTS)
    unknown = [name for name in cells if name.startswith(("RAM", "SRL")) and name not in RAM_LUTS and not name.startswith("RAMB")]
    if unknown:
        raise ValueError(f"cells whose size is not known: {', '.join(unknown)}")
    return {
        "lut_logic": sum(number for name, number in cells.items() if name in {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV"}),
        "lut_memory": memory,
        "ff": sum(number for name, number in cells.items() if name in {"FDRE", "FDSE", "FDCE", "FDPE"}),
        "bram36": sum(number * (0.5 if "18" in name else 1) for name, number in cells.items() if name.startswith("RAMB")),
    }


def synthesise(target: Target) -> dict[str, float]:
    from pyosys import libyosys

    files = [str(ROOT / line) for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]
    parameters = " ".join(f"-G {name}={value}" for name, value in target.parameters.items())
    with tempfile.TemporaryDirectory() as folder:
        stat = Path(folder) / "stat.json"
        design = libyosys.Design()
        for command in (
            f"read_slang --threads 1 -DSYNTHESIS --top {target.top} {parameters} {' '.join(files)}",
            "scratchpad -set abc9.verify false",  # ABC's proof that its own mapping is right does not end on wide parities
            f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {target.top}",
            f"tee -q -o {stat} stat -tech xilinx -json",
        ):
            libyosys.run_pass(command, design)
        modules = json.loads(stat.read_text())["modules"]
    (module,) = (value for name, value in modules.items() if target.top in name)
    return count(module["num_cells_by_type"])


def main() -> int:
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(TARGETS)
    results = {name: synthesise(TARGETS[name]) for name in names}
    if "--json" in sys.argv[1:]:
        print(json.dumps(results))
        return 0
    print(f"{'':8}{'':12}{'ours':>8}{'published':>11}")
    over = False
    for name, found in results.items():
        for key, value in found.items():
            published = TARGETS[name].published.get(key)
            over |= published is not None and value > published
            print(f"{name:8}{key:12}{value:>8g}{'' if published is None else f'{published:>11g}'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
