# SPDX-License-Identifier: Apache-2.0
"""Do a real MPI program and a job meet the same interface? An allreduce by the same algorithm, one rank a node, on
the same machine."""

from __future__ import annotations

import pytest
from host import tried

from exanet.sim.jobs import Job, finish

from .conftest import PROGRAMS, Runner, Stack

ROUNDS = 64  # as the program has
TOLERANCE = 0.05
SIZES = (8, 32, 40, 1024, 16384)  # bytes: two that go eagerly on this machine, and three by rendezvous


@pytest.mark.parametrize("ranks", tried([4, 8, 16], [4, 8]))
def test_a_job_takes_the_time_of_the_program(exanet_run: Runner, mpich: Stack, ranks: int) -> None:
    words = [mpich.python, PROGRAMS / "doubling.py", *(str(size) for size in SIZES)]
    done = exanet_run(mpich, ranks, words, options=("--compute", "off", "--map", "round-robin"))
    program = {int(size): float(ns) for size, ns in (line.split() for line in done.output.splitlines() if line)}
    assert sorted(program) == sorted(SIZES)
    for size in SIZES:
        job = Job("allreduce-doubling", ranks=ranks, size_bytes=size, rounds=ROUNDS)
        found = finish("exanest", [job], nic="exanet")["finished_ns"] / ROUNDS
        print(f"{ranks} ranks, {size} B: program {program[size]:.1f} ns, job {found:.1f} ns")
        assert found == pytest.approx(program[size], rel=TOLERANCE), size
        assert finish("exanest", [job])["finished_ns"] / ROUNDS < found  # interfaces without costs


def test_what_needs_an_interface_that_answers_is_refused() -> None:
    from exanet.errors import InputError

    for job in (Job("incast", ranks=4), Job("web-search", ranks=4, pause_ps=1000), Job("barrier", ranks=4, priority=1)):
        with pytest.raises(InputError, match="--nic ideal"):
            finish("exanest", [job], nic="exanet")
    with pytest.raises(InputError, match="ideal, exanet"):
        finish("exanest", [Job("barrier", ranks=4)], nic="none")
