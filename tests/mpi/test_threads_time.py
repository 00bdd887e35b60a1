# SPDX-License-Identifier: Apache-2.0
"""Does a region of several threads take as long as the longest way through it, on all of the program's clocks, and is
it taken there, not in the next call of MPI?

Each bound compares two times of one run, each the least of several. The longest thread computes eight units, the main
thread two.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from host import tried

from .conftest import PROGRAMS, Runner, Stack

EVERY = ("parallel", "halves", "loop", "tasks", "calls", "join", "std", "barrier", "semaphore", "condition")
# Which thread takes an iteration or a task is up to the host; with fewer processors some threads take several.
TAKEN = {"loop", "tasks"}
Program = Callable[..., Path]


@pytest.fixture
def hybrid(compiled: Program) -> Path:
    cpp = ("-DWITH_CPP", str(PROGRAMS / "std_threads.cpp"), "-Wl,--no-as-needed,-lstdc++")
    return compiled("hybrid", "-fopenmp", *cpp)


def times(exanet_run: Runner, stack: Stack, program: Path, mode: str, threads: int, *options: str) -> dict[str, float]:
    done = exanet_run(stack, 2, [program, mode, str(threads)], options=options)
    words = done.line(mode)
    return {name: float(us) for name, us in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.parametrize("ranks_as", ["processes", "packed"])
@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize("threads", tried([1, 2, 4, 8], [4]))
@pytest.mark.parametrize("policy", tried(["active", "passive"], ["active"]))
def test_a_region_takes_the_time_of_its_longest_thread(
    exanet_run: Runner,
    stack: Stack,
    hybrid: Path,
    monkeypatch: pytest.MonkeyPatch,
    ranks_as: str,
    mode: str,
    threads: int,
    policy: str,
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    found = times(exanet_run, stack, hybrid, mode, threads, "--compute", "measured", "--ranks-as", ranks_as)
    unit = found["unit"]
    assert unit > 50
    longest = {"uneven": 8 * unit, "even": 4 * unit}
    whole = {"uneven": (8 + 2 * (threads - 1)) * unit, "even": 4 * threads * unit}
    for region in longest:
        most = whole[region] if mode in TAKEN else longest[region]
        assert 0.7 * longest[region] < found[region] < 1.5 * most, (region, found)
    assert found["alone"] == pytest.approx(4 * unit, rel=0.4)
    if mode != "calls":  # whose threads hand their turn in MPI on
        assert found["call"] < 0.5 * unit  # neither the region nor what threads spin in it


def test_a_factor_of_computing_counts_for_all_threads(exanet_run: Runner, mpich: Stack, hybrid: Path) -> None:
    measured, slow = (times(exanet_run, mpich, hybrid, "parallel", 4, "--compute", text) for text in ("measured", "3"))
    for name in ("unit", "uneven", "even", "alone"):
        assert 2 < slow[name] / measured[name] < 4.5, (name, measured, slow)


@pytest.mark.parametrize("mode", tried(list(EVERY), ["parallel", "join", "condition"]))
def test_without_computing_regions_take_no_time(exanet_run: Runner, stack: Stack, hybrid: Path, mode: str) -> None:
    first, again = (times(exanet_run, stack, hybrid, mode, 4, "--compute", "off") for _ in range(2))
    assert first == again
    assert {first[name] for name in ("unit", "uneven", "even", "alone")} == {0.0}
