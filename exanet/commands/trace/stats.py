# SPDX-License-Identifier: Apache-2.0
"""`exanet trace stats`: the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands.options import Json
from exanet.errors import InputError


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The folder of a trace.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the tables (Parquet) and a page with plots.")] = None,
    as_json: Json = False,
) -> None:
    """Count a trace's calls and bytes by call, by message size, by rank, by pair of ranks, and over time."""
    with lightly.imports():
        from exanet import terminal
        from exanet.trace import folder, statistics, tables

    read = folder.load(trace)
    if output is not None and output.exists() and output.resolve() == trace.resolve():
        raise InputError(f"-o {output}: that is the trace; name another folder")
    found = statistics.statistics(read)
    if output is not None:
        try:
            statistics.write(output, read, found)
        except OSError as error:
            raise InputError(f"-o {output}: {error.strerror}; choose another place") from None
    if as_json:
        typer.echo(json.dumps({"trace": read.about.model_dump(), **statistics.as_data(found)}, indent=2))
    else:
        tables.show(read, found, terminal.console(80))
