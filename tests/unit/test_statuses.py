# SPDX-License-Identifier: Apache-2.0
"""What can fail on the network is listed once; the docs say the same, and libfabric has each of its error numbers."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r'X\((\w+), +(\w+), +(\w+), +"([^"]+)"\)')


def statuses() -> dict[str, tuple[str, str, str]]:
    """By name: the errno value, libfabric's, and the text."""
    entries = ENTRY.findall((ROOT / "core" / "faults" / "status_table.h").read_text())
    assert len(entries) > 5
    return {name: (number, fi, text) for name, number, fi, text in entries if number != "0"}


def test_each_has_numbers_of_its_own() -> None:
    numbers = [number for number, _, _ in statuses().values()]
    fi_numbers = [fi for _, fi, _ in statuses().values()]
    assert len(set(numbers)) == len(numbers)
    assert len(set(fi_numbers)) == len(fi_numbers)


def test_the_docs_have_them_all() -> None:
    page = (ROOT / "docs" / "virtual-time.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(FI_\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert {name: (fi, text) for name, fi, text in rows} == {name: (fi, text) for name, (_, fi, text) in statuses().items()}
