# SPDX-License-Identifier: Apache-2.0
"""Are the levels of a path counted as they lie, and does one too many fail? Without synthesis: netlists are given."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def timing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gateware_timing", ROOT / "gateware/timing.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cell(kind: str, outputs: dict[str, list[int]], **inputs: list[Any]) -> dict[str, Any]:
    directions = dict.fromkeys(outputs, "output") | dict.fromkeys(inputs, "input")
    return {"type": kind, "connections": outputs | inputs, "port_directions": directions}


def netlist(*cells: dict[str, Any], out: list[int] | None = None) -> dict[str, Any]:
    return {"cells": {str(i): c for i, c in enumerate(cells)}, "ports": {"o": {"direction": "output", "bits": out or []}}}


def test_a_path_is_what_lies_between_two_registers(timing: ModuleType) -> None:
    found = timing.synth.levels.count_levels(
        netlist(
            cell("FDCE", {"Q": [1]}, C=[0], CE=["1"], D=[4]),
            cell("LUT2", {"O": [2]}, I0=[1], I1=[9]),
            cell("MUXF7", {"O": [3]}, I0=[2], I1=[1], S=[9]),
            cell("LUT1", {"O": [4]}, I0=[3]),
        )
    )
    assert found == {2: 1}


def test_a_carry_chain_is_one_level_and_its_carry_on_into_logic_another(timing: ModuleType) -> None:
    chain = [
        cell("CARRY4", {"O": [20, 21], "CO": [22, 23]}, CI=["0"], S=[1, 2]),
        cell("CARRY4", {"O": [24, 25], "CO": [26, 27]}, CI=[23], S=[3, 4]),
    ]
    assert timing.synth.levels.count_levels(netlist(*chain, out=[25])) == {1: 1}
    assert timing.synth.levels.count_levels(netlist(*chain, cell("LUT1", {"O": [30]}, I0=[27]), out=[30])) == {2: 1}
    assert timing.synth.levels.count_levels(netlist(*chain, cell("CARRY4", {"O": [40]}, CI=["0"], S=[25]), out=[40])) == {2: 1}


def test_a_memory_is_read_by_the_address_of_the_same_port_and_written_at_an_edge(timing: ModuleType) -> None:
    memory = cell("RAM64M8", {"DOA": [5], "DOB": [6]}, ADDRA=[1], ADDRB=[4], DIA=[4], WE=[4], WCLK=[0])
    late = [cell("LUT1", {"O": [3]}, I0=[2]), cell("LUT1", {"O": [4]}, I0=[3])]
    assert timing.synth.levels.count_levels(netlist(memory, *late, out=[5])) == {2: 3, 1: 1, 0: 1}
    assert timing.synth.levels.count_levels(netlist(memory, *late, out=[6])) == {3: 1, 2: 3, 0: 1}


def test_a_cycle_of_logic_is_refused(timing: ModuleType) -> None:
    with pytest.raises(ValueError, match="cycle"):
        timing.synth.levels.count_levels(netlist(cell("LUT1", {"O": [1]}, I0=[2]), cell("LUT1", {"O": [2]}, I0=[1]), out=[1]))


def test_the_limit_itself_is_allowed_and_one_more_is_not(timing: ModuleType) -> None:
    most = timing.LIMIT
    assert timing.exceeded({"link": {most: 3, 2: 10}}) == []
    assert timing.exceeded({"link": {most + 2: 1, most + 1: 4, most: 3}}) == [f"link has paths of {most + 2} levels, 5 of more than {most}"]


def test_an_unknown_part_is_bad_input(timing: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["timing.py", "rooter"])
    assert timing.main() == 2
    assert (
        "rooter: there is no such part; give some of router, router-6x1, router-qfdb, router-multicast, tor, tor-input, tor-match, link"
        in capsys.readouterr().err
    )
