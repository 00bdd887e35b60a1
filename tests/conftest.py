# SPDX-License-Identifier: Apache-2.0
"""Leaves out tests of `make test-long`: those that are marked `long`, and five in six of those of slow.txt.

Which sixth runs is drawn from the commit, for `make test` alone (EXANET_TEST_DRAWN): pytest by hand runs all of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from host import LONG

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import passed  # noqa: E402

SLOW = Path(__file__).with_name("slow.txt")
ONE_IN = 6


def slow() -> frozenset[str]:
    return frozenset(line for line in SLOW.read_text().splitlines() if line and not line.startswith("#"))


def left_out(items: list[pytest.Item], commit: str | None) -> list[pytest.Item]:
    """Tests that do not run. Without `commit` nothing is drawn."""
    named = slow()

    def runs(item: pytest.Item) -> bool:
        if item.get_closest_marker("long") is not None:
            return False
        name = f"{item.path.relative_to(ROOT)}::{getattr(item, 'originalname', item.name)}"
        return commit is None or name not in named or passed.drawn(item.nodeid, commit, ONE_IN)

    return [item for item in items if not runs(item)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LONG:
        return
    commit = passed.commit() if os.environ.get("EXANET_TEST_DRAWN") else None
    if out := set(left_out(items, commit)):
        config.hook.pytest_deselected(items=sorted(out, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in out]
