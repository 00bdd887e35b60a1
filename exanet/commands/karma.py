# SPDX-License-Identifier: Apache-2.0
"""`exanet karma`: the bench of the network IP."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError
from exanet.karma.awareness import MOST_NODES, TORUS
from exanet.karma.board import CYCLE_NS
from exanet.karma.experiments import LINE_CYCLES

_MOST_LINE_CYCLES = 400


def command(
    line_cycles: Annotated[
        int, typer.Option("--line", metavar="CYCLES", help="Latency of transceiver and line, in cycles of 6.4 ns.")
    ] = LINE_CYCLES,
    torus: Annotated[
        str, typer.Option("--torus", metavar="SIDES", help="Torus of the LO|FA|MO table, its sides with x between them.")
    ] = "x".join(map(str, TORUS)),
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for report.html (the plots) and summary.json; by default none.")
    ] = None,
) -> None:
    """Measure the network IP with its bench KARMA, Verilated: latency, bandwidth, a hop's nanoseconds, and who hears of a fault, when."""
    with lightly.imports():
        from exanet.directory import result_directory
        from exanet.validate import karma

    if not 0 <= line_cycles <= _MOST_LINE_CYCLES:
        raise InputError(f"--line {line_cycles}: give from 0 to {_MOST_LINE_CYCLES} cycles of {CYCLE_NS} ns")
    sides = _sides(torus)
    directory = result_directory("karma", output) if output is not None else None
    found = karma.measure(line_cycles, sides)
    if directory is not None:
        karma.write(directory, found)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        karma.show(found, directory)


def _sides(text: str) -> list[int]:
    """The sides of a torus. Raises InputError."""
    if re.fullmatch(r"[0-9]{1,4}(x[0-9]{1,4}){0,2}", text):
        sides = [int(side) for side in text.split("x")]
        if 8 <= math.prod(sides) <= MOST_NODES:
            return sides
    raise InputError(f"--torus {text}: give one to three sides, such as 4x4x4, of 8 to {MOST_NODES} nodes together")


app = single.app(command)
