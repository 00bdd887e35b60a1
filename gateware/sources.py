# SPDX-License-Identifier: Apache-2.0
"""Finds the sources of the gateware that a module needs.

A file of gateware/files.f has one module or package, of its own name. A file needs another one where its text, without comments, has that
name. What is found may be more than what is elaborated, and never less: a file that is missing ends the elaboration.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "gateware/files.f"


def listed() -> list[Path]:
    """All sources, in the order in which they are compiled: that of gateware/files.f."""
    return [ROOT / line for line in LIST.read_text().split() if line.endswith(".sv")]


def needed(*roots: str | Path) -> list[Path]:
    """Listed sources that the roots need, and those of the roots that are listed, in the order of gateware/files.f.

    A root is the name of a listed module or a file, which need not be listed. Raises ValueError for a name that is not listed.
    """
    files = {file.stem: file for file in listed()}
    if unknown := [root for root in roots if isinstance(root, str) and root not in files]:
        raise ValueError(f"gateware/files.f lists no {', '.join(unknown)}")
    todo = [files[root] if isinstance(root, str) else root for root in roots]
    seen = set(todo)
    while todo:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", todo.pop().read_text(), flags=re.DOTALL)
        found = {files[word] for word in set(re.findall(r"\w+", text)) & files.keys()} - seen
        seen |= found
        todo += found
    return [file for file in files.values() if file in seen]
