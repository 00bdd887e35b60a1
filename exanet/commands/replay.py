# SPDX-License-Identifier: Apache-2.0
"""`exanet replay`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import lightly, registries
from exanet.commands import single
from exanet.commands.options import Background, Faults, LevelOfPrograms, MachineOption, MapSeed, Output, Quiet, Report, Timeline, check_seed
from exanet.errors import InputError
from exanet.run.placement import REPLAY_KINDS as KINDS

Traces = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TRACE[:KEY=VALUE,...]...",
        help="Folders of traces. Several run together, each on its own nodes. Keys: start, map, compute, "
        "and a collective with its algorithm. Optional with --job.",
    ),
]
Mapping = Annotated[str, typer.Option("--map", help=f"Placement of ranks on nodes: {KINDS}.")]
Compute = Annotated[float, typer.Option("--compute", metavar="FACTOR", help="Factor on the recorded computing time.")]
Collective = Annotated[
    str | None,
    typer.Option("--collective", metavar="NAME=ALGORITHM,...", help="Algorithms of collectives, instead of those that the rules choose."),
]
Rules = Annotated[
    str | None,
    typer.Option(
        "--rules",
        help="Rules that choose the algorithms of other collectives: mpich or open-mpi; by default those of the MPI that "
        "recorded the trace.",
    ),
]
Jobs = Annotated[
    list[str] | None,
    typer.Option(
        "--job",
        metavar="NAME:KEY=VALUE,...",
        help="A synthetic program beside the traces, as in `exanet sim jobs`. Keys: ranks, bytes, rounds, pause, start, map. "
        f"Several run together. Programs: {registries.programs()}; with the key algorithm, a collective of MPI as in --collective, "
        "called repeatedly.",
    ),
]
Alone = Annotated[
    bool,
    typer.Option("--alone", help="Also replay each of several programs alone on the same nodes, to show how much they slow each other."),
]


def command(
    traces: Traces = None,
    *,
    machine: MachineOption,
    mapping: Mapping = "linear",
    compute: Compute = 1.0,
    collective: Collective = None,
    rules: Rules = None,
    jobs: Jobs = None,
    alone: Alone = False,
    level: LevelOfPrograms = "packet",
    faults: Faults = None,
    background: Background = None,
    output: Output = None,
    seed: MapSeed = 1,
    report: Report = True,
    timeline: Timeline = False,
    quiet: Quiet = False,
) -> None:
    """Replay recorded programs on a machine, without the programs: their calls, dependencies and computing.

    Results are those of `exanet run`: the same tables, summary and report. With several programs, there is also a table
    of their run times.

    \b
    exanet run -m exanest -n 16 --record trace -- lmp -in in.lj
    exanet replay trace -m dragonfly-342
    exanet replay trace -m exanest --compute 0.5 --collective allreduce=ring
    exanet replay trace -m exanest --rules open-mpi
    exanet replay lammps fft:start=2ms -m dragonfly-342 --map random --alone
    exanet replay trace -m torus-512 --level flow
    exanet replay lammps -m dragonfly-342 --job bcast:algorithm=LLF,ranks=64,bytes=1MiB,rounds=100
    """
    with lightly.imports():
        from exanet import programs, replay
        from exanet.directory import result_directory
        from exanet.progress import share_done

    programs.check_compute(f"--compute {compute:g}", compute)
    check_seed(seed)
    traces, jobs = traces or [], jobs or []
    if not traces and not jobs:
        raise InputError("there is nothing to replay: name a trace, a folder of `exanet run --record`, or a job (--job)")
    if alone and len(traces) + len(jobs) == 1:
        raise InputError("--alone: there is one program, which is alone; leave it out, or name another program")
    options = replay.Options(
        traces,
        machine,
        mapping,
        compute,
        seed=seed,
        jobs=jobs,
        alone=alone,
        level=level,
        rules=rules,
        collective=collective,
        faults=faults,
        background=background,
        call_times=timeline,
    )
    directory = result_directory("run", output, f"exanet-replay-{programs.stem(traces, jobs)}", quiet=quiet)
    with share_done("replay", quiet) as progress:
        found, meta = replay.replay(options, progress)
    _write(directory, found, meta, output is None, report, timeline, quiet)


def _write(directory: Path, found: dict[str, Any], meta: dict[str, Any], fresh: bool, report: bool, timeline: bool, quiet: bool) -> None:
    """Leaves the folder, and prints the tables and what the replay took."""
    with lightly.imports():
        from exanet import results, terminal
        from exanet.results import programs, summary
        from exanet.results import report as page
        from exanet.results import timeline as timelines

    tables = programs.tables(found, meta)
    directory = results.write(directory, found, meta, tables=tables, fresh=fresh)
    file = page.write(directory) if report else directory / "summary.json"
    if timeline:
        file = timelines.write(directory)
    if not quiet:
        console = terminal.console(80)
        summary.show(found, meta, console, tables=tables)
        rate = found["summary"]["messages"] / max(found["summary"]["cpu_s"], 1e-9)
        console.print(f"\nReplayed {found['summary']['calls']} calls, {rate:,.0f} messages in a second of processor time", highlight=False)
        console.print(f"Results: [bold]{directory}[/], {file.name}", highlight=False)


app = single.app(command)
