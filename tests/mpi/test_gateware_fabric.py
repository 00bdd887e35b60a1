# SPDX-License-Identifier: Apache-2.0
"""Does a program meet the same machine when its packets cross the Verilated routers and links as when they cross the model?

The machine is the smallest that routes, four nodes in a ring with two ranks each, because its nodes are built by Verilator here.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from .conftest import PROGRAMS, Finished, Runner, Stack

RING = """
extends: torus-2x2x2
name: ring-4
description: Four nodes in a ring
topology:
  kind: torus
  shape: {value: [4], source: the smallest that routes, kind: chosen}
"""


@pytest.fixture
def over_both(exanet_run: Runner, mpich: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finished]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    machine = tmp_path / "ring-4.yaml"
    machine.write_text(RING)
    words = [mpich.python, PROGRAMS / "allreduce.py", "1", "100", "3000"]
    base = ("--compute", "off", "--map", "round-robin")
    runs = [("--fabric", "model"), ("--fabric", "gateware")]
    return [exanet_run(mpich, 8, words, machine=str(machine), options=(*base, *fabric), timeout=280) for fabric in runs]


def table(run: Finished, name: str) -> pl.DataFrame:
    return pl.read_parquet(run.folder / f"{name}.parquet")


@pytest.mark.timeout(400)
def test_allreduce_over_the_gateware(over_both: list[Finished]) -> None:
    model, gateware = over_both
    assert model.summary["run"]["fabric"] == "model" and model.summary["cycles"] == 0
    assert gateware.summary["run"]["fabric"] == "gateware" and gateware.summary["cycles"] > 1000
    assert gateware.summary["packet_hops"] == model.summary["packet_hops"] > 1000
    used = ["node", "port", "packets", "payload_bytes"]
    assert table(gateware, "links").select(used).equals(table(model, "links").select(used))
    assert table(gateware, "pairs").equals(table(model, "pairs"))
