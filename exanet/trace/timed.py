# SPDX-License-Identifier: Apache-2.0
"""The calls of a trace as the table `calls` of a run's results (docs/results.md): when each rank was in which call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from exanet.trace.folder import Trace
from exanet.trace.layout import CALLS

SCHEMA = {
    "rank": pl.Int64,
    "call": pl.String,
    "kind": pl.String,
    "begin_ps": pl.Int64,
    "took_ps": pl.Int64,
    "peer": pl.Int64,
    "bytes": pl.Int64,
    "receive_peer": pl.Int64,
    "receive_bytes": pl.Int64,
}
"""Of the table."""

_KINDS = {
    "exchange": "receive",
    "probe": "receive",
    "requests": "wait",
    "collective": "collective",
    "neighbours": "collective",
    "create": "collective",
    "window": "one-sided",
    "access": "one-sided",
    "synchronise": "one-sided",
    "ending": "other",
}
"""Of calls by their form; those of one message send or receive."""

_NO_TIMES = [*CALLS["operation"]]
"""Operations of graphs: they overlap, and are no calls."""


def kind(call: str) -> str:
    """Of a call by its name in a trace's table."""
    name = call.removeprefix("MPI_")
    form = next((form for form, names in CALLS.items() if name in names), "ending")
    return _KINDS.get(form) or ("receive" if "recv" in name.lower() else "send")


def table(trace: Trace, times: Mapping[str, Any] | None = None, first: int = 0) -> pl.DataFrame:
    """A row for each call, by rank and in order. `times`: those of a replay in place of the recorded ones, call by call
    (_core.Replay); `first`: the rank of all programs that is the trace's first. Raises InputError."""
    calls = trace.calls(*(name for name in SCHEMA if name != "kind"))
    calls = calls.filter(~pl.col("call").is_in(_NO_TIMES))
    if times is not None:
        calls = calls.with_columns(*(pl.Series(name, times[name], pl.Int64) for name in ("begin_ps", "took_ps")))
    kinds = {call: kind(call) for call in calls["call"].unique()}
    peers = [pl.when(pl.col(name) < 0).then(name).otherwise(pl.col(name) + first).alias(name) for name in ("peer", "receive_peer")]
    calls = calls.with_columns(pl.col("rank") + first, pl.col("call").replace_strict(kinds, return_dtype=pl.String).alias("kind"), *peers)
    return calls.filter(pl.col("call").str.starts_with("MPI_")).select(*SCHEMA)


def replayed(traces: Sequence[Trace | None], ranks: Sequence[int], times: Mapping[str, Any]) -> pl.DataFrame:
    """The calls of programs that were replayed together; one without a trace has none. Raises InputError."""
    measured = pl.DataFrame({name: pl.Series(times[name], dtype=pl.Int64) for name in ("rank", "begin_ps", "took_ps")})
    frames, first = [], 0
    for trace, count in zip(traces, ranks, strict=True):
        if trace is not None:
            own = measured.filter(pl.col("rank").is_between(first, first + count - 1))
            frames.append(table(trace, own.to_dict(), first))
        first += count
    return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)
