# SPDX-License-Identifier: Apache-2.0
"""Committed files about registers say what spec/*.rdl says, and the map holds what router and link have."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from ruamel.yaml import YAML

from exanet.karma import registers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spec_generate_registers", ROOT / "spec/generate_registers.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_current(generator: ModuleType) -> None:
    for path, text in generator.outputs().items():
        assert path.read_text() == text, f"{path} is stale: run `python spec/generate_registers.py`"


def test_no_two_registers_share_an_address() -> None:
    for block in (registers.NODE, registers.KARMA):
        addresses = [address for address, _ in block.values()]
        assert len(addresses) == len(set(addresses))
        assert all(address % 4 == 0 for address in addresses)


def test_every_counter_of_a_link_has_a_register() -> None:
    layouts = YAML(typ="safe", pure=True).load(ROOT / "spec/packet.yaml")["layouts"]
    for counter in layouts["link_counters"]["fields"]:
        for link in range(6):
            assert registers.NODE[f"link[{link}].{counter['name']}"][1] == {"count": (0, counter["bits"])}


def test_every_setting_of_a_router_has_bits_of_its_width() -> None:
    layouts = YAML(typ="safe", pure=True).load(ROOT / "spec/packet.yaml")["layouts"]
    elsewhere = {"type_port": ("type_port", "ports"), "qfdb_node": ("qfdb", "node")}
    for setting in layouts["router_config"]["fields"]:
        name, bits, count = setting["name"], setting["bits"], setting.get("count", 1)
        if name == "reserved":
            continue
        if name == "order":
            found = [registers.NODE["routing"][1][f"order_{i}"][1] for i in range(3)]
            assert found == [bits] * count
        elif name in elsewhere:
            register, field = elsewhere[name]
            assert registers.NODE[register][1][field][1] == bits * count
        elif count == 3:
            assert [registers.NODE[f"dimension[{i}]"][1][name][1] for i in range(3)] == [bits] * 3, name
        else:
            assert registers.NODE["routing"][1][name][1] == bits, name
