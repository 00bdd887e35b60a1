# SPDX-License-Identifier: Apache-2.0
"""Sums of a trace's calls: by kind, size and rank, who sends how much to whom, and which calls over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from exanet._core import TraceTables, size_classes
from exanet.errors import InputError
from exanet.files import parquet, write_whole
from exanet.results import report
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED

TABLES = ("by_call", "by_size", "by_rank", "matrix", "phases")

PARTS = 50
"""Of a trace's time, equally long, for `phases`."""


def statistics(trace: Trace) -> dict[str, pl.DataFrame]:
    """The frames of TABLES; docs/traces/files.md has the columns. Raises InputError."""
    calls = trace.calls()
    prepares = pl.col("call").str.ends_with("_init")  # and sends nothing by itself
    locks = pl.col("call").str.starts_with("MPI_Win_")
    sent = calls.filter(pl.col("peer") >= 0).filter(~prepares & ~locks).select("rank", "peer", "bytes")
    gets = pl.col("call").is_in(ONE_SIDED) & (pl.col("receive_bytes") > 0) & (pl.col("receive_peer") >= 0)
    got = calls.filter(gets).select(
        pl.col("receive_peer").alias("rank"), pl.col("rank").alias("peer"), pl.col("receive_bytes").alias("bytes")
    )
    sent = pl.concat([sent, got])
    if calls["call"].is_in(["MPI_Start", "MPI_Startall"]).any():
        sent = pl.concat([sent, _started(trace)])
    figures = (pl.len().alias("calls"), pl.col("bytes").sum(), pl.col("took_ps").sum())
    calls = calls.with_columns(bytes=pl.when(prepares).then(0).otherwise(pl.col("bytes")))
    lower = size_classes(sent["bytes"].cast(pl.Int64).to_numpy())
    return {
        "by_call": calls.group_by("call").agg(*figures).sort("took_ps", "call", descending=[True, False]),
        "by_size": sent.with_columns(pl.Series("lower_bytes", lower, pl.Int64))
        .group_by("lower_bytes")
        .agg(pl.len().alias("messages"), pl.col("bytes").sum())
        .sort("lower_bytes"),
        "by_rank": calls.group_by("rank")
        .agg(*figures, (pl.col("compute_ps") + pl.col("inside_ps")).sum().alias("compute_ps"))
        .sort("rank"),
        "matrix": sent.group_by(pl.col("rank").alias("src"), pl.col("peer").alias("dst"))
        .agg(pl.len().alias("messages"), pl.col("bytes").sum())
        .sort("src", "dst"),
        "phases": _phases(calls, figures),
    }


def _phases(calls: pl.DataFrame, figures: Sequence[pl.Expr]) -> pl.DataFrame:
    """Sums of the calls that begin in each part of the time, by kind."""
    end = calls.select((pl.col("begin_ps") + pl.col("took_ps")).max()).item() or 0
    width = max(1, -(-int(end) // PARTS))
    part = (pl.col("begin_ps") // width).clip(0, PARTS - 1)
    keys = [(part * width).alias("from_ps"), ((part + 1) * width).alias("to_ps"), pl.col("call")]
    return calls.group_by(keys).agg(*figures).sort("from_ps", "call")


def part_ps(phases: pl.DataFrame) -> int:
    """Length of a part of the time, by the table `phases`."""
    return int(phases["to_ps"][0] - phases["from_ps"][0]) if len(phases) else 1


def _started(trace: Trace) -> pl.DataFrame:
    """The persistent sends, each time that they were started: one call of MPI_Startall starts many. Raises
    InputError."""
    tables = TraceTables(trace.about.ranks)
    frames = []
    try:
        for rank, stream in enumerate(trace.streams):
            started = tables.read(str(stream))["started"]
            columns = {"peer": pl.Series(started["peer"]), "bytes": pl.Series(started["bytes"])}
            frames.append(pl.DataFrame(columns).select(pl.lit(rank, dtype=pl.Int64).alias("rank"), pl.all()))
    except ValueError as error:
        raise InputError(str(error)) from None
    return pl.concat(frames)


def write(folder: Path, trace: Trace, tables: dict[str, pl.DataFrame]) -> None:
    """A Parquet file a table, and the page. Raises InputError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in tables.items():
        write_whole(folder / f"{name}.parquet", parquet(frame))
    write_whole(folder / "report.html", page(trace, tables).encode())


def page(trace: Trace, tables: dict[str, pl.DataFrame]) -> str:
    """The figures as pictures."""
    about = trace.about
    program = " ".join(map(str, about.run.get("program", []))) or "trace"
    rows = {name: [list(row) for row in tables[name].rows()] for name in ("by_call", "by_size", "phases")}
    reason = None if about.complete else about.reason
    data = {"title": program, "ranks": about.ranks, "calls": about.calls, "mpi": about.mpi, "reason": reason}
    data |= rows | {"part_ps": part_ps(tables["phases"]), "parts": PARTS}
    return report.fill(program, data, ("format.js", "parts.js", "trace.js"))


def as_data(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """For JSON."""
    return {name: frame.to_dicts() for name, frame in tables.items()}
