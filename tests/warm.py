# SPDX-License-Identifier: Apache-2.0
"""Runs the command line in processes that have read its modules already: a server that has read them is forked for
each, which saves a third of a second of a processor a run. Tests of how the command starts use a new interpreter."""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path

_MODULES = (
    "exanet.cli",
    "exanet.commands.run",
    "exanet.run.program",
    "exanet.machine.machine",
    "exanet.results",
    "exanet.results.summary",
    "exanet.mpi.settings",
)

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", *_MODULES])


_starts = threading.Lock()  # tests may make several runs at once


@functools.cache
def _start_server() -> None:
    """The installed package is read, not the folder `exanet` below the current one."""
    os.environ["PYTHONSAFEPATH"] = "1"
    forkserver.ensure_running()
    del os.environ["PYTHONSAFEPATH"]


@atexit.register
def _stop_server() -> None:
    """Waits for it, so that its processor time counts as that of the tests."""
    forkserver._forkserver._stop()


def _in_fork(words: Sequence[str], environment: Mapping[str, str], cwd: Path, out: Path, errors: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, name in ((0, Path(os.devnull)), (1, out), (2, errors)):
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["exanet", *words]
    from exanet.cli import main

    main()


def exanet(words: Sequence[str], environment: Mapping[str, str], cwd: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """What `exanet WORDS...` exits with and writes. Raises TimeoutExpired."""
    with _starts:
        _start_server()
    with tempfile.TemporaryDirectory(prefix="exanet-warm-") as place:
        out, errors = Path(place, "stdout"), Path(place, "stderr")
        process = _context.Process(target=_in_fork, args=(words, environment, cwd, out, errors))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), timeout_s, out.read_text(), errors.read_text())
        return subprocess.CompletedProcess(list(words), process.exitcode, out.read_text(), errors.read_text())
