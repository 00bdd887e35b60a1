# SPDX-License-Identifier: Apache-2.0
"""Faults of one link that overlap: a further fault makes no network better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet.cli import app

MESH = ["sim", "load", "-m", "torus-512", "--topology", "mesh:2,2", "--traffic", "matrix:ones.csv", "--warm-up", "50 us", "-q"]
CUT = '{at: 100 us, down: "(0,0) X+", for: 300 us}'
HALF = '{at: 0 s, slow: "(0,0) X+", rate: 0.5}'


def point(monkeypatch: pytest.MonkeyPatch, folder: Path, load: str, window: str, *events: str) -> dict[str, Any]:
    """The load from the first node of a mesh to the second one, under these events."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("ones.csv").write_text("0 1 0 0\n" + "0 0 0 0\n" * 3)
    Path("faults.yaml").write_text("reaction: 1 s\nevents: [" + ", ".join(events) + "]\n")
    done = CliRunner().invoke(app, [*MESH, "--load", load, "--measure", window, "--faults", "faults.yaml", "-o", "out"])
    assert done.exit_code == 0, done.output
    return dict(json.loads(Path("out/summary.json").read_text())["points"][0])


def test_the_end_of_a_short_cut_does_not_end_a_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = point(monkeypatch, tmp_path / "alone", "0.5", "400 us", CUT)
    short = point(monkeypatch, tmp_path / "both", "0.5", "400 us", CUT, '{at: 150 us, down: "(0,0) X+", for: 10 us}')
    assert short["lost_packets"] == alone["lost_packets"] > 500
    table = pl.read_parquet("out/faults.parquet")
    assert table["up"].to_list() == [False, False, True, True]


@pytest.mark.parametrize("other", ["(0,0) X+", "(1,0) X-", "(0,0)"])
def test_the_end_of_a_slower_time_leaves_a_slow_link_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    alone = point(monkeypatch, tmp_path / "alone", "1", "200 us", HALF)
    both = point(monkeypatch, tmp_path / "both", "1", "200 us", HALF, f'{{at: 10 us, slow: "{other}", rate: 0.25, for: 20 us}}')
    assert 0.4 < alone["accepted_load"] < 0.6
    assert both["accepted_load"] == pytest.approx(alone["accepted_load"], rel=0.05)
