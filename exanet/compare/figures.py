# SPDX-License-Identifier: Apache-2.0
"""Sets results of one kind side by side: what was asked for differently, and which figures have changed.

Problem: two runs differ by a placement, a key of the machine, a version of the program; which ranks, calls, links and
sizes of messages have paid for it? Which loads, jobs or points of a sweep? Model: each figure is a row (view, item,
figure, value), those of another folder are joined to those of the first by their names. Of runs what one lacks counts
as none: a call that it never made took no time; there is no median of what is not there. Of simulations and sweeps only
points that both have are compared, and `notes` names the others. Limits: measured computing varies by some percent from
run to run, which no figure here distinguishes from a change; so do simulations with other seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from exanet import results
from exanet.compare import runs, simulations, sweeps
from exanet.compare.runs import MEDIAN
from exanet.compare.sides import NAMES, Side, listed
from exanet.compare.sweeps import SEARCHED
from exanet.errors import InputError
from exanet.quantity import counted
from exanet.results import Run, loaded, notebook
from exanet.results.loaded import Results

VIEWS = ("total", "load", "job", "point", "part", "call", "rank", "link", "size")
"""In the order of the rows."""

POINTS = ("load", "job", "point")
"""Views of which only what all have is compared."""

HIGHER_IS_BETTER = ("accepted_load",)
_DECIDING = ("finished_ns", "completion_ns", "accepted_load", "latency_ns")
"""Figures of points that `change_percent` is the worst of: which of them count where, worsenings() says."""

_WORDS = {"accepted_load": "accepted load", "latency_ns": "mean latency"}
MOST_NAMED = 4
"""Points that a note names."""


@dataclass(frozen=True)
class Comparison:
    """Results side by side; `run` counts them from 0, and the first is what the others are compared with.

    `kind`: "run" (or replay), "load", "messages", "jobs", or "sweep of loads", "of jobs", "of traces". `runs`: run,
    folder, program, machine, ranks, virtual_ps (to the end; null where there is none), change_percent, by, failed.
    `change_percent` is by how much the figure `by` is worse: the virtual time, or of simulations and sweeps the time,
    latency or accepted load of the point where that is most; less than 0: better. `failed` counts points that failed
    where those of the first did not. `settings`: key, run, value (as text; null where the run has no such key), for
    each key that differs. `differences`: view (one of VIEWS), item, figure, run, value, first, change (value less
    first), for each run but the first; null where there is no such median. Figures end in their units; of calls and
    parts they are means over ranks. `notes`: what could not be compared. `results`: what was read.
    """

    kind: str
    runs: pl.DataFrame
    settings: pl.DataFrame
    differences: pl.DataFrame
    notes: list[str]
    results: tuple[Run | Results, ...] = field(repr=False)

    def _repr_html_(self) -> str:
        tables = {"runs": self.runs, "settings": self.settings, "differences": self.differences}
        return notebook.shown(f"{len(self.runs)} results compared", {}, tables, ("runs", "settings"))


_READ: dict[str, Callable[[Sequence[str], Sequence[Any]], list[Side]]] = {
    "run": runs.read,
    "load": simulations.read_points,
    "messages": simulations.read_points,
    "jobs": simulations.read_jobs,
    "sweep of loads": sweeps.read,
    "sweep of jobs": sweeps.read,
    "sweep of traces": sweeps.read,
}


def compare(*directories: str | os.PathLike[str]) -> Comparison:
    """Compares the results in these folders with those in the first.

    Raises InputError for fewer than two, for a folder without results, for results of several kinds, for those that
    have no point in common, and for a run that was stopped before its end, whose figures are of a part.
    """
    if len(directories) < 2:
        raise InputError("give the folders of two runs or more, e.g. exanet compare before-1 after-1")
    folders = [str(directory) for directory in directories]
    read = [loaded.load(directory) for directory in directories]
    kinds = [_kind(folder, found) for folder, found in zip(folders, read, strict=True)]
    for folder, kind in zip(folders, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(f"{folder}: results of {_made_by(kind)}, and {folders[0]} has those of {_made_by(kinds[0])}: compare one kind")
    sides = _READ[kinds[0]](folders, read)
    differences = _differences(sides)
    if kinds[0] != "run" and not differences["view"].is_in(POINTS).any():
        raise InputError(f"{folders[1]}: it has no {_point(kinds[0])} in common with {folders[0]}: {_points_of(sides)}")
    return Comparison(kinds[0], _runs(kinds[0], sides, differences), _settings(sides), differences, _notes(kinds[0], sides), tuple(read))


def _kind(folder: str, found: Run | Results) -> str:
    if isinstance(found, Run):
        _refuse_part(folder, found.summary)
        return "run"
    if found.command == "sweep" and not found.summary:
        raise InputError(f"{folder}: the sweep was stopped before its end: go on with it by the same command, then compare")
    if found.command == "sweep":
        return sweeps.kind_of(found)
    if found.command != "sim":
        raise InputError(f"{folder}: results of exanet {found.command}: give those of exanet run, replay, sim or sweep")
    if "points" not in found.tables:
        return "jobs"
    _refuse_part(folder, found.summary)
    request = found.summary["run"]
    return "load" if request["message_bytes"] is None and request["message_sizes"] is None and request["level"] == "packet" else "messages"


def _refuse_part(folder: str, summary: Mapping[str, Any]) -> None:
    if not summary["complete"]:
        raise InputError(f"{folder}: the run was stopped before its end ({summary['reason']}): compare whole runs")


def _made_by(kind: str) -> str:
    if kind == "run":
        return "exanet run or replay"
    return f"a {kind}" if kind.startswith("sweep") else f"exanet sim {kind}"


def _point(kind: str) -> str:
    return {"load": "load", "messages": "load", "jobs": "job"}.get(kind, "point")


def _items(side: Side) -> list[str]:
    names = side.figures.filter(pl.col("view").is_in(POINTS))["item"].unique(maintain_order=True).to_list()
    return [name for name in names if name not in side.failed]


def _points_of(sides: Sequence[Side]) -> str:
    return " and ".join(listed(_items(side), MOST_NAMED, "; ") for side in sides[:2])


def _notes(kind: str, sides: Sequence[Side]) -> list[str]:
    """What only one of two has, and what failed."""
    said = []
    first = sides[0]
    for side in sides[1:]:
        for here, there in ((first, side), (side, first)):
            if lone := [item for item in _items(here) if item not in {*_items(there), *there.failed}]:
                said.append(f"Only {here.folder} has {_point(kind)} {listed(lone, MOST_NAMED, '; ')}.")
        if failed := sorted(side.failed - first.failed):
            said.append(
                f"{side.folder}: {counted(len(failed), 'point')} failed that did not in {first.folder}: {listed(failed, MOST_NAMED, '; ')}."
            )
    return list(dict.fromkeys(said))


# -- tables ------------------------------------------------------------------------------------------------------------


def _runs(kind: str, sides: Sequence[Side], differences: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for number, side in enumerate(sides):
        change, by = (0.0, "") if number == 0 else _worst(kind, sides[0], side, differences.filter(pl.col("run") == number))
        rows.append(
            {
                "run": number,
                "folder": side.folder,
                "program": side.program,
                "machine": side.machine,
                "ranks": side.ranks,
                "virtual_ps": side.virtual_ps,
                "change_percent": change,
                "by": by,
                "failed": len(side.failed - sides[0].failed),
            }
        )
    types = {"program": pl.String, "machine": pl.String, "ranks": pl.Int64, "virtual_ps": pl.Int64, "change_percent": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=types)


def _worst(kind: str, first: Side, side: Side, own: pl.DataFrame) -> tuple[float | None, str]:
    """By how many percent a run is worse, and in what; None where the first took no time."""
    if kind in ("run", "jobs"):
        assert first.virtual_ps is not None and side.virtual_ps is not None
        if first.virtual_ps == 0:
            return (0.0 if side.virtual_ps == 0 else None), "virtual time"
        return 100.0 * (side.virtual_ps / first.virtual_ps - 1), "virtual time"
    found = max(worsenings(own), key=lambda one: one["worse_percent"], default=None)
    if found is None:
        return 0.0, ""
    return found["worse_percent"], f"{_words(found['figure'])} {at_point(found['view'], found['item'])}"


def worsenings(own: pl.DataFrame) -> list[dict[str, Any]]:
    """The deciding figures of points of a run beside the first one's, with `worse_percent`.

    Below saturation a network accepts what it is offered, and its latency counts; beyond it, what it accepts.
    """
    points = own.filter(pl.col("view").is_in(("load", "point")))
    full = points.filter(pl.col("figure") == "saturated")
    first_is_full = full.filter(pl.col("first") > 0)["item"].to_list()
    none_is_full = full.filter((pl.col("first") == 0) & (pl.col("value") == 0) & ~pl.col("item").str.ends_with(SEARCHED))["item"].to_list()
    left_out = ((pl.col("figure") == "latency_ns") & pl.col("item").is_in(first_is_full)) | (
        (pl.col("figure") == "accepted_load") & pl.col("item").is_in(none_is_full)
    )
    chosen = points.filter(pl.col("figure").is_in(_DECIDING) & (pl.col("first") > 0) & ~left_out)
    worse = 100.0 * pl.col("change") / pl.col("first")
    signed = pl.when(pl.col("figure").is_in(HIGHER_IS_BETTER)).then(0.0 - worse).otherwise(worse)
    return chosen.with_columns(worse_percent=signed).to_dicts()


def at_point(view: str, item: str) -> str:
    """Where a figure is from: "at load 0.4", "at saturation"."""
    return item if item.startswith("at ") else f"at load {item}" if view == "load" else f"at {item}"


def _words(figure: str) -> str:
    return _WORDS.get(figure, "time to the end")


def _settings(sides: Sequence[Side]) -> pl.DataFrame:
    """The keys of the runs and of their machines that not all have with the same value, in the order of their names."""
    rows = [
        {"key": key, "run": number, "value": side.settings.get(key)}
        for key in sorted({key for side in sides for key in side.settings})
        if len({side.settings.get(key) for side in sides}) > 1
        for number, side in enumerate(sides)
    ]
    return pl.DataFrame(rows, schema={"key": pl.String, "run": pl.Int64, "value": pl.String})


def _differences(sides: Sequence[Side]) -> pl.DataFrame:
    """Each run's figures beside the first one's, by view and then in the order in which the runs have them."""
    every = pl.concat([side.figures.select(NAMES) for side in sides]).unique(maintain_order=True).with_row_index("order")
    first = sides[0].figures.rename({"value": "first"})
    beside = []
    for number, side in enumerate(sides[1:], start=1):
        joined = every.join(side.figures, on=NAMES, how="left").join(first, on=NAMES, how="left")
        both = pl.col("value").is_not_null() & pl.col("first").is_not_null()
        joined = joined.filter(both | ~pl.col("view").is_in(POINTS))
        counted_as_none = pl.col("figure") != MEDIAN
        values = (pl.when(counted_as_none).then(pl.col(name).fill_null(0.0)).otherwise(pl.col(name)) for name in ("value", "first"))
        beside.append(joined.with_columns(*values, run=pl.lit(number, dtype=pl.Int64)))
    order = pl.col("view").replace_strict({view: i for i, view in enumerate(VIEWS)})
    whole = pl.concat(beside).with_columns(change=pl.col("value") - pl.col("first"), place=order).sort("place", "order", "run")
    return whole.select(*NAMES, "run", "value", "first", "change")


def write(comparison: Comparison, directory: Path, summary: Mapping[str, Any], page: str) -> Path:
    """Writes tables and page into a folder, whole or not at all: compared.parquet, settings.parquet,
    differences.parquet, report.html and summary.json. Raises InputError."""
    from exanet.files import json_bytes, parquet

    tables = {"compared": comparison.runs, "settings": comparison.settings, "differences": comparison.differences}
    files = {f"{name}.parquet": parquet(frame) for name, frame in tables.items()}
    return results.publish(directory, {**files, "report.html": page.encode(), "summary.json": json_bytes(dict(summary))})
