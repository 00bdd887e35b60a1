# SPDX-License-Identifier: Apache-2.0
"""`exanet run --mpi-calls simulated`: errors of programs, as the MPI library reports them, or more exactly."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Runner, Stack
from .test_mpi_simulated import CALLS, options


@pytest.fixture(scope="module")
def program(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("errors") / "simulated_errors"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", built, PROGRAMS / "simulated_errors.c"], check=True)
    return built


def test_classes_of_errors_are_the_librarys(exanet_run: Runner, mpich: Stack, program: Path) -> None:
    """Of a wait for all of which one fails, of operations that a type does not have, of requests that cannot
    be started, of tags that are too large, of memory before a window."""
    library, simulated = (exanet_run(mpich, 2, [program, "classes"], options=options(calls)) for calls in CALLS)
    answers = [sorted(line for line in done.output.splitlines() if line[:2] in ("0 ", "1 ")) for done in (library, simulated)]
    assert len(answers[0]) == 2 * 16 + 6
    assert answers[1] == answers[0]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("recv", "rank 1 in MPI_Recv: what rank 0 sends has 40 B, and the buffer 4 B"),
        ("waitall", "rank 1 in MPI_Waitall: what rank 0 sends has 40 B, and the buffer 4 B"),
        ("gatherv", "rank 0 in MPI_Gatherv: what rank 0 sends has 12 B, and the buffer 4 B"),
    ],
)
def test_a_message_that_is_too_long_is_an_error_of_the_programs_call(
    exanet_run: Runner, mpich: Stack, program: Path, how: str, said: str
) -> None:
    done = exanet_run(mpich, 2, [program, how], options=options("simulated"), code=14 if how != "waitall" else 17)
    assert f"exanet: {said}: message truncated\n" in done.errors
    assert done.errors.count(said) == 1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("call", r"rank 1 in MPI_Reduce: rank 0 calls MPI_Bcast meanwhile|rank 0 in MPI_Bcast: rank 1 calls MPI_Reduce meanwhile"),
        ("root", r"rank 1 in MPI_Bcast: it says root 1, and rank 0 root 0|rank 0 in MPI_Bcast: it says root 0, and rank 1 root 1"),
        ("count", r"rank [01] in MPI_Allreduce: its count and datatype make (8|16) B, those of rank [01] (16|8) B"),
        ("scatter", r"rank [01] in MPI_Scatter: its count and datatype make (8|16) B, those of rank [01] (16|8) B"),
        ("operation", r"rank [01] in MPI_Allreduce: it reduces by MPI_(SUM|MAX), and rank [01] by MPI_(MAX|SUM): all members must give"),
        ("request", r"rank [01] in MPI_Ireduce: it says root [01], and rank [01] root [01]"),
        ("list", r"rank [01] in MPI_Allgatherv: its list of counts is another than that of rank [01]: all members must give the same"),
        (
            "blocks",
            r"rank 1 in MPI_Alltoallv: it sends 4 B to rank 0, which expects 8 B: the sizes must be equal"
            r"|rank 0 in MPI_Alltoallv: it expects 8 B of rank 1, which sends 4 B: the sizes must be equal",
        ),
        ("short", r"rank [01] in MPI_Gatherv: it (sends 4 B to rank 0, which expects 8 B|expects 8 B of rank 1, which sends 4 B)"),
    ],
)
def test_collectives_that_differ_between_ranks_are_named(exanet_run: Runner, mpich: Stack, program: Path, how: str, said: str) -> None:
    done = exanet_run(mpich, 2, [program, how], options=options("simulated"), code=1)
    assert re.search(said, done.errors), done.errors
    assert len(done.errors.splitlines()) == 1
