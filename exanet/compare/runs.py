# SPDX-License-Identifier: Apache-2.0
"""The figures of runs and replays: totals, parts of the time, MPI calls, ranks, links and sizes of messages.

Times of calls and parts are means over ranks, so that runs with different numbers of ranks can be compared. Ranks are
set side by side where all runs have as many, links where they have the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from exanet import _core
from exanet.compare import sides
from exanet.compare.sides import Row, Side
from exanet.results import Run
from exanet.results.folder import FAULT_COUNTS

PARTS = ("compute", "wait", "library")
"""What a rank's time is made of."""

_TOTALS = ("virtual_ps", "messages", "message_bytes", "packets", "packet_hops", *FAULT_COUNTS)
MEDIAN = "median_ps"
"""A figure that is not 0 where there is nothing to take it of."""

_LATENCIES = ("p50_ns", "p99_ns")
_OF_LINKS = ("use_percent", "payload_bytes", "busy_ps", "waited_ps")


def read(folders: Sequence[str], runs: Sequence[Run]) -> list[Side]:
    same_ranks = len({len(run.ranks) for run in runs}) == 1
    found = []
    for folder, run in zip(folders, runs, strict=True):
        request = run.summary["run"]
        found.append(
            Side(
                folder,
                sides.plain(request.get("program", request.get("trace"))),
                request.get("machine_name"),
                len(run.ranks),
                run.summary["virtual_ps"],
                sides.asked(run.summary),
                sides.frame(list(_figures(run, by_rank=same_ranks))),
                run,
            )
        )
    return found


def _figures(run: Run, *, by_rank: bool) -> Iterator[Row]:
    yield from (("total", "", figure, float(value)) for figure, value in _totals(run.summary))
    ranks = max(len(run.ranks), 1)
    yield from (("part", part, "time_ps", float(run.ranks[f"{part}_ps"].cast(pl.Float64).sum()) / ranks) for part in PARTS)
    calls = run.mpi_calls.group_by("call").agg(pl.col("calls").sum(), pl.col("time_ps").cast(pl.Float64).sum()).sort("call")
    for call in calls.iter_rows(named=True):
        yield from (("call", call["call"], figure, call[figure] / ranks) for figure in ("calls", "time_ps"))
    if by_rank:
        for rank in run.ranks.iter_rows(named=True):
            yield from (("rank", str(rank["rank"]), f"{part}_ps", float(rank[f"{part}_ps"])) for part in PARTS)
    for link in run.links.filter(pl.col("packets") > 0).iter_rows(named=True):
        yield from (("link", link_name(link), figure, float(link[figure])) for figure in _OF_LINKS)
    for size in _sizes(run.messages).iter_rows(named=True):
        yield "size", str(size["lower_bytes"]), "messages", float(size["messages"])
        if size[MEDIAN] is not None:
            yield "size", str(size["lower_bytes"]), MEDIAN, size[MEDIAN]


def link_name(link: Mapping[str, Any]) -> str:
    return f"{link['node_name']} {link['port_name']} → {link['to_node_name']}"


def _totals(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for figure in _TOTALS:
        if figure in summary:
            yield figure, summary[figure]
    for kind in ("packet", "message"):
        for figure in _LATENCIES:
            if (latency := summary[f"{kind}_latency"].get(figure)) is not None:
                yield f"{kind}_latency_{figure}", latency


def _sizes(messages: pl.DataFrame) -> pl.DataFrame:
    """Messages by classes of their size: how many, and the median of their time from posting to delivery."""
    lower = _core.size_classes(messages["bytes"].cast(pl.Int64).to_numpy())
    took = pl.col("delivered_ps") - pl.col("posted_ps")
    by_size = messages.with_columns(lower_bytes=pl.Series(lower, dtype=pl.Int64)).group_by("lower_bytes")
    return by_size.agg(messages=pl.len(), median_ps=took.filter(pl.col("delivered_ps") >= 0).median()).sort("lower_bytes")
