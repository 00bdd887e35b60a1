# SPDX-License-Identifier: Apache-2.0
"""Does a live program meet what others send meanwhile, as a replay of it does, and does its deadlock still show?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exanet

from .conftest import PROGRAMS, Runner, Stack

TRAFFIC = "uniform,load=0.1,bytes=4KiB"
SPREAD = ("--compute", "off", "--map", "round-robin")


def test_a_program_is_right_and_slower_and_the_same_again(exanet_run: Runner, stack: Stack) -> None:
    words = [stack.python, PROGRAMS / "fft.py", "32", "1"]
    alone, *beside = (exanet_run(stack, 4, words, options=(*SPREAD, *more)).summary for more in ((), *[("--background", TRAFFIC)] * 2))
    assert beside[0] == beside[1]
    assert beside[0]["messages"] == alone["messages"] and beside[0]["virtual_ps"] > alone["virtual_ps"]
    assert beside[0]["background"]["arrived"] == beside[0]["background"]["messages"] > 100


def test_a_replay_meets_the_same_traffic(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    words = [mpich.python, PROGRAMS / "fft.py", "32", "1"]
    exanet_run(mpich, 4, words, options=(*SPREAD, "--record", str(tmp_path / "trace")))
    live = exanet_run(mpich, 4, words, options=(*SPREAD, "--background", TRAFFIC)).summary
    replayed = exanet.replay(tmp_path / "trace", "exanest", mapping="round-robin", background=TRAFFIC).summary
    assert replayed["virtual_ps"] == pytest.approx(live["virtual_ps"], rel=0.01)


def test_a_deadlock_shows_where_others_still_send(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    failed = exanet_run(stack, 2, [compiled("exchange"), "64"], options=(*SPREAD, "--background", TRAFFIC), code=1, timeout=100)
    assert "ranks 0, 1 in MPI_Send; the cause is missing buffering" in str(failed.summary["reason"])


def test_verilated_nodes_carry_the_program_alone(exanet_run: Runner, mpich: Stack) -> None:
    words = [mpich.python, PROGRAMS / "fft.py", "32", "1"]
    refused = exanet_run(mpich, 2, words, options=(*SPREAD, "--fabric", "gateware", "--background", TRAFFIC), code=2)
    assert "--background: Verilated nodes carry the program alone" in refused.errors
