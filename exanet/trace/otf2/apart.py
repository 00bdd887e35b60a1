# SPDX-License-Identifier: Apache-2.0
"""Work in a process of its own: OTF2's library does not survive every damaged archive, and would take what called it
along."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from exanet.errors import InputError

_PR_SET_PDEATHSIG = 1
T = TypeVar("T")


def apart(file: Path, work: Callable[[], T]) -> T:
    """What `work`, which reads the archive `file`, returns; what it raises is raised here. Raises InputError where
    its process dies."""
    # nothing has to be read or imported anew; the library keeps no threads
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, work), daemon=True)
    process.start()
    sender.close()
    try:
        whole, result = receiver.recv()
    except EOFError:
        process.join()
        status = process.exitcode or 0
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        raise InputError(f"{file}: OTF2's library crashed while reading it ({how}): the archive is damaged; write it again") from None
    finally:
        receiver.close()
        process.kill()
        process.join()
    if not whole:
        raise result
    return result  # type: ignore[no-any-return]


def _run(sender: Connection, work: Callable[[], Any]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the C library's last words
    try:
        sent = (True, work())
    except Exception as error:
        sent = (False, error)
    sender.send(sent)
