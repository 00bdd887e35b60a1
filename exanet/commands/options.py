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


def number_of_ranks(written: str) -> int:
    """Of -n. Raises typer.BadParameter for no number; click takes `-np 4` for `-n p` and an argument."""
    try:
        return int(written)
    except ValueError:
        raise typer.BadParameter(f"{written!r} is not a whole number; for 4 ranks write -n 4") from None


MachineOption = Annotated[str, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")]
Topology = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="KIND:SHAPE",
        help=f"Replace the topology, e.g. by torus:16,16,16 or dragonfly:13. Kinds: {registries.topologies()}.",
    ),
]
Routing = Annotated[str | None, typer.Option("--routing", help=f"Replace the routing: {registries.routings()}.")]
Rails = Annotated[
    int | None,
    typer.Option("--rails", metavar="LINKS", help="Links of each endpoint, each into a separate plane of switches."),
]
Failed = Annotated[
    list[str] | None,
    typer.Option("--fail", metavar="WHAT", help="A failed node or link by name, or random ones: links:3:SEED, nodes:1:SEED."),
]
Faults = Annotated[
    str | None,
    typer.Option(
        "--faults", metavar="FILE", help="What fails in the run, and when (docs/faults.md; `exanet faults new` writes an example)."
    ),
]
Background = Annotated[
    str | None,
    typer.Option(
        "--background",
        metavar="TRAFFIC,KEY=VALUE,...",
        help="What others send on the machine meanwhile, e.g. uniform,load=0.3,bytes=64KiB, incast,outstanding=1 or flows:FILE "
        "(docs/background.md).",
    ),
]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="FOLDER=NAME",
        help="Files below this folder are on this storage of the machine, e.g. /scratch=nvme; repeatable (docs/storage.md).",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the results; by default a new folder in the current one.")]
LevelOfPrograms = Annotated[
    str,
    typer.Option("--level", help="packet, or flow (long messages at fair rates: faster, less accurate; see docs/flow.md)."),
]
MapSeed = Annotated[int, typer.Option("--seed", help="Seed of --map random.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
Timeline = Annotated[
    bool,
    typer.Option(
        "--timeline",
        help="Also write calls.parquet, critical_path.parquet and timeline.html, a page that zooms from the run to one message; "
        "show what the end of the run waited for.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]


def check_seed(seed: int) -> None:
    """Raises InputError on a --seed that simulators do not take."""
    if not 0 <= seed < 1 << 64:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^64 - 1")


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
