# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: sentences on top, then each view with a picture for each run, on the same axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from exanet.compare.figures import Comparison
from exanet.compare.sentences import sentences
from exanet.results import Run, report

MOST_RANKS = 256
"""Ranks in a picture: of more, those that have changed most."""

MOST_ITEMS = 24
"""Calls, links, jobs and points in a picture: those that have changed most."""

MOST_ROWS = 64
"""Rows of the picture of ranks over time; more ranks are drawn in groups."""

MOST_BINS = 120
"""Its columns, of the longest run."""

SCRIPTS = ("format.js", "parts.js", "compare_time.js", "compare.js")

_TIMES = {"latency_ns": "mean latency", "latency_p99_ns": "99 % latency", "completion_ns": "time of all messages"}
_ENDS = {"finished_ns": "time to the end", "message_p50_ns": "median message", "message_p99_ns": "99 % message"}
_LOADS = {**_TIMES, "accepted_load": "accepted load", "hottest_link_use": "use of the hottest link", "mean_hops": "hops"}

# key: title, how it is drawn, the word for an item, figures with their names
_VIEWS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "load": ("Loads", "curve", "load", _LOADS),
    "job": ("Jobs", "rows", "job", _ENDS),
    "point": ("Points of the sweep", "rows", "point", {"finished_ns": "time to the end", **_LOADS, "compute_ns": "computing"}),
    "part": ("Where the time of a rank went, mean", "rows", "part", {"time_ps": "time"}),
    "rank": ("Ranks", "columns", "rank", {"wait_ps": "waiting", "compute_ps": "computing", "library_ps": "in the library"}),
    "call": ("MPI calls, mean of a rank", "rows", "call", {"time_ps": "time", "calls": "calls"}),
    "link": (
        "Links", "rows", "link",
        {"use_percent": "use", "busy_ps": "busy", "waited_ps": "waited for", "payload_bytes": "bytes carried"},
    ),
    "size": ("Messages by size", "columns", "size", {"median_ps": "median time", "messages": "messages"}),
}  # fmt: skip


def render(comparison: Comparison) -> str:
    data = page_data(comparison)
    return report.fill(str(data["title"]), data, SCRIPTS)


def page_data(comparison: Comparison) -> dict[str, Any]:
    names = _names(comparison.runs["folder"].to_list())
    return {
        "title": f"{', '.join(names[1:])} compared with {names[0]}",
        "sentences": sentences(comparison),
        "names": names,
        "runs": comparison.runs.select("folder", "program", "machine", "ranks", "virtual_ps", "change_percent", "by").rows(),
        "settings": [[key, *rows["value"]] for (key,), rows in comparison.settings.group_by("key", maintain_order=True)],
        "views": [found for key in _VIEWS if (found := _view(comparison, key))],
        "waiting": _waiting(comparison),
        "totals": _totals(comparison),
    }


def _names(folders: list[str]) -> list[str]:
    """The last part of each path, if these differ."""
    short = [Path(folder).name or folder for folder in folders]
    return short if len(set(short)) == len(short) else folders


def _view(comparison: Comparison, key: str) -> dict[str, Any] | None:
    title, shape, word, named = _VIEWS[key]
    rows = comparison.differences.filter((pl.col("view") == key) & pl.col("figure").is_in(list(named)))
    if rows.is_empty():
        return None
    figures = [figure for figure in named if figure in rows["figure"]]
    # those figures first that have changed: by the largest change, as a share of the largest value
    share = {figure: _share(rows.filter(pl.col("figure") == figure)) for figure in figures}
    if key == "rank":  # of the same unit
        share = {figure: float(rows.filter(pl.col("figure") == figure)["change"].abs().max()) for figure in figures}  # type: ignore[arg-type]
    items = _items(rows, key, figures if key != "call" else ["time_ps"])
    values = {(row["item"], row["figure"], row["run"]): row["value"] for row in rows.iter_rows(named=True)}
    values |= {(row["item"], row["figure"], 0): row["first"] for row in rows.iter_rows(named=True)}
    runs = range(len(comparison.runs))
    return {
        "key": key,
        "title": title,
        "shape": shape,
        "word": word,
        "items": items,
        "left_out": rows["item"].n_unique() - len(items),
        "chosen_first": max(figures, key=lambda figure: share[figure]) if key == "rank" else figures[0],
        "figures": [
            {"key": figure, "label": named[figure], "values": [[values.get((item, figure, run)) for item in items] for run in runs]}
            for figure in figures
        ],
    }


