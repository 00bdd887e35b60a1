# SPDX-License-Identifier: Apache-2.0
"""A rank that goes wrong ends the run at once, by name, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import RANKS_AS, Ended, Exanet, marked, soon
from host import LIMIT_S, wait_for


@pytest.fixture(params=RANKS_AS, autouse=True)
def ranks_as(request: pytest.FixtureRequest, exanet: Exanet) -> str:
    exanet.ranks_as = request.param
    return exanet.ranks_as


def assert_incomplete(ended: Ended, reason: str) -> None:
    """Results up to then are kept, marked incomplete, with the reason that the user got, without process numbers."""
    summary = ended.summary
    assert summary["complete"] is False
    assert re.sub(r" \(pid \d+\)", "", reason) in summary["reason"]
    assert summary["messages"] > 0
    assert summary["virtual_ps"] > 0


@pytest.mark.parametrize(
    ("kind", "code", "exit_code", "reason"),
    [
        ("segfault", "0", 139, "was killed by SIGSEGV (segmentation fault)"),
        ("overflow", "0", 139, "was killed by SIGSEGV (segmentation fault)"),
        ("kill", "0", 137, "was killed by SIGKILL (killed)"),
        ("exit", "3", 3, "exited with code 3 without calling MPI_Finalize"),
        ("exit", "0", 1, "exited with code 0 without calling MPI_Finalize"),
        ("abort", "7", 7, "called MPI_Abort(7)"),
        ("abort", "256", 1, "called MPI_Abort(256)"),
        ("bus", "0", 135, "was killed by SIGBUS"),
        ("trap", "0", 132, "was killed by SIGILL"),
        ("divide", "0", 136, "was killed by SIGFPE"),
        ("memory", "0", 139, "was killed by SIGSEGV (segmentation fault)"),
        ("quick", "5", 5, "exited with code 5 without calling MPI_Finalize"),
        ("thread", "0", 139, "was killed by SIGSEGV (segmentation fault)"),
        ("thread-exit", "0", 6, "exited with code 6 without calling MPI_Finalize"),
    ],
)
def test_rank_ends_badly(exanet: Exanet, fault: str, kind: str, code: str, exit_code: int, reason: str) -> None:
    def attempt() -> float:
        ended = exanet.run(fault, kind, "2", code)
        said = [line for line in ended.messages if "rank " in line]
        assert len(said) == 1, ended.err
        assert said[0].startswith("exanet: rank 2 (pid ")
        assert reason in said[0]
        assert ended.code == exit_code
        assert_incomplete(ended, f"{said[0].removeprefix('exanet: ')}")
        return ended.took_s - 1

    assert soon(attempt), "the run itself takes about a second"


def test_negative_abort_code(exanet: Exanet, fault: str) -> None:
    """Its low eight bits, as everywhere; it is no signal."""
    assert exanet.run(fault, "abort", "2", "-1").code == 255


def test_mpirun_cleans_up_undisturbed(exanet: Exanet, fault: str) -> None:
    """Asked to end while it ends the ranks of a failed run, Open MPI's crashes with a page of text, nearly always in
    this case."""
    for kind, code in (("no-init", "3"), ("exit", "4")):
        ended = exanet.run(fault, kind, "1", code)
        assert ended.code == int(code)
        assert [line for line in ended.messages if f"exited with code {code}" in line] == ended.messages != [], ended.err
        assert "abort is already in progress" not in ended.err
        assert "Segmentation fault" not in ended.err


def test_an_mpi_explains_its_own_errors(exanet: Exanet, fault: str) -> None:
    # one time in five, or more often on a busy host, Open MPI loses its text on the way to mpirun, without us, too
    for _ in range(20):
        ended = exanet.run(fault, "truncate", "1")
        assert len(ended.messages) == 1
        assert ended.code not in (0, 2)
        if re.search("message truncated", ended.err, re.IGNORECASE):
            return
    pytest.fail(ended.err)


def test_what_a_rank_started_ends_with_it(exanet: Exanet, fault: str) -> None:
    ended = exanet.run(fault, "child", "1")
    assert "rank 1 (pid " in ended.err
    assert "SIGABRT" in ended.err
    assert ended.code == 134


@pytest.mark.parametrize("kind", ["late", "linger"])
def test_exit_code_after_finalize_is_passed_on(exanet: Exanet, fault: str, kind: str) -> None:
    ended = exanet.run(fault, kind, "2", "9")
    assert ended.code == 9
    assert ended.summary["complete"] is True
    assert ended.summary["messages"] > 0


def test_rank_that_never_calls_init(exanet: Exanet, fault: str) -> None:
    def attempt() -> float:
        ended = exanet.run(fault, "no-init", "1", "0")
        assert ended.code != 0
        assert [line for line in ended.messages if "rank 1" in line or "mpirun" in line], ended.err
        return ended.took_s - 1

    assert soon(attempt)


def test_ranks_that_wait_for_nothing(exanet: Exanet, fault: str) -> None:
    def attempt() -> float:
        ended = exanet.run(fault, "receive", "0")
        assert ended.code == 1
        assert "deadlock" in ended.summary["reason"]
        assert "rank 0 in MPI_Recv; ranks 1, 2, 3 in MPI_Barrier" in ended.summary["reason"]
        assert ended.summary["reason"] in ended.err
        return ended.took_s - 1

    assert soon(attempt)


@pytest.mark.parametrize("kind", ["read", "stop"])
def test_rank_that_hangs_is_named(exanet: Exanet, fault: str, kind: str) -> None:
    pipe = exanet.folder / "pipe"
    os.mkfifo(pipe)
    exanet.environment["FAULT_PIPE"] = str(pipe)

    def attempt() -> float:
        """How long the longer of the two takes, until the user is warned and until the run is over."""
        process = running(exanet, fault, kind, 3)
        began = time.monotonic()
        assert process.stderr
        line = process.stderr.readline()
        warned_s = time.monotonic() - began
        assert "rank 3 (pid " in line
        assert "has made no progress" in line
        assert ("in read of" in line and "pipe" in line) if kind == "read" else "SIGCONT" in line
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        ended = exanet.finish(process, began)
        assert ended.code == 130
        assert_incomplete(ended, "interrupted")
        return max(warned_s, ended.took_s)

    assert soon(attempt)


def running(exanet: Exanet, fault: str, kind: str = "barriers", rank: int = 0, **options: Any) -> subprocess.Popen[str]:
    """A run of four ranks that never ends by itself, once the rank is about to do what it is asked to."""
    mark = exanet.folder / "pid"
    mark.unlink(missing_ok=True)
    program = (fault, kind, str(rank), "0", str(mark))
    process = exanet.start("run", "-m", "exanest", "-n", "4", "-q", *exanet.usual, "--", *program, **options)
    assert wait_for(lambda: mark.exists() and mark.read_text().endswith("\n"), LIMIT_S), "the ranks did not start"
    return process


@pytest.mark.parametrize(
    ("kind", "number", "exit_code", "reason"),
    [("barriers", signal.SIGINT, 130, "Ctrl-C"), ("barriers", signal.SIGTERM, 143, "SIGTERM"), ("loop", signal.SIGINT, 130, "Ctrl-C")],
)
def test_interrupted(exanet: Exanet, fault: str, kind: str, number: signal.Signals, exit_code: int, reason: str) -> None:
    def attempt() -> float:
        process = running(exanet, fault, kind)
        began = time.monotonic()
        process.send_signal(number)
        ended = exanet.finish(process, began)
        assert ended.code == exit_code
        assert reason in ended.err
        assert "Traceback" not in ended.err
        assert_incomplete(ended, reason)
        return ended.took_s

    assert soon(attempt)


def test_ctrl_c_reaches_the_whole_process_group(exanet: Exanet, fault: str) -> None:
    """As a terminal does it: the ranks get the signal too, and die of it before anybody can end them."""

    def attempt() -> float:
        process = running(exanet, fault, start_new_session=True)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        ended = exanet.finish(process, began)
        assert ended.code == 130
        assert "interrupted by Ctrl-C" in ended.err
        return ended.took_s

    assert soon(attempt)


def test_nothing_survives_exanet_itself(exanet: Exanet, fault: str) -> None:
    process = running(exanet, fault)
    assert len(exanet.processes()) >= 8
    process.kill()
    process.communicate()
    assert wait_for(lambda: not exanet.processes(), LIMIT_S), exanet.processes()


def of_rank_0(exanet: Exanet, what: str) -> int:
    """The rank's wrapper, or its parent: the wrapper again, or the host of packed ranks."""
    if what == "wrapper":
        for entry in marked(exanet.mark):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"exanet-exec") and re.search(rb"\0(EXANET|PMIX)_RANK=0\0", (entry / "environ").read_bytes()):
                return int(entry.name)
    rank_0 = int((exanet.folder / "pid").read_text())
    return int(Path(f"/proc/{rank_0}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("what", ["wrapper", "parent"])
def test_who_started_a_rank_takes_it_along(exanet: Exanet, fault: str, what: str) -> None:
    def attempt() -> float:
        process = running(exanet, fault)
        pid = of_rank_0(exanet, what)
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        ended = exanet.finish(process, began)
        assert ended.code != 0
        assert ended.summary["complete"] is False
        if what == "parent" and exanet.ranks_as == "packed":
            assert ended.summary["reason"] == "the host of the packed ranks was killed by SIGKILL (killed)"
        return ended.took_s

    assert soon(attempt)


def test_a_rank_that_hits_the_simulator_ends_the_run(exanet: Exanet, fault: str) -> None:
    if exanet.ranks_as != "packed":
        pytest.skip("the simulator has an address space of its own")

    def attempt() -> float:
        ended = exanet.run(fault, "wild", "0")
        assert ended.code != 0
        assert ended.summary["complete"] is False
        assert ended.summary["reason"] == (
            "the host of the packed ranks was killed by SIGILL (illegal instruction); "
            "a rank that writes where it should not can do that: try --ranks-as processes"
        )
        return ended.took_s

    assert soon(attempt)
