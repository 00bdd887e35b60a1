# SPDX-License-Identifier: Apache-2.0
"""`exanet trace merge`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.errors import InputError
from exanet.quantity import counted


def command(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Folders of traces with the same number of ranks, in order.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the merged trace.")],
) -> None:
    """Concatenate traces: each rank continues with the calls of the next trace. (To run them side by side: exanet
    replay A B.)

    \b
    exanet trace merge steps steps steps -o longer
    """
    with lightly.imports():
        from exanet.trace import parts

    try:
        about = parts.merge(traces, output)
    except OSError as error:
        raise InputError(f"-o {output}: {error.strerror}; choose another place") from None
    typer.echo(f"Wrote {counted(about.calls, 'call')} of {counted(about.ranks, 'rank')} to {output}")
