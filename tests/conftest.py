# SPDX-License-Identifier: Apache-2.0
"""Leaves out tests of `make test-long`: those that are marked `long`, and five in six cases of those of slow.txt.

Which sixth runs is drawn from the commit, for `make test` alone (EXANET_TEST_DRAWN): pytest by hand runs all of them.
Of a function of six cases or more, at least one runs.
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
    out = [item for item in items if item.get_closest_marker("long") is not None]
    if commit is None:
        return out
    cases: dict[str, list[pytest.Item]] = {}
    for item in set(items) - set(out):
        name = f"{item.path.relative_to(ROOT)}::{getattr(item, 'originalname', item.name)}"
        if name in named:
            cases.setdefault(name, []).append(item)
    for name, of_function in cases.items():
        runs = passed.drawn_of([item.nodeid for item in of_function], name, commit, ONE_IN)
        out += [item for item in of_function if item.nodeid not in runs]
    return out


@pytest.hookimpl(trylast=True)  # of what is left on the MPI that is chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LONG:
        return
    commit = passed.commit() if os.environ.get("EXANET_TEST_DRAWN") else None
    if out := set(left_out(items, commit)):
        config.hook.pytest_deselected(items=sorted(out, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in out]
