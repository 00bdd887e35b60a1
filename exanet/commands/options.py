# SPDX-License-Identifier: Apache-2.0
"""Options that several commands take, each with one help text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from exanet import registries, units
from exanet.errors import InputError
from exanet.units import UnitError

MachineOption = Annotated[str, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")]
Topology = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="KIND:SHAPE",
        help=f"Another shape for the machine, e.g. torus:16,16,16 or dragonfly:13; kinds: {registries.topologies()}.",
    ),
]
Routing = Annotated[str | None, typer.Option("--routing", help=f"Other routes than the machine's: {registries.routings()}.")]
Rails = Annotated[
    int | None,
    typer.Option("--rails", metavar="LINKS", help="Links of each endpoint, each into switches of its own, in place of the machine's."),
]
Failed = Annotated[
    list[str] | None,
    typer.Option("--fail", metavar="WHAT", help="A node or link that has failed, or how many at random: links:3:SEED, nodes:1:SEED."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the results; by default a new one here.")]
LevelOfPrograms = Annotated[
    str,
    typer.Option("--level", help="How messages move: packet, or flow (long ones at fair rates: a first answer, docs/flow.md)."),
]
MapSeed = Annotated[int, typer.Option("--seed", help="Seed of --map random.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Make report.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print data instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]


def time_ps(option: str, text: str) -> int:
    """Picoseconds. Raises InputError."""
    try:
        return units.parse(text, units.TIME)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def size_bytes(option: str, text: str) -> int:
    """Bytes. Raises InputError."""
    try:
        return units.parse(text, units.BYTES)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def packet_size(text: str | None) -> int | None:
    """Bytes of `--packet-bytes`, whose name says the unit of a number alone. Raises InputError."""
    if text is None or re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        return None if text is None else int(text)
    return size_bytes("--packet-bytes", text)
