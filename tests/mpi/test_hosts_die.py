# SPDX-License-Identifier: Apache-2.0
"""A host dies with its rank: do the others go on, learn of it, or end with a message that names it, the same each
time?"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Finished, Runner, Stack

DIES = 'detection: 100 us\nevents:\n  - {at: 20 us, host: "qfdb(0,0,0).F2"}\n'
"""Rank 1's, of four on a node each."""


def die(
    run: Runner, stack: Stack, program: Path, what: str, folder: Path, *options: str, text: str = DIES, machine: str = "exanest"
) -> Finished:
    file = folder / "dies.yaml"
    file.write_text(text)
    words = ["--compute", "off", "--map", "round-robin", "--faults", str(file), *options]
    return run(stack, 4, [program, what], machine=machine, options=words, code=None, timeout=120)


def ended(broken: Finished, *ranks: int) -> None:
    """These ranks, and no others, have come to the end of the program; the run names rank 1."""
    assert broken.code == 1, broken.errors
    assert sorted(broken.output.splitlines()) == [f"rank {rank} is through" for rank in ranks]
    assert "rank 1 on node 1 died with its host at 20.000 us; all other ranks have ended by themselves" in broken.errors
    assert broken.summary["complete"]
    assert broken.summary["dead_ranks"] == [{"rank": 1, "node": 1, "time_ps": 20_000_000}]


@pytest.mark.parametrize("ranks_as", ["processes", "packed"])
def test_errors_that_return_let_the_others_go_on(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path, ranks_as: str
) -> None:
    if stack.name == "mpich":
        pytest.skip("MPICH takes each error of the network for a fatal one")
    runs = [die(exanet_run, stack, compiled("survive"), "returns", tmp_path, "--ranks-as", ranks_as) for _ in range(2)]
    for broken in runs:
        ended(broken, 0, 2, 3)
        assert re.search(
            r"gone on after a failure on the network: rank [023] on node [023], in MPI_Recv at 120\.\d{3} us: receive from rank 1, "
            r"\d+ bytes, failed: a node that it needs is down; the host of rank 1, node 1, died at 20\.000 us",
            broken.errors,
        ), broken.errors
    assert (runs[0].folder / "summary.json").read_bytes() == (runs[1].folder / "summary.json").read_bytes()


def test_an_error_that_does_not_return_names_the_dead_rank(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    broken = die(exanet_run, stack, compiled("survive"), "ring", tmp_path)
    assert broken.code not in (0, 9)
    assert "the host of rank 1, node 1, died at 20.000 us" in broken.errors
    assert not broken.summary["complete"]


def test_ranks_that_do_not_need_it_go_on(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    text = DIES + '  - {at: 20 us, host: "qfdb(0,0,0).F4"}\n'
    broken = die(exanet_run, stack, compiled("survive"), "pairs", tmp_path, text=text)
    assert broken.code == 1, broken.errors
    assert sorted(broken.output.splitlines()) == ["rank 0 is through", "rank 2 is through"]
    assert [dead["rank"] for dead in broken.summary["dead_ranks"]] == [1, 3]


@pytest.mark.parametrize("at", ["0", "20"])
def test_a_wait_for_anybody_ends_with_who_waits_and_who_has_died(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path, at: str
) -> None:
    broken = die(exanet_run, stack, compiled("survive"), "any", tmp_path, text=DIES.replace("20", at))
    assert broken.code == 1
    died = f"no rank can go on without those whose hosts have died (rank 1 on node 1 at {at}.000 us)"
    assert f"{died}: ranks 0, 2, 3 in MPI_Recv" in broken.errors


def die_simulated(run: Runner, mpich: Stack, what: str, folder: Path, text: str = DIES) -> Finished:
    program = folder / "survive"
    subprocess.run([mpich.compiler, "-O2", "-o", program, Path(__file__).parent / "programs" / "survive.c"], check=True)
    return die(run, mpich, program, what, folder, "--mpi-calls", "simulated", "--ranks-as", "auto", text=text)


def test_simulated_calls_end_with_the_rank_that_has_died(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    broken = die_simulated(exanet_run, mpich, "ring", tmp_path)
    assert broken.code == 1
    assert "the host of rank 1, node 1, died at 20.000 us" in broken.errors
    text = DIES + '  - {at: 20 us, host: "qfdb(0,0,0).F4"}\n'
    apart = die_simulated(exanet_run, mpich, "pairs", tmp_path, text)
    assert apart.code == 1, apart.errors
    assert sorted(apart.output.splitlines()) == ["rank 0 is through", "rank 2 is through"]


@pytest.mark.parametrize(
    ("what", "call", "operation"),
    [("iprobe", "Iprobe", "probe of rank 1"), ("probe", "Probe", "probe of rank 1"), ("test", "Test", "receive from rank 1, 4 bytes,")],
)
def test_simulated_calls_that_look_for_a_message_of_the_dead_fail_when_all_know(
    exanet_run: Runner, mpich: Stack, tmp_path: Path, what: str, call: str, operation: str
) -> None:
    broken = die_simulated(exanet_run, mpich, what, tmp_path)
    assert broken.code == 1
    assert re.search(
        rf"rank 0 on node 0, in MPI_{call} at 120\.\d{{3}} us: {operation} failed: a node that it needs is down; "
        r"the host of rank 1, node 1, died at 20\.000 us",
        broken.errors,
    ), broken.errors


def test_a_host_that_dies_after_the_end_changes_nothing(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    late = die(exanet_run, stack, compiled("survive"), "ring", tmp_path, text=DIES.replace("20 us", "1 s"))
    assert late.code == 0, late.errors
    assert sorted(late.output.splitlines()) == [f"rank {rank} is through" for rank in range(4)]
    assert "dead_ranks" not in late.summary
