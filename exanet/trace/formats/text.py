# SPDX-License-Identifier: Apache-2.0
"""Text with a line a call (exanet/trace/text.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, file: Path, choices: Choices) -> LeftOut:
    from exanet.trace import text

    return text.write(trace, file)


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace import text

    return text.read(file, directory)


def _found(place: Path) -> Path | None:
    from exanet.trace import text

    return place if place.is_file() and text.is_text(place) else None


FORMAT = Format(
    suffix=".txt",
    name="text",
    title="text with a line a call",
    read_by="editors and scripts",
    becomes="[its text](../traces/formats.md#as-text), and from it the trace again.",
    cannot_hold="Nothing is left out",
    write=_write,
    holds_graphs=True,
    found=_found,
    read=_read,
    source="a trace's text",
)
