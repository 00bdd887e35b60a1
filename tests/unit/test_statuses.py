# SPDX-License-Identifier: Apache-2.0
"""What can fail on the network is listed once; the docs say the same, and libfabric has each of its error numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.sim.jobs import Job, finish

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r'X\((\w+), +(\w+), +(\w+),[ \\\n]+"([^"]+)"\)')


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


MACHINE = """\
extends: bxi-256-portals
name: dropping
description: a fat tree whose switches drop packets
router: {queue_action: drop, queue_threshold: 1 word}
"""


@pytest.mark.parametrize("nic", ["ideal", "exanet"])
def test_a_job_that_loses_a_message_ends_with_an_error(tmp_path: Path, nic: str) -> None:
    file = tmp_path / "dropping.yaml"
    file.write_text(MACHINE)
    with pytest.raises(InputError, match=r"at \d+\.\d{3} us.* failed: a packet of it was lost"):
        finish(str(file), [Job("alltoall", 16, 4096)], nic=nic)
