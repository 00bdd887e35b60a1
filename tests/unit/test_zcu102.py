# SPDX-License-Identifier: Apache-2.0
"""The board example without the vendor's tool: does it elaborate, has each port a pin, and does the script name what is
there?

gateware/lint.py lints it. Nothing here says that Vivado takes it.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "examples/zcu102"


def module_ports(file: str, module: str) -> dict[str, int]:
    """Ports of a module by its text, with their bits."""
    (body,) = re.findall(rf"^module {module} \((.*?)^\);", (BOARD / file).read_text(), re.M | re.S)
    found = re.findall(r"^  (?:input|output) +logic +(?:\[(\d+):0\] +)?(\w+)", body, re.M)
    return {name: int(high or 0) + 1 for high, name in found}


def evaluated() -> list[list[str]]:
    """What build.tcl asks of Vivado, by Tcl, with each command that Tcl does not know written down."""
    prelude = "proc unknown {args} { puts [join $args \\x01]; return [lindex $args end] }\nset argv0 none\n"
    script = prelude + (BOARD / "build.tcl").read_text()
    run = subprocess.run(["tclsh"], input=script, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return [line.split("\x01") for line in run.stdout.split("\n") if "\x01" in line]


def test_every_port_of_the_board_has_a_pin_of_its_own() -> None:
    text = "\n".join(line for line in (BOARD / "zcu102.xdc").read_text().splitlines() if not line.startswith("#"))
    pins = re.findall(r"PACKAGE_PIN (\w+).*\[get_ports \{?([\w\[\]]+)\}?\]", text)
    wanted = [name if bits == 1 else f"{name}[{i}]" for name, bits in module_ports("zcu102.sv", "zcu102").items() for i in range(bits)]
    assert sorted(name for _, name in pins) == sorted(wanted)
    assert len({pin for pin, _ in pins}) == len(pins)


def test_the_board_elaborates_with_the_vendor_s_modules_as_black_boxes() -> None:
    listed = [line for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]
    files = " ".join([*listed, "examples/zcu102/vendor.sv", "examples/zcu102/zcu102.sv"])
    code = (
        "import sys; from pyosys import libyosys as y; d = y.Design()\n"
        "for c in (sys.argv[1], 'hierarchy -check -top zcu102', 'proc', 'flatten'): y.run_pass('tee -q ' + c, d)\n"
        "kinds = [c.type.str() for c in d.top_module().selected_cells()]\n"
        "print('kinds', *sorted({k for k in kinds if not k.startswith('$')}), sum('latch' in k for k in kinds), file=sys.stderr)"
    )
    command = f"read_slang --threads 1 -DSYNTHESIS --top zcu102 {files}"
    run = subprocess.run([sys.executable, "-c", code, command], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr.split("kinds")[-1].splitlines()[0].split() == ["\\BUFG_GT", "\\IBUFDS_GTE4", "\\zcu102_gth", "\\zcu102_system", "0"]


def test_the_script_names_files_that_are_there_and_makes_the_ports_that_the_top_has() -> None:
    commands = evaluated()
    named = {word for words in commands for word in words[-1].split() if re.search(r"^(gateware|examples)/", word)}
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    assert {"examples/zcu102/zcu102.sv", "gateware/node/rtl/exanet_endpoint.sv", "gateware/constraints/exanet_phy.xdc"} <= named
    made = {words[-1] for words in commands if words[0] == "create_bd_port"} - {"156250000"}
    buses = {words[-1] for words in commands if words[0] == "create_bd_intf_port"}
    wanted = module_ports("vendor.sv", "zcu102_system")
    assert {name for name in wanted if name in made or any(name.startswith(f"{bus}_") for bus in buses)} == set(wanted)
    assert len(made) + len(buses) == 8
