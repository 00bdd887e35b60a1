# SPDX-License-Identifier: Apache-2.0
"""The wrapper around each rank: what it sets, what it reports, what it never leaves behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from host import gone, wait_for

from exanet.run.launch import library_folder

WRAPPER = str(library_folder() / "exanet-exec")


class Launcher:
    """Listens where the wrapper reports to."""

    def __init__(self, name: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name)
        self.socket.settimeout(60)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("EXANET_", "PMI", "OMPI_"))}
        self.environment = {**clean, "EXANET_STATUS": "@" + name, "EXANET_RANK": "3"}

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen([WRAPPER, *command], env={**self.environment, **environment}, text=True, stdout=subprocess.PIPE)

    def hear(self) -> list[str]:
        return self.socket.recv(512).decode().split()


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    made = Launcher(f"exanet-test-{os.getpid()}-{time.monotonic_ns()}")
    yield made
    made.socket.close()


@pytest.mark.parametrize(
    ("script", "status", "code"), [("exit 0", "0", 0), ("exit 7", "7", 7), ("kill -9 $$", "-9", 137), ("kill -11 $$", "-11", 139)]
)
def test_reports_the_end(launcher: Launcher, script: str, status: str, code: int) -> None:
    process = launcher.start("--", "sh", "-c", script)
    what, rank, pid = launcher.hear()
    assert (what, rank) == ("started", "3")
    assert launcher.hear() == ["ended", "3", pid, status]
    assert process.wait() == code
    process.communicate()


@pytest.mark.parametrize(("program", "error"), [("/none", errno.ENOENT), ("/etc/passwd", errno.EACCES)])
def test_reports_a_program_that_cannot_start(launcher: Launcher, program: str, error: int) -> None:
    process = launcher.start("--", program)
    assert launcher.hear() == ["failed", "3", str(error)]
    assert process.wait() == (127 if error == errno.ENOENT else 126)
    process.communicate()


@pytest.mark.parametrize("name", ["EXANET_RANK", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"])
def test_finds_the_rank(launcher: Launcher, name: str) -> None:
    del launcher.environment["EXANET_RANK"]
    process = launcher.start("--", "sh", "-c", "echo $EXANET_RANK", **{name: "5"})
    assert launcher.hear()[:2] == ["started", "5"]
    assert process.communicate()[0] == "5\n"


def test_without_a_rank(launcher: Launcher) -> None:
    del launcher.environment["EXANET_RANK"]
    assert launcher.start("--", "true").wait() == 126
    assert launcher.start("--", "true", EXANET_RANK="one").wait() == 126


def test_only_the_program_is_preloaded(launcher: Launcher) -> None:
    process = launcher.start("--", "sh", "-c", "echo $LD_PRELOAD $FI_PROVIDER $FI_PROVIDER_PATH")
    folder = library_folder()
    assert process.communicate()[0].split() == [f"{folder}/libexanet-fi.so", "exanet", str(folder)]
    process = launcher.start("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="libc.so.6")
    assert process.communicate()[0].strip() == f"libc.so.6:{folder}/libexanet-fi.so"
    process = launcher.start("--guard", "--", "sh", "-c", "echo $LD_PRELOAD")
    assert process.communicate()[0] == "\n"


def test_passes_signals_on(launcher: Launcher) -> None:
    process = launcher.start("--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done")
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    launcher.hear()
    assert launcher.hear()[3] == "9"
    process.communicate()


def test_nothing_that_the_program_started_survives_it(launcher: Launcher) -> None:
    process = launcher.start("--", "sh", "-c", "setsid sleep 1000 & echo $!; exit 0")
    assert process.stdout
    orphan = int(process.stdout.readline())
    assert process.wait() == 0
    assert gone(orphan)
    process.communicate()


@pytest.mark.parametrize("guard", [(), ("--guard",)])
def test_dies_with_its_parent(launcher: Launcher, guard: tuple[str, ...], tmp_path: Path) -> None:
    note = tmp_path / "pids"
    command = [WRAPPER, *guard, "--", "sh", "-c", f"sleep 1000 & echo $$ $! > {note}.new; mv {note}.new {note}; wait"]
    code = f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", code], env=launcher.environment) as parent:
        assert wait_for(note.exists), "the program did not start"
        pids = [int(word) for word in note.read_text().split()]
        parent.kill()
    assert all(gone(pid) for pid in pids)
