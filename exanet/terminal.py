# SPDX-License-Identifier: Apache-2.0
"""Tables as all commands print them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def console(width: int = 200) -> Console:
    """The terminal, or plain text of `width` columns where there is none."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=width)


def table(*headings: str, left: int = 1) -> Table:
    """A table without lines; its first `left` columns stand to the left, the others to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        made.add_column(heading, justify="left" if number < left else "right")
    return made
