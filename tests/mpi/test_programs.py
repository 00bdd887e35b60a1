# SPDX-License-Identifier: Apache-2.0
"""Does each kind of MPI communication give right answers over the simulated machine, on every MPI? The programs check themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Runner, Stack


@pytest.mark.parametrize("ranks", [2, 7])
def test_two_sided(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "two_sided.py"])
    assert done.line("ok") == [str(ranks)]


@pytest.mark.parametrize("ranks", [2, 5])
def test_one_sided(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "one_sided.py"])
    assert done.line("ok") == [str(ranks)]


@pytest.mark.parametrize("ranks", [2, 6, 16])
def test_collectives(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "collectives.py"])
    assert done.line("ok") == [str(ranks)]


def test_four_threads_a_rank(exanet_run: Runner, stack: Stack) -> None:
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / "threads.py"])
    assert done.line("ok") == ["4"]


def test_polling_takes_the_time_that_the_message_takes(exanet_run: Runner, stack: Stack) -> None:
    """The message leaves 200 us after the barrier. A rank that polls sees it a little after that, to a few steps of polling."""
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / "polling.py"])
    turns, _, microseconds = done.line("probes")
    assert 200 <= float(microseconds) <= 220
    assert int(turns) > 100
    turns, _, microseconds = done.line("tests")
    # 400 kB more, inside one node: what the interface takes for it.
    assert 300 <= float(microseconds) <= 600
    assert int(turns) > 100
    assert done.line("ok") == ["4"]


def test_clocks_of_c(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    done = exanet_run(stack, 4, [compiled("clocks")])
    assert done.line("ok") == ["4"]


def test_fortran(exanet_run: Runner, openmpi4: Stack, tmp_path: Path) -> None:
    program = tmp_path / "ring"
    compiler = Path(openmpi4.compiler).with_name("mpif90.openmpi")
    if subprocess.run(["which", "gfortran"], capture_output=True).returncode != 0:
        pytest.skip("gfortran is not installed")
    subprocess.run([compiler, "-o", program, PROGRAMS / "ring.f90"], check=True)
    done = exanet_run(openmpi4, 5, [program])
    assert done.line("ok") == ["5"]
    calls = done.folder / "mpi_calls.parquet"
    assert calls.exists()
