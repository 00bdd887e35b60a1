# SPDX-License-Identifier: Apache-2.0
"""What emulated processors executed, in the results of a run with --cpu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from exanet.quantity import count_text

_COUNTS = ("cycles", "instructions", "mispredicted", "first_level_misses", "second_level_misses")
"""As exanet-exec reports them: from the beginning of virtual time to its end."""


def columns(counts: Mapping[int, Sequence[int]], ranks: int) -> dict[str, list[int]]:
    """Of the table of ranks; 0 for a rank that was ended from outside."""
    return {f"cpu_{name}": [counts.get(rank, (0,) * len(_COUNTS))[at] for rank in range(ranks)] for at, name in enumerate(_COUNTS)}


def has(ranks: pl.DataFrame) -> bool:
    """Whether the table of ranks has the columns."""
    return "cpu_cycles" in ranks.columns


def totals(ranks: pl.DataFrame) -> dict[str, int]:
    """The sums over all ranks."""
    return {name: int(ranks[f"cpu_{name}"].sum()) for name in _COUNTS}


def line(name: str, total: Mapping[str, int]) -> str:
    """These as a line for the terminal."""
    a_cycle = total["instructions"] / total["cycles"] if total["cycles"] else 0.0
    return (
        f"processor {name}: {count_text(total['instructions'])} instructions, {a_cycle:.2f} a cycle; "
        f"{count_text(total['mispredicted'])} mispredicted branches; misses of the caches: "
        f"{count_text(total['first_level_misses'])} first level, {count_text(total['second_level_misses'])} second"
    )
