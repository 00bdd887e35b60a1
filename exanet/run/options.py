# SPDX-License-Identifier: Apache-2.0
"""The options of a run, what they stand for, and which of them do not go together."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exanet._core import collective_algorithms, network_algorithms, offloadable, program_broadcasts
from exanet.errors import InputError
from exanet.mpi import detect
from exanet.run import packed
from exanet.trace import rules

if TYPE_CHECKING:
    from exanet.cpu import Emulated

MPI_CALLS = ("library", "simulated")
"""What carries out a program's MPI calls."""
SOCKETS = ("host", "fabric")
"""What carries a program's TCP and UDP sockets to other ranks."""


NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "openshmem": "OpenSHMEM", "libfabric": "libfabric alone", "none": "none"}
"""Of what a program uses, by exanet.mpi.detect's kind."""


@dataclass(frozen=True)
class Attempt:
    """One start of a program that is started again after hosts have died (exanet.run.restarts)."""

    number: int
    began_ps: int  # in the virtual time of all attempts
    nodes: tuple[int, ...]  # of each rank; none: as --map has them


@dataclass(frozen=True)
class Options:
    """Options of a run, as the command line has them."""

    machine: str
    ranks: int
    command: tuple[str, ...]
    mapping: str = "linear"
    compute: str = "measured"
    mpi: str = "auto"
    directory: Path | None = None
    report: bool = True
    quiet: bool = False
    seed: int = 1
    fabric: str = "model"
    level: str = "packet"
    record: Path | None = None
    ranks_as: str = "auto"
    trap_tsc: bool = False
    fabric_threads: int = 1
    offload: tuple[str, ...] = ()  # of _core.offloadable(): collectives that the interfaces carry out
    faults: str | None = None  # a file of what fails (exanet.faults)
    collectives: Mapping[str, str] = field(default_factory=dict)  # algorithms in place of the library's choice, by collective
    rules: str | None = None  # of which MPI library the other ones are; None: of the program's own
    mpi_calls: str = "library"  # one of MPI_CALLS
    background: str | None = None  # what others send meanwhile (exanet.background_traffic)
    sockets: str = "host"  # one of SOCKETS
    timeline: bool = False  # timeline.html is written, for which calls are recorded
    storage: tuple[str, ...] = ()  # folders whose files are on a storage of the machine (exanet.storage)
    cpu: str | None = None  # the processor that the program is built for, under QEMU (exanet.cpu)
    handlers: str | None = None  # a file of handlers for the interfaces (exanet.spin)
    restarts: int = 0  # how often it is started again after hosts have died
    restart_delay: str = "0 s"  # virtual time from an attempt's end to the beginning of the next one
    attempt: Attempt | None = None  # which one this is, of a run with restarts

    @property
    def bcast(self) -> str | None:
        """How programs broadcast whose MPI library carries out their calls; None: as the library does it."""
        return self.collectives.get("bcast") if self.mpi_calls == "library" else None


def mpi_of(options: Options, emulated: Emulated | None = None) -> detect.Mpi:
    """What the program uses. Raises InputError where that and the options do not go together."""
    _check_sockets(options)
    mpi = emulated.mpi if emulated else detect.detect(options.command, options.mpi, optional=options.sockets == "fabric")
    if options.mpi_calls == "library" and not emulated:
        detect.check_network(mpi)
    if mpi.kind not in ("mpich", "openmpi"):
        _check_without_mpi(options)
    _check_mpi_calls(options, mpi.kind)
    if options.bcast and "bcast" in options.offload:
        raise InputError("--collective bcast and --offload bcast: a broadcast goes either way; leave one of them out")
    return mpi


def _check_without_mpi(options: Options) -> None:
    """Raises InputError on an option that is about MPI calls."""
    for option, given, what in (
        ("--collective", options.collectives, "MPI_Bcast"),
        ("--timeline", options.timeline, "calls that it could show"),
        ("--offload", options.offload, "collectives"),
        ("--record", options.record, "calls that could be recorded"),
    ):
        if given:
            raise InputError(f"{option}: a program without MPI has no {what}; leave the option out")


def _check_mpi_calls(options: Options, mpi: str) -> None:
    """Raises InputError where calls cannot be simulated."""
    if options.mpi_calls not in MPI_CALLS:
        raise InputError(f"--mpi-calls {options.mpi_calls}: give one of {', '.join(MPI_CALLS)}")
    rules.check(options.rules)
    if options.mpi_calls == "library":
        if options.rules is not None:
            raise InputError("--rules: the program's MPI library chooses algorithms; add --mpi-calls simulated, or leave the option out")
        return
    if mpi != "mpich":
        name = NAMES.get(mpi, "none")
        raise InputError(f"--mpi-calls simulated: calls of MPICH are simulated, and the program's MPI is {name}; leave the option out")
    others = {
        "--offload": bool(options.offload),
        "--fabric gateware": options.fabric == "gateware",
        "--trap-tsc": options.trap_tsc,
        "--ranks-as processes": options.ranks_as == "processes",
        "EXANET_SIMULATOR=apart": not packed.simulator_may_be_hosted(),
        f"{packed.WORKER_THREADS}=0": packed.worker_threads() == "0",
    }
    for other, given in others.items():
        if given:
            raise InputError(f"--mpi-calls simulated and {other} do not go together; leave one of them out")


