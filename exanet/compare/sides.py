# SPDX-License-Identifier: Apache-2.0
"""What is compared of each folder of results: what it is, what was asked for, and its figures by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from exanet.results import Run
from exanet.results.loaded import Results

NAMES = ("view", "item", "figure")
"""The columns that name a figure."""

Row = tuple[str, str, str, float]


@dataclass(frozen=True)
class Side:
    """One folder's results. `figures`: view, item, figure, value; `settings`: values as text by dotted names.

    `virtual_ps` is the time to the end, None of results that have no end. `failed` names the points that failed.
    """

    folder: str
    program: str
    machine: str | None
    ranks: int | None
    virtual_ps: int | None
    settings: Mapping[str, str]
    figures: pl.DataFrame
    results: Run | Results
    failed: frozenset[str] = frozenset()


def listed(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first names, and how many there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more if names else "none"


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**dict.fromkeys(NAMES, pl.String), "value": pl.Float64}, orient="row")


def asked(summary: Mapping[str, Any]) -> dict[str, str]:
    """What a run and its machine were asked to be."""
    return {**flat(summary["run"], "run"), **flat(summary.get("machine", {}), "machine")}


def flat(value: Any, name: str) -> dict[str, str]:
    """A description's values as text by their dotted names; a list of plain values is one of them. Parts that have
    names, such as kinds of links, go by these; what is empty has no values."""
    if isinstance(value, Mapping):
        return {key: text for part, inner in value.items() for key, text in flat(inner, f"{name}.{part}").items()}
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        named = all(isinstance(inner, Mapping) and "name" in inner for inner in value)
        parts = {f".{inner['name']}" if named else f"[{i}]": inner for i, inner in enumerate(value)}
        if named:
            parts = {part: {key: of_key for key, of_key in inner.items() if key != "name"} for part, inner in parts.items()}
        return {key: text for part, inner in parts.items() for key, text in flat(inner, name + part).items()}
    return {} if value == [] else {name: plain(value)}


def plain(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "none" if value is None else str(value)
