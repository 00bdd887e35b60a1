# SPDX-License-Identifier: Apache-2.0
"""`exanet karma`: the bench of the network IP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError
from exanet.karma.board import CYCLE_NS
from exanet.karma.experiments import LINE_CYCLES

_MOST_LINE_CYCLES = 400


def command(
    line_cycles: Annotated[
        int, typer.Option("--line", metavar="CYCLES", help="Latency of transceiver and line, in cycles of 6.4 ns.")
    ] = LINE_CYCLES,
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for report.html (the plots) and summary.json; by default none.")
    ] = None,
) -> None:
    """Measure the network IP with its bench KARMA, Verilated: latency, bandwidth, and where each nanosecond of a hop goes."""
    with lightly.imports():
        from exanet.directory import result_directory
        from exanet.validate import karma

    if not 0 <= line_cycles <= _MOST_LINE_CYCLES:
        raise InputError(f"--line {line_cycles}: give from 0 to {_MOST_LINE_CYCLES} cycles of {CYCLE_NS} ns")
    directory = result_directory("karma", output) if output is not None else None
    found = karma.measure(line_cycles)
    if directory is not None:
        karma.write(directory, found)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        karma.show(found, directory)


app = single.app(command)
