# SPDX-License-Identifier: Apache-2.0
"""LO|FA|MO under MPI programs: does what each node knows, and when, decide what becomes of a program?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from .conftest import Finished, Runner, Stack
from .test_faults import END_TO_END, SPREAD

LOFAMO = 'lofamo: {{period: 100 us, master: "qfdb(0,0,1).F1", policy: {policy}}}\n'
CUT = 'events:\n  - {at: 20 us, down: "qfdb(0,0,0).F1 F2", for: 2 ms}\n'
DIES = 'events:\n  - {at: 20 us, host: "qfdb(0,0,0).F2"}\n'


def finished(
    run: Runner,
    stack: Stack,
    command: list[Path | str],
    ranks: int,
    folder: Path,
    text: str,
    machine: str = "exanest",
    code: int | None = 0,
) -> Finished:
    options = list(SPREAD)
    if text:
        file = folder / "faults.yaml"
        file.write_text(text)
        options += ["--faults", str(file)]
    return run(stack, ranks, command, machine=machine, options=options, code=code, timeout=120)


@pytest.fixture
def end_to_end(tmp_path: Path) -> str:
    file = tmp_path / "exanest-end-to-end.yaml"
    file.write_text(END_TO_END)
    return str(file)


def test_until_something_fails_times_are_those_with_constants(
    exanet_run: Runner, mpich: Stack, compiled: Callable[..., Path], tmp_path: Path, end_to_end: str
) -> None:
    late = CUT.replace("20 us", "1 s")
    texts = ("", "reaction: 7 us\n" + late, LOFAMO.format(policy="reroute") + late)
    runs = [finished(exanet_run, mpich, [compiled("cut")], 2, tmp_path, text, end_to_end) for text in texts]
    assert len({run.summary["virtual_ps"] for run in runs}) == 1


def test_routes_follow_when_the_master_knows(
    exanet_run: Runner, mpich: Stack, compiled: Callable[..., Path], tmp_path: Path, end_to_end: str
) -> None:
    """A link is down for longer than the program takes. With its routes led round it, the program takes little more
    than the time until the master knows; without, it ends when the link is up again."""
    found = {}
    for policy in ("reroute", "report", "reroute"):
        text = LOFAMO.format(policy=policy) + CUT
        done = finished(exanet_run, mpich, [compiled("cut")], 2, tmp_path, text, end_to_end)
        assert done.output.strip() == "wrong 0"
        faults = pl.read_parquet(done.folder / "faults.parquet")
        down = faults.row(0, named=True)
        assert 20_000_000 < down["detected_ps"] < down["first_known_ps"] <= down["master_known_ps"] <= down["all_known_ps"] < 100_000_000
        assert down["unaware_nodes"] == 0
        before = found.setdefault(policy, done.summary["virtual_ps"])
        assert before == done.summary["virtual_ps"]
    assert found["reroute"] < 1_000_000_000
    assert found["report"] > 2_000_000_000


def test_each_rank_learns_of_a_dead_host_when_its_node_does(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    done = finished(exanet_run, stack, [compiled("survive"), "ring"], 4, tmp_path, LOFAMO.format(policy="report") + DIES, code=None)
    assert done.code not in (0, 9), done.errors
    death = pl.read_parquet(done.folder / "faults.parquet").row(0, named=True)
    first = re.search(r"in MPI_(?:Recv|Wait) at (\d+)\.(\d{3}) us: receive from rank 1", done.errors)
    assert first is not None, done.errors
    failed_ps = int(first[1] + first[2]) * 1000
    assert death["first_known_ps"] - 1000 <= failed_ps <= (death["all_known_ps"] or failed_ps)
    assert 69_000_000 <= death["detected_ps"] <= 121_000_000
