# SPDX-License-Identifier: Apache-2.0
"""Which programs can be packed, and what is said of those that cannot?"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exanet import renamed
from exanet.errors import InputError
from exanet.run.launch import library_folder
from exanet.run.packed import Packed, resolve, simulator_may_be_hosted

LIBRARY = library_folder()
pytestmark = pytest.mark.skipif(not (LIBRARY / "libexanet-host.so").is_file(), reason="packed ranks are for x86-64")


def compiled(folder: Path, *flags: str) -> Path:
    source, program = folder / "program.c", folder / "program"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", *flags, "-o", program, source], check=True)
    return program


def refused(command: list[str], ranks: int = 4) -> str:
    """What `auto` says; `packed` says the same and what to do."""
    packed, reason = resolve("auto", command, ranks=ranks, mpi="mpich", library=LIBRARY, measured=False)
    assert packed is None
    with pytest.raises(InputError) as error:
        resolve("packed", command, ranks=ranks, mpi="mpich", library=LIBRARY, measured=False)
    assert str(error.value) == f"--ranks-as packed: {reason}; use --ranks-as processes, or auto"
    return reason


def test_processes_are_never_packed(tmp_path: Path) -> None:
    assert resolve("processes", [str(compiled(tmp_path))], ranks=4, mpi="mpich", library=LIBRARY, measured=False) == (None, "")


@pytest.mark.parametrize("asked", ["-1", "two", "", "1000"])
@pytest.mark.parametrize("name", ["EXANET_WORKER_THREADS", "EXANET_CARRIERS"])
def test_worker_threads_are_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, asked: str
) -> None:
    """By the present name, and by that of an earlier release, with a warning."""
    renamed.warn.cache_clear()
    monkeypatch.setenv(name, asked)
    with pytest.raises(InputError, match=f"EXANET_WORKER_THREADS={asked}: give the number of threads"):
        resolve("auto", [str(compiled(tmp_path))], ranks=4, mpi="mpich", library=LIBRARY, measured=False)
    assert ("EXANET_CARRIERS is now called EXANET_WORKER_THREADS" in capsys.readouterr().err) == (name == "EXANET_CARRIERS")


def test_position_independent_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-fPIE", "-pie")
    assert resolve("packed", [str(program), "1"], ranks=4, mpi="mpich", library=LIBRARY, measured=False) == (
        Packed(program, (str(program), "1")),
        "",
    )


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("-no-pie",), "is not position-independent (compile with -fPIE and link with -pie)"),
        (("-static",), "is linked statically"),
        (("-fsanitize=address",), "which wants an address space to itself"),
    ],
)
def test_programs_that_cannot_be(tmp_path: Path, flags: tuple[str, ...], reason: str) -> None:
    assert reason in refused([str(compiled(tmp_path, *flags))])


def test_program_with_rights_of_its_own(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-fPIE", "-pie")
    program.chmod(0o4755)
    assert "set-uid" in refused([str(program)])


@pytest.mark.parametrize("name", ["env", "sh"])
def test_programs_that_start_others(name: str) -> None:
    assert "starts other programs" in refused([name, "true"])


@pytest.mark.parametrize("first_line", ["#!{python} -u", "#!{env} -S {python} -u"])
def test_scripts_run_in_their_interpreter(tmp_path: Path, first_line: str) -> None:
    script, python = tmp_path / "script", compiled(tmp_path, "-fPIE", "-pie")
    script.write_text(first_line.format(python=python, env=shutil.which("env")) + "\n")
    script.chmod(0o755)
    packed, _ = resolve("packed", [str(script), "one"], ranks=4, mpi="mpich", library=LIBRARY, measured=False)
    assert packed == Packed(python, (str(python), "-u", str(script), "one"))


def test_script_of_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert "starts other programs" in refused([str(script)])


def test_script_without_an_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("true\n")
    script.chmod(0o755)
    assert "has no interpreter" in refused([str(script)])


def test_more_mappings_than_a_map_may_have(tmp_path: Path) -> None:
    program = str(compiled(tmp_path, "-fPIE", "-pie"))
    most = int(Path("/proc/sys/vm/max_map_count").read_text()) // 320
    assert resolve("packed", [program], ranks=most, mpi="mpich", library=LIBRARY, measured=False)[0]
    assert "vm.max_map_count" in refused([program], ranks=most + 1)


def test_limit_of_memory(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-fPIE", "-pie")
    code = (
        "import sys; from pathlib import Path; from exanet.run.packed import resolve;"
        f"print(resolve('auto', [{str(program)!r}], ranks=2, mpi='mpich', library=Path({str(LIBRARY)!r}), measured=False)[1])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "packed ranks share one limit of memory, and there is one (ulimit -v)\n"


def test_a_place_for_the_simulator_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXANET_SIMULATOR", "here")
    with pytest.raises(InputError, match=r"EXANET_SIMULATOR=here: give hosted \(in the address space of packed ranks\) or apart"):
        simulator_may_be_hosted()


def test_ranks_are_left_processes_where_computing_is_measured(tmp_path: Path) -> None:
    command = [str(compiled(tmp_path))]
    assert resolve("auto", command, ranks=4, mpi="mpich", library=LIBRARY, measured=True)[0] is None
    assert resolve("packed", command, ranks=4, mpi="mpich", library=LIBRARY, measured=True)[0]


def test_ranks_are_not_packed_by_themselves_where_addresses_count(tmp_path: Path) -> None:
    command = [str(compiled(tmp_path))]
    packed, reason = resolve("auto", command, ranks=4, mpi="mpich", library=LIBRARY, measured=False, pages=True)
    assert packed is None and "'ni.pages'" in reason
    assert resolve("packed", command, ranks=4, mpi="mpich", library=LIBRARY, measured=False, pages=True)[0]
