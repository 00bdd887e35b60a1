# SPDX-License-Identifier: Apache-2.0
"""Where machine files are: those that come with the package have names, others are named by their paths."""

from __future__ import annotations

import os
from pathlib import Path

LARGEST_BYTES = 1 << 20
"""Of a description, which is a few kilobytes."""


def folders() -> list[Path]:
    """Of the machines that come with the package; the first one's stand for those of the same name in the other."""
    here = Path(__file__).resolve().parent.parent
    return [folder for folder in (here / "machines", here.parent / "machines") if folder.is_dir()]


def shipped() -> dict[str, Path]:
    """The machines that come with the package: name to file, in alphabetical order."""
    found: dict[str, Path] = {}
    for folder in reversed(folders()):
        found |= {file.stem: file for file in folder.glob("*.yaml")}
    return dict(sorted(found.items()))


def is_path(text: str) -> bool:
    """Whether this names a machine file by its path."""
    return os.sep in text or text.endswith((".yaml", ".yml"))
