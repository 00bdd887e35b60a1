# SPDX-License-Identifier: Apache-2.0
"""Leaves out the tests that are marked `long`: `make test-long` runs them."""

from __future__ import annotations

import pytest
from host import LONG


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [] if LONG else [item for item in items if item.get_closest_marker("long") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
