# SPDX-License-Identifier: Apache-2.0
"""When is a rank said to stand still, and a program to be deadlocked?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from host import stat, wait_for

from exanet.run.watchdog import QUIET_S, SPINS_S, DeadlockWatch, Watchdog, want_of_buffering


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def progress(**values: Any) -> dict[str, Any]:
    return {"phase": "running", "events": 5, "messages": 1, "packets": 1, "virtual_ps": 0} | values


def rank(pid: int, **values: Any) -> dict[str, Any]:
    return {"rank": 0, "pid": pid, "state": "running", "mpi_call": "", "initialized": True, "finalized": False} | values


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that does nothing."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def worker() -> Iterator[int]:
    """A process that computes."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid
        process.kill()


def cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    return sum(map(int, stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def looks(pid: int, seconds: float, computing_s: float = 0.0, instead_of_loops: str = "", **values: Any) -> list[str]:
    """Words in so many seconds of a fake clock, looking at a real process twice a second, each time that it has
    computed so long."""
    clock, said = Clock(), list[str]()
    watchdog = Watchdog(said.append, clock, instead_of_loops=instead_of_loops)
    for _ in range(int(seconds / 0.5)):
        clock.now += 0.5
        until_s = cpu_s(pid) + computing_s
        assert wait_for(lambda until_s=until_s: cpu_s(pid) >= until_s)
        watchdog.look(progress(), lambda: [rank(pid, **values)])
    return said


def test_a_rank_that_does_nothing_is_named_once(sleeper: int) -> None:
    said = looks(sleeper, QUIET_S + 3)
    assert len(said) == 1
    assert f"rank 0 (pid {sleeper})" in said[0]


def test_not_too_early(sleeper: int) -> None:
    assert looks(sleeper, QUIET_S - 0.5) == []


def test_a_rank_that_computes_is_left_alone(worker: int) -> None:
    assert looks(worker, QUIET_S + 3, computing_s=0.05) == []


def test_a_rank_that_computes_for_long_may_wait_in_a_loop(worker: int, sleeper: int) -> None:
    assert looks(worker, SPINS_S - 0.5, computing_s=0.05, instead_of_loops="poll") == []
    (said,) = looks(worker, SPINS_S + 3, computing_s=0.05, instead_of_loops="poll")
    assert said.startswith("rank 0 has computed for 10 s without using the network")
    assert said.endswith("the run does not end: poll")
    assert not any("computed" in said for said in looks(sleeper, SPINS_S + 3, instead_of_loops="poll"))


@pytest.mark.parametrize("values", [{"state": "waiting"}, {"initialized": False}, {"finalized": True}])
def test_a_rank_that_waits_in_virtual_time_is_left_alone(sleeper: int, values: dict[str, Any]) -> None:
    assert looks(sleeper, QUIET_S + 3, **values) == []


def test_it_says_so_when_the_rank_goes_on(sleeper: int) -> None:
    clock, said = Clock(), list[str]()
    watchdog = Watchdog(said.append, clock)
    for events in [1] * 20 + [2] * 3:
        clock.now += 0.5
        watchdog.look(progress(events=events), lambda: [rank(sleeper)])
    assert len(said) == 2
    assert said[1] == "rank 0 continues"


def deadlock(
    calls: list[str], seconds: float = QUIET_S + 2, timed_sleep: bool = False, warnings: list[str] | None = None, **per_look: int
) -> str:
    clock, said = Clock(), ""
    watch = DeadlockWatch((warnings if warnings is not None else []).append, clock)
    states = [rank(1, rank=number, mpi_call=call, timed_sleep=timed_sleep) for number, call in enumerate(calls)]
    for look in range(int(seconds / 0.5)):
        clock.now += 0.5
        values = {"virtual_ps": look * 10**12} | {name: look * step for name, step in per_look.items()}
        said = said or watch.look(progress(**values), lambda: states)
    return said


def test_all_ranks_wait_for_nothing() -> None:
    assert deadlock(["MPI_Recv", "MPI_Barrier", "MPI_Barrier"]).endswith("rank 0 in MPI_Recv; ranks 1, 2 in MPI_Barrier")


def test_a_deadlock_with_faults_names_their_file_and_what_bounds_retransmission() -> None:
    clock = Clock()
    watch = DeadlockWatch(list[str]().append, clock, faults="cut.yaml")
    states = [rank(1, rank=number, mpi_call="MPI_Recv") for number in range(2)]
    said = ""
    for look in range(int(2 * QUIET_S / 0.5)):
        clock.now += 0.5
        said = said or watch.look(progress(virtual_ps=look * 10**12), lambda: states)
    assert said.startswith("deadlock: every rank waits and no message arrives any more, with --faults cut.yaml; ")
    assert said.endswith("where the machine does not say ni.tries: ranks 0, 1 in MPI_Recv")


def test_not_a_deadlock() -> None:
    assert deadlock(["MPI_Recv", "MPI_Barrier"], seconds=QUIET_S - 0.5) == ""
    assert deadlock(["MPI_Recv", ""]) == "", "a rank computes, or sleeps"
    assert deadlock(["MPI_Recv", "MPI_Barrier"], timed_sleep=True) == "", "another thread of the rank sleeps"
    assert deadlock(["MPI_Recv", "MPI_Iprobe"]) == "", "a rank may stop asking"
    assert deadlock(["MPI_Recv", "MPI_Testall"]) == ""
    assert deadlock(["MPI_Recv", "MPI_File_write"]) == ""
    assert deadlock(["MPI_Recv", "MPI_Barrier"], messages=1) == "", "messages arrive"
    assert deadlock(["MPI_Recv", "MPI_Barrier"], packets=1) == "", "a long message is on its way"
    assert deadlock(["MPI_Recv", "MPI_Barrier"], virtual_ps=10) == "", "virtual time hardly moves: the host is slow"


def test_a_deadlock_beside_a_thread_that_sleeps_is_reported_once_and_not_ended() -> None:
    warnings: list[str] = []
    assert deadlock(["MPI_Recv", "MPI_Recv"], seconds=QUIET_S + 20, timed_sleep=True, warnings=warnings) == ""
    assert len(warnings) == 1
    assert "ranks 0, 1 in MPI_Recv; only threads of ranks 0, 1 sleep and wake" in warnings[0]
    for other in ({"seconds": QUIET_S + 1}, {"messages": 1}, {"virtual_ps": 10}):
        quiet: list[str] = []
        deadlock(["MPI_Recv", "MPI_Recv"], **({"seconds": QUIET_S + 20} | other), timed_sleep=True, warnings=quiet)
        assert quiet == []


def buffering(calls: list[str], sends: list[tuple[int, int]]) -> str:
    return want_of_buffering(calls, sends=sends, eager_max_bytes=32, envelope_bytes=32, packet_limit_bytes=256)


def test_want_of_buffering() -> None:
    reported = buffering(["MPI_Send", "MPI_Send", "MPI_Recv"], [(1, 40), (0, 224), (0, 33)])
    assert "ranks 0, 1 sent up to 224 B, more than this machine's eager_max of 32 B" in reported
    assert "eager_max: 224 B (and packet_max: 256 B)" in reported
    assert "no machine file helps" in buffering(["MPI_Send", "MPI_Recv"], [(0, 225)])
    assert "rank 0 sent 225 B" in buffering(["MPI_Send", "MPI_Recv"], [(0, 225)])


def test_no_want_of_buffering() -> None:
    assert buffering(["MPI_Recv", "MPI_Recv"], []) == ""
    assert buffering(["MPI_Ssend", "MPI_Waitall"], [(0, 64), (1, 64)]) == "", "they may wait for something else than space"
    assert buffering(["MPI_Send", "MPI_Recv"], []) == "", "its receive is there, and something else is wrong"
