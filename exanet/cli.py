# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

try:  # reading the modules takes a second, in which a Ctrl-C may come
    import typer

    from exanet import check, machines, sim_command
    from exanet.errors import InputError
    from exanet.karma import command as karma
    from exanet.sweep import command as sweep
    from exanet.validate import command as validate
except KeyboardInterrupt:
    sys.exit(130)

app = typer.Typer(
    name="exanet",
    help="Run unmodified MPI programs on a simulated ExaNet machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"exanet {version('exanet')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    pass


# What follows the first word that is no option belongs to the program, its options too.
@app.command(context_settings={"allow_interspersed_args": False})
def run(
    machine: Annotated[str, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")],
    ranks: Annotated[int, typer.Option("--ranks", "-n", help="Number of MPI ranks; one core each.")],
    command: Annotated[
        list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="The program, unmodified, and its arguments; write -- before it.")
    ],
    mapping: Annotated[
        str, typer.Option("--map", help="Which rank on which node: linear, round-robin, random:SEED, or a file with a node number a line.")
    ] = "linear",
    compute: Annotated[
        str, typer.Option("--compute", help="Virtual time that computing takes: off, measured (CPU time here), or a factor on that.")
    ] = "measured",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the results; by default a new one here.")] = None,
    mpi: Annotated[str, typer.Option("--mpi", help="The program's MPI: auto, mpich, openmpi; none for one of libexanet alone.")] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Seed of whatever the machine draws at random.")] = 1,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Make report.html.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables.")] = False,
    fabric: Annotated[
        str, typer.Option("--fabric", help="What carries the packets: model, or gateware (routers and links in Verilator, cycle by cycle).")
    ] = "model",
) -> None:
    """Run a program on a simulated machine; its exit code becomes this one's."""
    from exanet import detect, gateware_fabric, run

    if mpi not in detect.CHOICES:
        raise InputError(f"--mpi {mpi}: give one of {', '.join(detect.CHOICES)}")
    if fabric not in gateware_fabric.FABRICS:
        raise InputError(f"--fabric {fabric}: give one of {', '.join(gateware_fabric.FABRICS)}")
    options = run.Options(machine, ranks, tuple(command), mapping, compute, mpi, output, report, quiet, seed, fabric)
    raise typer.Exit(run.run(options))


app.command(name="karma")(karma.command)
app.command(name="machines")(machines.command)
app.command(name="check")(check.command)
app.command(name="sim")(sim_command.command)
app.command(name="sweep")(sweep.command)
app.command(name="validate")(validate.command)


def main() -> None:
    """Entry point: what the user can mend is one message and exit status 2."""
    try:
        app()
    except InputError as error:
        for message in error.messages:
            print(message if ": error: " in message else f"exanet: error: {message}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
