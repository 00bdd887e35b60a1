# SPDX-License-Identifier: Apache-2.0
"""Does the resource budget fail when it is exceeded, and only then? Without synthesis: cell counts are given."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
AT_THE_LIMIT = {
    "router": {"lut": 12761, "lut_logic": 9599, "lut_memory": 3162, "ff": 7649, "bram36": 53},
    "link": {"lut": 3475, "lut_logic": 2626, "lut_memory": 849, "ff": 2427, "bram36": 0},
    "registers": {"lut": 2434, "lut_logic": 2434, "lut_memory": 0, "ff": 6451, "bram36": 0},
    "link-registers": {"lut": 0, "lut_logic": 0, "lut_memory": 0, "ff": 0, "bram36": 0},
    "lofamo": {"lut": 0, "lut_logic": 0, "lut_memory": 0, "ff": 0, "bram36": 0},
}


@pytest.fixture(scope="module")
def synth() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gateware_synth", ROOT / "gateware/synth.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_published_figures_themselves_are_allowed_and_one_more_is_not(synth: ModuleType) -> None:
    results = {name: dict(found) for name, found in AT_THE_LIMIT.items()}
    results["ip"] = synth.whole(results)
    assert results["ip"]["lut_logic"] == 17285
    assert synth.exceeded(results) == []
    results["router"]["lut_logic"] += 3
    assert synth.exceeded(results) == ["router takes 9602 lut_logic, more than the published 9599"]
    assert synth.exceeded({"ip": synth.whole(results)}) == ["ip takes 17288 lut_logic, more than the published 17287"]


def test_cells_are_counted_as_data_sheets_do(synth: ModuleType) -> None:
    cells = {"LUT6": 10, "LUT2": 5, "INV": 1, "MUXF7": 3, "RAM64M8": 2, "FDCE": 7, "FDPE": 1, "RAMB36E2": 2, "RAMB18E2": 1}
    assert synth.count(cells) == {"lut": 32, "lut_logic": 16, "lut_memory": 16, "ff": 8, "bram36": 2.5}
    with pytest.raises(ValueError, match="RAM512X1S"):
        synth.count({"RAM512X1S": 1})


def test_an_unknown_part_is_bad_input(synth: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["synth.py", "rooter"])
    assert synth.main() == 2
    parts = (
        "router, link, link-wide, phy, phy-lanes, router-6x1, router-qfdb, router-multicast, ni-port, ni-packetizer, ni-mailbox, "
        "ni-messages, ni-translate, ni-walk, ni-transfers, ni-gather, ni-blocks, ni, ni-lanes, ni-reduce, reduce, registers, "
        "link-registers, lofamo, ip"
    )
    assert f"rooter: there is no such part; give some of {parts}" in capsys.readouterr().err
