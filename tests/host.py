# SPDX-License-Identifier: Apache-2.0
"""Helps tests that look at processes and time: the host may be slow, and busy with something else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

LONG = "EXANET_TEST_LONG" in os.environ
"""Whether tests that have a larger size take it (`make test-long`)."""

LIMIT_S = 60.0
"""So long to wait for what is expected to happen."""


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For tests whose examples take as long as the host makes them take."""


def tried(everything: Sequence[Any], few: Sequence[Any]) -> Sequence[Any]:
    """Values that a test goes through: `everything` in `make test-long`, in `make test` the `few` that find what
    broke."""
    return everything if LONG else few


def wait_for(what: Callable[[], Any], timeout_s: float = LIMIT_S) -> Any:
    """The first true value of what(), or its last."""
    limit = time.monotonic() + timeout_s
    while not (value := what()) and time.monotonic() < limit:
        time.sleep(0.02)
    return value


def stat(pid: int) -> list[str]:
    """Facts that the system reports of a process, from its state on (proc_pid_stat(5), field 3); empty when it is
    gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def gone(pid: int) -> bool:
    """Whether it ends while we wait; one that is dead and not yet waited for has. What is killed runs on for a
    moment."""
    return bool(wait_for(lambda: stat(pid)[:1] in ([], ["Z"], ["X"])))
