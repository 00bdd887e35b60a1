# SPDX-License-Identifier: Apache-2.0
"""`exanet trace show`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.errors import InputError


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The folder of a trace.")],
    rank: Annotated[int, typer.Option("--rank", help="The rank whose calls are printed.")] = 0,
    first: Annotated[int, typer.Option("--first", help="The first call to print, counted from 1.")] = 1,
    count: Annotated[int, typer.Option("--count", help="The number of calls to print.")] = 100,
) -> None:
    """Print a rank's calls, one on each line: start time, duration, name and arguments."""
    with lightly.imports():
        from exanet.trace import folder, tables

    read = folder.load(trace)
    if not 0 <= rank < read.about.ranks:
        raise InputError(f"--rank {rank}: the trace has ranks 0 to {read.about.ranks - 1}")
    if not (1 <= first < 1 << 62 and 1 <= count < 1 << 62):
        raise InputError(f"--first {first} --count {count}: give whole numbers from 1 on")
    for line in tables.lines(read, rank, first, count):
        typer.echo(line)
