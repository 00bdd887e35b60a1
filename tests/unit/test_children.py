# SPDX-License-Identifier: Apache-2.0
"""The children of a run's process: by the kernel's lists they are those of all processes with that parent."""

from __future__ import annotations

import subprocess
import threading

import pytest

from exanet.run import launch


def test_both_ways_find_the_children_of_all_threads() -> None:
    before = set(launch._children_by_parents())
    started: list[subprocess.Popen[bytes]] = []
    ends = threading.Event()

    def start() -> None:
        started.append(subprocess.Popen(["sleep", "60"]))
        ends.wait()  # a child goes to another thread when its own one ends

    thread = threading.Thread(target=start)
    try:
        started.append(subprocess.Popen(["sleep", "60"]))
        thread.start()
        while len(started) < 2:
            threading.Event().wait(0.001)
        wanted = before | {child.pid for child in started}
        assert set(launch._children_of_this_process()) == set(launch._children_by_parents()) == wanted
    finally:
        ends.set()
        thread.join()
        for child in started:
            child.kill()
            child.wait()
    assert set(launch._children_of_this_process()) == before


def test_without_the_kernels_lists_all_processes_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(file: str) -> list[str]:
        raise FileNotFoundError(file)

    monkeypatch.setattr(launch, "_words", absent)
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in launch._children_of_this_process()
        child.kill()
