# SPDX-License-Identifier: Apache-2.0
"""`exanet trace cut`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.errors import InputError
from exanet.quantity import counted


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The folder of a trace.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the part.")],
    after: Annotated[
        int, typer.Option("--after", metavar="N", help="Start after the N-th blocking collective on MPI_COMM_WORLD; 0: from the start.")
    ] = 0,
    until: Annotated[
        int | None, typer.Option("--until", metavar="N", help="End with the N-th, which is included; by default the end of the trace.")
    ] = None,
) -> None:
    """Copy a part of a trace: the calls between two collectives of all ranks.

    \b
    exanet trace cut trace -o steps --after 3 --until 10
    exanet replay steps -m exanest
    """
    with lightly.imports():
        from exanet.trace import parts

    try:
        about = parts.cut(trace, output, after, until)
    except OSError as error:
        raise InputError(f"-o {output}: {error.strerror}; choose another place") from None
    typer.echo(f"Wrote {counted(about.calls, 'call')} of {counted(about.ranks, 'rank')} to {output}")
