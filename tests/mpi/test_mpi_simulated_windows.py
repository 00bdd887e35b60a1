# SPDX-License-Identifier: Apache-2.0
"""`exanet run --mpi-calls simulated`: one-sided communication, with the answers of the program's MPI library and the
times of a replay."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from host import tried

from exanet import api
from exanet.mpi import elf

from .conftest import PROGRAMS, Runner, Stack
from .test_mpi_simulated import CALLS, MOST_DIFFERENCE, options

FEW, MANY = 5, 25
"""Rounds of a pattern: what more rounds take has no creation of a window in it, which differs."""
COUNTED = ("virtual_ps", "messages", "packets")


@pytest.fixture(scope="module")
def programs(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("windows")
    names = ("simulated_windows", "simulated_rounds")
    for name in names:
        subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", folder / name, PROGRAMS / f"{name}.c"], check=True)
    return {name: folder / name for name in names}


@pytest.mark.parametrize("ranks", tried([2, 3, 8], [3]))
def test_answers_are_the_librarys(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], ranks: int) -> None:
    """All operations on all kinds of types, types with gaps on either side, all epochs, errors, shared windows."""
    library, simulated = (
        sorted(exanet_run(mpich, ranks, [programs["simulated_windows"]], options=options(calls)).output.splitlines()) for calls in CALLS
    )
    assert len(library) > 120 * ranks
    assert simulated == library


@pytest.mark.parametrize("pattern", tried(["fence", "lock", "posts"], ["posts"]))
def test_times_are_a_replays(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, pattern: str) -> None:
    """Of 20 rounds of puts and gets, after five others."""
    more: dict[str, Counter[str]] = {"simulated": Counter(), "replayed": Counter()}
    for rounds, sign in ((FEW, -1), (MANY, 1)):
        command, trace = [programs["simulated_rounds"], pattern, str(rounds)], tmp_path / str(rounds)
        exanet_run(mpich, 4, command, options=("--compute", "off", "--record", str(trace)))
        done = {"simulated": exanet_run(mpich, 4, command, options=options("simulated")), "replayed": api.replay([trace], "exanest")}
        for which, results in done.items():
            for column in COUNTED:
                more[which][column] += sign * results.summary[column]
    assert more["simulated"] == more["replayed"]


@pytest.mark.parametrize("pattern", ["fence", "lock", "posts", "active", "atomics"])
def test_a_recording_is_the_librarys(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], tmp_path: Path, pattern: str) -> None:
    command = [programs["simulated_rounds"], pattern, str(FEW)]
    for calls in CALLS:
        exanet_run(mpich, 4, command, options=(*options(calls), "--record", str(tmp_path / calls)))
    library, simulated = (api.replay([tmp_path / calls], "exanest").summary for calls in CALLS)
    assert [simulated[column] for column in COUNTED] == [library[column] for column in COUNTED]


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["fence", "active"])
def test_times_are_the_librarys(exanet_run: Runner, mpich: Stack, programs: dict[str, Path], pattern: str) -> None:
    took = {}
    for calls in CALLS:
        commands = ([programs["simulated_rounds"], pattern, str(rounds)] for rounds in (FEW, MANY))
        few, many = (exanet_run(mpich, 4, command, options=options(calls)).summary for command in commands)
        took[calls] = many["virtual_ps"] - few["virtual_ps"]
    assert took["simulated"] == pytest.approx(took["library"], rel=MOST_DIFFERENCE)


@pytest.mark.parametrize("name", tried(["one_sided", "flushes", "put"], ["one_sided"]))
def test_programs_of_python(exanet_run: Runner, mpich: Stack, name: str) -> None:
    """They check what they get."""
    if not elf.read(Path(mpich.python).resolve()).movable:
        pytest.skip(f"{mpich.python} is not position-independent")
    command = [mpich.python, PROGRAMS / f"{name}.py"]
    assert exanet_run(mpich, 4, command, options=options("simulated")).output == exanet_run(mpich, 4, command).output
