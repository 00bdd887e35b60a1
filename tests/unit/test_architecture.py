# SPDX-License-Identifier: Apache-2.0
"""Does a reader find the folder of every line in ARCHITECTURE.md, and is every folder that it names there?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
# Folders whose contents the row of a folder above describes by these words.
PARTS = {
    "rtl",
    "tb",
    "formal",
    "model",
    "programs",
    "experiments",
    "vendor",
    "adr",
    "images",
    "reference",
    "traces",
    "extend",
    "machines",
    "sweeps",
    "include",
    "exanet",
}


def named_folders(page: str) -> set[str]:
    """The folders in the first column of the page's tables."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def folders() -> set[str]:
    """Folders that hold sources of the project."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {str(Path(name).parent) for name in listed} - {".", ".ci"}


def homeless(found: set[str], named: set[str]) -> list[str]:
    """Folders in which a line would be homeless: neither named, nor an understood part of one that is."""
    lost = []
    for folder in found:
        path = Path(folder)
        while str(path) not in named and path.name in PARTS and str(path) != ".":
            path = path.parent
        if str(path) not in named:
            lost.append(folder)
    return sorted(lost)


def test_every_folder_is_on_the_page() -> None:
    assert homeless(folders(), named_folders(PAGE)) == []


def test_every_folder_of_the_page_exists() -> None:
    assert [name for name in sorted(named_folders(PAGE)) if not (ROOT / name).is_dir()] == []


def test_a_new_folder_without_a_row_is_found() -> None:
    assert homeless({"core/nic/ideal", "core/accelerator", "core/accelerator/rtl"}, named_folders(PAGE)) == [
        "core/accelerator",
        "core/accelerator/rtl",
    ]
