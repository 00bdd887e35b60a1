# SPDX-License-Identifier: Apache-2.0
"""`exanet record` records under an ordinary MPI what `exanet run --record` records in the simulator, and ends well
whatever it is given.

An ordinary MPI polls busily, so programs here have two ranks and are short. Each command has a time-out of its own,
after which all that it has started is killed; output goes to files, which nobody's survival keeps open. An MPI that
does not start a program here is skipped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from host import wait_for

from exanet import record, replay
from exanet.errors import InputError
from exanet.mpi import settings
from exanet.mpi.detect import Mpi, detect
from exanet.trace import folder

from .conftest import Runner, Stack
from .test_traces import COLLECTIVES, PARTITIONED, PERSISTENT, THREADS, built

pytestmark = pytest.mark.timeout(120)
LIMIT_S = 60.0
SOLVER = Path(__file__).parents[2] / "examples" / "solver.py"
GENTLE = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
"""Ranks that wait give the processor away."""


@dataclass(frozen=True)
class Ended:
    code: int
    output: str
    errors: str


class Started:
    """A command in a session of its own, which leaves nothing behind: `ended` waits for it, `close` kills what there
    is left."""

    def __init__(self, words: Sequence[str | Path], place: Path, environment: dict[str, str]) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self._place = place
        self._segments: set[str] = set()
        with (place / "out").open("w") as out, (place / "err").open("w") as err:
            self.process = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd=place,
                start_new_session=True,
            )

    def ended(self, limit_s: float = LIMIT_S) -> Ended:
        code = self.process.wait(limit_s)
        return Ended(code, (self._place / "out").read_text(), (self._place / "err").read_text())

    def note_segments(self) -> None:
        """Before ranks are stopped: an MPICH that does not come to MPI_Finalize leaves its shared memory behind,
        which `close` removes."""
        for pid in record._descendants(self.process.pid):
            with contextlib.suppress(OSError):
                self._segments |= set(re.findall(r"/dev/shm/mpich_shm_\w+", Path(f"/proc/{pid}/maps").read_text()))

    def close(self) -> None:
        if self.process.poll() is None:
            self.note_segments()
            for pid in [self.process.pid, *record._descendants(self.process.pid)]:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(LIMIT_S)
        for segment in self._segments:
            Path(segment).unlink(missing_ok=True)


Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `exanet` with these words: `start("record", "-o", trace, "--", ..., stack=stack)`; with `alone`, the
    words themselves."""
    running: list[Started] = []

    def begin(*words: str | Path, stack: Stack | None = None, alone: bool = False) -> Started:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MPI4PY_", "OMPI_", "PMIX_"))}
        environment = {**inherited, **GENTLE, **(stack.environment if stack else {})}
        command = list(words) if alone else [sys.executable, "-m", "exanet", *words]
        running.append(Started(command, tmp_path / f"started-{len(running)}", environment))
        return running[-1]

    yield begin
    for each in running:
        each.close()


_launchers: dict[str, list[str] | None] = {}


