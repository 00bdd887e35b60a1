# SPDX-License-Identifier: Apache-2.0
"""`exanet trace convert`: the command. What its help says of formats comes from their registry
(exanet/trace/formats)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.errors import InputError
from exanet.trace import formats

_FILES, _FOLDERS = formats.targets()
_SOURCES = formats.sources()
_SCHEDULES = formats.schedules()


def command(
    source: Annotated[Path, typer.Argument(metavar="FROM", help=f"{_SOURCES[0].upper()}{_SOURCES[1:]}.")],
    target: Annotated[
        Path, typer.Argument(metavar="TO", help=f"A file {_FILES} or a folder {_FOLDERS}; if FROM is not a trace, the folder for one.")
    ],
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective",
            metavar="NAME=ALGORITHM,...",
            help=f"To {_SCHEDULES}: algorithms of collectives, as in `exanet replay`.",
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules",
            help=f"To {_SCHEDULES}: rules that choose the algorithms of other collectives, as in `exanet replay`.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there under the name TO.")] = False,
) -> None:
    with lightly.imports():
        from exanet.trace import convert, folder
        from exanet.trace import rules as selection

    wanted = formats.of_target(target)
    for option, value in (("--collective", collective), ("--rules", rules)):
        if value is not None and not (wanted and wanted.is_schedule):
            raise InputError(f"{option} {value}: only {formats.schedules('and')} have collectives as messages; leave it out")
    selection.check(rules)
    for what, count in convert.convert(source, target, selection.choices(collective), rules, overwrite=overwrite).items():
        typer.echo(f"Left out: {count} {what}")
    if wanted is None and (reason := folder.load(target).about.reason):
        typer.echo(f"Incomplete: {reason}; it can be shown, and not be replayed")
    typer.echo(f"Wrote {target}")
