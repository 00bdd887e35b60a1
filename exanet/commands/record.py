# SPDX-License-Identifier: Apache-2.0
"""`exanet record`: the command."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND [ARGS]...", help="The command that starts the program, e.g. mpiexec -n 8 ./solver; write -- before it."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the trace; by default a new folder in the current one.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing about the trace.")] = False,
) -> None:
    """Record a program's MPI calls under its own MPI, without the simulator, for `exanet replay`. Exits with the
    command's code.

    The trace is that of `exanet run --record`, with the host's times. For MPICH and Open MPI 4 and 5; programs in C,
    Fortran and Python.

    \b
    exanet record -o trace -- mpiexec -n 8 ./solver
    exanet replay trace -m exanest
    """
    with lightly.imports():
        from exanet import record

    directory = output or next(path for number in itertools.count(1) if not (path := Path(f"exanet-record-{number}")).exists())
    done = record.record(words, directory)
    if not quiet and (line := record.said(done, directory)):
        print(line, file=sys.stderr)
    raise typer.Exit(done.status)


# Everything behind the first word that is no option belongs to the command, its options too.
app = single.app(command, allow_interspersed_args=False)
