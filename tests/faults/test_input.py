# SPDX-License-Identifier: Apache-2.0
"""Refuses what cannot run before anything starts: one clear message, exit status 2, nothing written."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAMS, Ended, Exanet

TRUE = shutil.which("true") or "/bin/true"


def assert_refused(ended: Ended, *words: str) -> None:
    assert ended.code == 2, ended.err
    assert len(ended.err.splitlines()) == 1, ended.err
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err
    assert not ended.folder.exists()


def test_unknown_machine(exanet: Exanet) -> None:
    assert_refused(exanet.run(TRUE, machine="exanets"), "exanets", "did you mean 'exanest'")


def test_missing_machine_file(exanet: Exanet) -> None:
    assert_refused(exanet.run(TRUE, machine="./none.yaml"), "none.yaml")


def test_bad_machine_file(exanet: Exanet) -> None:
    (exanet.folder / "mine.yaml").write_text("extends: exanest\nname: mine\nrooter:\n  clock: 156.25 MHz\n")
    assert_refused(exanet.run(TRUE, machine="mine.yaml"), "mine.yaml:3:1: error:", "rooter", "did you mean 'router'")


def test_more_ranks_than_cores(exanet: Exanet) -> None:
    assert_refused(exanet.run(TRUE, machine="trenz-2x2", ranks=100_000), "100000", "cores")


@pytest.mark.parametrize("ranks", [0, -3])
def test_no_ranks(exanet: Exanet, ranks: int) -> None:
    assert_refused(exanet.run(TRUE, ranks=ranks), "at least one rank")


BAD_VALUES = [
    ("--seed", "-1"),
    ("--seed", str(1 << 64)),
    ("--map", "random:x"),
    ("--map", "nonesuch"),
    ("--compute", "fast"),
    ("--mpi", "lam"),
    ("--fabric", "glue"),
    ("--ranks-as", "threads"),
]


@pytest.mark.parametrize(("option", "value"), BAD_VALUES)
def test_bad_option_values(exanet: Exanet, option: str, value: str) -> None:
    assert_refused(exanet.run(TRUE, options=(option, value)), f"{option} {value}")


def test_a_machine_that_is_no_gateware(exanet: Exanet) -> None:
    ended = exanet.run(TRUE, machine="fat-tree-64", options=("--fabric", "gateware"))
    assert_refused(ended, "--fabric gateware: fat-tree-64", "tori of QFDBs")


def test_a_program_that_cannot_be_packed(exanet: Exanet, compilers: dict[str, str]) -> None:
    """Refused, or run as processes where that was left open, and why is reported."""
    program, compiler = exanet.folder / "fault", compilers.get("mpich") or pytest.skip("no MPICH here")
    library = Path(sys.executable).parent.parent / "lib"
    subprocess.run([compiler, "-no-pie", "-o", program, PROGRAMS / "fault.c", f"-Wl,-rpath,{library}"], check=True)
    reason = f"{str(program)!r} is not position-independent (compile with -fPIE and link with -pie)"
    exanet.ranks_as = "packed"
    assert_refused(exanet.run(str(program), "late", "0"), f"--ranks-as packed: {reason}; use --ranks-as processes, or auto")
    exanet.ranks_as = "auto"
    ended = exanet.run(str(program), "late", "0")
    assert ended.code == 0
    assert f"ranks as processes, not packed: {reason}\n" in ended.err


def test_bad_placement_file(exanet: Exanet) -> None:
    (exanet.folder / "map").write_text("0\n1\n99999\n2\n")
    assert_refused(exanet.run(TRUE, options=("--map", "map")), "map:3:1: error:", "99999")


def test_missing_program(exanet: Exanet) -> None:
    assert_refused(exanet.run("./none"), "./none", "missing")
    assert_refused(exanet.run("no-such-program"), "no-such-program", "PATH")


def test_program_that_is_not_executable(exanet: Exanet) -> None:
    (exanet.folder / "text").write_text("hello\n")
    assert_refused(exanet.run("./text"), "./text", "not executable")


def test_program_that_is_a_folder(exanet: Exanet) -> None:
    assert_refused(exanet.run("/usr"), "/usr", "directory")


def test_program_without_mpi(exanet: Exanet) -> None:
    assert_refused(exanet.run(TRUE), "not an MPI program", "--mpi")


def test_another_mpi_than_the_programs(exanet: Exanet, fault: str) -> None:
    own = "mpich" if "mpich" in fault else "openmpi"
    for choice in {"mpich", "openmpi", "none"} - {own}:
        assert_refused(
            exanet.run(fault, "late", "0", options=("--mpi", choice)), f"--mpi {choice}", "linked with libmpi", f"say --mpi {own}"
        )


def test_open_mpi_beside_another_mpirun(exanet: Exanet, fault: str) -> None:
    """Debian's mpirun.openmpi is found when mpirun is another MPI's, and --mpi says what the program says, too."""
    if "mpich" in fault:
        pytest.skip("of Open MPI")
    (exanet.folder / "bin").mkdir()
    other = exanet.folder / "bin" / "mpirun"
    other.write_text("#!/bin/sh\necho HYDRA build details\n")
    other.chmod(0o755)
    exanet.environment["PATH"] = f"{other.parent}:{os.environ['PATH']}"
    if not shutil.which("mpirun.openmpi"):
        pytest.skip("no mpirun.openmpi here")
    ended = exanet.run(fault, "late", "0", options=("--mpi", "openmpi"))
    assert ended.code == 0, ended.err


def test_text_that_is_executable(exanet: Exanet) -> None:
    path = exanet.folder / "text"
    path.write_text("hello\n")
    path.chmod(0o755)
    assert_refused(exanet.run("./text"), "neither an ELF executable nor a script")


def test_shell_script(exanet: Exanet) -> None:
    path = exanet.folder / "script"
    path.write_text("#!/bin/sh\nexec true\n")
    path.chmod(0o755)
    assert_refused(exanet.run("./script"), "--mpi mpich")


def test_static_mpi(exanet: Exanet) -> None:
    source = exanet.folder / "static.c"
    source.write_text("int MPI_Init(int *a, char ***b) { return !a && !b; }\nint main(void) { return MPI_Init(0, 0); }\n")
    subprocess.run(["cc", "-static", "-o", exanet.folder / "static", source], check=True)
    assert_refused(exanet.run("./static"), "statically")


def test_program_for_another_processor(exanet: Exanet) -> None:
    path = exanet.folder / "foreign"
    content = bytearray(Path(TRUE).read_bytes())
    content[18:20] = (243 if os.uname().machine != "riscv64" else 62).to_bytes(2, "little")  # e_machine
    path.write_bytes(content)
    path.chmod(0o755)
    assert_refused(exanet.run("./foreign"), "is built for", os.uname().machine)


def test_damaged_program(exanet: Exanet) -> None:
    path = exanet.folder / "damaged"
    path.write_bytes(Path(TRUE).read_bytes()[:40])
    path.chmod(0o755)
    assert_refused(exanet.run("./damaged"), "damaged")


def test_results_that_cannot_be_written(exanet: Exanet, fault: str) -> None:
    """Also when the user is root, whom permissions do not stop."""
    assert_refused(exanet.run(fault, "late", "0", options=("-o", "/proc/none")), "/proc/none", "-o")
    (exanet.folder / "file").write_text("")
    assert_refused(exanet.run(fault, "late", "0", options=("-o", "file")), "file", "folder")
    assert_refused(exanet.run(fault, "late", "0", options=("-o", "/")), "other files")


def test_results_of_another_command_are_kept(exanet: Exanet, fault: str) -> None:
    out = exanet.folder / "out"
    out.mkdir()
    (out / "journal.jsonl").write_text("")
    for options in (("run", "-m", "exanest", "-n", "4", "--", fault, "late", "0"), ("sim", "-m", "trenz-2x2", "--load", "0.1")):
        ended = exanet.finish(exanet.start(options[0], "-o", "out", *options[1:]), 0)
        assert (ended.code, ended.messages) == (2, ended.err.splitlines()), ended.err
        assert "-o out: the folder holds results of exanet sweep; name a new one" in ended.err
    assert os.listdir(out) == ["journal.jsonl"]


def test_long_names(exanet: Exanet, fault: str) -> None:
    assert_refused(exanet.run(fault, "late", "0", options=("-o", "x" * 300)), "File name too long; choose another place with -o")
    for option, value in (("--traffic", "x" * 300), ("--job", "ü" * 300 + ":bytes=4KiB")):
        ended = exanet.finish(exanet.start("sim", "-m", "trenz-2x2", option, value), 0)
        assert (ended.code, len(ended.messages), "Traceback" in ended.err) == (2, 1, False), ended.err
    assert not list(exanet.folder.iterdir())


def test_no_space_for_the_shared_region(exanet: Exanet, fault: str) -> None:
    process = exanet.start(
        "run", "-m", "exanest", "-n", "4", "-o", "out", "--", fault, "late", "0",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100 * 1024, 100 * 1024)),
    )  # fmt: skip
    assert_refused(exanet.finish(process, 0), "the shared region", "File too large", "raise the limits")


def test_memory_is_limited(exanet: Exanet, fault: str) -> None:
    """Tables are made when all has been simulated, and with too little memory for them their library ends the
    process, or never ends."""
    for command in (
        ("run", "-m", "exanest", "-n", "4", "-o", "out", "--", fault, "late", "0"),
        ("sim", "-m", "trenz-2x2", "--load", "0.1", "-o", "out"),
        ("sweep", "-m", "trenz-2x2", "--load", "0.1", "-o", "out"),
    ):
        process = exanet.start(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024, 400_000 * 1024)))
        assert_refused(exanet.finish(process, 0), "memory is limited to 400000 KiB", "raise the limit (ulimit -v)")
    process = exanet.start("check", "trenz-2x2", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024,) * 2))
    assert exanet.finish(process, 0).code == 0


def test_no_folder_for_temporary_files(exanet: Exanet, fault: str) -> None:
    exanet.environment["TMPDIR"] = "/proc/none"
    process = exanet.start("run", "-m", "exanest", "-n", "2", "-o", "out", "--", fault, "late", "0")
    if "mpich" in fault:  # which needs none
        assert exanet.finish(process, 0).code == 0
    else:
        assert_refused(exanet.finish(process, 0), "TMPDIR, /proc/none, cannot be written", "set TMPDIR")


def test_full_disk(exanet: Exanet, fault: str) -> None:
    place = exanet.folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True).returncode:
        pytest.skip("may not mount a small file system here")
    try:
        assert_refused(exanet.run(fault, "late", "0", options=("-o", str(place / "out"))), "KiB are free")
    finally:
        subprocess.run(["umount", place], check=True)


def test_no_program_at_all(exanet: Exanet) -> None:
    process = exanet.start("run", "-m", "exanest", "-n", "4")
    ended = exanet.finish(process, 0)
    assert ended.code == 2
    assert "Traceback" not in ended.err
