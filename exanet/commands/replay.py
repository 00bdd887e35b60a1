# SPDX-License-Identifier: Apache-2.0
"""`exanet replay`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.commands.options import MachineOption, Output, Quiet
from exanet.errors import InputError
from exanet.run.placement import KINDS


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The folder that `exanet run --record` has made.")],
    machine: MachineOption,
    mapping: Annotated[str, typer.Option("--map", help=f"Which rank on which node: {KINDS}.")] = "linear",
    compute: Annotated[float, typer.Option("--compute", metavar="FACTOR", help="Computing, times so much of what was recorded.")] = 1.0,
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective", metavar="NAME=ALGORITHM,...", help="Algorithms of collectives in the place of those that MPICH takes."
        ),
    ] = None,
    output: Output = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of --map random.")] = 1,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Make report.html.")] = True,
    quiet: Quiet = False,
) -> None:
    """Replay a recorded program on a machine: its calls, their dependencies, and its computing, without the program.

    The results are those of `exanet run`: the same tables, summary and page.

    \b
    exanet run -m exanest -n 16 --record trace -- lmp -in in.lj
    exanet replay trace -m dragonfly-342
    exanet replay trace -m exanest --compute 0.5 --collective allreduce=ring
    """
    with lightly.imports():
        from rich.console import Console

        from exanet import replay, results
        from exanet.directory import result_directory
        from exanet.progress import share_done
        from exanet.results import report as page
        from exanet.results import summary

    if not 0 <= compute < 1e6:
        raise InputError(f"--compute {compute:g}: give a factor from 0 to a million on the recorded computing")
    if not 0 <= seed < 1 << 64:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^64 - 1")
    options = replay.Options(trace, machine, mapping, compute, replay.choices(collective), seed)
    directory = result_directory("run", output, f"exanet-replay-{trace.name}")
    with share_done("replay", quiet) as progress:
        found, meta = replay.replay(options, progress)
    tables = results.to_tables(found, meta["machine"])
    directory = results.write(directory, found, meta, tables=tables, fresh=output is None)
    file = page.write(directory) if report else directory / "summary.json"
    if not quiet:
        console = Console()
        summary.show(found, meta, console, tables=tables)
        rate = found["summary"]["messages"] / max(found["summary"]["cpu_s"], 1e-9)
        console.print(f"\nReplayed {found['summary']['calls']} calls, {rate:,.0f} messages in a second of processor time", highlight=False)
        console.print(f"Results: [bold]{directory}[/], {file.name}", highlight=False)


app = single.app(command)
