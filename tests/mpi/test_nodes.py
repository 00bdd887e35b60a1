# SPDX-License-Identifier: Apache-2.0
"""Does a program see the nodes of the machine, and does all between ranks of a node still take the time of the
machine?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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


MEMORY = """extends: {machine}
name: with-memory
description: the prototype, whose ranks of a node copy through memory
ni:
  shared_memory_latency: 70 ns
  shared_memory_rate: 12 Gb/s
"""


@pytest.mark.parametrize("machine", ["exanest", "exanest-ni"])
def test_a_replay_takes_the_time_of_the_run_through_memory(exanet_run: Runner, mpich: Stack, tmp_path: Path, machine: str) -> None:
    """Eight ranks on two nodes: messages of each protocol and collectives, through memory and between nodes."""
    file = tmp_path / "memory.yaml"
    file.write_text(MEMORY.format(machine=machine))
    words = [mpich.python, PROGRAMS / "node_messages.py"]
    done = exanet_run(mpich, 8, words, machine=str(file), options=("--compute", "off", "--record", str(tmp_path / "trace")))
    through_interface = exanet_run(mpich, 8, words, machine=machine)
    assert done.line("ok") == through_interface.line("ok") == ["8"]
    command = [sys.executable, "-m", "exanet", "replay", "-m", str(file), str(tmp_path / "trace"), "-q", "--no-report"]
    subprocess.run([*command, "-o", str(tmp_path / "replayed")], check=True, cwd=tmp_path)
    replayed = json.loads((tmp_path / "replayed" / "summary.json").read_text())
    assert replayed["virtual_ps"] == done.summary["virtual_ps"]
    assert 0 < done.summary["packets"] < through_interface.summary["packets"]  # those of a node are none


@pytest.mark.parametrize("how", ["sleep", "yield", "clock"])
def test_a_rank_that_waits_in_a_loop_for_what_another_one_stores(
    exanet_run: Runner, mpich: Stack, compiled: Callable[..., Path], how: str
) -> None:
    """Whose message comes in virtual time, which must not stand still for the loop. Where the host runs the rank late,
    it finds the value at its first look, in no time: in about one of ten runs with Open MPI's barrier before."""
    waited = [float(exanet_run(mpich, 3, [compiled("shared_flag"), how], timeout=60).output) for _ in range(3)]
    assert 0.4e-6 < max(waited) < 200e-6
