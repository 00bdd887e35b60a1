# SPDX-License-Identifier: Apache-2.0
"""Programs whose collectives the network interfaces carry out (`exanet run --offload`)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from host import tried

from exanet import replay, results

from .conftest import PROGRAMS, Runner, Stack

OFF = ("--compute", "off")
ALL = (*OFF, "--offload", "all")


@pytest.mark.parametrize(("ranks", "on"), tried([(2, "exanest"), (9, "exanest"), (9, "exanest-ni")], [(2, "exanest"), (9, "exanest-ni")]))
def test_every_result_is_right(exanet_run: Runner, stack: Stack, ranks: int, on: str) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "offload.py"], machine=on, options=(*ALL, "--map", "round-robin"))
    assert int(done.line("checked")[0]) > 600
    assert done.summary["reductions"] > 300
    assert done.summary["run"]["offload"] == ["allreduce", "barrier", "bcast", "reduce"]


def test_the_same_bytes_however_ranks_are_hosted(exanet_run: Runner, mpich: Stack) -> None:
    found = []
    for how in (("--ranks-as", "packed"), ("--ranks-as", "processes")):
        done = exanet_run(mpich, 6, [mpich.python, PROGRAMS / "offload.py"], options=(*ALL, *how))
        names = ("summary.json", *(f"{table}.parquet" for table in results.TABLES))
        found.append([(done.folder / name).read_bytes() for name in names])
    assert found[0] == found[1]


def test_an_allreduce_takes_less_time_by_the_interfaces(exanet_run: Runner, stack: Stack) -> None:
    """Of 8 and 256 bytes on 16 ranks of four nodes; and as long as without where a vector is longer than a unit
    takes."""
    times = {}
    for name, options in (("on", (*OFF, "--offload", "allreduce")), ("off", OFF)):
        done = exanet_run(stack, 16, [stack.python, PROGRAMS / "allreduce.py", "1", "32", "64"], options=options)
        times[name] = {int(words[0]): float(words[1]) for line in done.output.splitlines() if (words := line.split())}
    assert times["on"][8] < 0.7 * times["off"][8]
    assert times["on"][256] < 0.4 * times["off"][256]
    assert times["on"][512] == pytest.approx(times["off"][512], rel=0.03)  # ranks come to it more or less at once


@pytest.mark.parametrize("stack", tried(["mpich", "openmpi4", "openmpi5"], ["mpich"]), indirect=True)
def test_most_is_saved_where_the_library_takes_many_steps(exanet_run: Runner, stack: Stack) -> None:
    """MPICH on five nodes takes two steps more than on four; Open MPI goes round a ring from 32 to 63 ranks at 128
    to 255 bytes."""
    ranks, words, least = (5, 20, 0.86) if stack.name == "mpich" else (33, 16, 0.94)
    times = []
    for options in (OFF, (*OFF, "--offload", "allreduce")):
        given = [stack.python, PROGRAMS / "allreduce.py", str(words)]
        done = exanet_run(stack, ranks, given, options=(*options, "--map", "round-robin"))
        times.append(float(done.line(str(8 * words))[0]))
    without, by_units = times
    assert 1 - by_units / without > least


def test_a_replay_reduces_as_the_program_did(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """Where a vector is too long for a unit each goes its own way, so there is none; the library's barriers are
    between."""
    trace = tmp_path / "trace"
    options = (*OFF, "--offload", "allreduce", "--record", str(trace))
    done = exanet_run(stack, 12, [stack.python, PROGRAMS / "allreduce.py", "1", "5", "32"], options=options)
    found, _ = replay.replay(replay.Options((trace,), "exanest", "linear", collectives={"allreduce": "accelerator"}))
    there, here = done.summary, found["summary"]
    assert there["reductions"] == here["reductions"] == 12
    assert (there["messages"], there["packets"]) == (here["messages"], here["packets"])
    assert here["virtual_ps"] == pytest.approx(there["virtual_ps"], rel=2e-3)


def test_only_what_is_asked_for(exanet_run: Runner, mpich: Stack) -> None:
    program = [mpich.python, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.Barrier()"]
    for chosen, reductions in (("barrier", 2), ("all, barrier=off", 0), ("allreduce=on,barrier=on,allreduce=off", 2)):
        assert exanet_run(mpich, 3, program, options=(*OFF, "--offload", chosen)).summary["reductions"] == reductions
    done = exanet_run(mpich, 3, program, options=(*OFF, "--offload", "barrier=off"))
    assert done.summary["reductions"] == 0 and "offload" not in done.summary["run"]


def test_at_flow_level_too(exanet_run: Runner, mpich: Stack) -> None:
    done = exanet_run(mpich, 5, [mpich.python, PROGRAMS / "offload.py"], options=(*ALL, "--level", "flow"))
    assert done.summary["reductions"] > 300


@pytest.mark.parametrize("what", range(3))
def test_ranks_that_do_not_agree_are_reported(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], what: int) -> None:
    on = "exanest" if what < 2 else "exanest-ni"
    failed = exanet_run(stack, 4, [compiled("disagree"), str(what)], machine=on, options=ALL, code=2)
    assert "do not agree in operation, type or count of MPI_Allreduce" in failed.errors


def test_wrong_arguments_are_reported_as_by_the_library(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    program = tmp_path / "wrong_arguments"
    subprocess.run([mpich.compiler, "-o", program, PROGRAMS / "wrong_arguments.c"], check=True)
    reported = [exanet_run(mpich, 3, [program], options=options).output for options in (OFF, ALL)]
    assert reported[0] == reported[1] and reported[0].count("\n") == 5 and "sum 3 6" in reported[0]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--offload", "scan"), "--offload scan: 'scan' is unknown; give allreduce, barrier, bcast, reduce or all, each with =on or =off"),
        (("--offload", "allreduce=yes"), "--offload allreduce=yes: 'allreduce=yes' is unknown; give"),
        (("--offload", ""), "--offload : '' is unknown; give"),
        (("--offload", "allreduce,"), "--offload allreduce,: '' is unknown; give"),
        (
            ("--offload", "bcast", "--collective", "bcast=LLF"),
            "--collective bcast and --offload bcast: a broadcast goes either way; leave one",
        ),
        (("--offload", "all", "--mpi", "none"), "--offload: a program without MPI has no collectives; leave the option out"),
    ],
)
def test_what_cannot_be_asked_for(exanet_run: Runner, mpich: Stack, given: tuple[str, ...], what: str) -> None:
    failed = exanet_run(mpich, 2, [mpich.python, PROGRAMS / "two_sided.py"], options=given, code=2)
    assert f"error: {what}" in failed.errors and not failed.folder.exists()


def test_a_machine_without_units_is_refused(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    machine = tmp_path / "without.yaml"
    machine.write_text("extends: exanest-ni\nname: without\nni: {reductions: times}\n")
    failed = exanet_run(mpich, 2, [mpich.python, PROGRAMS / "offload.py"], machine=str(machine), options=ALL, code=2)
    assert "--offload: the machine's interfaces have no unit that reduces" in failed.errors and not failed.folder.exists()
