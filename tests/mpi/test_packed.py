# SPDX-License-Identifier: Apache-2.0
"""Are ranks in one address space still processes, and are a run's results the same bytes as of processes?"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from host import tried

from exanet.mpi import elf

from .conftest import PROGRAMS, Finished, Runner, Stack

BENCH = Path(__file__).parents[2] / "bench"


def ranks_as(done: Finished) -> str:
    """As the run has noted it, in the one file that may differ."""
    return str(json.loads((done.folder / "run.json").read_text())["ranks_as"])


def assert_same(runner: Runner, stack: Stack, ranks: int, command: Sequence[str | Path], **options: Any) -> Finished:
    processes, packed = (
        runner(stack, ranks, command, options=("--compute", "off", "--ranks-as", kind), **options) for kind in ("processes", "packed")
    )
    assert [ranks_as(done) for done in (processes, packed)] == ["processes", "packed"]
    files = sorted(file.name for file in processes.folder.iterdir())
    assert files == sorted(file.name for file in packed.folder.iterdir())
    assert {"summary.json", "messages.parquet", "ranks.parquet"} <= set(files)
    assert [name for name in files if (processes.folder / name).read_bytes() != (packed.folder / name).read_bytes()] == ["run.json"]
    return packed


@pytest.fixture
def python(stack: Stack) -> str:
    """The stack's interpreter; skips where it cannot be packed, as Debian's own."""
    if not elf.read(Path(stack.python).resolve()).movable:
        pytest.skip(f"{stack.python} is not position-independent")
    return stack.python


@pytest.mark.parametrize("name", tried(["two_sided", "one_sided", "collectives", "polling"], ["one_sided", "collectives", "polling"]))
def test_python_gives_the_same_bytes(exanet_run: Runner, stack: Stack, python: str, name: str) -> None:
    assert assert_same(exanet_run, stack, 4, [python, PROGRAMS / f"{name}.py"]).output


def test_c_gives_the_same_bytes(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    assert assert_same(exanet_run, stack, 7, [compiled("ring")]).output


@pytest.mark.parametrize(("pattern", "ranks"), [("pingpong", 2), ("halo", 16), ("allreduce", 64)])
def test_patterns_give_the_same_bytes(exanet_run: Runner, mpich: Stack, tmp_path: Path, pattern: str, ranks: int) -> None:
    program = tmp_path / "patterns"
    subprocess.run([mpich.compiler, "-O2", "-o", program, BENCH / "patterns.c"], check=True)
    assert_same(exanet_run, mpich, ranks, [program, pattern, "2", "20"])


def test_ranks_return_to_their_process_and_back(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> None:
    """For signals, faults, calls of the kernel and long computing, from wherever they run."""
    packed = assert_same(exanet_run, stack, 4, [compiled("on_workers", "-Wl,--no-as-needed", "-lm")], timeout=100)
    facts = json.loads((packed.folder / "run.json").read_text())
    assert ("no_worker_threads" in facts) != (facts["worker_threads"] > 0)
    assert (facts["turns_on_workers"] > 0) == (facts["worker_threads"] > 0)
    assert facts["turns_on_workers"] < facts["turns"]
    # The names of the release before.
    assert (facts["turns_carried"], facts["carriers"]) == (
        facts["turns_on_workers"],
        facts["worker_threads"],
    )


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("packed", "behind"),
        ("packed", "write"),
        ("packed", "protect"),
        ("packed", "hide"),
        ("packed", "map"),
        ("processes", "behind"),
        ("processes", "map"),
    ],
)
def test_ranks_share_the_library_on_large_pages(exanet_run: Runner, mpich: Stack, tmp_path: Path, kind: str, changed: str) -> None:
    """Where the kernel can; and one that changes its code, before it is shared or behind that, does so for itself."""
    program = tmp_path / "texts"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", program, PROGRAMS / "texts.c"], check=True)
    done = exanet_run(mpich, 3, [program, *([] if changed == "behind" else [changed])], options=("--compute", "off", "--ranks-as", kind))
    ranks = {
        int(rank): (possible == "1", int(kib), int(byte))
        for rank, possible, kib, byte in re.findall(r"rank (\d): possible (\d), large (-?\d+) KiB, byte (\d+)", done.output)
    }
    assert "lost" not in done.output
    assert {rank: byte for rank, (_, _, byte) in ranks.items()} == {0: 0, 1: 0x5A if changed == "behind" else 0, 2: 0}
    possible = {could for could, _, _ in ranks.values()} == {True} and has_workers(json.loads((done.folder / "run.json").read_text()))
    for rank, (_, kib, _) in ranks.items():
        shared = possible and kind == "packed" and (changed == "behind" or rank != 1)
        assert kib >= 2048 if shared else kib == -1, f"rank {rank}"


@pytest.mark.parametrize("limit", ["200:4096", "200:200"])
def test_ranks_keep_the_files_that_they_inherit_and_their_numbers(mpich: Stack, tmp_path: Path, limit: str) -> None:
    """Up to the limit; those in the middle are numbers that the host has for other files."""
    program = tmp_path / "files"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", program, PROGRAMS / "files.c"], check=True)
    numbers = [*range(30, 70), 198, 199]
    for number in numbers:
        (tmp_path / str(number)).write_text(str(number))
    done = started_with(limit, "packed", [(tmp_path / str(number), number) for number in numbers], [program, "30"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"kept {2 * len(numbers)}\n"


def test_a_file_beyond_the_limit_is_reported(mpich: Stack, tmp_path: Path) -> None:
    program = tmp_path / "files"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", program, PROGRAMS / "files.c"], check=True)
    (tmp_path / "220").write_text("220")
    reason = "packed ranks are given the open files of this process, of which number 220 is beyond the limit (ulimit -n)"
    done = started_with("200:200", "packed", [(tmp_path / "220", 220)], [program], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    done = started_with("200:200", "auto", [(tmp_path / "220", 220)], [program], tmp_path)
    assert (done.returncode, done.stdout) == (0, "kept 2\n"), done.stderr
    assert reason in done.stderr


def started_with(
    limit: str, ranks_as: str, files: Sequence[tuple[Path, int]], command: Sequence[str | Path], folder: Path
) -> subprocess.CompletedProcess[str]:
    """A run that inherits these files, each with its number, and then has this limit of numbers, soft and hard."""
    options = ["-m", "exanest", "-n", "2", "--no-report", "--compute", "off", "--ranks-as", ranks_as, "-o", str(folder / "result")]
    opened = "".join(f" {number}<{shlex.quote(str(file))}" for file, number in files)
    soft, hard = limit.split(":")
    words = [sys.executable, "-m", "exanet", "run", *options, "--", *map(str, command)]
    script = f"exec{opened}; ulimit -Sn {soft}; ulimit -Hn {hard}; exec {shlex.join(words)}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=100, cwd=folder)


NO_DISPATCH = """
import ctypes, os, struct, sys
rules = ((0x20, 0, 0, 0), (0x15, 0, 3, 157), (0x20, 0, 0, 16), (0x15, 0, 1, 59), (0x06, 0, 0, 0x50016), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
program, prctl = Program(len(rules), ctypes.addressof(code)), ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Has prctl(2) refuse PR_SET_SYSCALL_USER_DISPATCH with EINVAL, as an older kernel does: a seccomp filter."""


@pytest.mark.parametrize(
    ("before", "workers", "reason"),
    [
        (["env"], "0", "EXANET_WORKER_THREADS is 0"),
        (["prlimit", "--cpu=9999"], "2", "there is a limit of processor time for each process (ulimit -t)"),
        ([sys.executable, "-c", NO_DISPATCH], "2", "the kernel does not dispatch system calls to user space"),
    ],
    ids=["none", "limit", "kernel"],
)
def test_ranks_run_without_worker_threads(mpich: Stack, tmp_path: Path, before: Sequence[str], workers: str, reason: str) -> None:
    program, folder = tmp_path / "patterns", tmp_path / "result"
    subprocess.run([mpich.compiler, "-O2", "-o", program, BENCH / "patterns.c"], check=True)
    options = ["-m", "exanest", "-n", "4", "--no-report", "--compute", "off", "--ranks-as", "packed", "-o", str(folder)]
    words = [
        shutil.which(before[0]) or "",
        *before[1:],
        sys.executable,
        "-m",
        "exanet",
        "run",
        *options,
        "--",
        str(program),
        "allreduce",
        "2",
        "20",
    ]
    environment = os.environ | {"EXANET_WORKER_THREADS": workers}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads((folder / "run.json").read_text())
    assert facts["no_worker_threads"] in (
        reason,
        "the kernel does not let programs set their thread's base",
    )  # a machine that has none at all
    assert f"ranks packed in one address space, without worker threads: {facts['no_worker_threads']}\n" in done.stderr
    assert facts["turns_on_workers"] == facts["worker_threads"] == 0
    assert facts["simulator"] == "apart"


def has_workers(facts: dict[str, Any]) -> bool:
    """A machine without the base of a thread in user space has none at all."""
    return not str(facts.get("no_worker_threads", "")).startswith("the kernel does not")


@pytest.mark.parametrize("name", ["two_sided", "one_sided"])
def test_the_simulator_gives_the_same_bytes_wherever_it_is(
    exanet_run: Runner, stack: Stack, python: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def run(where: str) -> Finished:
        monkeypatch.setenv("EXANET_SIMULATOR", where)
        return exanet_run(stack, 4, [python, PROGRAMS / f"{name}.py"], options=("--compute", "off", "--ranks-as", "packed"))

    hosted, apart = run("hosted"), run("apart")
    facts = [json.loads((done.folder / "run.json").read_text()) for done in (hosted, apart)]
    assert facts[1]["simulator"] == "apart"
    assert facts[0]["simulator"] == ("hosted" if has_workers(facts[0]) else "apart")
    for file in hosted.folder.iterdir():
        assert file.name == "run.json" or file.read_bytes() == (apart.folder / file.name).read_bytes()


COMPUTES = """
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  volatile double x = 1;
  MPI_Init(&argc, &argv);
  for (int round = 0; round < 40; round++) {
    for (long i = 0; i < 200000; i++) x = x * 1.0000001 + 1e-9;
    if (round % 4 == 0) getppid(); /* for which a rank on a worker returns to its own process */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_what_ranks_on_workers_compute_is_measured(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """As in processes: a tenth of it or so is the host's noise, and here twice as much is allowed."""
    (tmp_path / "computes.c").write_text(COMPUTES)
    subprocess.run([mpich.compiler, "-O1", "-o", tmp_path / "computes", tmp_path / "computes.c"], check=True)

    def computed(kind: str) -> tuple[int, dict[str, Any]]:
        done = exanet_run(mpich, 4, [tmp_path / "computes"], options=("--compute", "measured", "--ranks-as", kind))
        ranks = pl.read_parquet(done.folder / "ranks.parquet")
        return int(ranks["compute_ps"].sum()), json.loads((done.folder / "run.json").read_text())

    tries = [(computed("processes"), computed("packed")) for _ in range(3)]
    ratios = sorted(packed[0] / processes[0] for processes, packed in tries)
    facts = tries[0][1][1]
    assert 0.5 < ratios[1] < 2, ratios
    assert (facts["turns_on_workers"] > 0) == has_workers(facts)


UNMAPPED = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int rank;
  static char here[65536];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *buffer = rank == atoi(argv[1]) ? (char *)4096 : here;
  if (rank == 0) MPI_Send(buffer, sizeof here, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, sizeof here, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.parametrize("whose", ["0", "1"])
@pytest.mark.parametrize("where", ["hosted", "apart"])
def test_an_address_that_is_not_mapped_is_an_error_of_the_call(
    exanet_run: Runner, mpich: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, whose: str
) -> None:
    """The simulator in the ranks' address space meets the fault itself, and must outlive it.

    Sender and receiver get it in one round: either may be the first to abort, in real time.
    """
    (tmp_path / "unmapped.c").write_text(UNMAPPED)
    subprocess.run([mpich.compiler, "-o", tmp_path / "unmapped", tmp_path / "unmapped.c"], check=True)
    monkeypatch.setenv("EXANET_SIMULATOR", where)
    done = exanet_run(mpich, 2, [tmp_path / "unmapped", whose], options=("--compute", "off", "--ranks-as", "packed"), code=143)
    assert "OFI poll failed (default nic=exanet: Bad address)" in done.errors
    assert re.fullmatch(r"rank [01] called MPI_Abort\(143\)", done.summary["reason"])


def test_ranks_share_memory_and_nothing_else(exanet_run: Runner, stack: Stack, python: str) -> None:
    done = exanet_run(stack, 4, [python, PROGRAMS / "one_map.py"], options=("--compute", "off", "--ranks-as", "packed"))
    assert done.line("ok") == ["4"]
