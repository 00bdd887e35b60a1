# SPDX-License-Identifier: Apache-2.0
"""`exanet run --mpi-calls simulated`: probes, persistent and buffered messages, collectives with requests, scattered
ones and those among neighbours, with the answers of the program's MPI library and the times of a replay."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest

from exanet import api
from exanet.mpi import elf
from exanet.trace import folder

from .conftest import PROGRAMS, Runner, Stack
from .test_mpi_simulated import CALLS, options

PARTS = [
    ("simulated_messages", "exchanges"),
    ("simulated_messages", "buffered"),
    ("simulated_messages", "probes"),
    ("simulated_collectives", "scattered"),
    ("simulated_collectives", "requests"),
    ("simulated_collectives", "several"),
]


@pytest.fixture(scope="module")
def programs(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("more")
    names = ("simulated_messages", "simulated_collectives", "simulated_library", "persistent")
    for name in names:
        subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", folder / name, PROGRAMS / f"{name}.c"], check=True)
    return {name: folder / name for name in names}


def answers(output: str) -> list[str]:
    return sorted(line for line in output.splitlines() if not line.startswith("time"))


@pytest.mark.parametrize(("name", "ranks", "lines"), [("simulated_messages", 3, 5 * 3), ("simulated_collectives", 2, 177 * 2)])
@pytest.mark.parametrize("more", [0, 5])
def test_answers_are_the_librarys(
    exanet_run: Runner, mpich: Stack, programs: dict[str, Path], name: str, ranks: int, lines: int, more: int
) -> None:
    """Two or three ranks, where neighbours are met twice, and seven or eight."""
    library, simulated = (exanet_run(mpich, ranks + more, [programs[name]], options=options(calls)) for calls in CALLS)
    assert len(answers(library.output)) >= lines
    assert answers(simulated.output) == answers(library.output)


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_a_recording_changes_nothing_and_is_the_librarys(
    exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, name: str, part: str
) -> None:
    """A replay of what was recorded of simulated calls takes what one of the library's calls takes."""
    for calls in CALLS:
        recorded = exanet_run(mpich, 4, [programs[name], part], options=(*options(calls), "--record", str(tmp_path / calls)))
    plain = exanet_run(mpich, 4, [programs[name], part], options=options("simulated"))
    replays = [api.replay([tmp_path / calls], "exanest") for calls in CALLS]
    for column in ("virtual_ps", "messages", "packets"):
        assert recorded.summary[column] == plain.summary[column]
        assert replays[1].summary[column] == replays[0].summary[column]
    tables = [folder.load(tmp_path / calls).calls() for calls in CALLS]
    assert tables[0].select("rank", "call").equals(tables[1].select("rank", "call"))


