# SPDX-License-Identifier: Apache-2.0
"""The wheel of `make wheel` runs an MPI program without compiler and headers, on this Python and on a newer one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
came = comm.sendrecv(comm.rank, right, source=left)
total = comm.allreduce(came)
if comm.rank == 0:
    print("came", came, "total", total, "library", MPI.Get_library_version().split()[0])
"""

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(2400)]


def pythons() -> dict[str, Path]:
    """Interpreters to test on: this one, and the newest other of those on PATH and beside this one."""
    beside = sorted(Path(sys.base_prefix).parent.glob("3.1[2-9]*/bin/python3"))
    found: dict[str, Path] = {}
    for candidate in [*beside, *(Path(at) for n in range(12, 20) if (at := shutil.which(f"python3.{n}")))]:
        asked = subprocess.run([candidate, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and int(asked.stdout) > sys.version_info[1]:
            found[f"3.{int(asked.stdout)}"] = candidate
    newest = sorted(found, key=lambda version: int(version.split(".")[1]))[-1:]
    return {"this": Path(sys.executable), **{version: found[version] for version in newest}}


PYTHONS = pythons()


@pytest.fixture(scope="module")
def wheel() -> Path:
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True)
    (made,) = (ROOT / "dist").glob("exanet-*.whl")
    return made


def test_the_wheel_is_for_every_python_and_names_its_c_library(wheel: Path) -> None:
    *_, python, abi, platform = wheel.stem.split("-")
    assert (python, abi) == ("cp311", "abi3")
    assert all(tag.startswith("manylinux_2_") and tag.endswith("_x86_64") for tag in platform.split("."))


def test_there_is_a_newer_python_to_test_on() -> None:
    assert len(PYTHONS) > 1, "install a Python newer than the one of .venv"


@pytest.mark.parametrize("version", PYTHONS)
def test_it_runs_a_program_without_a_compiler(wheel: Path, version: str, tmp_path: Path) -> None:
    subprocess.run([PYTHONS[version], "-m", "venv", tmp_path / "venv"], check=True)
    bare = tmp_path / "venv" / "bin"
    # Nothing of this machine but the environment: no compiler, no headers, no MPI.
    for_pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    environment = {**for_pip, "HOME": str(tmp_path), "PATH": str(bare)}
    for tool in ("cc", "gcc", "g++", "cmake", "mpicc"):
        assert shutil.which(tool, path=environment["PATH"]) is None
    packages = [str(wheel), "mpich==5.0.2", "mpi4py==4.1.2"]
    subprocess.run(
        [bare / "python", "-m", "pip", "install", "-q", "--only-binary", ":all:", *packages], env=environment, cwd=tmp_path, check=True
    )
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [bare / "exanet", "run", "-m", "exanest", "-n", "4", "-o", "results", "--", "python", program]
    run = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split()[:5] == ["came", "3", "total", "6", "library"]
    assert (tmp_path / "results" / "report.html").stat().st_size > 100_000