def _check_sockets(options: Options) -> None:
    """Raises InputError where sockets cannot go over the simulated network."""
    if options.sockets not in SOCKETS:
        raise InputError(f"--sockets {options.sockets}: give one of {', '.join(SOCKETS)}")
    if options.sockets == "host":
        return
    others = {
        "--ranks-as packed": options.ranks_as == "packed",
        "--mpi-calls simulated": options.mpi_calls == "simulated",
        "--record": options.record is not None,
        "--timeline": options.timeline,
    }
    for other, given in others.items():
        if given:
            raise InputError(f"--sockets fabric and {other} do not go together; leave one of them out")


def emulated_of(options: Options, plugin: Path) -> Emulated | None:
    """How a program for another processor starts. Raises InputError where it cannot with these options."""
    if options.cpu is None:
        return None
    others = {
        "--ranks-as packed": options.ranks_as == "packed",
        "--mpi-calls simulated": options.mpi_calls == "simulated",
        "--sockets fabric": options.sockets == "fabric",
        "--trap-tsc": options.trap_tsc,
    }
    for other, given in others.items():
        if given:
            raise InputError(f"--cpu and {other} do not go together; leave one of them out")
    from exanet import cpu

    return cpu.emulated(options.cpu, options.command, options.mpi, plugin)


def ranks_as(options: Options) -> str:
    """How ranks are to run. Raises InputError where the time stamp counter cannot be trapped."""
    if options.mpi_calls == "simulated":
        return "packed"
    if options.sockets == "fabric" or options.cpu is not None:
        return "processes"
    if not options.trap_tsc:
        return options.ranks_as
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise InputError(f"--trap-tsc: the time stamp counter is trapped on x86-64 Linux only, and this is {platform.machine()}")
    if options.ranks_as == "packed":
        raise InputError("--trap-tsc: packed ranks share a process with the simulator, which reads the counter, too; leave --ranks-as out")
    return "processes"


def chosen_collectives(text: str | None, mpi_calls: str) -> dict[str, str]:
    """The algorithms by collective that `NAME=ALGORITHM,...` says: with simulated calls of any, otherwise of the
    broadcast. Raises InputError."""
    if text is None:
        return {}
    if mpi_calls != "simulated":
        return {"bcast": _chosen_bcast(text)}
    chosen = rules.choices(text)
    for each in chosen.items():
        if each in network_algorithms():
            raise InputError(
                f"--collective {text}: '{each[1]}' depends on where ranks are, which simulated calls do not take into account; "
                f"give another algorithm of {each[0]}, or --mpi-calls library"
            )
    return chosen


def _chosen_bcast(text: str) -> str:
    """How `bcast=ALGORITHM` says that programs broadcast. Raises InputError."""
    collective, equals, algorithm = text.partition("=")
    trees = ", ".join(program_broadcasts())
    if collective != "bcast":
        raise InputError(
            f"--collective {text}: with --mpi-calls library only the broadcast can be chosen; give bcast= one of {trees}, "
            "or add --mpi-calls simulated"
        )
    if algorithm in program_broadcasts():
        return algorithm
    if (collective, algorithm) in collective_algorithms():
        raise InputError(f"--collective {text}: replays alone broadcast by '{algorithm}'; give bcast= one of {trees}")
    what = f"bcast has no algorithm '{algorithm}'" if equals and algorithm else "bcast has no algorithm"
    raise InputError(f"--collective {text}: {what}; give bcast= one of {trees}")


def chosen_offloads(text: str | None) -> tuple[str, ...]:
    """The collectives that `allreduce=on,barrier=off` and the like, or `all`, take from the library; later words
    win. Raises InputError."""
    known = offloadable()
    chosen: set[str] = set()
    for word in text.split(",") if text is not None else ():
        name, equals, how = word.strip().partition("=")
        names = known if name == "all" else [name]
        if not set(names) <= set(known) or (equals and how not in ("on", "off")):
            raise InputError(f"--offload {text}: '{word}' is unknown; give {', '.join(known)} or all, each with =on or =off")
        chosen = chosen - set(names) if how == "off" else chosen | set(names)
    return tuple(name for name in known if name in chosen)


def compute_factor(text: str) -> float:
    """`off` is 0, `measured` 1, else a factor on the host's CPU time. Raises InputError."""
    if text in ("off", "measured"):
        return 0.0 if text == "off" else 1.0
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if not 0.0 <= factor < 1e6:
        raise InputError(f"--compute {text}: give off, measured, or a factor on the measured processor time, e.g. 2.5")
    return factor
