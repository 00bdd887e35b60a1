# SPDX-License-Identifier: Apache-2.0
"""Sets results of `exanet run` and `exanet replay` side by side: what was asked for differently, and where the time
went.

Problem: two runs differ by a placement, a key of the machine, a version of the program; which ranks, calls, links and
sizes of messages have paid for it? Model: each figure of a run is a row (view, item, figure, value), those of another
run are joined to those of the first by their names, and what one of them lacks counts as none. Times of calls and parts
are means over ranks, so that runs with different numbers of ranks can be compared. Limits: ranks are set side by side
where all runs have as many, links where they have the same names; measured computing varies by some percent from run to
run, which no figure here distinguishes from a change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from exanet import results
from exanet.errors import InputError
from exanet.results import Run
from exanet.results.folder import FAULT_COUNTS

PARTS = ("compute", "wait", "library")
"""What a rank's time is made of."""

_TOTALS = ("virtual_ps", "messages", "message_bytes", "packets", "packet_hops", *FAULT_COUNTS)
_LATENCIES = ("p50_ns", "p99_ns")


@dataclass(frozen=True)
class Comparison:
    """Results side by side; `run` counts them from 0, and the first is what the others are compared with.

    `runs`: run, folder, program, machine, ranks, virtual_ps, change_percent (of the virtual time). `settings`: key,
    run, value (as text; null where the run has no such key), for each key that differs. `differences`: view ("total",
    "part", "call", "rank", "link" or "size"), item, figure, run, value, first, change (value less first), for each
    run but the first. Figures end in their units; of calls and parts they are means over ranks.
    """

    runs: pl.DataFrame
    settings: pl.DataFrame
    differences: pl.DataFrame


def compare(*directories: str | os.PathLike[str]) -> Comparison:
    """Compares the results in these folders with those in the first.

    Raises InputError for fewer than two, for a folder without results of a run or replay, and for a run that was
    stopped before its end, whose figures are of a part.
    """
    if len(directories) < 2:
        raise InputError("give the folders of two runs or more, e.g. exanet compare before-1 after-1")
    read = [results.load(directory) for directory in directories]
    for directory, run in zip(directories, read, strict=True):
        if not run.summary["complete"]:
            raise InputError(f"{directory}: the run was stopped before its end ({run.summary['reason']}): compare whole runs")
    same_ranks = len({len(run.ranks) for run in read}) == 1
    figures = [_figures(run, by_rank=same_ranks) for run in read]
    return Comparison(_runs(directories, read), _settings(read), _differences(figures))


def _runs(directories: Sequence[str | os.PathLike[str]], read: Sequence[Run]) -> pl.DataFrame:
    first_ps = read[0].summary["virtual_ps"]
    rows = []
    for number, (directory, run) in enumerate(zip(directories, read, strict=True)):
        asked, virtual_ps = run.summary["run"], run.summary["virtual_ps"]
        rows.append(
            {
                "run": number,
                "folder": str(directory),
                "program": _text(asked.get("program", asked.get("trace"))),
                "machine": asked.get("machine_name"),
                "ranks": len(run.ranks),
                "virtual_ps": virtual_ps,
                "change_percent": 100.0 * (virtual_ps / first_ps - 1) if first_ps else None,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"program": pl.String, "machine": pl.String, "change_percent": pl.Float64})


# -- what was asked for ------------------------------------------------------------------------------------------------


def _settings(read: Sequence[Run]) -> pl.DataFrame:
    """The keys of the runs and of their machines that not all have with the same value, in the order of their names."""
    asked = [{**_flat(run.summary["run"], "run"), **_flat(run.summary.get("machine", {}), "machine")} for run in read]
    rows = [
        {"key": key, "run": number, "value": of_run.get(key)}
        for key in sorted({key for of_run in asked for key in of_run})
        if len({of_run.get(key) for of_run in asked}) > 1
        for number, of_run in enumerate(asked)
    ]
    return pl.DataFrame(rows, schema={"key": pl.String, "run": pl.Int64, "value": pl.String})


def _flat(value: Any, name: str) -> dict[str, str]:
    """A description's values as text by their dotted names; a list of plain values is one of them."""
    if isinstance(value, Mapping) and value:
        return {key: text for part, inner in value.items() for key, text in _flat(inner, f"{name}.{part}").items()}
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        return {key: text for i, inner in enumerate(value) for key, text in _flat(inner, f"{name}[{i}]").items()}
    return {name: _text(value)}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "none" if value is None else str(value)


