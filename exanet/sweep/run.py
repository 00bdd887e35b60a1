# SPDX-License-Identifier: Apache-2.0
"""One sweep from its plan to its folder: the runs, what is reported meanwhile, and the table at the end."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exanet.encoding import check_name
from exanet.errors import InputError
from exanet.quantity import counted
from exanet.sweep import execute
from exanet.sweep import results as tables
from exanet.sweep.plan import Plan


def directory_of(output: Path | None, plan: Plan) -> Path:
    """A new folder, or one that holds a sweep, which then continues."""
    stem = f"exanet-sweep-{''.join(c if c.isalnum() or c in '-_.' else '-' for c in plan.name)}"
    chosen = output or next(path for number in itertools.count(1) if not (path := Path(f"{stem}-{number}")).exists())
    check_name(chosen)
    if chosen.exists() and not chosen.is_dir():
        raise InputError(f"-o {chosen}: it is a file; name a folder")
    if chosen.is_dir() and any(chosen.iterdir()) and not (chosen / execute.JOURNAL).exists():
        raise InputError(f"-o {chosen}: the folder holds other files; name a new one, or one of a sweep")
    return chosen


def run(plan: Plan, directory: Path, cluster: str, workers: int, quiet: bool) -> int:
    """Runs what the folder's journal does not have, and leaves the results there; the exit status. Raises
    InputError."""
    journal = execute.Journal(directory)
    began = time.monotonic()
    progress = _Progress(len(plan.runs), quiet)
    kept = sum(run.key in journal.found for run in plan.runs)
    if kept and not quiet:
        print(f"exanet: {kept} of {counted(len(plan.runs), 'run')} are in {journal.path} already", file=sys.stderr)
    if journal.damaged and not quiet:
        print(f"exanet: damaged lines there, left out: {journal.damaged}; what they held is run again", file=sys.stderr)
    if journal.others and not quiet:
        print(f"exanet: {journal.others} results there are of another build of the simulator: not taken over", file=sys.stderr)
    try:
        errors = execute.execute(plan.runs, journal, cluster=cluster, workers=workers, report=progress)
    finally:
        progress.clear()
        journal.close()
    frame = tables.table(plan, journal.found, errors)
    cpu_s = sum(journal.found[run.key]["cpu_s"] for run in plan.runs if run.key in journal.found)
    facts = {"wall_s": time.monotonic() - began, "cpu_s": cpu_s, "cluster": cluster, "workers": workers, "taken_from_journal": kept}
    try:
        tables.write(directory, plan, frame, journal.found, facts)
    except InputError as error:
        raise InputError(
            [*error.messages, f"the runs are safe in {journal.path}: give the same command with -o {directory} again"]
        ) from None
    if not quiet:
        _show(plan, frame, errors, directory)
    elif errors:
        print(
            f"exanet: {len(errors)} of {counted(len(plan.runs), 'run')} failed; why stands in {directory / 'summary.json'}", file=sys.stderr
        )
    return 1 if errors else 0


class _Progress:
    """A line that changes on a terminal; elsewhere a line every few seconds if something ended, and now and then
    while nobody works."""

    def __init__(self, total: int, quiet: bool) -> None:
        self._total, self._quiet = total, quiet
        self._began = self._last = time.monotonic()
        self._first: int | None = None
        self._done = -1  # as shown last
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, failed: int, workers: Callable[[], int]) -> None:
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        news, silent_s = done != max(self._done, self._first), now - self._last
        if self._quiet or (silent_s < self._pause_s(news) and (done < self._total or not news)):
            return
        there, self._last = workers(), now
        if not (news or self._terminal or there == 0):
            return
        self._done = done
        made = done - self._first
        # As many as there are workers end at about the same time: until then it would be too much by as many times.
        left = ""
        if made >= max(there, 1) and done < self._total:
            left = f", about {(now - self._began) / made * (self._total - done):.0f} s left"
        at_work = f"{counted(there, 'worker')}" if there or done == self._total else "waiting for workers"
        line = f"exanet: {done} of {counted(self._total, 'run')}, {failed} failed, {at_work}, {now - self._began:.0f} s{left}"
        print(f"\r\x1b[K{line}" if self._terminal else line, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def _pause_s(self, news: bool) -> float:
        """How long a line stands at least; the first comes soon, for there may be no workers."""
        if self._terminal:
            return 0.2 if news else 2
        return 5 if news or self._done < 0 else 30

    def clear(self) -> None:
        if self._terminal and not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _show(plan: Plan, frame: Any, errors: dict[str, str], directory: Path) -> None:
    """A line for each curve: the most that it accepts, or the mean time of its jobs."""
    import polars as pl
    from rich.markup import escape

    from exanet import terminal
    from exanet.quantity import time_text

    figures = ("time to the end",) if plan.to_the_end else ("most accepted", "Gb/s", "empty network")
    shown = terminal.table("", "runs", *figures, "hops", "hottest link")
    named = frame.with_columns(pl.Series("series", tables.series_names(plan)))
    most = {} if plan.to_the_end else {row["series"]: row for row in tables.most(named)}
    for name in dict.fromkeys(named["series"]):
        rows = named.filter((pl.col("series") == name) & pl.col("error").is_null())
        if rows.is_empty():
            shown.add_row(escape(name), "0", "all failed")
            continue
        if plan.to_the_end:
            top = rows.sort("finished_ns", maintain_order=True).row(-1, named=True)
            cells = [time_text(rows["finished_ns"].mean() * 1e3)]
        else:
            top = most[name]
            cells = [f"{top['accepted_load']:.3f}", f"{top['accepted_gbps']:.1f}", time_text(top["zero_load_ns"] * 1e3)]
        shown.add_row(escape(name), str(len(rows)), *cells, f"{top['mean_hops']:.2f}", f"{top['hottest_link_use']:.0%}")
    console = terminal.console()
    console.print(f"[bold]{escape(plan.name)}[/], {counted(len(plan.runs), 'run')}\n")
    console.print(shown)
    for text in list(dict.fromkeys(errors.values()))[:5]:
        console.print(f"[red]failed[/], {counted(sum(e == text for e in errors.values()), 'run')}: {escape(text)}")
    console.print(f"\nResults: {escape(str(directory))}", style="dim")
