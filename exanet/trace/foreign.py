# SPDX-License-Identifier: Apache-2.0
"""Traces in formats that are not read: recognised by their names and first bytes, so that a message can name them
and say what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

_ADVICE = "convert it to GOAL, or write its calls as text (docs/traces/formats.md)"
_HEAD_BYTES = 4096


def refusal(source: Path) -> str:
    """What is to be said of a file, or of a folder with such files; "" where it is of none of these formats. Raises
    OSError."""
    for file in _files(source):
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
        if name := _format(file, head):
            return f"{source}: it is {name}, which is not read; {_ADVICE}"
    return ""


def _files(source: Path) -> Iterator[Path]:
    """The file itself, or the first files of the folder."""
    if source.is_file():
        yield source
    elif source.is_dir():
        yield from sorted(path for path in source.iterdir() if path.is_file())[:8]


def _format(file: Path, head: bytes) -> str:
    if head.startswith(b"#Paraver "):
        return "a trace of Paraver's (.prv)"
    if file.suffix == ".et" or _is_chakra(head):
        return "an execution trace of Chakra's (MLCommons)"
    return ""


def _is_chakra(head: bytes) -> bool:
    """Chakra's traces as JSON have a schema of that name."""
    found = re.match(rb'\s*\{\s*"schema"\s*:\s*("[^"]{0,100}")', head)
    return found is not None and "chakra" in str(json.loads(found[1])).lower()