# -- figures -----------------------------------------------------------------------------------------------------------


def _figures(run: Run, *, by_rank: bool) -> pl.DataFrame:
    rows = [("total", "", figure, float(value)) for figure, value in _totals(run.summary)]
    ranks = max(len(run.ranks), 1)
    rows += [("part", part, "time_ps", float(run.ranks[f"{part}_ps"].cast(pl.Float64).sum()) / ranks) for part in PARTS]
    calls = run.mpi_calls.group_by("call").agg(pl.col("calls").sum(), pl.col("time_ps").cast(pl.Float64).sum()).sort("call")
    for call in calls.iter_rows(named=True):
        rows += [("call", call["call"], "calls", call["calls"] / ranks), ("call", call["call"], "time_ps", call["time_ps"] / ranks)]
    if by_rank:
        for rank in run.ranks.iter_rows(named=True):
            rows += [("rank", str(rank["rank"]), f"{part}_ps", float(rank[f"{part}_ps"])) for part in PARTS]
    for link in run.links.filter(pl.col("packets") > 0).iter_rows(named=True):
        name = f"{link['node_name']} {link['port_name']} → {link['to_node_name']}"
        rows += [("link", name, figure, float(link[figure])) for figure in ("use_percent", "payload_bytes", "waited_ps")]
    for size in _sizes(run.messages).iter_rows(named=True):
        rows += [("size", str(size["lower_bytes"]), figure, float(size[figure])) for figure in ("messages", "median_ps")]
    schema = {"view": pl.String, "item": pl.String, "figure": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _totals(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for figure in _TOTALS:
        if figure in summary:
            yield figure, summary[figure]
    for kind in ("packet", "message"):
        for figure in _LATENCIES:
            if (latency := summary[f"{kind}_latency"].get(figure)) is not None:
                yield f"{kind}_latency_{figure}", latency


def _sizes(messages: pl.DataFrame) -> pl.DataFrame:
    """Messages by powers of two of their bytes: how many, and the median of their time from posting to delivery."""
    sizes = messages["bytes"].to_numpy()
    lower = np.where(sizes > 0, np.left_shift(1, np.frexp(np.maximum(sizes, 1).astype(np.float64))[1].astype(np.int64) - 1), 0)
    took = pl.col("delivered_ps") - pl.col("posted_ps")
    by_size = messages.with_columns(lower_bytes=pl.Series(lower, dtype=pl.Int64)).group_by("lower_bytes")
    return by_size.agg(messages=pl.len(), median_ps=took.filter(pl.col("delivered_ps") >= 0).median().fill_null(0.0)).sort("lower_bytes")


def _differences(figures: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Each run's figures beside the first one's, by view and then in the order in which the runs have them."""
    names = ["view", "item", "figure"]
    every = pl.concat([figure.select(names) for figure in figures]).unique(maintain_order=True).with_row_index("order")
    first = figures[0].rename({"value": "first"})
    beside = []
    for number, figure in enumerate(figures[1:], start=1):
        joined = every.join(figure, on=names, how="left").join(first, on=names, how="left")
        beside.append(
            joined.with_columns(
                run=pl.lit(number, dtype=pl.Int64), value=pl.col("value").fill_null(0.0), first=pl.col("first").fill_null(0.0)
            )
        )
    order = pl.col("view").replace_strict({view: i for i, view in enumerate(("total", "part", "call", "rank", "link", "size"))})
    whole = pl.concat(beside).with_columns(change=pl.col("value") - pl.col("first"), place=order).sort("place", "order", "run")
    return whole.select(*names, "run", "value", "first", "change")


def write(comparison: Comparison, directory: Path, summary: Mapping[str, Any]) -> Path:
    """Writes the tables into a folder, whole or not at all: compared.parquet, settings.parquet, differences.parquet and
    summary.json. Raises InputError."""
    from exanet.files import json_bytes, parquet

    tables = {"compared": comparison.runs, "settings": comparison.settings, "differences": comparison.differences}
    files = {f"{name}.parquet": parquet(frame) for name, frame in tables.items()}
    return results.publish(directory, {**files, "summary.json": json_bytes(dict(summary))})
