# SPDX-License-Identifier: Apache-2.0
"""Links at a share of their rate: what results compare with is the network without them, at both levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet.cli import app

MACHINE = ["-m", "torus-512", "--topology", "mesh:2,2", "--faults", "slow.yaml", "-q"]


def summary(folder: Path, *command: str) -> Any:
    done = CliRunner().invoke(app, ["sim", *command, *MACHINE, "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ones.csv").write_text("0 1 0 0\n" + "0 0 0 0\n" * 3)
    Path("slow.yaml").write_text('events: [{at: 0 s, slow: "(0,0) X+", rate: 0.25}]\n')


def test_a_message_over_a_slow_link_is_slower_than_in_the_whole_network_at_both_levels() -> None:
    found = [
        summary(Path(level), "messages", "--traffic", "matrix:ones.csv", "--message", "64KiB", "--level", level)["points"][0]
        for level in ("packet", "flow")
    ]
    for point in found:
        assert point["slowdown"] == pytest.approx(4, rel=0.02)
        assert point["zero_load_ns"] == pytest.approx(found[0]["zero_load_ns"], rel=0.001)
        assert point["hottest_link_use"] == pytest.approx(1, rel=0.02)
