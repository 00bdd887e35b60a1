# SPDX-License-Identifier: Apache-2.0
"""`exanet faults`: files of what fails in a run."""

from __future__ import annotations

from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.commands.options import MachineOption
from exanet.quantity import counted


def new(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The new file.")],
    machine: MachineOption,
) -> None:
    """Write an example for a machine, with a comment on each key."""
    with lightly.imports():
        from exanet import faults
        from exanet import machine as machines

    path = faults.write(file, machines.load(machine, packets=False))
    typer.echo(f"{path} is written. To go on: exanet faults check {path} -m {machine}")


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of faults.")],
    machine: MachineOption,
) -> None:
    """Check a file of faults: its keys and units, and whether the machine has what fails."""
    with lightly.imports():
        from exanet import machine as machines
        from exanet.faults import read

    failing = read.add(machines.load(machine, packets=False), file)
    count = read.changes(failing)
    typer.echo(f"{file}: {counted(count, 'change')} of links and nodes on {failing.name}")


def _describe() -> None:
    """Write or check a file of faults: links and nodes that fail in a run, for `--faults`.

    \b
    exanet faults new cut.yaml -m exanest
    exanet faults check cut.yaml -m exanest
    """


app = single.group(_describe)
app.command(name="new", context_settings=single.SETTINGS)(new)
app.command(name="check", context_settings=single.SETTINGS)(check)
