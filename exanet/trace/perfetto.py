# SPDX-License-Identifier: Apache-2.0
"""A trace as Perfetto and chrome://tracing show it: a slice a call, one for computing, and an arrow for each message
from send to receive.

The format is Chrome's trace events in JSON, whose times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED

_KEY = ("communicator", "src", "dst", "tag")


def events(trace: Trace) -> Iterator[dict[str, Any]]:
    """All of them, by rank and time. Raises InputError."""
    calls = trace.calls().with_row_index("call_number")
    for rank in range(trace.about.ranks):
        yield {"ph": "M", "name": "thread_name", "pid": 0, "tid": rank, "args": {"name": f"rank {rank}"}}
    for row in calls.iter_rows(named=True):
        where = {"pid": 0, "tid": row["rank"]}
        if row["compute_ps"] > 0:
            yield {"ph": "X", "name": "computing", **_span(row["begin_ps"] - row["compute_ps"], row["compute_ps"]), **where}
        yield {"ph": "X", "name": row["call"], **_span(row["begin_ps"], row["took_ps"]), **where, "args": _arguments(row)}
    for number, row in enumerate(messages(calls).iter_rows(named=True)):
        common = {"name": "message", "cat": "message", "id": number, "pid": 0}
        yield {"ph": "s", **common, "tid": row["src"], "ts": row["begin_ps"] * 1e-6}
        yield {"ph": "f", "bp": "e", **common, "tid": row["dst"], "ts": row["received_ps"] * 1e-6}


def messages(calls: pl.DataFrame) -> pl.DataFrame:
    """Each message point to point whose two calls are known, as MPI matches them: in order by communicator, ranks
    and tag."""
    calls = calls.filter(~pl.col("call").is_in(ONE_SIDED))
    sends = calls.filter((pl.col("peer") >= 0) & ~pl.col("call").str.ends_with("_init")).select(
        "communicator", pl.col("rank").alias("src"), pl.col("peer").alias("dst"), "tag", "bytes", "begin_ps"
    )
    takes = (pl.col("receive_peer") >= 0) & (pl.col("receive_tag") >= 0)
    receives = calls.filter(takes & ~pl.col("call").str.contains("robe") & ~pl.col("call").str.ends_with("_init"))
    receives = receives.select(
        "communicator",
        pl.col("receive_peer").alias("src"),
        pl.col("rank").alias("dst"),
        pl.col("receive_tag").alias("tag"),
        (pl.col("begin_ps") + pl.col("took_ps")).alias("received_ps"),
    )
    numbered = [frame.with_columns(pl.int_range(pl.len()).over(*_KEY).alias("turn")) for frame in (sends, receives)]
    return numbered[0].join(numbered[1], on=[*_KEY, "turn"], how="inner", maintain_order="left")


def _span(begin_ps: int, took_ps: int) -> dict[str, float]:
    return {"ts": begin_ps * 1e-6, "dur": took_ps * 1e-6}


def _arguments(row: dict[str, Any]) -> dict[str, int]:
    """What the slice's details show: the columns that say something of this call."""
    nothing = {"peer": -2, "receive_peer": -2, "root": -1, "bytes": 0, "receive_bytes": 0, "requests": 0, "communicator": -1}
    return {name: row[name] for name, value in nothing.items() if row[name] != value}


def write(trace: Trace, file: Path) -> dict[str, int]:
    """Writes the file. Returns what it does not hold, by what that is. Raises InputError, OSError."""
    calls = trace.calls()
    sent = len(calls.filter((pl.col("peer") >= 0) & ~pl.col("call").is_in(ONE_SIDED)))
    arrows = 0
    with file.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        separator = ""
        for event in events(trace):
            arrows += event["ph"] == "s"
            out.write(separator + json.dumps(event))
            separator = ",\n"
        out.write("\n]}\n")
    return {"arrows of messages whose receive is from any rank, by any tag, or persistent": sent - arrows}
