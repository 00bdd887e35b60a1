# SPDX-License-Identifier: Apache-2.0
"""What the critical path is made of, as rows for the terminal: shares by computing of each rank, by call and by what
messages took; and its longest parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from exanet.quantity import bytes_text

MOST_OF_A_KIND = 5
"""Ranks, or calls, with a share of their own; the others are one row."""

LONGEST = 10
"""Parts that are shown."""

_NETWORK = {
    "interface_ps": "network: interfaces and routers",
    "links_ps": "network: links",
    "queueing_ps": "network: waiting for other messages",
}

_WITH_FAULTS = _NETWORK | {"queueing_ps": "network: waiting for other messages, and what faults cost"}
"""Where something was slow, lossy or down: a message's time is compared with that on a machine without faults."""


@dataclass(frozen=True)
class Share:
    """Of the path's time."""

    what: str
    took_ps: int
    percent: float


def shares(path: pl.DataFrame, *, faults: bool = False) -> list[Share]:
    """They add up to the whole path: of computing and of calls the largest first, then the network's. `faults`: the run
    had some."""
    took = path.with_columns(took_ps=pl.col("end_ps") - pl.col("begin_ps"))
    rows = [
        *_largest(took.filter(pl.col("kind") == "compute"), "rank", "computing of rank {}", "computing of {} other ranks"),
        *_largest(took.filter(pl.col("kind") == "rank"), "rank", "rank {}", "{} other ranks"),
        *_largest(took.filter(pl.col("kind") == "call"), "call", "{}", "{} other calls"),
        *((what, int(path[name].sum())) for name, what in (_WITH_FAULTS if faults else _NETWORK).items()),
        ("before the start of the program", int(took.filter(pl.col("kind") == "start")["took_ps"].sum())),
    ]
    whole = int(took["took_ps"].sum())
    return [Share(what, ps, 100.0 * ps / whole) for what, ps in rows if ps]


def _largest(parts: pl.DataFrame, by: str, one: str, others: str) -> list[tuple[str, int]]:
    sums = parts.group_by(by).agg(pl.col("took_ps").sum()).sort(["took_ps", by], descending=[True, False]).rows()
    more = len(sums) - MOST_OF_A_KIND
    rest = [(others.format(more), sum(ps for _, ps in sums[MOST_OF_A_KIND:]))] if more > 0 else []
    return [(one.format(name), ps) for name, ps in sums[:MOST_OF_A_KIND]] + rest


def longest(path: pl.DataFrame) -> list[tuple[str, int, Share]]:
    """The longest parts, with their beginnings."""
    took = path.with_columns(took_ps=pl.col("end_ps") - pl.col("begin_ps"))
    whole = int(took["took_ps"].sum())
    rows = took.sort(["took_ps", "begin_ps"], descending=[True, False]).head(LONGEST).to_dicts()
    return [(text(row), row["begin_ps"], Share("", row["took_ps"], 100.0 * row["took_ps"] / whole)) for row in rows]


def text(part: Mapping[str, Any]) -> str:
    """A part in words."""
    rank = f"rank {part['rank']}"
    if part["kind"] == "message":
        return f"{part['protocol']} message of {bytes_text(part['bytes'])}, {rank} → {part['to_rank']}"
    return {"call": f"{part['call']} of {rank}", "compute": f"computing of {rank}", "start": f"before the start of {rank}"}.get(
        part["kind"], rank
    )
