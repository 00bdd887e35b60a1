# SPDX-License-Identifier: Apache-2.0
"""A program that writes checkpoints is started again after hosts have died: does it go on behind the last one, at its
time, and is what cannot be done refused?"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import exanet

from .conftest import Stack

DIES = 'detection: 100 us\nevents:\n  - {at: 60 us, host: "qfdb(0,0,0).F2"}\n'


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`exanet run` of four ranks in the folder."""
    whole = [sys.executable, "-m", "exanet", "run", "-m", "exanest", "-n", "4", "--map", "round-robin", "--compute", "off", "-q", *words]
    return subprocess.run(whole, cwd=folder, env={**os.environ}, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("ranks_as", ["processes", "packed"])
def test_an_attempt_goes_on_behind_the_last_checkpoint_of_the_one_before(
    stack: Stack, compiled: Callable[..., Path], tmp_path: Path, ranks_as: str
) -> None:
    program = compiled("checkpoints")
    # The second one dies 30 us into the second attempt, which begins 1 ms after the end of the first one.
    (tmp_path / "dies.yaml").write_text(DIES + '  - {at: 1.2 ms, host: "qfdb(0,0,0).F4"}\n')
    words = ["--faults", "dies.yaml", "--restart-delay", "1 ms", "--ranks-as", ranks_as, "-o", "out", "--restarts"]
    tables = []
    for _ in range(2):
        (tmp_path / "step").unlink(missing_ok=True)
        ended = run(tmp_path, *words, "2", "--", str(program), "step")
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.splitlines() == [
            "4 ranks begin with step 0",
            "3 ranks begin with step 20",
            "2 ranks begin with step 30",
            "done",
        ]
        assert "started again on 3 nodes" in ended.stderr
        tables.append((tmp_path / "out" / "attempts.parquet").read_bytes())
    assert tables[0] == tables[1]
    attempts = exanet.load(tmp_path / "out").attempts  # type: ignore[union-attr]
    rows = attempts.to_dicts()
    assert [row["ranks"] for row in rows] == [4, 3, 2]
    assert [row["failed_ps"] for row in rows] == [60_000_000, 1_200_000_000, None]
    assert [row["complete"] for row in rows] == [False, False, True]
    for before, after in itertools.pairwise(rows):
        assert after["begin_ps"] == before["end_ps"] + 1_000_000_000
        assert before["failed_ps"] < before["end_ps"]
    for row in rows:
        one = exanet.load(tmp_path / "out" / f"attempt-{row['attempt']}")
        assert one.summary["virtual_ps"] == row["end_ps"] - row["begin_ps"]
    assert set(one.ranks["node"].to_list()) == {0, 2}

    (tmp_path / "step").unlink()
    ended = run(tmp_path, *words, "1", "--", str(program), "step")
    assert ended.returncode != 0
    assert "not started again after 1 restart" in ended.stderr
    assert not (tmp_path / "out" / "attempt-3").exists()


def test_without_a_death_there_is_one_attempt(mpich: Stack, tmp_path: Path) -> None:
    program = tmp_path / "checkpoints"
    subprocess.run([mpich.compiler, "-o", program, Path(__file__).parent / "programs" / "checkpoints.c"], check=True)
    (tmp_path / "dies.yaml").write_text(DIES.replace("60 us", "1 s"))
    ended = run(tmp_path, "--faults", "dies.yaml", "--restarts", "1", "-o", "out", "--", str(program), "step")
    assert ended.returncode == 0, ended.stderr
    assert exanet.load(tmp_path / "out").attempts["complete"].to_list() == [True]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (DIES, ["--restart-delay", "1 ms"], "--restart-delay: nothing is started again without --restarts"),
        (DIES, ["--restarts", "1", "--restart-delay", "1"], "--restart-delay 1: "),
        (DIES, ["--restarts", "1", "--restart-delay", "-1 ms"], "-1 ms is negative"),
        (DIES, ["--restarts", "-1"], "--restarts -1: give a number from 1 to 1000"),
        (DIES, ["--restarts", "1", "--record", "trace"], "--restarts and --record do not go together"),
        (None, ["--restarts", "1"], "--restarts: nothing dies without --faults"),
        ("events:\n  - {at: 1 us, down: 'links:1:1'}\n", ["--restarts", "1"], "dies.yaml:1:1: error: no event has 'host'"),
        (
            DIES + "drawn:\n  - {what: links, mtbf: 1 s, until: 1 ms}\n",
            ["--restarts", "1"],
            "dies.yaml:4:1: error: 'drawn': failures by rate cannot go on",
        ),
    ],
)
def test_what_cannot_be_started_again_is_refused(tmp_path: Path, text: str | None, words: list[str], said: str) -> None:
    if text is not None:
        (tmp_path / "dies.yaml").write_text(text)
        words = ["--faults", "dies.yaml", *words]
    ended = run(tmp_path, *words, "-o", "out", "--", "true")
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not (tmp_path / "out").exists()
