# SPDX-License-Identifier: Apache-2.0
"""Do the constraints of the crossings name registers that are there, and every crossing, with times that follow from
the clocks? Without a vendor's tool: an interpreter of Tcl alone reads them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {Path(line).stem: (ROOT / line).read_text() for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")}


def instances(module: str) -> dict[str, str]:
    """Names of the instances in a module, and of what module each is."""
    found = re.findall(r"^\s+(\w+) (?:#\(.*?\) )?(u_\w+) \(", SOURCES[module], re.M)
    return {name: kind for kind, name in found}


def missing(text: str, top: str = "exanet_phy") -> list[str]:
    """Cells under `top` that a file of constraints names and that no source has."""
    lost = []
    for group in re.findall(r"get_(?:cells|pins) \{([^}]*)\}", text):
        for path in group.split():
            *folders, register = re.sub(r"/CLR$", "", path).split("/")
            module = top
            for folder in folders:
                module = instances(module).get(folder, "")
                if not module:
                    break
            name = re.sub(r"_reg(\*|\[.*\])?$", "", register)
            if not module or not re.search(rf"\b{name}(\[[^=;]*\])? +<=", SOURCES[module]):
                lost.append(path)
    return lost


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
def test_every_register_that_is_constrained_is_there(suffix: str) -> None:
    text = (ROOT / f"gateware/constraints/exanet_phy.{suffix}").read_text()
    assert missing(text) == []
    assert missing(text.replace("write_gray_q", "write_grey_q")) != []


def test_the_reset_of_every_synchroniser_of_resets_is_no_path() -> None:
    text = (ROOT / "gateware/constraints/exanet_reset_sync.xdc").read_text()
    assert missing(text, "exanet_reset_sync") == []
    assert missing(text.replace("meta_q", "metal_q"), "exanet_reset_sync") != []
    registers = re.findall(r"^ +(\w+) +<= 1'b0;$", SOURCES["exanet_reset_sync"], re.M)
    assert len(registers) == 2
    assert [name for name in registers if f"{name}_reg/CLR" not in text] == []


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
def test_every_synchroniser_is_constrained(suffix: str) -> None:
    text = (ROOT / f"gateware/constraints/exanet_phy.{suffix}").read_text()
    paths = []
    for name, module in instances("exanet_phy").items():
        inner = {"": module} | {f"/{n}": m for n, m in instances(module).items()}
        paths += [name + below for below, kind in inner.items() if kind in {"exanet_sync", "exanet_reset_sync"}]
    assert len(paths) == 10
    assert [path for path in paths if f"{path}/meta_q_reg" not in text] == []


TCL = """
proc get_ports {name} {return $name}
proc get_clocks {option ports} {return $ports}
proc get_property {option name clock} {global periods; return [dict get $periods $clock]}
proc get_cells {names} {return $names}
proc get_pins {names} {return $names}
proc create_clock {args} {global created; dict set created [lindex $args end] [lindex $args 3]}
proc set_false_path {args} {}
proc set_max_delay {args} {
  global delays
  set from [lindex $args [expr {[lsearch $args -from] + 1}]]
  foreach option {-from -to} {
    set at [lsearch $args $option]
    set args [lreplace $args $at $at+1]
  }
  lappend delays $from $args
}
set delays {}
set created {}
"""


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
@pytest.mark.parametrize("periods", [(6.4, 6.206, 6.206), (5.714, 6.206, 6.206), (4.706, 6.206, 3.103), (6.4, 3.103, 6.206)])
def test_times_of_crossings_follow_from_the_clocks(suffix: str, periods: tuple[float, float, float]) -> None:
    tkinter = pytest.importorskip("tkinter")
    core, transmit, recovered = periods
    tcl = tkinter.Tcl()
    tcl.eval(TCL)
    tcl.eval(f"set periods {{clk_i {core} tx_clk_i {transmit} rx_clk_i {recovered}}}")
    tcl.eval(f"set core_period {core}; set transmit_period {transmit}; set recovered_period {recovered}")
    tcl.eval((ROOT / f"gateware/constraints/exanet_phy.{suffix}").read_text().replace("-datapath_only ", ""))
    if suffix == "sdc":
        assert [float(tcl.eval(f"dict get $created {port}")) for port in ("clk_i", "tx_clk_i", "rx_clk_i")] == list(periods)
    words = tcl.splitlist(tcl.eval("set delays"))
    times = {words[i]: float(words[i + 1]) for i in range(0, len(words), 2)}
    assert len(times) == 9
    for path, ns in times.items():
        shorter = min(core, transmit if path.startswith("u_tx_fifo") else recovered)
        assert 0.9 * shorter < ns < shorter
