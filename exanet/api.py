# SPDX-License-Identifier: Apache-2.0
"""What ExaNet does, as functions: docs/python.md has examples.

Problem: each command has its own folder of results, and a script wants tables. Model: a function does what the command
of its name does, without output on the terminal, and returns what `load` reads from the folder that the command leaves;
the folder is a temporary one, which is gone afterwards, unless `output` names it. Tables are polars' frames; their
columns are those of docs/results.md, docs/simulate.md and docs/sweep.md, which end in their units. Limit: results pass
through files, which takes some tens of milliseconds.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet import results
from exanet.errors import InputError
from exanet.results import Run, loaded
from exanet.results.loaded import Results

if TYPE_CHECKING:
    from exanet.compare.figures import Comparison

Name = str | PathLike[str]


def load(directory: Name) -> Run | Results:
    """Reads the folder that a command has left: a Run of `exanet run` and `exanet replay`, otherwise Results.

    Raises InputError where there are no results, or they are incomplete or of another format.
    """
    return loaded.load(directory)


def compare(*directories: Name) -> Comparison:
    """Compares results of one kind (runs and replays, simulations, sweeps) with the first of them: `exanet compare`.
    Raises InputError.

    Of what is returned, `runs` has a row for each folder, `settings` what was asked for differently, `differences` each
    figure, and `notes` what could not be compared (docs/compare.md).
    """
    from exanet.compare import figures

    return figures.compare(*directories)


def run(
    command: Sequence[str],
    machine: Name,
    *,
    ranks: int,
    mapping: str = "linear",
    compute: str | float = "measured",
    mpi: str = "auto",
    seed: int = 1,
    fabric: str = "model",
    level: str = "packet",
    collective: str | None = None,
    offload: str | None = None,
    record: Name | None = None,
    output: Name | None = None,
    trap_tsc: bool = False,
    background: str | None = None,
    timeline: bool = False,
    storage: Sequence[str] = (),
    faults: Name | None = None,
    mpi_calls: str = "library",
    rules: str | None = None,
    cpu: str | None = None,
    handlers: Name | None = None,
) -> Run:
    """Runs a program, `command` with its arguments, on a simulated machine: `exanet run`.

    `machine` is a name (`exanet machines`) or a file, `ranks` the number of MPI ranks, `mapping` their placement
    (`--map`), `compute` "off", "measured", or a factor on the measured processor time, `mpi_calls` "library" or
    "simulated". `record` is a folder for the trace of the program's calls, `output` one for the results. Further
    options are those of the command: `collective`, `rules`, `background`, `storage` (each as "FOLDER=NAME"), `faults`,
    `cpu`, `handlers`. With `timeline` there is the table `calls`, and in `output` the page. The program's exit status
    is `run["exit_code"]` of what is returned, times are integers of picoseconds in columns that end in `_ps`, sizes of
    bytes in `_bytes`. Raises InputError, also where the program never calls MPI_Init.
    """
    from exanet.run import options as asked
    from exanet.run import program

    words = _words(command)
    with _folder(output) as place:
        options = asked.Options(
            machine=str(machine),
            ranks=ranks,
            command=words,
            mapping=mapping,
            compute=str(compute),
            mpi=mpi,
            directory=place,
            report=output is not None,
            quiet=True,
            seed=seed,
            fabric=fabric,
            level=level,
            record=None if record is None else Path(record),
            offload=asked.chosen_offloads(offload),
            collectives=asked.chosen_collectives(collective, mpi_calls),
            rules=rules,
            trap_tsc=trap_tsc,
            background=background,
            timeline=timeline,
            storage=tuple(storage),
            faults=None if faults is None else str(faults),
            mpi_calls=mpi_calls,
            cpu=cpu,
            handlers=None if handlers is None else str(handlers),
        )
        status = program.run(options)
        if not (place / "summary.json").exists():
            raise InputError(f"{options.command[0]}: it never called MPI_Init, so there are no results; it ended with {status}")
        return results.load(place)


def _words(command: Sequence[str]) -> tuple[str, ...]:
    if isinstance(command, str):
        raise InputError(f"command {command!r}: give a list of words, e.g. {shlex.split(command)}")
    return tuple(map(str, command))


def replay(
    traces: Name | Sequence[Name],
    machine: Name,
    *,
    mapping: str = "linear",
    compute: float = 1.0,
    collectives: Mapping[str, str] | None = None,
    rules: str | None = None,
    jobs: Sequence[str] = (),
    alone: bool = False,
    seed: int = 1,
    level: str = "packet",
    background: str | None = None,
    output: Name | None = None,
    timeline: bool = False,
) -> Run:
    """Replays one trace, or several together, on a machine: `exanet replay`.

    `compute` is a factor on the recorded computing, `collectives` algorithms by collectives ({"allreduce": "ring"}),
    `jobs` synthetic programs that run beside (`--job`), `background` what others send (`--background`). With
    `timeline` there is the table `calls`, and in `output` the page. Of several
    programs the results have the tables `programs` and `throughput`. Raises InputError.
    """
    from exanet import replay as replays
    from exanet.results import programs
    from exanet.results import report as page
    from exanet.results import timeline as timelines

    given = [traces] if isinstance(traces, str | PathLike) else traces
    options = replays.Options(
        [str(trace) for trace in given],
        str(machine),
        mapping,
        compute,
        dict(collectives or {}),
        seed,
        jobs,
        alone,
        level,
        rules,
        background=background,
        call_times=timeline,
    )
    with _folder(output) as place:
        found, meta = replays.replay(options)
        results.write(place, found, meta, tables=programs.tables(found, meta))
        if output is not None:
            page.write(place)
            if timeline:
                timelines.write(place)
        return results.load(place)


def simulate(
    machine: Name, loads: float | Sequence[float] = 0.5, *, threads: int = 1, output: Name | None = None, **traffic: Any
) -> Results:
    """Measures synthetic traffic on a machine's network at one or several offered loads: `exanet sim`.

    A load of 1 fills a link of each sender; 0 sends messages all at once. `traffic` are fields of
    exanet.sim.TrafficSpec: `traffic="uniform"`, `packet_bytes`, `message_bytes`, `measure_ps`, `seed`, `level="flow"`,
    ... The results have a row for each load in `points` (loads by figures, e.g. `accepted_load` and `latency_ns`), and
    tables by load and link in `links`, by load and bucket in `latency`, and so on.
    Raises InputError.
    """
    import time

    from exanet import sim
    from exanet.machine import load as load_machine
    from exanet.sim import results as sim_results

    if unknown := traffic.keys() - sim.TrafficSpec.__dataclass_fields__.keys():
        raise InputError(f"{min(unknown)}: traffic has no such field; there are {', '.join(sim.TrafficSpec.__dataclass_fields__)}")
    spec = sim.TrafficSpec(**traffic)
    described = load_machine(str(machine), packets=spec.level == "packet")
    began = time.monotonic()
    given = [loads] if isinstance(loads, int | float) else loads
    offered = [float(load) if isinstance(load, int) else load for load in given]  # one type in the table's column
    points = [sim.simulate(described, offered=each, spec=spec, threads=threads) for each in offered]
    if not points:
        raise InputError("no load is given: give at least one")
    with _folder(output) as place:
        sim_results.write(place, described, spec, points, threads, time.monotonic() - began)
        read = load(place)
    assert isinstance(read, Results)
    return read


def sweep(plan: Name | Mapping[str, Any], *, workers: int = 2, cluster: str = "local", output: Name | None = None) -> Results:
    """Simulates many points: `exanet sweep`. `plan` is a sweep file, or its content (docs/sweep.md): {"machine": [...],
    "load": [...]}.

    The results have a row for each run in `runs`. With `output`, an interrupted sweep goes on where it stopped. A run
    that fails has its error in `summary`. Raises InputError on a plan that cannot be.
    """
    from exanet.files import json_bytes
    from exanet.machine import located
    from exanet.sweep import run as sweeps
    from exanet.sweep.plan import read as read_plan

    with _folder(output) as place, tempfile.TemporaryDirectory() as scratch:
        if isinstance(plan, Mapping):
            file = Path(scratch) / "sweep.yaml"
            file.write_bytes(json_bytes(plan))
            chosen = read_plan(None, located.read(file).value)  # as options, whose files are found where the program is
        else:
            chosen = read_plan(Path(plan), {})
        sweeps.run(chosen, sweeps.directory_of(place, chosen), cluster, workers, quiet=True)
        read = load(place)
    assert isinstance(read, Results)
    return read


@contextmanager
def _folder(output: Name | None) -> Iterator[Path]:
    """The folder that is named, or one that is gone afterwards."""
    if output is not None:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory(prefix="exanet-") as place:
        yield Path(place) / "results"