def test_a_timeline_of_simulated_calls(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    command = [programs["simulated_collectives"], "requests"]
    both = [exanet_run(mpich, 4, command, options=(*options(calls), "--timeline")) for calls in CALLS]
    tables = [pl.read_parquet(done.folder / "calls.parquet") for done in both]
    assert tables[0].select("rank", "call").equals(tables[1].select("rank", "call"))
    assert (both[1].folder / "timeline.html").exists()
    assert both[0].summary["virtual_ps"] == both[1].summary["virtual_ps"]


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_times_are_a_replays(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, name: str, part: str) -> None:
    exanet_run(mpich, 4, [programs[name], part], options=("--compute", "off", "--record", str(tmp_path / "trace")))
    simulated = exanet_run(mpich, 4, [programs[name], part], options=options("simulated"))
    replayed = api.replay([tmp_path / "trace"], "exanest")
    for column in ("virtual_ps", "messages", "packets"):
        assert simulated.summary[column] == replayed.summary[column]


def test_a_recording_has_no_tests_that_took_no_time(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path) -> None:
    """MPICH takes messages of collectives in them, and a replay would charge a step for each."""
    command = [programs["simulated_collectives"], "tested"]
    exanet_run(mpich, 4, command, options=("--compute", "off", "--record", str(tmp_path / "trace")))
    calls = folder.load(tmp_path / "trace").calls("call", "requests", "took_ps")
    empty = calls.filter((pl.col("call") == "MPI_Testall") & (pl.col("requests") == 0))
    assert len(empty) > 100 and empty["took_ps"].min() > 0


def test_persistent_collectives(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    """The program checks what arrives."""
    done = exanet_run(mpich, 4, [programs["persistent"]], options=options("simulated"))
    assert done.output == exanet_run(mpich, 4, [programs["persistent"]]).output


@pytest.mark.parametrize("ranks", [3, 8])
def test_files_and_blocking_collectives_of_two_groups_are_the_librarys(
    exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, ranks: int
) -> None:
    """The program checks what arrives."""
    command = [programs["simulated_library"], tmp_path / "data"]
    library, simulated = (exanet_run(mpich, ranks, command, options=options(calls)) for calls in CALLS)
    assert simulated.output == library.output == "all as it should be\n"
    assert (tmp_path / "data").stat().st_size == ranks * 120_000
    again = exanet_run(mpich, ranks, command, options=options("simulated"))
    assert again.summary["virtual_ps"] == simulated.summary["virtual_ps"]


def test_nonblocking_collectives_of_two_groups_are_refused(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    done = exanet_run(mpich, 3, [programs["simulated_library"], "refused"], options=options("simulated"), code=2)
    assert "calls MPI_Ibarrier on an intercommunicator, which is not simulated; run with --mpi-calls library" in done.errors


def test_a_probe_for_what_nobody_sends_is_a_deadlock(exanet_run: Runner, mpich: Stack, programs: dict[str, Path]) -> None:
    done = exanet_run(mpich, 3, [programs["simulated_messages"], "nobody"], options=options("simulated"), code=1)
    assert "deadlock: every rank waits" in done.errors
    assert "MPI_Probe" in done.errors


def test_sessions_are_refused(exanet_run: Runner, mpich: Stack) -> None:
    if not elf.read(Path(mpich.python).resolve()).movable:
        pytest.skip(f"{mpich.python} is not position-independent")
    done = exanet_run(mpich, 2, [mpich.python, PROGRAMS / "groups.py"], options=options("simulated"), code=2)
    why = "the program cannot be run with --mpi-calls simulated: it begins MPI by MPI_Session_init; take --mpi-calls library"
    assert why in done.errors


def test_objects_of_python(exanet_run: Runner, mpich: Stack) -> None:
    if not elf.read(Path(mpich.python).resolve()).movable:
        pytest.skip(f"{mpich.python} is not position-independent")
    done = exanet_run(mpich, 4, [mpich.python, PROGRAMS / "simulated_objects.py"], options=options("simulated"))
    assert done.output == "objects as they are\n"


CHOICES: list[tuple[str, str, str | None]] = [
    ("scattered", "allgather=ring,reduce-scatter=ring", None),
    ("scattered", "", "open-mpi"),
    ("requests", "allreduce=ring,bcast=chain,barrier=linear", None),
    ("requests", "alltoall=linear,gather=linear", "open-mpi"),
]


@pytest.mark.parametrize(("part", "chosen", "rules"), CHOICES)
def test_chosen_algorithms_take_the_time_of_a_replay(
    exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, part: str, chosen: str, rules: str | None
) -> None:
    """The answers are those of MPICH's own algorithms, to the bit. Messages that meet may go in another order."""
    words = (*(("--collective", chosen) if chosen else ()), *(("--rules", rules) if rules else ()))
    command = [programs["simulated_collectives"], part]
    recorded = exanet_run(mpich, 4, command, options=("--compute", "off", "--record", str(tmp_path / "trace")))
    simulated = exanet_run(mpich, 4, command, options=(*options("simulated"), *words))
    pairs = dict(each.split("=") for each in chosen.split(",") if each)
    replayed = api.replay([tmp_path / "trace"], "exanest", collectives=pairs, rules=rules)
    assert answers(simulated.output) == answers(recorded.output)
    assert simulated.summary["virtual_ps"] != recorded.summary["virtual_ps"], "others than MPICH's"
    for column in ("messages", "packets"):
        assert simulated.summary[column] == replayed.summary[column]
    assert simulated.summary["virtual_ps"] == pytest.approx(replayed.summary["virtual_ps"], rel=3e-3)
    asked = simulated.summary["run"]
    assert asked.get("collectives", {}) == pairs and asked.get("rules") == rules
