# SPDX-License-Identifier: Apache-2.0
"""The figures of `exanet sweep`, point by point: points with the same parameters are set side by side.

A parameter that has one value in each sweep, and not the same, is what the sweeps differ in: it stands among the
settings and names no points. Every other one does, by those of its values that both sweeps have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import polars as pl

from exanet.compare import sides
from exanet.compare.sides import Row, Side
from exanet.compare.simulations import point_rows
from exanet.errors import InputError
from exanet.results.loaded import Results

_FIXED = ("machine", "faults", "at_saturation", "load")
SEARCHED = "at saturation"
"""End of the name of a point whose load was searched for."""

_WHOLE = "all"
"""Name of the point of a sweep in which nothing varies."""


def kind_of(found: Results) -> str:
    columns = found.runs.columns
    return "sweep of traces" if "trace" in columns else "sweep of jobs" if "job" in columns else "sweep of loads"


def read(folders: Sequence[str], swept: Sequence[Results]) -> list[Side]:
    """One side a sweep. Raises InputError where a sweep lacks a parameter that varies in another."""
    values = [{name: _values(_asked(found.runs)[name]) for name in _parameters(found.runs)} for found in swept]
    names = list(dict.fromkeys(name for of_sweep in values for name in of_sweep))
    varying = [name for name in names if any(len(of_sweep.get(name, ())) > 1 for of_sweep in values)]
    for name in varying:
        for folder, of_sweep in zip(folders, values, strict=True):
            if name not in of_sweep:
                raise InputError(f"{folder}: it has no {name}, which varies in another of the sweeps: compare sweeps that all say it")
    return [_side(folder, found, of_sweep, varying) for folder, found, of_sweep in zip(folders, swept, values, strict=True)]


def _side(folder: str, found: Results, values: Mapping[str, list[str]], varying: Sequence[str]) -> Side:
    rows: list[Row] = []
    failed = set()
    for point in found.runs.iter_rows(named=True):
        item = _item(point, varying)
        if point["error"] is not None:
            failed.add(item)
        rows += point_rows("point", item, point)
    settings = {f"sweep.{name}": ", ".join(own) for name, own in values.items()}
    settings["sweep.exanet_version"] = str(found.summary["exanet_version"])
    machines = ", ".join(values["machine"])
    return Side(folder, str(found.summary["name"]), machines, None, None, settings, sides.frame(rows), found, frozenset(failed))


def _item(point: Mapping[str, Any], varying: Sequence[str]) -> str:
    """A point's name: the values of what varies. A load that was searched for is a figure."""
    parts = []
    for name in varying:
        if name == "load" and not point["at_saturation"]:
            parts.append(f"load {point['load']:g}")
        elif name not in ("load", "at_saturation"):
            value = sides.plain(point[name])
            parts.append(value if name in ("machine", "traffic", "job", "trace", "mapping") else f"{name} {value}")
    if point.get("at_saturation"):
        parts.append(SEARCHED)
    return ", ".join(parts) or _WHOLE


def _asked(runs: pl.DataFrame) -> pl.DataFrame:
    """Without loads that were searched for."""
    return runs if "load" not in runs.columns else runs.with_columns(load=pl.when(pl.col("at_saturation").not_()).then("load"))


def _parameters(runs: pl.DataFrame) -> list[str]:
    from exanet.sim import TrafficSpec
    from exanet.sweep.plan import JobsSpec
    from exanet.sweep.replays import TracesSpec

    known = {field.name for spec in (TrafficSpec, JobsSpec, TracesSpec) for field in fields(spec)} | set(_FIXED)
    return [name for name in runs.columns if name in known or "." in name]


def _values(column: pl.Series) -> list[str]:
    """The values in the order of the sweep, as text; numbers alike however they were written."""
    return list(dict.fromkeys(f"{value:g}" if isinstance(value, float) else sides.plain(value) for value in column))
