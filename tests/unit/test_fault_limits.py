# SPDX-License-Identifier: Apache-2.0
"""Plans of faults at their extremes: everything down, and more changes than a run may have."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet.cli import app
from exanet.errors import InputError

LOAD = ["sim", "load", "-m", "torus-2x2x2", "--load", "0.2", "--warm-up", "10 us", "--measure", "60 us", "-q"]


def planned(tmp_path: Path, text: str) -> str:
    (tmp_path / "plan.yaml").write_text(text)
    return str(tmp_path / "plan.yaml")


@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_load_outlasts_a_time_at_which_every_node_is_down(tmp_path: Path, threads: str) -> None:
    plan = planned(tmp_path, "events:\n  - {at: 20 us, down: 'nodes:8'}\n  - {at: 40 us, up: 'nodes:8'}\n")
    done = CliRunner().invoke(app, [*LOAD, "--threads", threads, "--faults", plan, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    intervals = pl.read_parquet(tmp_path / "out" / "intervals.parquet")
    delivered = intervals.filter((pl.col("begin_ns") >= 21_000) & (pl.col("end_ns") <= 40_000))
    assert delivered["delivered_packets"].sum() == 0 < delivered["lost_packets"].sum()
    assert intervals.filter(pl.col("begin_ns") >= 45_000)["delivered_packets"].sum() > 50


DRAWN = """drawn:
  - {what: links, mtbf: 1 ps, repair: 1 ps, until: 1 s}
"""
LISTED = """events:
  - {at: 1 us, down: '(0,0,0) X+'}
  - {at: 2 us, down: 'nodes:8', for: 1 us, period: 3 us, count: 100000}
"""


@pytest.mark.parametrize(("text", "line", "said"), [(DRAWN, 2, "follow from these rates"), (LISTED, 3, "up to here")])
def test_more_changes_than_a_plan_may_have_are_refused_at_their_place(tmp_path: Path, text: str, line: int, said: str) -> None:
    done = CliRunner().invoke(app, [*LOAD, "--faults", planned(tmp_path, text), "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, InputError)
    (message,) = done.exception.messages
    assert f"plan.yaml:{line}:" in message and "more than 1000000 changes" in message and said in message
    assert not (tmp_path / "out").exists()
