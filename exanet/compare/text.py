# SPDX-License-Identifier: Apache-2.0
"""Writes a comparison for the terminal: what differs, how long each took, and where the time went."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exanet import terminal
from exanet.compare.figures import Comparison
from exanet.compare.runs import PARTS
from exanet.compare.sentences import sentences, signed
from exanet.quantity import bytes_text, count_text, time_text

MOST_SETTINGS = 20
"""Keys that the table of differences shows."""

TOP = 6
"""Rows of the tables of calls, ranks, links and sizes: those that have changed most."""

MOST_POINTS = 12
"""Rows of the tables of loads, jobs and points of a sweep."""

LONGEST_NAME = 24
"""Characters of a column's heading or a value."""


def show(comparison: Comparison, console: Console) -> None:
    names = [_short(folder) for folder in comparison.runs["folder"]]
    tables = (
        _runs(comparison.runs, names),
        _settings(comparison.settings, names),
        _view(comparison, names, "load", "Mean latency by load", {"latency_ns": _ns}, top=MOST_POINTS, order=""),
        _view(comparison, names, "load", "Accepted load by load", {"accepted_load": _share}, top=MOST_POINTS, order=""),
        _view(comparison, names, "load", "Time until all messages have arrived", {"completion_ns": _ns}, top=MOST_POINTS),
        _view(comparison, names, "job", "Jobs, time to the end", {"finished_ns": _ns}, top=MOST_POINTS, order=""),
        _view(comparison, names, "job", "Jobs, median time of a message", {"message_p50_ns": _ns}, top=MOST_POINTS, order=""),
        _view(comparison, names, "point", "Points whose mean latency has changed most", {"latency_ns": _ns}, top=MOST_POINTS),
        _view(comparison, names, "point", "Points whose accepted load has changed most", {"accepted_load": _share}, top=MOST_POINTS),
        _view(comparison, names, "point", "Points whose time to the end has changed most", {"finished_ns": _ns}, top=MOST_POINTS),
        _view(comparison, names, "part", "Time of a rank, mean", {"time_ps": time_text}, top=len(PARTS)),
        _view(comparison, names, "call", "MPI calls, time of a rank, mean", {"time_ps": time_text}),
        _view(comparison, names, "rank", "Ranks whose waiting has changed most", {"wait_ps": time_text}),
        _view(comparison, names, "link", "Links whose use has changed most", {"use_percent": _percent}),
        _view(comparison, names, "size", "Messages by size, median time", {"median_ps": time_text}, label=_size),
        _view(comparison, names, "total", "Network", {}, top=9, order=""),
    )
    for table in tables:
        if table.row_count:
            console.print(table)
            console.print()
    for line in sentences(comparison):
        console.print(escape(line), soft_wrap=True)


def _runs(runs: pl.DataFrame, names: list[str]) -> Table:
    timed = runs["virtual_ps"].is_not_null().all()
    table = terminal.table("run", "program", "machine", "ranks", *(("virtual time", "change") if timed else ()), left=3)
    for row, name in zip(runs.iter_rows(named=True), names, strict=True):
        same = row["change_percent"] == 0
        change = "" if row["run"] == 0 else "=" if same else "-" if row["change_percent"] is None else f"{row['change_percent']:+.2f} %"
        words = [word.rstrip("/").rpartition("/")[2] for word in (row["program"] or "").split(" ")]
        program, machine = _short(" ".join(words), keep="start"), escape(_short(row["machine"] or "", keep="start"))
        ranks = "" if row["ranks"] is None else str(row["ranks"])
        table.add_row(escape(name), escape(program), machine, ranks, *((time_text(row["virtual_ps"]), change) if timed else ()))
    return table


def _settings(settings: pl.DataFrame, names: list[str]) -> Table:
    table = terminal.table("what differs", *map(escape, names), left=1)
    for (key,), rows in list(settings.group_by("key", maintain_order=True))[:MOST_SETTINGS]:
        table.add_row(escape(str(key)), *(escape(_short(value, keep="start")) if value is not None else "-" for value in rows["value"]))
    if (more := settings["key"].n_unique() - MOST_SETTINGS) > 0:
        table.add_row(f"and {more} more (--json, -o)")
    return table


def _view(
    comparison: Comparison,
    names: list[str],
    view: str,
    title: str,
    figures: dict[str, Callable[[float], str]],
    *,
    top: int = TOP,
    order: str = "change",
    label: Callable[[str], str] = str,
) -> Table:
    """The items of a view, those that change most first, a column a run; without `figures` a row for each."""
    rows = comparison.differences.filter(pl.col("view") == view)
    if figures:
        rows = rows.filter(pl.col("figure").is_in(list(figures)))
    by = ["item", "figure"]
    largest = rows.group_by(by, maintain_order=True).agg(pl.col("change").abs().max().alias("most"))
    if order:
        largest = largest.filter(pl.col("most") > 0).sort("most", descending=True, maintain_order=True)
    table = terminal.table(title, *map(escape, names))
    for chosen in largest.head(top).iter_rows(named=True):
        own = rows.filter((pl.col("item") == chosen["item"]) & (pl.col("figure") == chosen["figure"])).sort("run")
        text = figures.get(chosen["figure"]) or _text_of(chosen["figure"])
        cells = [_value(own["first"][0], text)]
        cells += [_value(one["value"], text) + _change(one, text) for one in own.iter_rows(named=True)]
        table.add_row(escape(label(chosen["item"]) or _words(chosen["figure"])), *map(escape, cells))
    return table


def _value(value: float | None, text: Callable[[float], str]) -> str:
    return "-" if value is None else text(value)


def _change(row: dict[str, float], text: Callable[[float], str]) -> str:
    if row["change"] is None:
        return ""
    if row["change"] == 0:
        return " (=)"
    if text is _percent or row["first"] == 0:
        return f" ({signed(text)(row['change'])})"
    return f" ({100.0 * row['change'] / row['first']:+.1f} %)"


def _text_of(figure: str) -> Callable[[float], str]:
    if figure.endswith("_ps"):
        return time_text
    if figure.endswith("_ns"):
        return _ns
    if figure.endswith("_load"):
        return _share
    if figure == "mean_hops":
        return lambda value: f"{value:.2f}"
    return bytes_text if figure.endswith("_bytes") else count_text


def _words(figure: str) -> str:
    """A figure's name as words: `packet_latency_p50_ns` is the median of the latency of packets."""
    return figure.replace("_p50_ns", ", median").replace("_p99_ns", ", 99 %").replace("_ps", " time").replace("_ns", "").replace("_", " ")


def _ns(value: float) -> str:
    return time_text(value * 1e3)


def _share(value: float) -> str:
    return f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def _size(lower: str) -> str:
    """A class of sizes, by its least one."""
    least, most = int(lower), 2 * int(lower) - 2 if lower != "0" else 1
    return bytes_text(least) if least == most else f"{bytes_text(least)} to {bytes_text(most)}"


def _short(name: str, *, keep: str = "end") -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return "…" + name[-LONGEST_NAME + 1 :] if keep == "end" else name[: LONGEST_NAME - 1] + "…"
