# SPDX-License-Identifier: Apache-2.0
"""`exanet run`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.commands.options import (
    Background,
    Faults,
    LevelOfPrograms,
    MachineOption,
    MapSeed,
    Output,
    Report,
    Storage,
    Timeline,
    number_of_ranks,
)
from exanet.errors import InputError
from exanet.run.placement import KINDS

if TYPE_CHECKING:
    from exanet.run.options import Options

Ranks = Annotated[
    int, typer.Option("--ranks", "-n", help="Number of MPI ranks, one for each core.", parser=number_of_ranks, metavar="<int>")
]
Program = Annotated[
    list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="The unmodified program and its arguments; write -- before it.")
]
Mapping = Annotated[str, typer.Option("--map", help=f"Placement of ranks on nodes: {KINDS}.")]
Compute = Annotated[
    str,
    typer.Option(
        "--compute", help="Virtual time of computing: off (none), measured (CPU time on this host), or a factor on that CPU time."
    ),
]
Mpi = Annotated[
    str,
    typer.Option(
        "--mpi",
        help="What the program uses: auto, mpich, openmpi, openshmem, libfabric, or none but libexanet.",
    ),
]
MpiCalls = Annotated[
    str,
    typer.Option(
        "--mpi-calls",
        help="What carries out the program's MPI calls: its MPI library (library), or the simulator itself, faster (simulated).",
    ),
]
Sockets = Annotated[
    str,
    typer.Option(
        "--sockets",
        help="What carries TCP and UDP sockets between ranks: the host, in its own time (host), or the simulated network (fabric).",
    ),
]
QuietWithTables = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables.")]
Fabric = Annotated[
    str,
    typer.Option("--fabric", help="Simulate the network by the model, or by the gateware (Verilated routers and links, cycle by cycle)."),
]
FabricThreads = Annotated[int, typer.Option("--fabric-threads", help="Threads for --fabric gateware; results do not depend on it.")]
Record = Annotated[
    Path | None, typer.Option("--record", metavar="FOLDER", help="Record the program's MPI calls in this folder, for `exanet replay`.")
]
Collective = Annotated[
    str | None,
    typer.Option(
        "--collective",
        metavar="NAME=ALGORITHM,...",
        help="Algorithm of MPI_Bcast instead of the MPI library's choice, as in `exanet replay`, e.g. bcast=LLF. With simulated calls of "
        "any collective, e.g. allreduce=ring.",
    ),
]
Rules = Annotated[
    str | None,
    typer.Option(
        "--rules",
        help="With simulated calls: rules that choose the algorithms of other collectives, mpich or open-mpi; by default mpich.",
    ),
]
Offload = Annotated[
    str | None,
    typer.Option(
        "--offload",
        metavar="allreduce=on,...",
        help="Collectives for the network interfaces, if the machine's support them: allreduce, barrier, bcast, reduce, or all.",
    ),
]
RanksAs = Annotated[
    str,
    typer.Option(
        "--ranks-as",
        help="How ranks run on this host: packed (in one address space, faster), processes, or auto (packed if possible).",
    ),
]
Cpu = Annotated[
    str | None,
    typer.Option(
        "--cpu",
        metavar="NAME",
        help="The processor that the program is built for, a53, u740 or a file: it runs under QEMU, and cycles are counted.",
    ),
]
Handlers = Annotated[
    str | None,
    typer.Option(
        "--handlers",
        metavar="FILE.c",
        help="Handlers that the receiving interfaces run on packets (sPIN; docs/spin.md): a file in C, or copy, filter, histogram, reduce "
        "or unpack.",
    ),
]
Restarts = Annotated[
    int,
    typer.Option(
        "--restarts",
        metavar="N",
        help="Start the program again, up to N times, on the nodes that are left, after hosts have died (docs/restarts.md).",
    ),
]
RestartDelay = Annotated[
    str,
    typer.Option("--restart-delay", metavar="TIME", help="With --restarts: virtual time from the end of an attempt to the next one."),
]
TrapTsc = Annotated[
    bool,
    typer.Option(
        "--trap-tsc",
        help="Let the processor's time stamp counter show virtual time, in nanoseconds. On x86-64, for ranks as processes.",
    ),
]


EXAMPLES = """\
  exanet run -m exanest -n 16 -- ./program input.txt
  exanet run -m exanest -n 16 --map round-robin --compute off -- python examples/solver.py
  exanet run -m ./machine.yaml -n 64 --record trace -- lmp -in in.lj"""


def command(
    machine: MachineOption,
    ranks: Ranks,
    program: Program,
    mapping: Mapping = "linear",
    compute: Compute = "measured",
    output: Output = None,
    mpi: Mpi = "auto",
    seed: MapSeed = 1,
    report: Report = True,
    quiet: QuietWithTables = False,
    fabric: Fabric = "model",
    fabric_threads: FabricThreads = 1,
    level: LevelOfPrograms = "packet",
    faults: Faults = None,
    record: Record = None,
    collective: Collective = None,
    rules: Rules = None,
    offload: Offload = None,
    ranks_as: RanksAs = "auto",
    trap_tsc: TrapTsc = False,
    mpi_calls: MpiCalls = "library",
    background: Background = None,
    timeline: Timeline = False,
    sockets: Sockets = "host",
    storage: Storage = None,
    cpu: Cpu = None,
    handlers: Handlers = None,
    restarts: Restarts = 0,
    restart_delay: RestartDelay = "0 s",
) -> None:
    """Run a program on a simulated machine. Exits with the program's code."""
    with lightly.imports():
        from exanet.run import options as asked

    _check_choices(mpi, fabric, ranks_as)
    options = asked.Options(
        machine,
        ranks,
        tuple(program),
        mapping,
        compute,
        mpi,
        output,
        report,
        quiet,
        seed,
        fabric,
        level,
        record,
        ranks_as,
        trap_tsc,
        fabric_threads,
        offload=asked.chosen_offloads(offload),
        collectives=asked.chosen_collectives(collective, mpi_calls),
        rules=rules,
        faults=faults,
        mpi_calls=mpi_calls,
        background=background,
        timeline=timeline,
        sockets=sockets,
        storage=tuple(storage or ()),
        cpu=cpu,
        handlers=handlers,
        restarts=restarts,
        restart_delay=restart_delay,
    )
    raise typer.Exit(_run(options))


def _run(options: Options) -> int:
    with lightly.imports():
        from exanet.run import program
    if not options.restarts and options.restart_delay == "0 s":
        return program.run(options)
    with lightly.imports():
        from exanet.run import restarts

    return restarts.run(options)


def _check_choices(mpi: str, fabric: str, ranks_as: str) -> None:
    """Raises InputError on one that is none."""
    with lightly.imports():
        from exanet.gateware.fabric import FABRICS
        from exanet.mpi import detect
        from exanet.run import packed

    for option, given, choices in (("--mpi", mpi, detect.CHOICES), ("--fabric", fabric, FABRICS), ("--ranks-as", ranks_as, packed.CHOICES)):
        if given not in choices:
            raise InputError(f"{option} {given}: give one of {', '.join(choices)}")


# Everything behind the first word that is no option belongs to the program, its options too.
app = single.app(command, examples=EXAMPLES, allow_interspersed_args=False)
