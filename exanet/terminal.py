# SPDX-License-Identifier: Apache-2.0
"""Tables as all commands print them."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table

LEAST_WIDTH = 80
"""Columns that a table gets on a narrower terminal, too, which wraps its lines: columns that do not fit would lose
their figures."""


def console(width: int = 200, file: TextIO | None = None) -> Console:
    """The terminal, or plain text of `width` columns where there is none; `file`: where to, if not standard output."""
    found = Console(highlight=False, file=file)
    return Console(highlight=False, file=file, width=max(found.width, LEAST_WIDTH) if found.is_terminal else width)


def table(*headings: str, left: int = 1) -> Table:
    """A table without lines; its first `left` columns stand to the left, the others to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        made.add_column(heading, justify="left" if number < left else "right")
    return made
