# SPDX-License-Identifier: Apache-2.0
"""Where is the libmpi of a program looked for that the loader does not find one for?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.mpi.detect import check_network, detect
from exanet.mpi.settings import environment


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An executable that needs a libmpi.so.12, which then lies in lib/ of the environment; the loader knows nothing
    of it."""
    library, executable = tmp_path / "lib" / "libmpi.so.12", tmp_path / "program"
    library.parent.mkdir()
    for words, code in (
        (["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", library], "int MPI_Init(void) { return 0; }"),
        (["-o", executable, "-x", "none", library], "int MPI_Init(void); int main(void) { return MPI_Init(); }"),
    ):
        source = tmp_path / "source.c"
        source.write_text(code)
        subprocess.run(["cc", source, *words], check=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/elsewhere")
    return executable


def test_library_in_the_environment_is_found_and_given_to_the_ranks(program: Path) -> None:
    mpi = detect([str(program)])
    assert (mpi.kind, mpi.search) == ("mpich", program.parent / "lib")
    given = environment(mpi, region="r", status="s", library=Path("l"))
    assert given["LD_LIBRARY_PATH"] == f"/elsewhere:{program.parent / 'lib'}"
    assert "EXANET_BESIDE" not in given, "this libmpi has neither sessions nor lists of large counts"


def test_missing_library_is_said_with_where_it_was_sought(program: Path) -> None:
    (program.parent / "lib" / "libmpi.so.12").unlink()
    with pytest.raises(InputError) as refused:
        detect([str(program)])
    assert "needs libmpi.so.12, which the loader does not find" in str(refused.value)
    assert str(program.parent / "lib") in str(refused.value)
    assert "LD_LIBRARY_PATH" in str(refused.value)


@pytest.mark.parametrize("choice", ["auto", "mpich"])
def test_an_mpich_without_libfabric_is_refused(program: Path, choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian's is, whose netmod is UCX; names of functions also stand in texts of errors."""
    library = program.parent / "lib" / "libmpi.so.12"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    check_network(detect([str(program)], choice))
    whole = library.read_bytes()
    library.write_bytes(whole + b"\0ch4:ucx\0OFI fi_getinfo() failed\0")
    with pytest.raises(InputError, match=r"libmpi\.so\.12 is an MPICH that is built without libfabric"):
        check_network(detect([str(program)], choice))
    library.write_bytes(whole + b"\0ch4:ucx,ofi\0OFI fi_getinfo() failed\0")
    check_network(detect([str(program)], choice))
