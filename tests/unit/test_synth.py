# SPDX-License-Identifier: Apache-2.0
"""Does the resource budget fail when it is exceeded, and only then? Without synthesis: cell counts are given."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
AT_THE_LIMIT = {
    "router": {"lut": 9599, "lut_logic": 9439, "lut_memory": 160, "ff": 7649, "bram36": 89},
    "link": {"lut": 2626, "lut_logic": 2626, "lut_memory": 0, "ff": 2427, "bram36": 2},
    "registers": {"lut": 2436, "lut_logic": 2436, "lut_memory": 0, "ff": 6451, "bram36": 0},
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


def test_what_a_part_may_take_is_allowed_and_one_more_is_not(synth: ModuleType) -> None:
    results = {name: dict(found) for name, found in AT_THE_LIMIT.items()}
    results["ip"] = synth.whole(results)
    assert results["ip"]["lut"] == 17287
    assert synth.exceeded(results) == []
    assert results["ip"]["bram36"] == 93
    results["router"]["lut"] += 3
    assert synth.exceeded(results) == ["router takes 9602 lut, more than the 9599 that it may"]
    assert synth.exceeded({"ip": synth.whole(results)}) == ["ip takes 17290 lut, more than the 17287 that it may"]


def test_logic_and_memory_together_are_compared_with_the_published_luts(synth: ModuleType) -> None:
    router = AT_THE_LIMIT["router"] | {"lut": 9599, "bram36": 0}
    assert synth.above({"router": router}) == []
    assert synth.above({"router": router | {"lut": 9600}}) == ["router takes 9600 lut, published are 9599"]
    assert all(key in {"lut", "ff", "bram36"} for target in synth.TARGETS.values() for key in target.published)


def test_json_is_all_that_the_standard_output_has(tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    command = [sys.executable, ROOT / "gateware/synth.py", "link-registers", "--json", "--keep", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert json.loads(done.stdout)["link-registers"]["ours"]["lut"] > 0


def test_cells_are_counted_as_data_sheets_do(synth: ModuleType) -> None:
    cells = {"LUT6": 10, "LUT2": 5, "INV": 1, "MUXF7": 3, "RAM64M8": 2, "FDCE": 7, "FDPE": 1, "RAMB36E2": 2, "RAMB18E2": 1}
    assert synth.count(cells) == {"lut": 32, "lut_logic": 16, "lut_memory": 16, "ff": 8, "bram36": 2.5}
    with pytest.raises(ValueError, match="RAM512X1S"):
        synth.count({"RAM512X1S": 1})


def test_an_unknown_part_is_bad_input(synth: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["synth.py", "rooter"])
    assert synth.main() == 2
    parts = (
        "router, link, link-wide, phy, phy-lanes, router-6x1, router-qfdb, router-multicast, tor, tor-input, tor-match, acc-point, "
        "acc-limiter, ni-port, ni-packetizer, ni-mailbox, ni-messages, ni-translate, ni-walk, ni-transfers, ni-gather, ni-blocks, "
        "ni, ni-lanes, ni-reduce, reduce, ethernet-encoder, ethernet-decoder, ethernet-tx, ethernet-rx, registers, "
        "link-registers, lofamo, ip"
    )
    assert f"rooter: there is no such part; give some of {parts}" in capsys.readouterr().err
