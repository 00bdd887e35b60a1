# SPDX-License-Identifier: Apache-2.0
"""Sums of a trace's calls: by kind, size and rank, and who sends how much to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from exanet import results
from exanet.trace.folder import Trace

TABLES = ("by_call", "by_size", "by_rank", "matrix")


def statistics(trace: Trace) -> dict[str, pl.DataFrame]:
    """The frames of TABLES; docs/traces.md has the columns. Raises InputError."""
    calls = trace.calls()
    sent = calls.filter(pl.col("peer") >= 0).filter(~pl.col("call").str.ends_with("_init"))
    figures = (pl.len().alias("calls"), pl.col("bytes").sum(), pl.col("took_ps").sum())
    lower = pl.when(pl.col("bytes") <= 1).then(0).otherwise(2 ** (pl.col("bytes") - 1).log(2).floor().cast(pl.Int64) + 1)
    return {
        "by_call": calls.group_by("call").agg(*figures).sort("took_ps", "call", descending=[True, False]),
        "by_size": sent.group_by(lower.cast(pl.Int64).alias("lower_bytes"))
        .agg(pl.len().alias("messages"), pl.col("bytes").sum())
        .sort("lower_bytes"),
        "by_rank": calls.group_by("rank")
        .agg(*figures, (pl.col("compute_ps") + pl.col("inside_ps")).sum().alias("compute_ps"))
        .sort("rank"),
        "matrix": sent.group_by(pl.col("rank").alias("src"), pl.col("peer").alias("dst"))
        .agg(pl.len().alias("messages"), pl.col("bytes").sum())
        .sort("src", "dst"),
    }


def write(folder: Path, tables: dict[str, pl.DataFrame]) -> None:
    """A Parquet file a table. Raises InputError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in tables.items():
        results.write_whole(folder / f"{name}.parquet", results.parquet(frame))


def as_data(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """For JSON."""
    return {name: frame.to_dicts() for name, frame in tables.items()}
