# SPDX-License-Identifier: Apache-2.0
"""`exanet trace convert`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.errors import InputError


def command(
    source: Annotated[
        Path,
        typer.Argument(metavar="FROM", help="The folder of a trace, its text, a GOAL schedule (text or binary), or an archive of OTF2."),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TO",
            help="A file .goal, .bin (GOAL, binary), .json (Perfetto), .paje (ViTE, PajeNG) or .txt, a folder .otf2 or .simgrid; of what "
            "is no trace the folder of one.",
        ),
    ],
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective", metavar="NAME=ALGORITHM,...", help="To GOAL or SimGrid: algorithms of collectives, as for `exanet replay`."
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules", help="To GOAL or SimGrid: whose rules say which algorithms the other collectives take, as for `exanet replay`."
        ),
    ] = None,
) -> None:
    """Convert a trace to or from GOAL, the schedules of LogGOPSim and ATLAHS, or OTF2, the format of Score-P; to what SimGrid replays,
    to text with a line a call, or to slices and arrows for Perfetto, ViTE and PajeNG.

    \b
    exanet trace convert trace trace.goal
    exanet trace convert trace trace.bin      # for LogGOPSim
    exanet trace convert lulesh.goal trace    # for exanet replay
    exanet trace convert trace trace.json     # for https://ui.perfetto.dev
    exanet trace convert trace trace.paje     # for ViTE
    exanet trace convert trace trace.otf2     # for Vampir and Scalasca
    exanet trace convert trace trace.txt      # and back
    exanet trace convert trace trace.simgrid  # for smpirun
    exanet trace convert scorep-run trace     # for exanet replay
    """
    with lightly.imports():
        from exanet import replay
        from exanet.trace import convert
        from exanet.trace import rules as selection

    for option, value in (("--collective", collective), ("--rules", rules)):
        if target.suffix not in convert.SCHEDULES and value is not None:
            raise InputError(f"{option} {value}: only GOAL and SimGrid's format have collectives as messages; leave it out")
    selection.check(rules)
    for what, count in convert.convert(source, target, replay.choices(collective), rules).items():
        typer.echo(f"Left out: {count} {what}")
    typer.echo(f"Wrote {target}")
