# SPDX-License-Identifier: Apache-2.0
"""`exanet sweep`: the command."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet.errors import InputError
from exanet.machine import located
from exanet.machine.located import Located, Mark
from exanet.sweep import cluster as clusters
from exanet.sweep import execute
from exanet.sweep import results as tables
from exanet.sweep.plan import Plan, read


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The sweep, as a YAML file; see docs/sweep.md.")] = None,
    machines: Annotated[str | None, typer.Option("--machine", "-m", metavar="NAME,...", help="Machines: names or files.")] = None,
    traffic: Annotated[str | None, typer.Option("--traffic", metavar="NAME,...", help="Traffic, as `exanet sim` takes it.")] = None,
    loads: Annotated[
        str | None, typer.Option("--load", metavar="LOAD,...", help="Offered loads, or saturation: the highest that is accepted.")
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seed", metavar="SEED,...", help="Seeds; the page shows their mean.")] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="AXIS=VALUE,...", help="Any other axis, or a constant of the machines: --set 'router.inter_fifo=512 words'."
        ),
    ] = None,
    sample: Annotated[int | None, typer.Option("--sample", help="Run so many combinations, drawn at random, instead of all.")] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", help="Where to run: local, a Dask scheduler's address (tcp://…), or slurm, pbs, … by dask-jobqueue.")
    ] = "local",
    workers: Annotated[int, typer.Option("--workers", help="Processes of a local cluster, or jobs to ask a batch system for.")] = 2,
    script: Annotated[bool, typer.Option("--script", help="Print the job that a batch system would be given, and run nothing.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the results; one with a sweep is gone on with.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Simulate many machines, traffics, loads and seeds; give the same command again to go on after a stop."""
    given = {"machine": machines, "traffic": traffic, "load": loads, "seed": seeds}
    options = {key: _list(f"--{key}", text) for key, text in given.items() if text is not None}
    for axis in axes or []:
        key, found, text = axis.partition("=")
        if not found:
            raise InputError(f"--set {axis}: give an axis and its values, e.g. --set 'router.inter_fifo=512 words,1024 words'")
        key = key.strip()
        options[key] = _list(f"--set {key}", text)
        if key == "job" and any(re.match(r"\w+=", str(piece.value)) for piece in options[key].value):
            raise InputError(f"--set {axis}: a comma ends a value: quote each job, --set 'job=\"{text}\"', or write a sweep file")
    if sample is not None:
        mark = Mark("--sample")
        options["sample"] = Located({"runs": Located(sample, mark)}, mark, {"runs": mark})
    if file is None and not options:
        raise InputError("name a sweep file, or give at least --machine")
    if workers < 1:
        raise InputError(f"--workers {workers}: give at least 1")
    plan = read(file, options)
    if script:
        typer.echo(clusters.job_script(cluster), nl=False)
        return
    directory = _directory(output, plan)
    try:
        code = _sweep(plan, directory, cluster, workers, quiet)
    except KeyboardInterrupt:
        print(f"exanet: stopped; the same command with -o {directory} goes on", file=sys.stderr)
        code = 130
    sys.exit(code)


def _list(option: str, text: str) -> Located:
    parsed = located.parse(f"[{text}]".encode(), option)
    assert isinstance(parsed.value, list)
    return parsed


def _directory(output: Path | None, plan: Plan) -> Path:
    """A new folder, or one that holds a sweep: that one is gone on with."""
    stem = f"exanet-sweep-{''.join(c if c.isalnum() or c in '-_.' else '-' for c in plan.name)}"
    chosen = output or next(path for number in itertools.count(1) if not (path := Path(f"{stem}-{number}")).exists())
    if chosen.exists() and not chosen.is_dir():
        raise InputError(f"-o {chosen}: it is a file; name a folder")
    if chosen.is_dir() and any(chosen.iterdir()) and not (chosen / execute.JOURNAL).exists():
        raise InputError(f"-o {chosen}: the folder holds other files; name a new one, or one of a sweep")
    return chosen


def _sweep(plan: Plan, directory: Path, cluster: str, workers: int, quiet: bool) -> int:
    journal = execute.Journal(directory)
    began = time.monotonic()
    progress = _Progress(len(plan.runs), quiet)
    kept = sum(run.key in journal.found for run in plan.runs)
    if kept and not quiet:
        print(f"exanet: {kept} of {len(plan.runs)} runs are in {journal.path} already", file=sys.stderr)
    if journal.damaged and not quiet:
        print(f"exanet: damaged lines there, left out: {journal.damaged}; what they held is run again", file=sys.stderr)
    if journal.others and not quiet:
        print(f"exanet: {journal.others} results there are of another build of the simulator: not taken over", file=sys.stderr)
    try:
        errors = execute.execute(plan.runs, journal, cluster=cluster, workers=workers, tell=progress)
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
        print(f"exanet: {len(errors)} of {len(plan.runs)} runs failed; why stands in {directory / 'summary.json'}", file=sys.stderr)
    return 1 if errors else 0


class _Progress:
    """A line that changes on a terminal; elsewhere a line every few seconds if something ended, and now and then while nobody works."""

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
        left = f", about {(now - self._began) / made * (self._total - done):.0f} s left" if made and done < self._total else ""
        at_work = f"{there} workers" if there or done == self._total else "waiting for workers"
        line = f"exanet: {done} of {self._total} runs, {failed} failed, {at_work}, {now - self._began:.0f} s{left}"
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
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from exanet.quantity import time_text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    most = ("time to the end",) if plan.of_jobs else ("most accepted", "empty network")
    for heading in ("", "runs", *most, "hops", "hottest link"):
        shown.add_column(heading, justify="left" if not heading else "right")
    named = frame.with_columns(pl.Series("series", tables.series_names(plan)))
    for name in dict.fromkeys(named["series"]):
        rows = named.filter((pl.col("series") == name) & pl.col("error").is_null())
        if rows.is_empty():
            shown.add_row(escape(name), "0", "all failed")
            continue
        top = rows.sort("finished_ns" if plan.of_jobs else "accepted_load", maintain_order=True).row(-1, named=True)
        if plan.of_jobs:
            cells = [time_text(rows["finished_ns"].mean() * 1e3)]
        else:
            cells = [f"{top['accepted_load']:.3f}", time_text(rows["zero_load_ns"].mean() * 1e3)]
        shown.add_row(escape(name), str(len(rows)), *cells, f"{top['mean_hops']:.2f}", f"{top['hottest_link_use']:.0%}")
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    console.print(f"[bold]{escape(plan.name)}[/], {len(plan.runs)} runs\n")
    console.print(shown)
    for text in list(dict.fromkeys(errors.values()))[:5]:
        console.print(f"[red]failed[/], {sum(e == text for e in errors.values())} runs: {escape(text)}")
    console.print(f"\nResults: {escape(str(directory))}", style="dim")
