# SPDX-License-Identifier: Apache-2.0
"""One figure for a thing: on the terminal, on the page, in JSON and from Python; and one way to write a size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import in_browser, needs_browser
from typer.testing import CliRunner

from exanet import cli, sim
from exanet.errors import InputError
from exanet.machine.located import values
from exanet.sweep import plan
from exanet.sweep.results import most

SHORT = ("-m", "trenz-2x2", "--measure", "10 us")


def command(*words: str) -> str:
    done = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def on_page(folder: Path) -> Any:
    return json.loads(re.findall(r'<script[^>]*id="data"[^>]*>(.*?)</script>', (folder / "report.html").read_text(), re.DOTALL)[0])


@pytest.mark.parametrize("more", [(), ("--message", "1 KiB"), ("--message", "4 KiB", "--level", "flow")])
def test_simulate_returns_all_that_json_has(tmp_path: Path, more: tuple[str, ...]) -> None:
    [row] = json.loads(command("sim", *SHORT, "--load", "0.3", *more, "--json", "-o", str(tmp_path / "r")))
    named = dict(zip(more[::2], more[1::2], strict=True))
    size = {"1 KiB": 1024, "4 KiB": 4096}.get(named.get("--message", ""))
    spec = sim.TrafficSpec(measure_ps=10_000_000, level=named.get("--level", "packet"), message_bytes=size)
    point = sim.simulate("trenz-2x2", offered=0.3, spec=spec)
    assert {key: point[key] for key in row} == row
    assert {"hottest_link_use", "mean_link_use", "accepted_gbps"} <= row.keys()


def test_terminal_and_page_say_the_same_of_what_is_accepted_at_most(tmp_path: Path) -> None:
    shown = command("sim", *SHORT, "--load", "0.2,0.9,2", "-o", str(tmp_path / "r"))
    page = on_page(tmp_path / "r")
    assert page["most"] in shown
    assert re.fullmatch(r"The most accepted is \d\.\d{3}, [\d.]+ Gb/s, at load (0\.9|2); saturated from load 2 on\.", page["most"])
    # Gb/s beside relative load
    assert all(len(point) == 12 and point[10] > 0 and point[11] > 0 for point in page["points"])
    assert "The most accepted" not in command("sim", *SHORT, "--load", "0.2", "-o", str(tmp_path / "one"))


def table(rows: list[tuple[str, float | None, bool, float]]) -> pl.DataFrame:
    """Runs as a sweep has them; of each its series, load, whether it was searched, and what was accepted."""
    known = {"zero_load_ns": 1.0, "mean_hops": 1.0, "hottest_link_use": 1.0, "fairness": 1.0, "error": None}
    names = ("series", "load", "at_saturation", "accepted_load")
    return pl.DataFrame([{**dict(zip(names, row, strict=True)), "accepted_gbps": row[3] * 10, **known} for row in rows])


def test_the_most_of_a_sweep_is_of_means_over_seeds() -> None:
    rows = [("a", 0.5, False, 0.4), ("a", 0.5, False, 0.6), ("a", 0.9, False, 0.3), ("a", 0.9, False, 0.65), ("a", 0.0, False, 0.9)]
    [found] = most(table(rows))
    assert (found["accepted_load"], found["accepted_gbps"], found["runs"]) == (pytest.approx(0.5), pytest.approx(5), 5)
    searched = [("a", 0.5, True, 0.4), ("a", 0.7, True, 0.6), ("b", 0.0, False, 0.25)]
    assert [row["accepted_load"] for row in most(table(searched))] == [pytest.approx(0.5), 0.25]


def test_terminal_and_page_of_a_sweep_have_the_same_figure(tmp_path: Path) -> None:
    words = ("-m", "trenz-2x2,torus-2x2x2", "--load", "0.3,0.6", "--seed", "1,2", "--set", "measure=5 us", "-o", str(tmp_path / "s"))
    done = CliRunner().invoke(cli.app, ["sweep", *words])
    assert done.exit_code == 0, done.output
    for name, accepted, gbps, *_ in on_page(tmp_path / "s")["most"]:
        [line] = [line for line in done.stdout.splitlines() if line.startswith(name)]
        assert line.split()[2:4] == [f"{accepted:.3f}", f"{gbps:.1f}"]


@pytest.mark.slow
@needs_browser
def test_a_logarithmic_axis_has_labels(tmp_path: Path) -> None:
    command("sim", *SHORT, "--load", "0.2,0.4,0.6", "-q", "-o", str(tmp_path / "r"))
    [label] = re.findall(r'aria-description="(latency [^"]*)"', in_browser(tmp_path / "r/report.html"))
    steps = [float(step) for step in label.removeprefix("latency (µs), logarithmic: ").split(", ")]
    points = on_page(tmp_path / "r")["points"]
    assert len(steps) >= 2 and steps == sorted(steps)
    assert steps[0] <= min(p[5] for p in points) / 1e3 and max(p[4] for p in points) / 1e3 <= steps[-1]


def test_a_size_may_have_its_unit_wherever_one_is_given(tmp_path: Path) -> None:
    def runs(**axes: Any) -> list[plan.Run]:
        return plan.read(None, values({"machine": "trenz-2x2", "load": 0, **axes}, "options")).runs

    assert runs(message="4 KiB")[0].key == runs(message_bytes="4 KiB")[0].key == runs(message_bytes=4096)[0].key
    assert runs(message=["hadoop"])[0].spec["message_sizes"] == "hadoop"
    assert runs(message="4 KiB", packet_bytes="64 B")[0].key == runs(message="4 KiB", packet_bytes=64)[0].key
    one, other = (
        json.loads(command("sim", *SHORT, "--load", "0.2", "--packet-bytes", size, "--json", "-o", str(tmp_path / size)))
        for size in ("64", "64 B")
    )
    assert one == other
    for axes, message in (
        ({"message": ["4 KiB", "hadoop"]}, "'message' takes sizes, e.g. 64 KiB, or names, .*: not both in one sweep"),
        ({"message": 4096}, "4096 has no unit"),
        ({"message": "4 KiB", "message_bytes": 1}, "'message' and 'message_bytes' are the same: keep one"),
        ({"message_bytes": "4 KB"}, "write kB for 1000 or KiB for 1024"),
        ({"packet_bytes": 1.5, "message": "1 B"}, "expected a whole number"),
    ):
        with pytest.raises(InputError, match=message):
            runs(**axes)
    with pytest.raises(InputError, match="--packet-bytes: 'x' is not a size"):
        command("sim", *SHORT, "--packet-bytes", "x")
