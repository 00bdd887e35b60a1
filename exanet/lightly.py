# SPDX-License-Identifier: Apache-2.0
"""Imports what a command needs, in about half of the processor time that it takes otherwise."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Serves a Ctrl-C when it ends: a module that is half read may lose it, or make it an error of its own."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: heard.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            handler(*heard[0])


@contextmanager
def imports() -> Iterator[None]:
    """Within it nobody looks for garbage among modules, which stay, nor for plugins of pydantic among all packages, and
    numpy's OpenBLAS starts no threads, which spin until there is work.

    They are not looked at later either, nor at the end. The environment is the user's again afterwards, also where
    packages (polars) have written into it: the ranks of a run get it. A Ctrl-C is served at the end.
    """
    environment = dict(os.environ)
    collected = gc.isenabled()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    try:
        with _interrupted_later():
            yield
    finally:
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        gc.freeze()
        if collected:
            gc.enable()
