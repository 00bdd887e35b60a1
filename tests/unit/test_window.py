# SPDX-License-Identifier: Apache-2.0
"""Windows too short for a verdict: whether a load is saturated cannot be judged where messages had no time to end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import cli, sim
from exanet.errors import InputError
from exanet.sweep import execute

SIZES = (1 << 12, 1 << 15, 1 << 17)
NETWORK = "fat-tree-64"


def alone_ps(size: int) -> int:
    """What a message takes in an empty network."""
    spec = sim.TrafficSpec("incast:1", level="flow", message_bytes=size)
    return round(sim.simulate(NETWORK, offered=0, spec=spec)["latency_ns"] * 1000)


def measured(level: str, size: int, window_ps: int, load: float, traffic: str = "uniform", seed: int = 1) -> dict[str, Any]:
    spec = sim.TrafficSpec(traffic, level=level, message_bytes=size, measure_ps=window_ps, seed=seed)
    return sim.simulate(NETWORK, offered=load, spec=spec)


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("size", SIZES)
def test_no_load_is_saturated_in_a_window_that_is_shorter_than_a_message(level: str, size: int) -> None:
    alone, without = alone_ps(size), 0
    for share in (0.3, 0.45, 0.9, 1.5, 3):
        for seed in (1, 2):
            point = measured(level, size, int(share * alone), 0.3, seed=seed)
            assert point["saturated"] is not True, (share, seed)
            assert point["saturated"] is None or point["measured"] == point["created"] > 0, (share, seed)
            without += point["saturated"] is None
            assert (point["wanted_window_ns"] >= 8 * alone / 1e3) == (point["saturated"] is None), (share, seed)
    assert without >= 4
    for load, traffic, verdict in ((0.3, "uniform", False), (0.7, "incast:4", True), (1, "uniform", True)):
        assert measured(level, size, 25 * alone, load, traffic)["saturated"] is verdict, traffic


def run(directory: Path, *more: str) -> str:
    options = ["-m", NETWORK, "--message", "1MiB", "--load", "0.2", "--measure", "100us", *more, "-o", str(directory)]
    done = CliRunner().invoke(cli.app, ["sim", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_it_says_in_one_line_that_the_window_is_too_short_and_which_one_is_not(tmp_path: Path, level: str) -> None:
    shown = run(tmp_path / "short", "--level", level)
    said = [line for line in shown.splitlines() if "too short" in line]
    assert len(said) == 1
    advice = re.search(
        r"the window of 100 µs is too short to judge whether load 0\.2 is saturated .*: give --measure (\S+) or more", said[0]
    )
    assert advice is not None, said
    summary = json.loads((tmp_path / "short/summary.json").read_text())
    assert summary["points"][0]["saturated"] is None
    assert any("too short to judge" in note for note in summary["run"]["notes"])
    assert pl.read_parquet(tmp_path / "short/points.parquet")["saturated"].to_list() == [None]
    assert "too short" not in run(tmp_path / "long", "--level", level, "--measure", advice[1])


def test_the_most_accepted_is_said_without_a_verdict_that_there_is_not(tmp_path: Path) -> None:
    shown = run(tmp_path / "several", "--level", "flow", "--load", "0.2,0.3")
    assert "not saturated at any of these loads with a verdict; the window is too short for a verdict at load 0.2, 0.3." in shown


def test_a_search_for_saturation_asks_for_a_longer_window() -> None:
    with pytest.raises(InputError, match=r"too short to judge whether load 0\.5 is saturated.*let 'measure' be 12 us or more"):
        execute._saturation(lambda load: {"load": load, "saturated": True if load == 1 else None, "wanted_window_ns": 12_000})


def test_packets_in_a_window_that_is_shorter_than_their_way_get_no_verdict(tmp_path: Path) -> None:
    assert sim.simulate(NETWORK, offered=0.2, spec=sim.TrafficSpec(warm_up_ps=0, measure_ps=500_000))["saturated"] is None
    for window_us in (0.3, 1, 5, 20):
        spec = sim.TrafficSpec(warm_up_ps=2_000_000, measure_ps=round(window_us * 1e6))
        point = sim.simulate(NETWORK, offered=0.2, spec=spec)
        assert point["saturated"] is (None if point["accepted_load"] < 0.9 * point["offered_load"] else False), window_us
    spec = sim.TrafficSpec("incast:8", warm_up_ps=2_000_000, measure_ps=20_000_000)
    assert sim.simulate(NETWORK, offered=0.5, spec=spec)["saturated"] is True
    options = ["-m", NETWORK, "--load", "0.2", "--warm-up", "2us", "--measure", "1us", "-o", str(tmp_path / "r")]
    assert "the window of 1.00 µs is too short to judge" in CliRunner().invoke(cli.app, ["sim", *options], catch_exceptions=False).stdout


@pytest.mark.parametrize(("load", "window"), [("0.5", "1ns"), ("1e-6", "10us")])
def test_a_window_without_a_packet_gets_no_verdict(tmp_path: Path, load: str, window: str) -> None:
    options = ["-m", "torus-2x2x2", "--load", load, "--measure", window, "-o", str(tmp_path / "r")]
    shown = CliRunner().invoke(cli.app, ["sim", *options], catch_exceptions=False).stdout
    assert re.search(r"too short to judge whether load \S+ is saturated \(nothing began in it\): give --measure \S+ or more", shown)
    (point,) = json.loads((tmp_path / "r/summary.json").read_text())["points"]
    assert point["saturated"] is None
