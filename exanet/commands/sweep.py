# SPDX-License-Identifier: Apache-2.0
"""`exanet sweep`: many simulations."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The sweep as a YAML file; see docs/sweep.md.")] = None,
    machines: Annotated[str | None, typer.Option("--machine", "-m", metavar="NAME,...", help="Machines: names or files.")] = None,
    traffic: Annotated[str | None, typer.Option("--traffic", metavar="NAME,...", help="Traffic patterns of `exanet sim`.")] = None,
    loads: Annotated[
        str | None, typer.Option("--load", metavar="LOAD,...", help="Offered loads, or saturation (find the highest accepted load).")
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seed", metavar="SEED,...", help="Seeds; the report shows means over them.")] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="AXIS=VALUE,...", help="Another axis, or a constant of the machines, e.g. 'router.inter_fifo=512 words'."
        ),
    ] = None,
    sample: Annotated[int | None, typer.Option("--sample", help="Run this many random combinations instead of all.")] = None,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster", help="Where to run: local, the address of a Dask scheduler (tcp://…), or slurm, pbs, … through dask-jobqueue."
        ),
    ] = "local",
    workers: Annotated[int, typer.Option("--workers", help="Number of local processes, or of jobs for a batch system.")] = 2,
    script: Annotated[
        bool, typer.Option("--script", help="Print the job that would be submitted to a batch system, and run nothing.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the results. If it holds an interrupted sweep, the sweep continues.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Simulate many machines, traffic patterns, loads and seeds. To continue an interrupted sweep, give the same
    command again."""
    with lightly.imports():
        from exanet.machine.located import Located, Mark, parse_list
        from exanet.sweep import cluster as clusters
        from exanet.sweep import run as sweeps
        from exanet.sweep.plan import read

    given = {"machine": machines, "traffic": traffic, "load": loads, "seed": seeds}
    options = {key: parse_list(f"--{key}", text) for key, text in given.items() if text is not None}
    for axis in axes or []:
        key, found, text = axis.partition("=")
        if not found:
            raise InputError(f"--set {axis}: give an axis and its values, e.g. --set 'router.inter_fifo=512 words,1024 words'")
        key = key.strip()
        options[key] = parse_list(f"--set {key}", text)
        if key == "job" and any(re.match(r"\w+=", str(piece.value)) for piece in options[key].value):
            raise InputError(f"--set {axis}: a comma ends a value: quote each job, --set 'job=\"{text}\"', or write a sweep file")
    if sample is not None:
        mark = Mark("--sample")
        options["sample"] = Located({"runs": Located(sample, mark)}, mark, {"runs": mark})
    if file is None and not options:
        raise InputError("name a sweep file, or give at least --machine")
    if workers < 1:
        raise InputError(f"--workers {workers}: give at least 1")
    plan = read(file, options)
    if script:
        typer.echo(clusters.job_script(cluster), nl=False)
        return
    directory = sweeps.directory_of(output, plan)
    try:
        code = sweeps.run(plan, directory, cluster, workers, quiet)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the same command with -o {directory} goes on") from None
    sys.exit(code)


app = single.app(command)
