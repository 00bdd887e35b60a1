# SPDX-License-Identifier: Apache-2.0
"""`exanet run --mpi-calls simulated`: the same answers, bits and times as with the program's own MPI library, and what
it refuses."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from exanet import api

from .conftest import PROGRAMS, Finished, Runner, Stack

CALLS = ("library", "simulated")
PATTERNS = Path(__file__).parents[2] / "bench" / "patterns.c"
MOST_DIFFERENCE = 0.01
"""Of virtual times, relative to those with the library."""

Simulated = Callable[..., Finished]


def options(calls: str) -> tuple[str, ...]:
    return ("--compute", "off", "--mpi-calls", calls) + (("--ranks-as", "auto") if calls == "simulated" else ())


@pytest.fixture(scope="module")
def programs(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name: programs that MPICH's compiler has built."""
    folder = tmp_path_factory.mktemp("simulated")
    sources = {"patterns": PATTERNS} | {name: PROGRAMS / f"{name}.c" for name in ("simulated_calls", "wrong_arguments")}
    for name, source in sources.items():
        subprocess.run([mpich.compiler, "-O2", "-Wall", "-pthread", "-o", folder / name, source], check=True)
    return {name: folder / name for name in sources}


@pytest.mark.parametrize("ranks", [2, 7, 8])
def test_answers_and_bits_are_the_librarys(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], ranks: int) -> None:
    """The program checks contents, statuses and errors itself, and prints the bits of floating-point reductions."""
    library, simulated = (exanet_run(mpich, ranks, [programs["simulated_calls"]], options=options(calls)) for calls in CALLS)
    answers = [[line for line in done.output.splitlines() if not line.startswith("time")] for done in (library, simulated)]
    assert len(answers[0]) > 15 * ranks
    assert answers[1] == answers[0]
    times = [float(done.line("time")[0]) for done in (library, simulated)]
    assert times[1] == pytest.approx(times[0], rel=MOST_DIFFERENCE)
    assert simulated.summary["messages"] == library.summary["messages"]


@pytest.mark.parametrize(("pattern", "rounds"), [("pingpong", 50), ("halo8", 10), ("allreduce", 20)])
def test_times_are_the_librarys(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], pattern: str, rounds: int) -> None:
    command = [programs["patterns"], pattern, "2", str(rounds)]
    done = {calls: exanet_run(mpich, 16, command, options=options(calls)) for calls in CALLS}
    per_round = {calls: float(done[calls].output.split()[3]) for calls in CALLS}
    assert per_round["simulated"] == pytest.approx(per_round["library"], rel=MOST_DIFFERENCE)
    assert done["simulated"].summary["messages"] == done["library"].summary["messages"]


def test_times_of_messages_by_rendezvous_are_a_replays(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path) -> None:
    """Neighbours' messages of 1 KB meet in the network; MPICH looks for them at other points."""
    command = [programs["patterns"], "halo", "2", "10"]
    exanet_run(mpich, 16, command, options=("--compute", "off", "--record", str(tmp_path / "trace")))
    simulated = exanet_run(mpich, 16, command, options=options("simulated"))
    replayed = api.replay([tmp_path / "trace"], "exanest")
    for column in ("virtual_ps", "messages", "packets"):
        assert simulated.summary[column] == replayed.summary[column]


def test_computing_is_the_programs_alone(exanet_run: Runner, mpich: Stack) -> None:
    """Not what the simulator, or other ranks on the same worker thread, take during a call."""
    command = [mpich.python, PROGRAMS / "cg.py", "64", "100"]
    library, simulated = (
        exanet_run(mpich, 4, command, options=(*options(calls), "--compute", "measured")).summary["ranks"] for calls in CALLS
    )
    for one, other in zip(library, simulated, strict=True):
        assert other["compute_ps"] < 3 * one["compute_ps"]


def test_two_runs_are_alike(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    both = [exanet_run(mpich, 4, [programs["simulated_calls"]], options=options("simulated")) for _ in range(2)]
    assert both[0].output == both[1].output
    for table in ("messages", "ranks", "mpi_calls"):
        assert (both[0].folder / f"{table}.parquet").read_bytes() == (both[1].folder / f"{table}.parquet").read_bytes()


@pytest.mark.parametrize(("how", "call"), [("refused", "MPI_Psend_init"), ("again", "MPI_Barrier by a second thread")])
def test_what_is_not_simulated_is_refused_by_name(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], how: str, call: str) -> None:
    done = exanet_run(mpich, 3, [programs["simulated_calls"], how], options=options("simulated"), code=2)
    assert re.search(rf"rank \d calls {call}, which is not simulated; run with --mpi-calls library", done.errors)
    assert done.errors.count("not simulated") == 1


def test_a_deadlock_is_found(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    done = exanet_run(mpich, 3, [programs["simulated_calls"], "deadlock"], options=options("simulated"), code=1)
    assert "deadlock: every rank waits" in done.errors
    assert "MPI_Recv" in done.errors


def test_wrong_arguments_are_the_librarys_errors(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    library, simulated = (exanet_run(mpich, 2, [programs["wrong_arguments"]], options=options(calls)) for calls in CALLS)
    assert simulated.output == library.output


@pytest.mark.parametrize(
    ("others", "what"),
    [
        (["--offload", "allreduce"], "--offload"),
        (["--ranks-as", "processes"], "--ranks-as processes"),
    ],
)
def test_options_that_do_not_go_together(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], others: list[str], what: str) -> None:
    done = exanet_run(mpich, 2, [programs["patterns"], "halo", "1", "1"], options=(*options("simulated"), *others), code=2)
    assert f"--mpi-calls simulated and {what} do not go together" in done.errors


@pytest.mark.parametrize(
    ("calls", "words", "said"),
    [
        ("simulated", ("--collective", "bcast=LLF"), "'LLF' depends on where ranks are"),
        ("simulated", ("--collective", "allreduce=none"), "allreduce has no algorithm 'none'"),
        ("simulated", ("--rules", "openmpi"), "did you mean 'open-mpi'?"),
        ("library", ("--collective", "allreduce=ring"), "with --mpi-calls library only the broadcast can be chosen"),
        ("library", ("--rules", "open-mpi"), "add --mpi-calls simulated"),
    ],
)
def test_algorithms_that_cannot_be_chosen(
    exanet_run: Runner, mpich: Stack, programs: dict[str, Path], calls: str, words: tuple[str, ...], said: str
) -> None:
    done = exanet_run(mpich, 2, [programs["patterns"], "halo", "1", "1"], options=(*options(calls), *words), code=2)
    assert said in done.errors and done.errors.count("\n") == 1


def test_a_word_that_is_none(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    done = exanet_run(mpich, 2, [programs["patterns"]], options=("--mpi-calls", "simulate"), code=2)
    assert "--mpi-calls simulate: give one of library, simulated" in done.errors