@pytest.fixture
def launcher(start: Start, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The words before a program that start two ranks of it: `launcher(stack)`; skips the test where they do not."""

    def words(stack: Stack, ranks: int = 2) -> list[str]:
        if stack.name not in _launchers:
            for name, value in stack.environment.items():
                monkeypatch.setenv(name, value)
            mpi: Mpi = detect([stack.python, "-c", ""])
            command = [str(Path(stack.python).with_name("mpiexec")), "-n", "2"] if mpi.kind == "mpich" else settings.mpirun_command(mpi, 2)
            hello = start(*command, stack.python, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.barrier()", stack=stack, alone=True)
            try:
                works = hello.ended(60).code == 0
            except subprocess.TimeoutExpired:
                works = False
            hello.close()
            _launchers[stack.name] = command if works else None
        command = _launchers[stack.name] or []
        if not command:
            pytest.skip(f"{stack.name} itself does not start two ranks here")
        return [str(ranks) if before == "-n" else word for before, word in zip(["", *command], command, strict=False)]

    return words


def calls_of(trace: Path) -> pl.DataFrame:
    """What was called, with what; not when. Which requests had completed at once is the network's matter."""
    frame = pl.read_parquet(trace / "calls.parquet")
    return frame.drop("begin_ps", "took_ps", "compute_ps", "inside_ps", "requests")


PROGRAM = COLLECTIVES.replace("world.rank % 2", "0")


def test_the_calls_are_those_of_a_run(
    exanet_run: Runner, stack: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path
) -> None:
    """On every MPI, with collectives of all kinds, communicators, persistent requests, probes; and the trace is
    replayed."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    done = start("record", "-o", outside, "--", *launcher(stack), stack.python, "-c", PROGRAM, stack=stack).ended()
    assert done.code == 0, done.errors
    exanet_run(stack, 2, [stack.python, "-c", PROGRAM], options=("--compute", "off", "--record", str(inside)))
    assert calls_of(outside).equals(calls_of(inside))
    about = folder.load(outside).about
    assert (about.complete, about.ranks) == (True, 2)
    assert about.run["program"][-2:] == ["-c", PROGRAM]
    found, _ = replay.replay(replay.Options((outside,), "exanest"))
    again, _ = replay.replay(replay.Options((inside,), "exanest", compute=0))
    assert found["summary"]["messages"] == again["summary"]["messages"] > 50
    assert list(found["ranks"]["bytes_sent"]) == list(again["ranks"]["bytes_sent"])


def test_persistent_collectives_are_recorded_as_in_a_run(
    exanet_run: Runner, mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path
) -> None:
    program = built(mpich, PERSISTENT, tmp_path)
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    done = start("record", "-o", outside, "--", *launcher(mpich), program, stack=mpich).ended()
    assert done.code == 0, done.errors
    exanet_run(mpich, 2, [program], options=("--compute", "off", "--record", str(inside)))
    assert calls_of(outside).equals(calls_of(inside))


FORTRAN = """program ring
  use mpi
  integer :: rank, ranks, token, total, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, &
    token, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
"""


def test_a_program_in_fortran(openmpi4: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    (tmp_path / "ring.f90").write_text(FORTRAN)
    compiler = Path(openmpi4.compiler).with_name("mpif90.openmpi")
    subprocess.run([compiler, "-o", "ring", "ring.f90"], check=True, cwd=tmp_path)
    done = start("record", "-o", tmp_path / "trace", "--", *launcher(openmpi4), tmp_path / "ring", stack=openmpi4).ended()
    assert done.code == 0, done.errors
    calls = folder.load(tmp_path / "trace").calls()
    assert calls["call"].to_list() == ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Finalize"] * 2
    assert calls["bytes"].to_list() == [4, 4, 0] * 2


def test_the_largest_tag_is_recorded(openmpi4: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    """Open MPI's is that of an int."""
    (tmp_path / "tag.c").write_text("""#include <mpi.h>
int main(int argc, char **argv) {
  int rank, found, *most, in, out = 1;
  MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, *most, &in, 1, MPI_INT, 1 - rank, *most, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
""")
    subprocess.run([openmpi4.compiler, "-o", "tag", "tag.c"], check=True, cwd=tmp_path)
    done = start("record", "-o", tmp_path / "trace", "--", *launcher(openmpi4), tmp_path / "tag", stack=openmpi4).ended()
    assert done.code == 0, done.errors
    calls = folder.load(tmp_path / "trace").calls().filter(pl.col("call") == "MPI_Sendrecv")
    assert calls.select("tag", "receive_tag").rows() == [(2147483647, 2147483647)] * 2


def test_lists_of_large_counts_are_recorded(mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    program = tmp_path / "large.c"
    program.write_text("""#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Count counts[2] = {1, 1}; MPI_Aint at[2] = {0, 4}; int mine = 1, all[2], rank;
  MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allgatherv_c(&mine, 1, MPI_INT, all, counts, at, MPI_INT, MPI_COMM_WORLD);
  MPI_Bcast_c(all, 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 3 * rank;
}
""")
    subprocess.run([mpich.compiler, "-o", tmp_path / "large", program], check=True)
    done = start("record", "-o", tmp_path / "trace", "--", *launcher(mpich), tmp_path / "large", stack=mpich).ended()
    assert done.code == 3, "the program's status, though its trace is whole: it has come to MPI_Finalize"
    assert "recorded 6 calls of 2 ranks of MPICH" in done.errors
    trace = folder.load(tmp_path / "trace")
    assert trace.about.complete
    assert trace.calls()["call"].to_list() == ["MPI_Allgatherv", "MPI_Bcast", "MPI_Finalize"] * 2


def test_computing_is_processor_time_and_sleeping_is_not(
    mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path
) -> None:
    program = "import time\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\nw.Barrier()\nend = time.thread_time() + 0.2\n"
    program += "while time.thread_time() < end: pass\nw.Barrier(); time.sleep(0.3); w.Barrier()"
    done = start("record", "-o", tmp_path / "trace", "--", *launcher(mpich), mpich.python, "-c", program, stack=mpich).ended()
    assert done.code == 0, done.errors
    barriers = folder.load(tmp_path / "trace").calls().filter((pl.col("call") == "MPI_Barrier") & (pl.col("rank") == 1))
    computed_s = [ps * 1e-12 for ps in barriers["compute_ps"]]
    assert computed_s[1] == pytest.approx(0.2, abs=0.05)
    assert computed_s[2] < 0.05
    assert set(barriers["inside_ps"]) == {0}


@pytest.mark.parametrize(
    ("body", "what"),
    [(PARTITIONED, "MPI_Psend_init"), (THREADS, "several threads at once")],
    ids=["partitioned", "threads"],
)
def test_what_is_not_recorded_is_reported(
    mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path, body: str, what: str
) -> None:
    trace = tmp_path / "trace"
    done = start("record", "-o", trace, "--", *launcher(mpich), built(mpich, body, tmp_path), stack=mpich).ended()
    assert done.code == 0, done.errors
    calls = folder.load(trace).calls()
    assert min(calls[name].min() for name in ("took_ps", "compute_ps", "inside_ps")) >= 0
    with pytest.raises(InputError, match=what):
        replay.replay(replay.Options((trace,), "exanest"))


def test_of_two_programs_one_is_recorded(mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    """The second has more ranks than the first."""
    barriers = "from mpi4py import MPI\nfor _ in range({}): MPI.COMM_WORLD.Barrier()\n"
    both = [" ".join([*launcher(mpich, ranks), mpich.python, "-c", f"'{barriers.format(5 * ranks)}'"]) for ranks in (1, 2)]
    done = start("record", "-o", tmp_path / "trace", "--", "sh", "-c", " && ".join(both), stack=mpich).ended()
    assert done.code == 0, done.errors
    assert done.errors.count("another program's; record one at a time") == 1
    trace = folder.load(tmp_path / "trace")
    assert (trace.about.complete, trace.about.ranks) == (True, 1)
    assert trace.calls()["call"].to_list() == ["MPI_Barrier"] * 5 + ["MPI_Finalize"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_stopped_leaves_a_trace(
    mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path, number: signal.Signals
) -> None:
    trace = tmp_path / "trace"
    program = (
        "import time\nfrom mpi4py import MPI\nfor _ in range(20): MPI.COMM_WORLD.Barrier()\nprint('here', flush=True)\ntime.sleep(300)"
    )
    started = start("record", "-o", trace, "--", *launcher(mpich), mpich.python, "-c", program, stack=mpich)
    assert wait_for(lambda: (started._place / "out").read_text().count("here") == 2)
    started.note_segments()
    started.process.send_signal(number)
    done = started.ended()
    assert done.code == 128 + number
    assert f"not to the end: it was stopped by {number.name}" in done.errors
    read = folder.load(trace)
    assert not read.about.complete
    assert read.calls()["call"].to_list() == ["MPI_Barrier"] * 40
    with pytest.raises(InputError, match=f"stopped by {number.name}"):
        replay.replay(replay.Options((trace,), "exanest"))


@pytest.mark.parametrize("command", [["/bin/true"], ["sh", "-c", "exit 7"]], ids=["true", "seven"])
def test_without_an_mpi_program_nothing_is_left(start: Start, tmp_path: Path, command: list[str]) -> None:
    done = start("record", "-o", tmp_path / "new" / "trace", "--", *command).ended()
    assert done.code == {"true": 2, "sh": 7}[Path(command[0]).name]
    assert "nothing was recorded" in done.errors and "Traceback" not in done.errors
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", [["/bin/true"], ["sh", "-c", "exit 7"]], ids=["true", "seven"])
def test_an_earlier_trace_outlives_a_recording_of_nothing(start: Start, tmp_path: Path, command: list[str]) -> None:
    with folder_writer(tmp_path / "trace", 2) as streams:
        for each in streams:
            each.end()
    held = {file.name: file.read_bytes() for file in (tmp_path / "trace").iterdir()}
    assert "nothing was recorded" in start("record", "-o", tmp_path / "trace", "--", *command).ended().errors
    assert {file.name: file.read_bytes() for file in (tmp_path / "trace").iterdir()} == held


@pytest.mark.parametrize(
    ("command", "place", "what"),
    [
        ([], "new", "no command given"),
        (["./no-such-program"], "new", "is missing"),
        (["exanet", "run"], "new", "exanet run --record"),
        (["/bin/true"], "/proc/trace", "-o /proc/trace: "),
        (["/bin/true"], "here", "holds other files"),
    ],
)
def test_what_cannot_be_recorded_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], place: str, what: str
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").touch()
    with pytest.raises(InputError, match=what):
        record.record(command, tmp_path / place)
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "file"]


def test_a_folder_takes_one_recording_at_a_time(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    other = os.open(trace, os.O_RDONLY)  # as another process has it
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(InputError, match="another program is being recorded there"):
        folder.prepare(trace)
    os.close(other)
    assert folder.prepare(trace) == folder.prepare(trace)
    other = os.open(trace, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    folder.release(trace)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_ranks_of_another_program_are_refused(tmp_path: Path) -> None:
    """Streams that were put together by hand."""
    for ranks in (1, 2):
        with folder_writer(tmp_path / str(ranks), ranks) as streams:
            for each in streams:
                each.end()
    (tmp_path / "2" / "rank-000001.calls").rename(tmp_path / "1" / "rank-000001.calls")
    (tmp_path / "1" / "trace.json").unlink()
    with pytest.raises(InputError, match=r"rank-000000.calls: it belongs to rank 0 of 1, not to rank 0 of 2"):
        folder.load(tmp_path / "1")


def folder_writer(place: Path, ranks: int) -> contextlib.AbstractContextManager[Sequence[object]]:
    from exanet.trace.write import Writer

    return Writer(place, ranks, {})


def test_a_trace_says_who_made_it(mpich: Stack, start: Start, launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    before = time.monotonic()
    done = start("record", "-q", "-o", tmp_path / "trace", "--", *launcher(mpich), mpich.python, SOLVER, "32", "3", stack=mpich).ended()
    assert (done.code, done.errors) == (0, "")
    assert done.output.startswith("3 steps on 2 ranks, residual ")
    about = json.loads((tmp_path / "trace" / "trace.json").read_text())
    assert about["run"]["machine_name"] == "outside the simulator" and about["mpi"] == "MPICH"
    took_s = sum(folder.load(tmp_path / "trace").calls().filter(pl.col("rank") == 0).select("took_ps", "compute_ps").sum().row(0)) * 1e-12
    assert 0 < took_s < time.monotonic() - before
