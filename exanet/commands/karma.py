# SPDX-License-Identifier: Apache-2.0
"""`exanet karma`: the bench of the network IP."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError
from exanet.karma.awareness import MOST_NODES, TORUS
from exanet.karma.board import CYCLE_NS
from exanet.karma.experiments import LINE_CYCLES
from exanet.karma.interface import LINE_CYCLES as NI_LINE_CYCLES
from exanet.karma.interface import MEMORY_CYCLES as NI_MEMORY_CYCLES

_MOST_CYCLES = 400


def command(
    interface: Annotated[bool, typer.Option("--ni", help="Measure the network interface instead of the network IP.")] = False,
    line_cycles: Annotated[
        int | None,
        typer.Option(
            "--line",
            metavar="CYCLES",
            help=f"Latency of the line in cycles, up to {_MOST_CYCLES} of {CYCLE_NS} ns ({LINE_CYCLES}; with --ni {NI_LINE_CYCLES}).",
            show_default=False,
        ),
    ] = None,
    memory_cycles: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="CYCLES",
            help=f"With --ni: latency of memory in cycles, 1 to {_MOST_CYCLES} ({NI_MEMORY_CYCLES}).",
            show_default=False,
        ),
    ] = None,
    torus: Annotated[
        str | None,
        typer.Option(
            "--torus",
            metavar="SIDES",
            help=f"Torus of the LO|FA|MO table, as sides with x between them ({'x'.join(map(str, TORUS))}).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for report.html (the plots) and summary.json; by default none.")
    ] = None,
) -> None:
    """Measure the Verilated network IP with its test bench KARMA: latency, bandwidth, time of a hop, and when nodes
    learn of a fault.

    With --ni, measure the network interface and its model: where each cycle of a message, a write and a read goes,
    streams, and options.
    """
    with lightly.imports():
        from exanet.directory import result_directory
        from exanet.progress import share_done
        from exanet.validate import interface as ni
        from exanet.validate import karma

    _check("--line", line_cycles, least=0)
    _check("--memory", memory_cycles, least=1)
    if interface and torus is not None:
        raise InputError("--torus: --ni has no such table; leave one of them out")
    if memory_cycles is not None and not interface:
        raise InputError("--memory: the network IP has no memory; give --ni too")
    sides = _sides(torus) if torus is not None else list(TORUS)
    directory = result_directory("karma", output) if output is not None else None
    show: ModuleType = ni if interface else karma
    if interface:
        with share_done("network interface", False) as progress:
            found = ni.measure(_or(line_cycles, NI_LINE_CYCLES), _or(memory_cycles, NI_MEMORY_CYCLES), progress)
    else:
        found = karma.measure(_or(line_cycles, LINE_CYCLES), sides)
    if directory is not None:
        show.write(directory, found)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show.show(found, directory)


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _check(option: str, cycles: int | None, *, least: int) -> None:
    """Raises InputError for a number of cycles that no bench has."""
    if cycles is not None and not least <= cycles <= _MOST_CYCLES:
        raise InputError(f"{option} {cycles}: give from {least} to {_MOST_CYCLES} cycles of {CYCLE_NS} ns")


def _sides(text: str) -> list[int]:
    """The sides of a torus. Raises InputError."""
    if re.fullmatch(r"[0-9]{1,4}(x[0-9]{1,4}){0,2}", text):
        sides = [int(side) for side in text.split("x")]
        if 8 <= math.prod(sides) <= MOST_NODES:
            return sides
    raise InputError(f"--torus {text}: give one to three sides, such as 4x4x4, of 8 to {MOST_NODES} nodes together")


app = single.app(command)