def _share(rows: pl.DataFrame) -> float:
    whole = float(rows.select(pl.max_horizontal(pl.col("value").abs().max(), pl.col("first").abs().max())).item())
    return float(rows["change"].abs().max() or 0.0) / whole if whole else 0.0  # type: ignore[arg-type]


def _items(rows: pl.DataFrame, key: str, figures: list[str]) -> list[str]:
    """Items of a picture: ranks, sizes and loads in their order, all others by their largest change."""
    most = MOST_RANKS if key in ("rank", "size", "load") else MOST_ITEMS
    # figures of several units are compared by their share of the largest value
    scaled = rows.filter(pl.col("figure").is_in(figures)).with_columns(
        share=(pl.col("change").abs() / pl.max_horizontal(pl.col("value").max(), pl.col("first").max()).over("figure"))
        .fill_nan(0.0)
        .fill_null(0.0)
    )
    by_change = scaled.group_by("item", maintain_order=True).agg(pl.col("share").max()).sort("share", descending=True, maintain_order=True)
    kept = by_change["item"].head(most).to_list()
    return sorted(kept, key=int) if key in ("rank", "size") else sorted(kept, key=float) if key == "load" else kept


def _totals(comparison: Comparison) -> list[list[Any]]:
    rows = comparison.differences.filter(pl.col("view") == "total")
    return [[figure, own["first"][0], *own.sort("run")["value"]] for (figure,), own in rows.group_by("figure", maintain_order=True)]


# -- ranks over time ---------------------------------------------------------------------------------------------------


def _waiting(comparison: Comparison) -> dict[str, Any] | None:
    """Share of each part of the time in which ranks waited, per mille; the parts are the same of all runs."""
    runs = [run for run in comparison.results if isinstance(run, Run)]
    ends = [int(run.summary["virtual_ps"]) for run in runs]
    if not runs or max(ends) == 0 or len({len(run.ranks) for run in runs}) > 1:
        return None
    part_ps = -(-max(ends) // MOST_BINS)
    group = -(-len(runs[0].ranks) // MOST_ROWS)
    return {"part_ps": part_ps, "group": group, "rows": [_rows(run, end, part_ps, group) for run, end in zip(runs, ends, strict=True)]}


def _rows(run: Run, end_ps: int, part_ps: int, group: int) -> list[list[int]]:
    if run.timeline.is_empty():
        return []
    edges = np.append(np.arange(0, end_ps, part_ps), end_ps).astype(np.float64)
    shares = []
    for _, own in run.timeline.sort("rank", "start_ps").group_by("rank", maintain_order=True):
        known = np.append(own["start_ps"].to_numpy()[:1], own["end_ps"].to_numpy()).astype(np.float64)
        waited = np.append(0.0, np.cumsum(own["wait_ps"].to_numpy().astype(np.float64)))
        shares.append(np.diff(np.interp(edges, known, waited)) / np.diff(edges))
    starts = np.arange(0, len(shares), group)
    sums: npt.NDArray[np.float64] = np.add.reduceat(np.array(shares), starts, axis=0)
    counts = np.diff(np.append(starts, len(shares)))[:, None]
    whole: list[list[int]] = np.rint(1000 * np.clip(sums / counts, 0, 1)).astype(int).tolist()
    return whole
