# SPDX-License-Identifier: Apache-2.0
"""Do programs without MPI run in virtual time: those that use libfabric alone, and those of OpenSHMEM?

The latter have a library of the tests' own below them, since no package has Sandia OpenSHMEM.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import exanet.validate

from .conftest import PROGRAMS, Finished, Runner, Stack

ROUNDS, BYTES = 50, 256


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`writes`, or `shmem` beside its library."""
    folder = tmp_path_factory.mktemp("without-mpi")

    def make(name: str) -> Path:
        library = [folder / "libsma.so.0"] if name == "shmem" else []
        if library and not library[0].exists():
            words = ["-shared", "-fPIC", "-Wl,-soname,libsma.so.0", "-o", library[0], PROGRAMS / "shmem_library.c"]
            subprocess.run(["cc", "-O2", *words, "-lfabric"], check=True)
        if not (folder / name).exists():
            beside = [*library, "-Wl,-rpath,$ORIGIN"] if library else ["-lfabric"]
            subprocess.run(["cc", "-O2", "-Wall", "-o", folder / name, PROGRAMS / f"{name}.c", *beside], check=True)
        return folder / name

    return make


@pytest.fixture
def run(exanet_run: Runner, made: Callable[[str], Path]) -> Callable[..., Finished]:
    """Runs NAME with these words on two nodes that are neighbours."""

    def start(name: str, *words: object, options: tuple[str, ...] = (), code: int = 0) -> Finished:
        options = ("--compute", "off", "--map", "round-robin", *options)
        return exanet_run(None, 2, [made(name), *(str(word) for word in words)], options=options, code=code, timeout=120)

    return start


def times_ns(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"([0-9.]+) ns", text)]


@pytest.mark.parametrize("ranks_as", ["packed", "processes"])
def test_virtual_time_of_libfabric_alone(run: Callable[..., Finished], ranks_as: str) -> None:
    done = run("writes", ROUNDS, BYTES, options=("--ranks-as", ranks_as))
    one_way, acknowledged, looks = times_ns(done.output)
    assert 0 < one_way < acknowledged
    assert looks == pytest.approx(300, abs=0.1), "the first is free, and the next ones wait for 100 and 200 ns"
    summary = done.summary
    puts, acks = 2 * ROUNDS * one_way, ROUNDS * acknowledged
    assert summary["virtual_ps"] / 1e3 == pytest.approx(puts + acks, rel=0.02)
    assert summary["messages"] == 3 * ROUNDS
    assert summary["compute_percent"] == 0
    assert summary["wait_percent"] > 50
    assert summary["after_last_call_percent"] == 0
    assert summary["run"]["mpi"] == "libfabric alone"
    assert run("writes", ROUNDS, BYTES, options=("--ranks-as", ranks_as)).output == done.output


def test_a_write_takes_as_long_as_one_of_mpi(run: Callable[..., Finished], exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """With MPI_Win_flush, which waits for the acknowledgement."""
    _, acknowledged, _ = times_ns(run("writes", ROUNDS, BYTES).output)
    program, answer = Path(exanet.validate.__file__).parent / "programs/onesided.py", tmp_path / "answer.json"
    command = [mpich.python, program, answer, "native", str(BYTES)]
    exanet_run(mpich, 2, command, options=("--compute", "off", "--map", "round-robin"))
    assert json.loads(answer.read_text())["latency_us"]["put"][str(BYTES)] * 1e3 == pytest.approx(acknowledged, abs=0.1)


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("close", 0, ""),
        ("fail", 5, r"rank 0 \(pid \d+\) exited with code 5 without calling exit\(0\)"),
        ("leave", 1, r"rank 0 \(pid \d+\) exited with code 0 without calling exit\(0\)"),
    ],
)
def test_the_end_of_libfabric_alone(run: Callable[..., Finished], end: str, code: int, said: str) -> None:
    assert re.search(said, run("writes", 5, BYTES, end, code=code).errors)


@pytest.mark.parametrize("late", ["", "sleep 1; "])
def test_a_rank_that_never_uses_the_network(made: Callable[[str], Path], exanet_run: Runner, late: str) -> None:
    script = f"[ $EXANET_RANK = 1 ] && exit 0; {late}exec {made('writes')} 5 8"
    done = exanet_run(None, 2, ["sh", "-c", script], options=("--mpi", "libfabric", "--compute", "off"), code=1)
    assert re.search(r"rank 1 \(pid \d+\) exited with code 0 without calling fi_send, fi_cq_read or the like, in which", done.errors)


def test_a_program_that_only_looks_at_the_network(run: Callable[..., Finished]) -> None:
    assert run("writes", 0, 0).output == ""


@pytest.mark.parametrize("begin", ["init", "thread", "start_pes"])
@pytest.mark.parametrize("end", ["finalize", "return"])
def test_virtual_time_of_openshmem(run: Callable[..., Finished], begin: str, end: str) -> None:
    """The library's set-up and end take none, and puts as long as writes of libfabric."""
    done = run("shmem", begin, end)
    set_up, puts = times_ns(done.output)
    assert set_up == 0
    one_way = times_ns(run("writes", 20, BYTES).output)[0]
    assert puts == pytest.approx(2 * 20 * one_way, abs=5)
    summary = done.summary
    assert summary["virtual_ps"] / 1e3 == pytest.approx(puts, rel=0.05)
    assert summary["run"]["mpi"] == "OpenSHMEM"
    assert summary["after_last_call_percent"] == 0


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("abort", 7, r"rank 0 \(pid \d+\) called shmem_global_exit\(7\)"),
        ("fail", 6, r"exited with code 6 without calling shmem_finalize"),
        ("wait", 1, r"no rank can go on: some wait in shmem_finalize, the others for nothing that is under way"),
        ("twice", 1, r"this program begins OpenSHMEM again after it has ended it, and virtual time with it"),
    ],
)
def test_other_ends_of_openshmem(run: Callable[..., Finished], end: str, code: int, said: str) -> None:
    assert re.search(said, run("shmem", "init", end, code=code).errors)


@pytest.mark.parametrize("option", [("--record", "trace"), ("--timeline",), ("--offload", "all"), ("--collective", "bcast=binomial")])
def test_options_about_calls_of_mpi_are_refused(run: Callable[..., Finished], option: tuple[str, ...]) -> None:
    assert f"{option[0]}: a program without MPI has no" in run("writes", 5, 8, options=option, code=2).errors
