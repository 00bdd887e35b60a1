# SPDX-License-Identifier: Apache-2.0
"""`exanet compare`: results of one kind side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import lightly, units
from exanet.commands import single
from exanet.commands.options import Json
from exanet.errors import InputError
from exanet.quantity import counted

EXAMPLES = """\
exanet compare before-1 after-1
exanet compare torus-1 dragonfly-1 fat-tree-1 -o compared
exanet compare reference-1 new-1 --fail-over 2%
exanet compare torus-load-1 dragonfly-load-1"""


def command(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER FOLDER...",
            help="Results of exanet run or replay, of sim, or of sweep, all of one kind; the others are compared with the first.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the tables of the comparison and its page, report.html.")
    ] = None,
    fail_over: Annotated[
        str | None,
        typer.Option(
            "--fail-over",
            metavar="PERCENT",
            help="Exit with 1 where a result is worse than the first one by more: the virtual time of a run or jobs; of loads and "
            "sweeps the latency, accepted load or time of any point.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare runs, simulations or sweeps: what was asked for differently, how long each took, and which ranks, calls,
    links and message sizes, loads, jobs or points the difference is in.

    Measured computing varies by some percent from run to run. With `--compute off`, or in replays, what differs is
    the network.
    """
    limit = None if fail_over is None else _percent(fail_over)
    with lightly.imports():
        from exanet import terminal
        from exanet.compare import figures, page, sentences, text
        from exanet.directory import result_directory

    place = None if output is None else result_directory("compare", output)
    found = figures.compare(*folders)
    runs = found.runs.to_dicts()
    summary = {"format": 1, "kind": found.kind, "runs": runs, "sentences": sentences.sentences(found)}
    if place is not None:
        figures.write(found, place, summary, page.render(found))
    if as_json:
        tables = {"settings": found.settings.to_dicts(), "differences": found.differences.to_dicts()}
        typer.echo(json.dumps({**summary, **tables}, indent=2))
    else:
        text.show(found, terminal.console())
        if place is not None:
            typer.echo(f"Results: {place}, report.html")
    if limit is not None and (over := [line for run in runs[1:] for line in _over(run, limit)]):
        for line in over:
            typer.echo(f"exanet: {line}", err=True)
        raise typer.Exit(1)


def _over(run: dict[str, Any], limit: float) -> list[str]:
    """What of a run is worse than the first one by more than this many percent."""
    found = [f"{run['folder']}: {counted(run['failed'], 'point')} failed that did not in the first"] if run["failed"] else []
    worse = run["change_percent"]
    if worse is None:
        return [*found, f"{run['folder']}: the first took no virtual time"]
    how = "lower" if run["by"].startswith("accepted load") else "longer"
    return found + ([f"{run['folder']}: {run['by']} is {worse:.2f} % {how}, more than {limit:g} %"] if worse > limit else [])


def _percent(text: str) -> float:
    try:
        return float(units.parse_exact(text if "%" in text else f"{text} %", units.PERCENT))
    except units.UnitError as error:
        raise InputError(f"--fail-over {text}: {error}") from None


app = single.app(command, examples=EXAMPLES)
