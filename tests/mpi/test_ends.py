# SPDX-License-Identifier: Apache-2.0
"""Does a program that ends a run itself end it at the same virtual time each time, with the same reason and code?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Finished, Runner, Stack
from .test_faults import CUT, FAR, cut

RANKS = 4


def tables(done: Finished) -> dict[str, bytes]:
    """All results but run.json, which is about the host."""
    return {file.name: file.read_bytes() for file in done.folder.iterdir() if file.name != "run.json"}


@pytest.mark.parametrize("who", ["all", "last"])
@pytest.mark.parametrize("how", ["abort", "exit", "error"])
def test_ranks_that_end_at_the_same_time(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], how: str, who: str) -> None:
    program = compiled("ends")
    first = exanet_run(stack, RANKS, [program, how, who], code=None)
    reason = first.summary["reason"]
    said = re.fullmatch(r"rank (\d) (?:called MPI_Abort\((\d+)\)|exited with code (\d+) without calling MPI_Finalize)", reason)
    assert said, reason
    assert first.code == int(said[2] or said[3])
    assert (said[3] is not None) == (how == "exit")
    if who == "last":
        assert int(said[1]) == RANKS - 1
    if how != "error":
        assert first.code == int(said[1]) + 3
    assert f"rank {said[1]}" in first.output.splitlines()
    assert tables(first) == tables(exanet_run(stack, RANKS, [program, how, who], code=first.code))


def test_a_failure_that_both_ends_learn_of(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    """Sender and receiver get the error in the same round of the simulator, and run at the same time."""
    program = compiled("cut")
    runs = [cut(exanet_run, stack, program, tmp_path, "exanest", FAR + CUT, code=None) for _ in range(3)]
    assert {run.code for run in runs} == {runs[0].code}
    assert "what had failed first on the network: rank 1 on node 1, in MPI_Sendrecv" in runs[0].summary["reason"]
    assert tables(runs[0]) == tables(runs[1]) == tables(runs[2])
    assert re.search(rf"rank [01] \(pid \d+\) called MPI_Abort\({runs[0].code}\); what had failed", runs[0].errors)


def test_codes_after_the_end(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    done = exanet_run(stack, RANKS, [compiled("ends"), "after", "none"], code=None)
    assert done.summary["complete"]
    if stack.name == "mpich":
        assert done.code == RANKS, "that of rank 0"
    else:
        assert 1 <= done.code <= RANKS, "mpirun ends ranks after the first with a code"
