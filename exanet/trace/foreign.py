# SPDX-License-Identifier: Apache-2.0
"""Traces in formats that are not read, and compressed ones: recognised by their names and first bytes, so that a
message can name them and say what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

_ADVICE = "convert it to GOAL, or write its calls as text (docs/traces/formats.md)"
_HEAD_BYTES = 4096
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def refusal(source: Path) -> str:
    """What is to be said of a file, or of a folder with such files; "" where it is of none of these formats. Raises
    OSError."""
    for file in _files(source):
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
        packed = [by for mark, by in _PACKED.items() if head.startswith(mark)]
        if packed and file == source:
            return f"{source}: it is compressed ({packed[0]}); unpack it first"
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
    if re.match(rb'\s*\{[^{\[]{0,200}"traceEvents"', head):
        return "a trace of Perfetto's or Chrome's (trace events)"
    if head.startswith(b"%EventDef "):
        return "a trace of Paje's"
    return ""


def _is_chakra(head: bytes) -> bool:
    """Chakra's traces as JSON have a schema of that name."""
    found = re.match(rb'\s*\{\s*"schema"\s*:\s*("[^"]{0,100}")', head)
    return found is not None and "chakra" in str(json.loads(found[1])).lower()
