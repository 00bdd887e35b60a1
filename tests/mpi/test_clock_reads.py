# SPDX-License-Identifier: Apache-2.0
"""Programs that read clocks in loops: is what that adds counted and reported, and does the time stamp counter show
virtual time on demand?"""

from __future__ import annotations

import platform
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Runner, Stack

X86 = platform.machine() == "x86_64"
STEP_PS = 100_000
FREE_READS = 1000


@pytest.mark.skipif(not X86, reason="the program reads x86-64's time stamp counter")
@pytest.mark.parametrize("ranks_as", ["packed", "processes"])
def test_what_clock_reads_add_is_counted(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], ranks_as: str) -> None:
    """1 ms is what 10,000 reads add, after the first thousand in a row, which are free."""
    words = [compiled("clock_loops"), "time"]
    done = exanet_run(stack, 2, words, options=("--compute", "off", "--ranks-as", ranks_as))
    reads = int(done.line("reads")[0])
    assert reads == pytest.approx(FREE_READS + 10_000, abs=2)
    first, second = done.summary["ranks"]
    assert first["clock_reads"] == reads - FREE_READS
    assert first["clock_reads_ps"] == first["compute_ps"] == (reads - FREE_READS) * STEP_PS
    assert second["clock_reads"] == second["clock_reads_ps"] == 0
    assert done.summary["clock_reads"] == reads - FREE_READS
    assert done.summary["clock_reads_percent"] == pytest.approx(done.summary["compute_percent"])


@pytest.mark.skipif(not X86, reason="the time stamp counter is x86-64's")
def test_the_time_stamp_counter_shows_virtual_time(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    words = [compiled("clock_loops"), "tsc"]
    found = []
    for _ in range(2):
        done = exanet_run(stack, 2, words, options=("--compute", "off", "--trap-tsc"))
        assert done.line("after") == ["1"]
        assert "backwards" not in done.output
        counter, wall = map(int, done.line("slept"))
        assert counter == pytest.approx(wall, abs=1000) and wall == pytest.approx(5_000_000, abs=1000)
        found.append((done.output, (done.folder / "summary.json").read_bytes()))
    assert found[0][0] == found[1][0]
    assert found[0][1].replace(b"result-1", b"") == found[1][1].replace(b"result-2", b"")


@pytest.mark.parametrize("stack", ["mpich"], indirect=True)
def test_a_thread_that_spins_at_a_lock_lets_time_pass(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    """A hundred rounds in which one thread spins until another one has received: each spin used to cost 0.1 s of the
    processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = exanet_run(stack, 2, [compiled("lock_spin")])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.line("rounds") == ["100"]
    assert after.ru_utime - before.ru_utime < 10


def test_packed_ranks_refuse_to_trap_it(exanet_run: Runner, stack: Stack) -> None:
    done = exanet_run(stack, 2, [stack.python, PROGRAMS / "nodes.py"], options=("--ranks-as", "packed", "--trap-tsc"), code=2)
    assert "--trap-tsc: packed ranks share a process with the simulator" in done.errors


def test_another_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from exanet.errors import InputError
    from exanet.run import options

    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(InputError, match="x86-64 Linux only, and this is aarch64"):
        options.ranks_as(options.Options("exanest", 2, ("true",), trap_tsc=True))
