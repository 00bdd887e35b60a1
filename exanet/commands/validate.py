# SPDX-License-Identifier: Apache-2.0
"""`exanet validate`: published figures measured again."""

from __future__ import annotations

import json
import signal
import sys
from typing import Annotated, Any

import typer

from exanet import lightly
from exanet.commands import single


def command(
    only: Annotated[str | None, typer.Option("--only", metavar="ID,...", help="Measure only these rows.")] = None,
    long: Annotated[bool, typer.Option("--long", help="Also measure rows that take minutes: large networks.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also if a row is off, by any reading, or was skipped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List all rows, how each is measured or why not, and measure nothing.")] = False,
) -> None:
    """Measure published figures again, on simulated machines and in the gateware.

    A prediction passes if it is within 5 %; otherwise it is off, and its cause is given. Rows without their tool are
    skipped; those that nothing here determines are not reproduced, and say why. Where a source can be read in two ways,
    both readings are printed. The exit code is 1 if a row fails, 2 if nothing could be measured, 0 otherwise.
    """
    from rich.console import Console

    with lightly.imports():
        from exanet.validate import table
        from exanet.validate.registry import published
        from exanet.validate.runner import Runner

    chosen = table.select(only, long or listed)
    if listed:
        table.show_list(chosen, as_json)
        return
    # A terminated validation takes its run with it, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    with console.status("") as status:
        runner = Runner(report=lambda what: status.update(f"{len(rows) + 1} of {len(chosen)}: {what}"))
        for row in chosen.values():
            runner.report(f"{row.id}: {published()[row.id]['quantity']}")
            rows.append(table.measure(row, runner))
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        table.show(rows)
    raise typer.Exit(table.status_of(rows, strict))


app = single.app(command)
