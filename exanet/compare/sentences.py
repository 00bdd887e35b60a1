# SPDX-License-Identifier: Apache-2.0
"""How results differ, in sentences: for each but the first by how much, and in what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from exanet.compare.causes import causes
from exanet.compare.figures import HIGHER_IS_BETTER, Comparison, at_point, worsenings
from exanet.compare.sides import listed
from exanet.quantity import counted, time_text
from exanet.results import Run

MOST_NAMED = 4
"""Keys that a sentence names."""

SAME_PERCENT = 0.005
"""Changes below this are said to be none: they would be shown as 0.00 %."""


def sentences(comparison: Comparison) -> list[str]:
    said: list[str] = []
    for row in comparison.runs.iter_rows(named=True):
        if row["run"] > 0:
            own = comparison.differences.filter(pl.col("run") == row["run"])
            said += _HOW[comparison.kind](comparison, row, own)
            if comparison.kind != "run":
                said += _asked(comparison, row)
    return said + comparison.notes


def _asked(comparison: Comparison, row: dict[str, Any]) -> Iterator[str]:
    """What of a simulation was asked for differently; of runs `causes` says it where it may explain the difference."""
    found = []
    whole = comparison.settings.filter(pl.col("key") != "machine.name")
    shape = pl.col("key").str.starts_with("machine.topology.")
    options_first = whole.sort(pl.col("key").str.starts_with("machine."), ~shape, maintain_order=True)
    for (key,), values in options_first.group_by("key", maintain_order=True):
        first, own = (values.filter(pl.col("run") == number)["value"][0] or "none" for number in (0, row["run"]))
        if first != own:
            found.append(f"{str(key).partition('.')[2]} {own} instead of {first}")
    if found:
        yield f"{row['folder']} was asked for differently: {listed(found, MOST_NAMED)}."


def signed(text: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: f"{'-' if value < 0 else '+'}{text(abs(value))}"


def _time(comparison: Comparison, row: dict[str, Any], ending: Callable[[], str]) -> str:
    """By how much a run takes longer or less than the first; `ending` says why."""
    first = comparison.runs.row(0, named=True)
    if row["virtual_ps"] == first["virtual_ps"]:
        return f"{row['folder']} takes as long as {first['folder']}."
    how = "longer" if row["virtual_ps"] > first["virtual_ps"] else "less"
    percent = "" if row["change_percent"] is None else f" ({row['change_percent']:+.2f} %)"
    by = f"{time_text(abs(row['virtual_ps'] - first['virtual_ps']))} {how} than {first['folder']}{percent}"
    return f"{row['folder']} takes {by}{ending()}."


def _of_runs(comparison: Comparison, row: dict[str, Any], own: pl.DataFrame) -> Iterator[str]:
    def where() -> str:
        part = own.filter(pl.col("view") == "part").sort(pl.col("change").abs(), descending=True).row(0, named=True)
        if part["change"] == 0:
            return ""
        cause = f": most of it {_doing(part['item'])}, {signed(time_text)(part['change'])} a rank"
        if part["item"] != "compute":
            calls = own.filter((pl.col("view") == "call") & (pl.col("figure") == "time_ps")).sort(pl.col("change").abs(), descending=True)
            cause += "".join(f", in {call['item']} {signed(time_text)(call['change'])}" for call in calls.head(1).iter_rows(named=True))
        return cause

    yield _time(comparison, row, where)
    of_both = [(comparison.runs["folder"][number], comparison.results[number]) for number in (0, row["run"])]
    (fast, slow) = of_both if row["virtual_ps"] > comparison.runs["virtual_ps"][0] else reversed(of_both)
    assert isinstance(slow[1], Run) and isinstance(fast[1], Run)
    for number, cause in enumerate(causes(slow[1], fast[1])):
        which = slow[0] if slow[1] is comparison.results[row["run"]] else f"{slow[0]}, the slower one"
        yield f"{'Likely cause' if number == 0 else 'Also'}: in {which}, {cause}."


def _doing(part: str) -> str:
    return {"compute": "computing", "wait": "waiting", "library": "in the MPI library"}[part]


def _of_jobs(comparison: Comparison, row: dict[str, Any], own: pl.DataFrame) -> Iterator[str]:
    total = {one["figure"]: one for one in own.filter(pl.col("view") == "total").iter_rows(named=True)}

    def where() -> str:
        hops, latency = total["mean_hops"], total["packet_latency_ns"]
        found = [] if hops["change"] == 0 else [f"packets take {hops['value']:.2f} hops instead of {hops['first']:.2f}"]
        found += [] if latency["change"] == 0 else [f"packets take {_change(latency)}"]
        return f": {' and '.join(found)}" if found else ""

    yield _time(comparison, row, where)
    jobs = own.filter((pl.col("view") == "job") & (pl.col("figure") == "finished_ns"))
    if len(jobs) > 1:
        most = jobs.sort(pl.col("change").abs(), descending=True, maintain_order=True).row(0, named=True)
        if most["change"]:
            yield f"Job {most['item']} changes most: it finishes after {_change(most)}."


def _of_points(comparison: Comparison, row: dict[str, Any], own: pl.DataFrame) -> Iterator[str]:
    first, folder = comparison.runs["folder"][0], row["folder"]
    found = worsenings(own)
    worst = {point: max(one["worse_percent"] for one in found if one["item"] == point) for point in {one["item"] for one in found}}
    best = {point: min(one["worse_percent"] for one in found if one["item"] == point) for point in worst}
    worse = [point for point, percent in worst.items() if percent >= SAME_PERCENT]
    better = [point for point, percent in best.items() if percent <= -SAME_PERCENT and point not in worse]
    what = "load" if comparison.kind in ("load", "messages") else "point"
    if not worse and not better:
        yield f"{folder} measures the same as {first} at {counted(len(worst), what)}."
        return
    parts = [f"worse at {len(worse)}"] * bool(worse) + [f"better at {len(better)}"] * bool(better)
    yield f"{folder} is {', '.join(parts)} of {counted(len(worst), what)}, compared with {first}."
    most = max(found, key=lambda one: abs(one["worse_percent"]))
    yield f"The largest change is {at_point(most['view'], most['item'])}: {_WORDS[most['figure']]} {_change(most)}."
    yield from _saturation(own, folder, first)


def _saturation(own: pl.DataFrame, folder: str, first: str) -> Iterator[str]:
    full = own.filter((pl.col("figure") == "saturated") & (pl.col("change") != 0))
    for which, change in ((folder, 1), (first, -1)):
        points = full.filter(pl.col("change") == change)
        if len(points):
            more = f" and {len(points) - 1} more" if len(points) > 1 else ""
            yield f"Only {which} is saturated {at_point(points['view'][0], points['item'][0])}{more}."


_WORDS = {
    "accepted_load": "the accepted load is",
    "latency_ns": "the mean latency is",
    "completion_ns": "all messages take",
    "finished_ns": "the last rank takes",
}


def _change(one: dict[str, Any]) -> str:
    percent = f" ({100.0 * one['change'] / one['first']:+.2f} %)" if one["first"] else ""
    if one["figure"] in HIGHER_IS_BETTER:
        return f"{one['value']:.3f} instead of {one['first']:.3f}{percent}"
    return f"{time_text(one['value'] * 1e3)} instead of {time_text(one['first'] * 1e3)}{percent}"


_HOW: dict[str, Callable[[Comparison, dict[str, Any], pl.DataFrame], Iterator[str]]] = {
    "run": _of_runs,
    "jobs": _of_jobs,
    **dict.fromkeys(("load", "messages", "sweep of loads", "sweep of jobs", "sweep of traces"), _of_points),
}
