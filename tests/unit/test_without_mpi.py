# SPDX-License-Identifier: Apache-2.0
"""Is a program of OpenSHMEM, or of libfabric alone, known by its libraries, and given what it needs?"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.mpi import phases
from exanet.mpi.detect import Mpi, detect
from exanet.mpi.settings import environment, replaced

Maker = Callable[..., Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Makes an executable whose own text and whose library of this name have this code."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    def make(name: str, library: str, code: str = "", text: str = "") -> Path:
        source = tmp_path / "source.c"
        source.write_text(library_code(code))
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", tmp_path / library, source], check=True)
        source.write_text(f'int f(void); const char *text = "{text}"; int main(void) {{ return f() + !text; }}')
        subprocess.run(["cc", source, tmp_path / library, "-Wl,--allow-shlib-undefined", "-o", tmp_path / name], check=True)
        return tmp_path / name

    return make


def library_code(calls: str) -> str:
    declared = "".join(f"int {name}(void); " for name in calls.split())
    called = "".join(f" + {name}()" for name in calls.split())
    return f"{declared} int f(void) {{ return 0{called}; }}"


def test_a_program_of_openshmem(program: Maker) -> None:
    executable = program("hello", "libsma.so.0", "fi_getinfo")
    found = detect([str(executable)])
    assert found == detect([str(executable)], "openshmem") == Mpi("openshmem", shmem=True)
    with pytest.raises(InputError, match=r"is linked with libsma\.so\.0; leave out --mpi, or say --mpi openshmem"):
        detect([str(executable)], "libfabric")
    given = environment(found, region="r", status="s", library=Path("l"), base={"SHMEM_OFI_PROVIDER": "sockets", "SHMEM_DEBUG": "1"})
    assert given["EXANET_BESIDE"] == "libexanet-shmem.so"
    assert given["SHMEM_OFI_PROVIDER"] == "exanet"
    assert given["SHMEM_DEBUG"] == "1"
    assert "EXANET_BEGINS" not in given
    assert replaced(found, {"SHMEM_OFI_PROVIDER": "sockets"}) == ["SHMEM_OFI_PROVIDER=sockets is replaced by exanet"]
    assert phases.of(found).begin == "shmem_init"


def test_a_program_of_libfabric_alone(program: Maker) -> None:
    found = detect([str(program("writes", "libfabric.so.1"))])
    assert found == Mpi("libfabric")
    given = environment(found, region="r", status="s", library=Path("l"), base={})
    assert given["EXANET_BEGINS"] == "libfabric"
    assert "EXANET_BESIDE" not in given
    assert replaced(found, {}) == []


@pytest.mark.parametrize(
    ("library", "calls", "said"),
    [
        ("libsma.so.0", "", r"built without libfabric, so its data does not go over the simulated network"),
        ("liboshmem.so.40", "ucp_init", r"built without libfabric"),
        ("libsma.so.0", "fi_getinfo process_vm_readv", r"beside the simulated network; build it without --with-cma"),
        ("libsma.so.0", "fi_getinfo xpmem_attach", r"beside the simulated network; build it without --with-xpmem"),
    ],
)
def test_openshmem_beside_the_network_is_refused(program: Maker, library: str, calls: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        detect([str(program("hello", library, calls))])


def test_openshmem_that_is_linked_in_statically_is_refused(program: Maker) -> None:
    executable = program("hello", "libfabric.so.1", text="Sandia OpenSHMEM 1.5")
    with pytest.raises(InputError, match=r"has its OpenSHMEM linked in statically; link it with the shared library"):
        detect([str(executable)])


def test_a_script_may_be_said_to_use_them() -> None:
    assert detect(["true"], "openshmem") == Mpi("openshmem", shmem=True)
    assert detect(["true"], "libfabric") == Mpi("libfabric")
    with pytest.raises(InputError, match=r"nor an OpenSHMEM library or libfabric; .* --mpi mpich, openmpi, openshmem or libfabric"):
        detect(["true"])
