# SPDX-License-Identifier: Apache-2.0
"""`exanet compare`: results of runs and replays side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly, units
from exanet.commands import single
from exanet.commands.options import Json
from exanet.errors import InputError

EXAMPLES = """\
exanet compare before-1 after-1
exanet compare torus-1 dragonfly-1 fat-tree-1 -o compared
exanet compare reference-1 new-1 --fail-over 2%"""


def command(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="FOLDER FOLDER...", help="Results of exanet run or replay; the others are compared with the first."),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the tables of the comparison.")] = None,
    fail_over: Annotated[
        str | None,
        typer.Option(
            "--fail-over", metavar="PERCENT", help="Exit with 1 where a run's virtual time is longer than the first one's by more."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare runs: what was asked for differently, how long each took, and which ranks, calls, links and message sizes
    the difference is in.

    Measured computing varies by some percent from run to run. With `--compute off`, or in replays, what differs is
    the network.
    """
    limit = None if fail_over is None else _percent(fail_over)
    with lightly.imports():
        from exanet import terminal
        from exanet.compare import figures, text
        from exanet.directory import result_directory

    place = None if output is None else result_directory("compare", output)
    found = figures.compare(*folders)
    runs = found.runs.to_dicts()
    summary = {"format": 1, "runs": runs, "sentences": text.sentences(found)}
    if place is not None:
        figures.write(found, place, summary)
    if as_json:
        tables = {"settings": found.settings.to_dicts(), "differences": found.differences.to_dicts()}
        typer.echo(json.dumps({**summary, **tables}, indent=2))
    else:
        text.show(found, terminal.console())
        if place is not None:
            typer.echo(f"Tables: {place}")
    if limit is None:
        return
    longer = [run for run in runs[1:] if run["virtual_ps"] > runs[0]["virtual_ps"] * (1 + limit / 100)]
    for run in longer:
        typer.echo(f"exanet: {run['folder']}: {run['change_percent']:+.2f} % of virtual time is more than {limit:g} %", err=True)
    if longer:
        raise typer.Exit(1)


def _percent(text: str) -> float:
    try:
        return float(units.parse_exact(text if "%" in text else f"{text} %", units.PERCENT))
    except units.UnitError as error:
        raise InputError(f"--fail-over {text}: {error}") from None


app = single.app(command, examples=EXAMPLES)
