# SPDX-License-Identifier: Apache-2.0
"""One table and one page of a sweep. The same plan gives the same bytes, in however many pieces it was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from exanet import results
from exanet.files import json_bytes, parquet
from exanet.quantity import counted
from exanet.results import report
from exanet.sweep.plan import Plan, Run, columns_of
from exanet.sweep.replays import TracesSpec


def table(plan: Plan, found: Mapping[str, dict[str, Any]], errors: Mapping[str, str]) -> pl.DataFrame:
    """A row for each run in the plan's order: its axes, its figures (null where it failed), and `error`."""
    rows = [_row(run, found, errors) for run in plan.runs]
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = [name for name in names if name != "error"] + ["error"]
    frame = pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], infer_schema_length=None, strict=False)
    return frame.with_columns(pl.col("error").cast(pl.String))


def _row(run: Run, found: Mapping[str, dict[str, Any]], errors: Mapping[str, str]) -> dict[str, Any]:
    axes = run.columns if "traffic" not in run.columns else {**run.columns, "at_saturation": run.load is None, "load": run.load}
    if run.key not in found:
        return {**axes, "error": errors[run.key]}
    return {**axes, **found[run.key]["figures"], "error": None}


def write(directory: Path, plan: Plan, frame: pl.DataFrame, found: Mapping[str, dict[str, Any]], facts: Mapping[str, Any]) -> None:
    """runs.parquet, summary.json, report.html, and run.json with what differs between two repeats. Raises InputError
    on a full disk."""
    from exanet.release import version

    summary = {"name": plan.name, "axes": plan.axes, "exanet_version": version(), "runs": frame.to_dicts()}
    page = _page(plan, frame, found)
    files = {
        "runs.parquet": parquet(frame),
        "report.html": report.fill(str(page["title"]), page, ("format.js", "parts.js", "machine.js", "network.js", "sweep.js")).encode(),
        "run.json": json_bytes(facts),
        "summary.json": json_bytes(summary),
    }
    results.publish(directory, files)


def series_names(plan: Plan) -> list[str]:
    """A name for each run's curve: the values of the axes that vary, loads and seeds aside. A seed is another sample
    of the same curve."""
    names = []
    for run in plan.runs:
        parts = [str(run.columns[name]) for name in _varying(plan)]
        names.append(", ".join(parts) or str(run.columns["machine"]))
    return names


def _varying(plan: Plan) -> list[str]:
    columns = columns_of(plan)
    return [columns.get(name, name) for name in plan.axes if name not in ("load", "seed")]


_CURVE = ("offered_load", "accepted_load", "latency_ns", "latency_p99_ns", "zero_load_ns", "mean_hops", "hottest_link_use", "fairness")
_MOST = ("accepted_load", "accepted_gbps", "zero_load_ns", "mean_hops", "hottest_link_use", "fairness")
_OF_JOBS = ("finished_ns", "mean_hops", "packet_latency_ns", "hottest_link_use")
_OF_TRACES = ("finished_ns", "mean_hops", "compute_ns", "hottest_link_use")


def _page(plan: Plan, frame: pl.DataFrame, found: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    named = frame.with_columns(pl.Series("series", series_names(plan)))
    networks, drawings = _networks(plan, named, found)
    columns = [name for name in frame.columns if name not in ("created", "measured", "events", "memory_bytes")]
    return {
        "title": f"{plan.name}: {counted(len(plan.runs), 'run')}",
        "curves": [] if plan.to_the_end else _curves(named),
        "most": [] if plan.to_the_end else [[row["series"], *(row[name] for name in _MOST)] for row in most(named)],
        "jobs": _jobs(named, _OF_TRACES if plan.kind is TracesSpec else _OF_JOBS) if plan.to_the_end else [],
        "third": "computing" if plan.kind is TracesSpec else "packet latency",
        "search": not plan.to_the_end and bool(frame["at_saturation"].all()),
        "networks": networks,
        "drawings": drawings,
        "columns": columns,
        "runs": [list(row) for row in frame.select(columns).iter_rows()],
    }


def _curves(named: pl.DataFrame) -> list[dict[str, Any]]:
    """Means over seeds, series by series, load by load; bursts, which have no load, are in the table alone."""
    good = named.filter(pl.col("error").is_null() & (pl.col("load") > 0))
    if good.is_empty():
        return []
    means = good.group_by("series", "load", maintain_order=True).agg(
        *(pl.col(name).mean() for name in (*_CURVE, "accepted_gbps")),
        pl.col("saturated").cast(pl.Boolean).any(ignore_nulls=False),
        pl.len().alias("runs"),
    )
    curves = []
    for name in dict.fromkeys(good["series"]):
        points = means.filter(pl.col("series") == name).sort("load").select(*_CURVE, "saturated", "runs", "load", "accepted_gbps")
        curves.append({"name": name, "points": [list(row) for row in points.iter_rows()]})
    return curves


def most(named: pl.DataFrame) -> list[dict[str, Any]]:
    """The most that each series accepts, for terminal and page: means over seeds, of a search or at the load with the
    highest.

    `named` is the table with the column `series`. Bursts count where a series has nothing else.
    """
    found = []
    good = named.filter(pl.col("error").is_null())
    for name in dict.fromkeys(good["series"]):
        rows = good.filter(pl.col("series") == name)
        loads = rows.filter(pl.col("load").is_null() | (pl.col("load") > 0))
        by = "at_saturation" if bool(rows["at_saturation"].all()) else "load"  # each seed has found a load of its own
        means = (rows if loads.is_empty() else loads).group_by(by, maintain_order=True).agg(pl.col(column).mean() for column in _MOST)
        found.append({"series": name, "runs": len(rows), **means.sort("accepted_load", maintain_order=True).row(-1, named=True)})
    return found


def _jobs(named: pl.DataFrame, figures: Sequence[str]) -> list[list[Any]]:
    """Means over seeds, series by series."""
    good = named.filter(pl.col("error").is_null())
    if good.is_empty():
        return []
    means = good.group_by("series", maintain_order=True).agg(*(pl.col(name).mean() for name in figures), pl.len().alias("runs"))
    return [list(row) for row in means.iter_rows()]


def _networks(plan: Plan, named: pl.DataFrame, found: Mapping[str, dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """For each curve its run of the highest load, and the drawings of their machines; networks too large to draw are
    left out."""
    highest: dict[str, tuple[float, Run]] = {}
    loads = [1.0] * len(named) if plan.to_the_end else named["load"].to_list()
    for run, name, load in zip(plan.runs, named["series"], loads, strict=True):
        if run.key in found and found[run.key]["network"] is not None and load > highest.get(name, (0.0,))[0]:
            highest[name] = (load, run)
    drawings: dict[str, Any] = {}
    shown = []
    for name, (load, run) in highest.items():
        label = ", ".join(str(run.columns[name]) for name in run.columns if name == "machine" or name.startswith("topology."))
        if label not in drawings:
            drawings[label] = report.drawing(run.machine)
        network = dict(found[run.key]["network"])
        report.queue_names(network, drawings[label]["names"])
        shown.append({"label": name if plan.to_the_end else f"{name}, load {load:.3g}", "machine": label, **network})
    return shown, drawings
