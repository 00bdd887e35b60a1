# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the fault tests: the command line in a process of its own, and a look at what it leaves behind.

`make test-long` runs each test on both MPIs, with ranks as processes and packed. `make test` leaves combinations out:
a test takes both MPIs and both kinds of ranks in two runs, one of four with parameters of its own in one run, which its
parameters choose.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from host import LIMIT_S, LONG, wait_for

PROGRAMS = Path(__file__).parent / "programs"
WITHIN_S = 5.0
"""So long after a fault the run must be over, or the user warned, on a host that has time for it."""


MPIS = ("mpich", "openmpi")
RANKS_AS = ("processes", "packed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the combinations of an MPI and a kind of ranks that `make test` does not choose for a test."""
    left_out = [] if LONG else [item for item in items if item.path.is_relative_to(Path(__file__).parent) and not _chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _chosen(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return True
    parameters = dict(item.callspec.params)
    mpi, ranks_as = parameters.pop("fault", None), parameters.pop("ranks_as", None)
    if mpi is None or ranks_as is None:
        return True
    number = zlib.crc32(f"{item.originalname} {sorted(map(str, parameters.values()))}".encode())
    first = MPIS.index(mpi) == number % 2
    second = RANKS_AS.index(ranks_as) == number // 2 % 2
    return first and second if parameters else first == second


@dataclass
class Ended:
    code: int
    err: str
    took_s: float
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return content

    @property
    def messages(self) -> list[str]:
        """Our own messages on stderr, without progress and tables, and without that the second run of a test replaces
        the results of the first. One may stand in a line that an MPI has begun to say."""
        ours = re.compile(r"(?<![^ ])exanet: (?!starting|running|finishing|.*: its earlier results are replaced).*|^.*: error: .*")
        return [found.group() for line in self.err.splitlines() if (found := ours.search(line))]


@dataclass
class Exanet:
    """`exanet` in a folder of its own, all whose processes carry a mark in their environment."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    environment: dict[str, str] = field(default_factory=dict)
    ranks_as: str = "processes"

    @property
    def usual(self) -> tuple[str, ...]:
        """Options of all runs."""
        return ("--compute", "off", "--ranks-as", self.ranks_as, "-o", "out")

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        env = {**os.environ, **self.environment, "FAULT_TEST_MARK": self.mark}
        command = [sys.executable, "-m", "exanet", *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *program: str, ranks: int = 4, options: tuple[str, ...] = (), machine: str = "exanest") -> Ended:
        began = time.monotonic()
        process = self.start("run", "-m", machine, "-n", str(ranks), "--no-report", *self.usual, *options, "--", *program)
        return self.finish(process, began)

    def finish(self, process: subprocess.Popen[str], began: float, timeout_s: float = 300) -> Ended:
        try:
            _, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            pytest.fail(f"exanet did not end within {timeout_s} s; stderr:\n{err}")
        return Ended(process.returncode, err, time.monotonic() - began, self.folder / "out")

    def processes(self) -> list[str]:
        """Command lines of living processes that carry the mark."""
        found = []
        for entry in marked(self.mark):
            with contextlib.suppress(OSError):  # ended since
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes().decode()}")
        return found


def marked(mark: str) -> list[Path]:
    """Folders in /proc of living processes that carry the mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended since, or somebody else's
            if f"FAULT_TEST_MARK={mark}".encode() in (entry / "environ").read_bytes():
                found.append(entry)
    return found


def in_time(took_s: float) -> bool:
    """Whether that is within WITHIN_S, or as long as eight starts of a large Python program take now (0.5 s each on
    an idle host)."""
    if took_s < WITHIN_S:
        return True
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import distributed, polars"], check=True)
    return took_s < 8 * (time.monotonic() - began)


def soon(attempt: Callable[[], float]) -> bool:
    """Whether one of a few attempts is in time: the host keeps some from it when others need it, a fault of ours all
    of them."""
    return any(in_time(attempt()) for _ in range(5))


class Segments:
    """Notes which named segments of shared memory the processes of a mark make.

    Another run on this host may make, and leave, segments of the same names: a segment belongs to the process that
    holds it open or mapped when it appears. One whose maker dies within a few hundredths of a second is missed.
    """

    FOLDER = Path("/dev/shm")

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._made: set[str] = set()
        self._ended = threading.Event()
        self._known = set(os.listdir(self.FOLDER))
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            new = set(os.listdir(self.FOLDER)) - self._known
            if new:
                self._made |= new & self._held()
                self._known |= new

    def _held(self) -> set[str]:
        """Names of segments that a marked process has open or mapped."""
        used: set[str] = set()
        for entry in marked(self._mark):
            with contextlib.suppress(OSError):  # ended since
                used |= {line.split(maxsplit=5)[-1] for line in (entry / "maps").read_text().splitlines()}
                for link in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        used.add(os.readlink(link))
        return {name.removeprefix(f"{self.FOLDER}/") for name in used if name.startswith(f"{self.FOLDER}/")}

    def looked_at(self, name: str) -> bool:
        """Whether it has been seen whose this is."""
        return name in self._known

    def left(self) -> set[str]:
        """Things of their making that are still there."""
        return {name for name in self._made if (self.FOLDER / name).exists()}

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture
def exanet(tmp_path: Path) -> Iterator[Exanet]:
    """Fails the test when a process or a shared-memory segment of it is left."""
    made = Exanet(tmp_path)
    segments = Segments(made.mark)
    yield made
    left = [] if wait_for(lambda: not made.processes(), LIMIT_S) else made.processes()
    for line in left:
        with contextlib.suppress(ProcessLookupError):  # ended since
            os.kill(int(line.split()[0]), signal.SIGKILL)
    segments.close()
    assert not left, f"left running: {left}"
    assert wait_for(lambda: not segments.left(), LIMIT_S), f"left in /dev/shm: {segments.left()}"


@pytest.fixture(scope="session")
def compilers() -> dict[str, str]:
    """The compiler of each MPI that is here: MPICH's beside this Python, Debian's Open MPI."""
    mpich = Path(sys.executable).parent / "mpicc"
    found = {"mpich": str(mpich) if mpich.exists() else None, "openmpi": shutil.which("mpicc.openmpi")}
    return {name: path for name, path in found.items() if path}


@pytest.fixture(scope="session", params=MPIS)
def fault(request: pytest.FixtureRequest, compilers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """programs/fault.c, built for each MPI."""
    if request.param not in compilers:
        pytest.skip(f"no compiler of {request.param} here")
    program = tmp_path_factory.mktemp(request.param) / "fault"
    extra = [f"-Wl,-rpath,{Path(sys.executable).parent.parent / 'lib'}"] if request.param == "mpich" else []
    subprocess.run([compilers[request.param], "-O1", "-o", str(program), str(PROGRAMS / "fault.c"), *extra], check=True)
    return str(program)
