# SPDX-License-Identifier: Apache-2.0
"""`--mpi-calls simulated` where hosts die: which errors do calls return, and do those who are left go on together?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Finished, Runner, Stack

HOSTS = ("qfdb(0,0,0).F1", "qfdb(0,0,0).F2", "qfdb(0,0,0).F3", "qfdb(0,0,0).F4")
DETECTION_US = 100
PROC_FAILED, PENDING, REVOKED = 101, 102, 103
"""Classes of errors, in MPICH's header."""


@pytest.fixture(scope="module")
def shrinks(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("tolerance") / "shrinks"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", built, PROGRAMS / "shrinks.c"], check=True)
    return built


def die(run: Runner, mpich: Stack, program: Path, what: str, folder: Path, **deaths: str) -> Finished:
    """Ranks of four die at their times: `rank1="20 us"`."""
    file = folder / "dies.yaml"
    events = "".join(f'  - {{at: {at}, host: "{HOSTS[int(rank[4:])]}"}}\n' for rank, at in deaths.items())
    file.write_text(f"detection: {DETECTION_US} us\nevents:\n{events}")
    options = ["--compute", "off", "--map", "round-robin", "--mpi-calls", "simulated", "--ranks-as", "auto", "--faults", str(file)]
    return run(mpich, 4, [program, what], options=options, code=None, timeout=120)


def lines(done: Finished) -> list[str]:
    return sorted(line for line in done.output.splitlines() if line.startswith("rank "))


@pytest.mark.parametrize("dead", [0, 1, 2, 3])
def test_survivors_shrink_and_go_on_to_the_right_sums(exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path, dead: int) -> None:
    """Whoever dies, also the one that would lead."""
    runs = [die(exanet_run, mpich, shrinks, "60", tmp_path, **{f"rank{dead}": "21.3 us"}) for _ in range(2)]
    left = [rank for rank in range(4) if rank != dead]
    total, flag = sum(left) + 3 * 59, ~sum(1 << rank for rank in left) & 0xFFFFFFFF
    for done in runs:
        assert done.code == 1, done.errors
        assert lines(done) == [
            f"rank {rank}: {new} of 3, shrunk 1, wrong 0, total {total}, flag {flag:x}, agreed 0" for new, rank in enumerate(left)
        ]
        assert [rank["rank"] for rank in done.summary["dead_ranks"]] == [dead]
    assert (runs[0].folder / "summary.json").read_bytes() == (runs[1].folder / "summary.json").read_bytes()


@pytest.mark.parametrize("second", ["50 us", "121 us", "127 us", "130 us", "139 us"])
def test_a_second_death_while_they_shrink(exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path, second: str) -> None:
    """Before the first one is known, in the midst of the agreement, of a leader, or while the communicator is made;
    nobody is left waiting for it, and the time is bounded by both detections."""
    done = die(exanet_run, mpich, shrinks, "60", tmp_path, rank1="20 us", rank0=second)
    assert done.code == 1, done.errors
    total, flag = 5 + 2 * 59, ~(4 | 8) & 0xFFFFFFFF
    said = [re.sub(r"shrunk \d", "shrunk N", line) for line in lines(done)]
    assert said == [f"rank {rank}: {new} of 2, shrunk N, wrong 0, total {total}, flag {flag:x}, agreed 0" for new, rank in ((0, 2), (1, 3))]
    known_us = float(second.split()[0]) + DETECTION_US
    ends = [float(us) for us in re.findall(r"rank \d ends at ([\d.]+) us", done.errors)]
    assert len(ends) == 2
    assert known_us < min(ends) <= max(ends) < known_us + 60 * 12 + 100


def test_receives_from_any_source_wait_on_once_the_failure_is_acknowledged(
    exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path
) -> None:
    done = die(exanet_run, mpich, shrinks, "any", tmp_path, rank1="20 us")
    assert done.code == 1, done.errors
    said = f"all 17: {PROC_FAILED} {PENDING}, alone {PROC_FAILED}, acknowledged 1, then 0"
    assert lines(done) == [f"rank {rank}: {said}" for rank in (0, 2, 3)]


def test_each_kind_of_call_returns_its_class(exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path) -> None:
    done = die(exanet_run, mpich, shrinks, "codes", tmp_path, rank1="20 us")
    assert done.code == 1, done.errors
    dead = " ".join(f"{call} {PROC_FAILED}" for call in ("receive", "send", "probe", "wait", "barrier", "later", "dup", "agree"))
    assert lines(done) == [f"rank {rank}: {dead} again 0 failed 1 alive 0 1 revoked {REVOKED}" for rank in (0, 2, 3)]


def test_a_handler_of_the_programs_own_is_called(exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path) -> None:
    done = die(exanet_run, mpich, shrinks, "handler", tmp_path, rank2="20 us")
    assert lines(done) == [f"rank {rank}: handled {PROC_FAILED}" for rank in (0, 1, 3)], done.errors


def test_without_a_failure_times_are_those_of_a_run_without_faults(exanet_run: Runner, mpich: Stack, shrinks: Path, tmp_path: Path) -> None:
    words = ["--compute", "off", "--map", "round-robin", "--mpi-calls", "simulated", "--ranks-as", "auto"]
    whole = exanet_run(mpich, 4, [shrinks, "60"], options=words)
    late = die(exanet_run, mpich, shrinks, "60", tmp_path, rank1="1 s")
    assert late.code == 0, late.errors
    assert lines(whole) == lines(late)
    assert whole.summary["virtual_ps"] == late.summary["virtual_ps"]
