# SPDX-License-Identifier: Apache-2.0
"""A trace on a terminal: its figures as tables, and a rank's calls as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exanet.errors import InputError
from exanet.quantity import bytes_text, count_text, counted, time_text
from exanet.trace import statistics
from exanet.trace.folder import Trace

TOP = 16
"""Rows of a table; the rest is in the files."""


def show(trace: Trace, found: Mapping[str, pl.DataFrame], console: Console) -> None:
    """Prints the figures of statistics.statistics()."""
    about = trace.about
    if not about.complete:
        console.print(f"[bold red]incomplete: {escape(about.reason)}[/]", soft_wrap=True)
    program = " ".join(map(str, about.run.get("program", [])))
    console.print(f"{count_text(about.calls)} calls of {counted(about.ranks, 'rank')}, {about.mpi}: {escape(program)}", highlight=False)
    if about.unrecorded:
        console.print(f"Not recorded: {', '.join(about.unrecorded)}", highlight=False)
    _print(console, "Calls", found["by_call"], {"call": str, "calls": count_text, "bytes": bytes_text, "took_ps": time_text})
    _print(
        console,
        "Messages, by size in bytes (from)",
        found["by_size"],
        {"lower_bytes": bytes_text, "messages": count_text, "bytes": bytes_text},
    )
    ranks = {"rank": str, "calls": count_text, "bytes": bytes_text, "took_ps": time_text, "compute_ps": time_text}
    _print(console, "Ranks", found["by_rank"], ranks)
    heaviest = found["matrix"].sort("bytes", "src", "dst", descending=[True, False, False])
    over_time = {"from_ps": time_text, "calls": count_text, "bytes": bytes_text, "call": str, "took_ps": time_text}
    _print(console, "Phases (from), with the call that takes the longest", _tenths(found["phases"]), over_time)
    _print(console, "Pairs", heaviest, {"src": str, "dst": str, "messages": count_text, "bytes": bytes_text})


def _tenths(phases: pl.DataFrame) -> pl.DataFrame:
    """What happens in each tenth of the time: the sums, and of the call in which ranks are longest its own time."""
    width = statistics.part_ps(phases) * statistics.PARTS // 10
    tenth = phases.with_columns(from_ps=pl.col("from_ps") // width * width)
    by_call = tenth.group_by("from_ps", "call").agg(pl.col("calls", "bytes", "took_ps").sum())
    longest = by_call.sort("took_ps", "call", descending=[True, False]).group_by("from_ps").agg(pl.col("call", "took_ps").first())
    return by_call.group_by("from_ps").agg(pl.col("calls", "bytes").sum()).join(longest, on="from_ps").sort("from_ps")


def _print(console: Console, title: str, frame: pl.DataFrame, columns: Mapping[str, Any]) -> None:
    if frame.is_empty():
        return
    more = f" (the first {TOP} of {len(frame)})" if len(frame) > TOP else ""
    table = Table(title=title + more, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name.removesuffix("_ps").removesuffix("_bytes"), justify="left" if name == "call" else "right", no_wrap=True)
    for row in frame.head(TOP).iter_rows(named=True):
        table.add_row(*(escape(text(row[name])) for name, text in columns.items()))
    console.print()
    console.print(table)


def lines(trace: Trace, rank: int, first: int, count: int) -> Iterator[str]:
    """Of a rank's calls from one on. Raises InputError."""
    calls = trace.calls().filter(pl.col("rank") == rank)
    if first > len(calls):
        raise InputError(f"--first {first}: rank {rank} has {counted(len(calls), 'call')}; give a number up to that")
    calls = calls.slice(first - 1, count)
    for number, row in enumerate(calls.iter_rows(named=True), first):
        yield f"{number:>8}  {time_text(row['begin_ps']):>12}  {time_text(row['took_ps']):>12}  {row['call']}{_arguments(row)}"


def _arguments(row: Mapping[str, Any]) -> str:
    """Words on a call, beside its name."""
    parts = []
    if row["communicator"] > 0:
        parts.append(f"communicator {row['communicator']}")
    for word, peer, tag, size in (("to", "peer", "tag", "bytes"), ("from", "receive_peer", "receive_tag", "receive_bytes")):
        if row[peer] != -2:
            who = "any" if row[peer] < 0 else row[peer]
            parts.append(f"{word} {who}, tag {'any' if row[tag] < 0 else row[tag]}, {row[size]} B")
        elif row[size] > 0:
            parts.append(f"{'sends' if word == 'to' else 'receives'} {row[size]} B")
    if row["root"] >= 0:
        parts.append(f"root {row['root']}")
    if row["requests"] > 0:
        parts.append(f"{row['requests']} requests" if row["requests"] > 1 else "1 request")
    return "  " + "; ".join(parts) if parts else ""
