# SPDX-License-Identifier: Apache-2.0
"""The spiking network of examples/: the same spikes on any number of ranks, and written traces are like recorded
ones."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from .conftest import Runner, Stack

EXAMPLES = Path(__file__).parents[2] / "examples"
NEURONS, INPUTS, MILLISECONDS = 5000, 100, 30


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "spiking", raising=False)
    return runpy.run_path(str(EXAMPLES / "spiking_scaling.py"))


def test_a_written_trace_has_the_exchanges_of_a_recorded_one(
    exanet_run: Runner, mpich: Stack, tmp_path: Path, scaling: dict[str, Any]
) -> None:
    import spiking

    words = [mpich.python, EXAMPLES / "spiking.py", "nest", str(NEURONS), str(INPUTS), str(MILLISECONDS)]
    run = exanet_run(mpich, 6, words, options=("--compute", "off", "--record", str(tmp_path / "trace")))
    calls = pl.read_parquet(tmp_path / "trace" / "calls.parquet").filter(pl.col("rank") == 0)
    working = calls.slice(calls["call"].to_list().index("MPI_Barrier"))
    recorded = working.filter(pl.col("call") == "MPI_Alltoall")["bytes"].to_list()
    spikes = scaling["Spikes"].of(spiking.Network("nest", NEURONS, INPUTS), MILLISECONDS)
    written = [block * spiking.NEST_SPIKE for exchange in scaling["exchanges"](spikes, 6) for block in exchange.blocks]
    assert recorded == written
    assert len(written) > len(spikes.fired), "some exchanges took a second round"
    assert f"{sum(map(len, spikes.fired))} spikes" in run.output


@pytest.mark.parametrize("kind", ["nest", "dpsnn"])
def test_spikes_are_the_same_on_any_number_of_ranks(exanet_run: Runner, mpich: Stack, kind: str) -> None:
    words = [mpich.python, EXAMPLES / "spiking.py", kind, str(NEURONS), str(INPUTS), str(MILLISECONDS)]
    said = {exanet_run(mpich, ranks, words).output.splitlines()[0].rpartition(", on ")[0] for ranks in (1, 4)}
    assert len(said) == 1
