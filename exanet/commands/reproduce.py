# SPDX-License-Identifier: Apache-2.0
"""`exanet reproduce`: the figures of one paper."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError

EXAMPLES = """\
exanet reproduce --list
exanet reproduce karma17 -o karma17"""


def command(
    paper: Annotated[str | None, typer.Argument(help="A paper's short name (see --list).")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for tables and pictures; by default PAPER-N.")] = None,
    long: Annotated[bool, typer.Option("--long", help="Also measure rows that take minutes.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the papers, their rows and figures, and measure nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the published figures of one paper, and draw its curves from the simulator beside the published points.

    Rows and verdicts are those of `exanet validate`. The folder gets them as reproduced.parquet and summary.json, the
    points of all curves as curves.parquet, and each figure as SVG and PNG. The exit code is that of `exanet validate`.
    """
    with lightly.imports():
        from rich.console import Console

        from exanet.directory import result_directory
        from exanet.validate import reproduce, table
        from exanet.validate.registry import published
        from exanet.validate.runner import Runner

    if listed:
        return reproduce.show_papers(as_json)
    if paper is None:
        raise InputError("name a paper, e.g. exanet reproduce karma17; exanet reproduce --list shows all")
    chosen = reproduce.paper_of(paper)
    reproduce.check_pictures()
    place = result_directory("reproduce", output, stem=chosen.name)
    # A terminated run takes its programs with it, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rows: list[dict[str, Any]] = []
    with Console(stderr=True).status("") as status:
        wanted = reproduce.rows_of(chosen, long)
        runner = Runner(report=lambda what: status.update(f"{len(rows) + 1} of {len(wanted)}: {what}"))
        drawn, missing = reproduce.drawings(chosen, runner, lambda what: status.update(what))
        for row in wanted.values():
            runner.report(f"{row.id}: {published()[row.id]['quantity']}")
            rows.append(table.measure(row, runner))
    written = reproduce.write(place, reproduce.files(chosen, rows, drawn))
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        reproduce.show(rows, missing, drawn, written)
    raise typer.Exit(table.status_of(rows))


app = single.app(command, examples=EXAMPLES)
