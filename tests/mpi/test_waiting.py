# SPDX-License-Identifier: Apache-2.0
"""What ranks wait over time is what they wait in all, however they wait."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from exanet import api, results

from .conftest import Runner, Stack

ON_NODES = ("--map", "round-robin")


def check(folder: Path) -> None:
    run = results.load(folder)
    sums = run.timeline.group_by("rank").agg(pl.col("wait_ps").sum()).sort("rank")
    assert sums["wait_ps"].to_list() == run.ranks["wait_ps"].to_list()
    bins = run.timeline.filter(pl.col("wait_ps") > pl.col("end_ps") - pl.col("start_ps"))
    assert bins.is_empty()


def test_waits_over_time_add_up(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    """In a run, and in its replay."""
    options = ("--compute", "off", *ON_NODES, "--record", str(tmp_path / "trace"))
    done = exanet_run(stack, 4, [compiled("waits")], options=options)
    check(done.folder)
    assert results.load(done.folder).ranks["wait_ps"][1] > 1_000_000_000  # a millisecond, for rank 0
    api.replay([tmp_path / "trace"], "exanest", mapping="round-robin", output=tmp_path / "replay")
    check(tmp_path / "replay")


@pytest.mark.parametrize("stack", ["mpich"], indirect=True)
def test_waits_in_simulated_calls_add_up(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    options = ("--compute", "off", "--mpi-calls", "simulated", "--ranks-as", "auto", *ON_NODES)
    done = exanet_run(stack, 4, [compiled("waits")], options=options)
    check(done.folder)
    assert results.load(done.folder).ranks["library_ps"].min() > 0
