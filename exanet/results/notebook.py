# SPDX-License-Identifier: Apache-2.0
"""Results in a notebook: what a cell shows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import polars as pl

from exanet.quantity import counted

_MOST_ROWS = 10


def shown(title: str, facts: Mapping[str, str], tables: Mapping[str, pl.DataFrame], names: Sequence[str]) -> str:
    """HTML: the title, facts in a line, the first rows of the tables `names`, and which other tables there are."""
    parts = [f"<p><b>{escape(title)}</b>"]
    parts += [f"<br>{escape(name)}: {escape(value)}" for name, value in facts.items()]
    parts.append("</p>")
    for name in names:
        if name in tables:
            frame = tables[name]
            parts.append(f"<p><code>{escape(name)}</code>, {counted(len(frame), 'row')}</p>")
            parts.append(frame.head(_MOST_ROWS)._repr_html_())
    others = [f"<code>{escape(name)}</code> ({len(frame)})" for name, frame in sorted(tables.items()) if name not in names]
    if others:
        parts.append(f"<p>Other tables, with their rows: {', '.join(others)}</p>")
    return "".join(parts)
