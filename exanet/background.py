# SPDX-License-Identifier: Apache-2.0
"""Runs a simulation in a thread of its own, so that an interrupt is heard, and says what was run when it fails."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from exanet import _core
from exanet.errors import InputError, InternalError


def work(simulation: Any, progress: Any, machine: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """Runs it in a thread, so that an interrupt is heard; `progress` is called with the share done.

    Raises InternalError, with the resolved `machine` and what was asked of it (`spec`), where a check of the simulator
    fails; InputError where the simulation cannot go on, such as when its network has lost a message.

    What interrupts it, once or several times, stops it and is raised when it has ended: a Ctrl-C as KeyboardInterrupt,
    and whatever `progress` raises. An event says when it has ended: join() takes a thread for ended when it is
    interrupted itself (CPython 3.11).
    """
    ended = threading.Event()
    failures: list[BaseException] = []
    interrupts: list[BaseException] = []

    def run() -> None:
        try:
            simulation.run()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    def interrupt(error: BaseException) -> None:
        interrupts.append(error)
        simulation.stop()

    with _ctrl_c(lambda: interrupt(KeyboardInterrupt())):
        threading.Thread(target=run, name="exanet-sim").start()
        while True:
            try:
                if ended.wait(0.2):
                    break
                if progress is not None and not interrupts:
                    progress(simulation.progress())
            except BaseException as error:
                interrupt(error)
    if interrupts or failures:
        ended_by = (interrupts or failures)[0]
        try:
            if isinstance(ended_by, RuntimeError) and not interrupts:
                raise InternalError(str(ended_by), {**_shape(machine), **spec}) from ended_by
            if isinstance(ended_by, _core.ConfigError) and not interrupts:
                raise InputError(str(ended_by)) from None
            raise ended_by
        finally:  # the traceback has these frames, and would keep the simulation with them
            failures.clear()
            interrupts.clear()
            del ended_by


def _shape(machine: Mapping[str, Any]) -> dict[str, Any]:
    topology = machine["topology"]
    shown = {"machine": machine["name"], "topology": ":".join([topology["kind"], ",".join(map(str, topology["shape"]))])}
    return shown | {key: topology[key] for key in ("rails", "routing", "failed") if topology.get(key)}


@contextlib.contextmanager
def _ctrl_c(heard: Callable[[], None]) -> Iterator[None]:
    """Calls `heard` at a Ctrl-C; at the end, whoever would have heard it does, once.

    An exception out of a handler that comes in the middle of a wait would leave its lock in disorder. Where interrupts
    are ignored, and in other threads than the main one, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        heard()

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(signal.SIGINT, None)
