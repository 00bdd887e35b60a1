# SPDX-License-Identifier: Apache-2.0
"""`exanet trace extrapolate`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands.options import number_of_ranks
from exanet.errors import InputError
from exanet.quantity import counted


def command(
    traces: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE [SMALLER]", help="The folder of a trace, and optionally of a smaller one of the same program."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the larger trace.")],
    ranks: Annotated[int, typer.Option("--ranks", "-n", metavar="N", help="Number of ranks of the larger trace.", parser=number_of_ranks)],
    grid: Annotated[
        str | None,
        typer.Option("--grid", metavar="AxB", help="The grid of its ranks; by default the trace's grid, enlarged."),
    ] = None,
) -> None:
    """Create a trace with more ranks than have run, for a program with a regular pattern.

    Ranks are a row, or a grid of two or three directions that is found; each rank of a larger one makes the calls of
    the recorded rank in its place, with neighbours of its own. From one trace, sizes and computing of a rank stay as
    they are; from two they follow the number of ranks.

    \b
    exanet trace extrapolate stencil-16 -n 1024 -o stencil-1024
    exanet trace extrapolate fft-64 fft-16 -n 512 -o fft-512
    """
    with lightly.imports():
        from exanet.progress import share_done
        from exanet.trace import extrapolate

    try:
        with share_done("ranks", False) as progress:
            about, laid_out, granted = extrapolate.extrapolate(traces, output, ranks, grid, progress)
    except OSError as error:
        raise InputError(f"-o {output}: {error.strerror}; choose another place") from None
    typer.echo(f"Wrote {counted(about.calls, 'call')} of {counted(about.ranks, 'rank')} to {output}: extrapolated, a grid of {laid_out}")
    for what in granted:
        typer.echo(f"Taken for granted: {what}")
