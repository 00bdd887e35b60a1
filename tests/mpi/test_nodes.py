# SPDX-License-Identifier: Apache-2.0
"""Does a program see the nodes of the machine, and does all between ranks of a node still take the time of the machine?"""

from __future__ import annotations

import pytest

from .conftest import PROGRAMS, Runner, Stack


@pytest.mark.every_mpi
@pytest.mark.parametrize(("mapping", "nodes"), [("linear", ["4", "2"]), ("round-robin", ["1", "8"])])
def test_names_splits_and_shared_windows(exanet_run: Runner, stack: Stack, mapping: str, nodes: list[str]) -> None:
    words = [stack.python, PROGRAMS / "nodes.py"]
    done = exanet_run(stack, 8, words, options=("--compute", "off", "--map", mapping))
    assert done.line("nodes") == nodes
    assert done.line("ok") == ["8"]


@pytest.mark.parametrize("ranks_as", ["packed", "processes"])
def test_the_same_however_ranks_run(exanet_run: Runner, mpich: Stack, ranks_as: str) -> None:
    words = [mpich.python, PROGRAMS / "nodes.py"]
    times = set()
    for _ in range(2):
        done = exanet_run(mpich, 5, words, options=("--compute", "off", "--ranks-as", ranks_as))
        assert done.line("nodes") == ["4", "2"]
        times.add(done.summary["virtual_ps"])
    assert len(times) == 1
