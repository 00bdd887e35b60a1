# SPDX-License-Identifier: Apache-2.0
"""`exanet run`: a program on a simulated machine, from its machine file to its report.

What makes the results is imported while the ranks start. It takes as long as they do, and whether memory reaches for it
is known before (`exanet.memory`).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet import background_traffic, lightly, progress
from exanet import level as levels
from exanet._core import Simulator, failed_endpoints, reduction_branches
from exanet.directory import result_directory
from exanet.errors import InputError
from exanet.gateware import fabric
from exanet.mpi import phases, python, settings
from exanet.quantity import counted
from exanet.release import version
from exanet.run import launch, machines, packed, placement, supervise
from exanet.run.options import NAMES, Options, compute_factor, emulated_of, mpi_of, ranks_as

if TYPE_CHECKING:
    from exanet.cpu import Emulated
    from exanet.trace.folder import Trace


def run(options: Options) -> int:
    """Runs the program and returns the exit code for the process.

    Raises InputError: before anything has started for whatever can be found then, after the run when its results cannot
    be written.
    """
    if not options.command:
        raise InputError("no program given; write it after --, e.g. exanet run -m exanest -n 16 -- lmp -in in.lj")
    if not 0 <= options.seed < 1 << 64:
        raise InputError(f"--seed {options.seed}: give a whole number from 0 to 2^64 - 1")
    factor = compute_factor(options.compute)
    levels.check(options.level)
    described = machines.of(options)
    placed = _placed(options, described)
    config = described.config
    traffic = background_traffic.resolved(options.background, config)
    if options.fabric == "gateware":
        fabric.check(config, described.name)
    fabric.check_threads(options.fabric_threads, options.fabric)
    emulated = emulated_of(options, launch.library_folder() / "libexanet-cpu.so")
    mpi = mpi_of(options, emulated)
    replaced = settings.replaced(mpi)
    if mpi.kind == "openmpi":
        settings.check_temporary_folder()
    how, unpacked = packed.resolve(
        ranks_as(options),
        options.command,
        ranks=options.ranks,
        mpi=mpi.kind,
        library=launch.library_folder(),
        measured=factor > 0,
        pages=config["ni"].get("pages_bytes", 0) > 0,
    )
    directory = result_directory("run", options.directory, f"exanet-run-{label(options.command)}", quiet=options.quiet)
    gateware = fabric.library(config) if options.fabric == "gateware" else None
    for each in replaced:
        print(f"exanet: {each}, so that all goes over the simulated network", file=sys.stderr)
    meta = _meta(options, described, config, mpi) | {"ranks_as": "packed" if how else "processes"}
    if unpacked:
        meta["not_packed"] = unpacked
    with _recording(options, directory) as options:
        results, outcome = _simulate(options, config | traffic, placed, factor, mpi, gateware, how, described.environment, emulated)
        if not outcome.used_network and not outcome.reason:
            begins = phases.of(mpi, sockets=options.sockets == "fabric").begin
            print(f"exanet: the program never called {begins}, so nothing ran on the simulated machine", file=sys.stderr)
            return int(outcome.exit_code)
        if how:
            meta |= packed.turns_on_workers(results["summary"])
        if note := background_traffic.note(options.background, results):
            meta["notes"] = [*meta.get("notes", ()), note]
        if note := _short_of_packet_memory(config, results):
            meta["notes"] = [*meta.get("notes", ()), note]
        if note := _not_offloaded(options, placed, results):
            meta["notes"] = [*meta.get("notes", ()), note]
            if options.quiet:
                print(f"exanet: {note}", file=sys.stderr)
        if outcome.reason:
            results["summary"] |= {"complete": False, "reason": outcome.reason}
        try:
            if options.record and (trace := _finish_trace(options.record, options.ranks, meta, outcome)) and options.timeline:
                meta |= _add_calls(results, meta, trace, options.level == "flow")
        finally:
            _publish(options, directory, results, meta | {"exit_code": outcome.exit_code}, joined=outcome.used_network)
        if outcome.reason and not outcome.used_network and options.mpi not in ("auto", "none"):
            print(f"exanet: --mpi {options.mpi} must be what the program uses; without --mpi exanet finds it", file=sys.stderr)
    return int(outcome.exit_code)


def _placed(options: Options, described: machines.OnMachine) -> list[int]:
    """The node of each rank: where an attempt before this one has left it, or where --map puts it."""
    if options.attempt and options.attempt.nodes:
        return list(options.attempt.nodes)
    return placement.place(
        options.mapping,
        ranks=options.ranks,
        nodes=described.nodes,
        cores_per_node=described.cores,
        seed=options.seed,
        networks=described.networks,
    )


def _not_offloaded(options: Options, placed: Sequence[int], results: Mapping[str, Any]) -> str:
    """What is to be said where --offload has done nothing; "" otherwise."""
    if not options.offload or results["summary"].get("reductions"):
        return ""
    ranks = Counter(placed)
    most = max(ranks.values())
    need = most + (len(ranks) > 1)
    why = "the program made no such call that they execute (docs/offload.md)"
    if need > reduction_branches:
        also = " and one of a node above or below" if need > most else ""
        why = f"a unit has {reduction_branches} branches, and a node has {counted(most, 'rank')}{also}: place fewer ranks on a node (--map)"
    return f"--offload {','.join(options.offload)}: the interfaces carried out no collective: {why}"


def _short_of_packet_memory(config: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """What is to be said where handlers could not keep up; "" otherwise."""
    if "handlers" not in results["summary"]:
        return ""
    from exanet.results import handlers

    return handlers.note(results["summary"]["handlers"], config["ni"]["hpu"]["packet_memory_bytes"])


@contextlib.contextmanager
def _recording(options: Options, directory: Path) -> Iterator[Options]:
    """The options with the folder that the ranks write their streams into, if they are recorded: for a timeline alone
    one that is gone afterwards. Raises InputError."""
    if not options.record:
        with tempfile.TemporaryDirectory(prefix="exanet-calls-") if options.timeline else contextlib.nullcontext() as scratch:
            yield replace(options, record=Path(scratch) if scratch else None)
        return
    if os.path.realpath(options.record) == os.path.realpath(directory):
        raise InputError(f"--record {options.record}: that is the folder of the results (-o); name another one")
    from exanet.trace import folder

    place = folder.prepare(options.record)
    try:
        yield replace(options, record=place)
    finally:
        folder.release(place)


def _finish_trace(place: Path, ranks: int, meta: Mapping[str, Any], outcome: Any) -> Trace | None:
    """The trace; None where the program has not ended well and there is none. Raises InputError where it has ended well
    and there is none."""
    from exanet import results
    from exanet.trace import folder

    try:
        trace = folder.finish_recording(place, ranks, results.asked(meta), outcome.reason)
    except InputError as error:
        if outcome.exit_code == 0:
            raise
        print(f"exanet: no trace: {error}", file=sys.stderr)  # the program's own end is reported by the exit status
        return None
    if trace.folder not in (place, place.parent):
        print(f"exanet: {place.parent} keeps its earlier trace, which is whole; this one is in {trace.folder}", file=sys.stderr)
    return trace


def _add_calls(results: dict[str, Any], meta: Mapping[str, Any], trace: Trace, flow: bool) -> dict[str, Any]:
    """Adds the calls of a trace to the results, and the critical path through them; what `meta` is to say of both.
    Raises InputError."""
    from exanet.results import critical_path
    from exanet.trace import timed

    results["calls"] = timed.table(trace)
    path, without = critical_path.table(results, meta["machine"], flow=flow)
    results |= {} if path is None else {"critical_path": path}
    notes = [f"--timeline: the times of {', '.join(trace.about.unrecorded)} are not recorded"] if trace.about.unrecorded else []
    notes += [f"no critical path: {without}"] if without else []
    return {"notes": [*meta.get("notes", ()), *notes]} if notes else {}


def _check_nodes(config: dict[str, Any], placed: list[int]) -> None:
    """Raises InputError on a rank whose node has failed."""
    lost = set(failed_endpoints(config["topology"])) & set(placed) if config["topology"].get("failed") else set()
    if lost:
        raise InputError(f"rank {placed.index(min(lost))} is placed on node {min(lost)}, which has failed; give another placement (--map)")


def _asked(options: Options, factor: float) -> dict[str, Any]:
    """What the simulator is asked for beside the machine."""
    return {
        "compute_factor": factor,
        "flow_level": options.level == "flow",
        "bcast": options.bcast or "",
        "offload": list(options.offload),
        "simulates_mpi": options.mpi_calls == "simulated",
        "collectives": [f"{name}={algorithm}" for name, algorithm in options.collectives.items()],
        "rules": options.rules or "mpich",
    }


def _simulate(
    options: Options,
    config: dict[str, Any],
    placed: list[int],
    factor: float,
    mpi: Any,
    gateware: Path | None,
    how: packed.Packed | None,
    environment: dict[str, str],
    emulated: Emulated | None,
) -> tuple[dict[str, Any], Any]:
    _check_nodes(config, placed)
    library = {"node_library": str(gateware), "node_threads": options.fabric_threads} if gateware else {}
    # Verilated nodes have threads of their own
    asked = _asked(options, factor) | {"hosted": how is not None and gateware is None and packed.simulator_may_be_hosted()}
    try:
        simulator = Simulator(config, placed, {**asked, **library})
    except ValueError as error:
        raise InputError(str(error)) from None
    except RuntimeError as error:  # the shared region, by its contract
        raise InputError(f"{error}; raise the limits (ulimit -v for memory, -f for files, -n for open ones), or use fewer ranks") from None
    try:
        shown = progress.Progress(ranks=options.ranks, quiet=options.quiet)
        terminal = shown.pass_on if shown.on_terminal else None
        session = launch.Session(
            emulated.command if emulated else options.command,
            ranks=options.ranks,
            mpi=mpi,
            region=simulator.path,
            record=options.record,
            trap_tsc=options.trap_tsc,
            terminal=terminal,
            packed=how,
            order=simulator.order_path,
            sockets=options.sockets == "fabric",
            gpus="gpu" in config.get("ni", {}),
            environment=environment | (emulated.environment if emulated else {}),
            library=emulated.library if emulated else None,
        )
        supervisor = supervise.Supervisor(
            simulator,
            session,
            ranks=options.ranks,
            program=options.command[0],
            progress=shown,
            mpirun=mpi.kind == "openmpi",
            phases=phases.of(mpi, sockets=options.sockets == "fabric"),
            waits_for_progress=settings.waits_for_progress(mpi),
            python=any(python.is_interpreter(word) or word.endswith(".py") for word in options.command),
            faults=str(options.faults or ""),
        )
        began = time.monotonic()
        outcome = supervisor.run(meanwhile=lambda: _import_results(options))
        results: dict[str, Any] = simulator.results()
        results["summary"].setdefault("wall_s", time.monotonic() - began)
        if emulated:
            from exanet.results import processors

            results["ranks"] |= processors.columns(session.counts, options.ranks)
        return results, outcome
    finally:
        simulator.close()


def _meta(options: Options, described: machines.OnMachine, config: dict[str, Any], mpi: Any) -> dict[str, Any]:
    return {
        "program": list(options.command),
        "machine": config,
        "machine_name": described.name,
        "ranks": options.ranks,
        "map": options.mapping,
        "compute": "counted" if options.cpu and options.compute == "measured" else options.compute,
        "mpi": f"Open MPI {mpi.version}" if mpi.kind == "openmpi" else NAMES[mpi.kind],
        "seed": options.seed,
        "fabric": options.fabric,
        "level": options.level,
        **({"faults": options.faults} if options.faults else {}),
        **({"attempt": options.attempt.number, "began_ps": options.attempt.began_ps} if options.attempt else {}),
        **({"background": options.background} if options.background else {}),
        **({"storage": list(options.storage)} if options.storage else {}),
        **({"collectives": dict(options.collectives)} if options.collectives else {}),
        **({"rules": options.rules} if options.rules else {}),
        **({"offload": list(options.offload)} if options.offload else {}),
        **({"mpi_calls": options.mpi_calls} if options.mpi_calls != "library" else {}),
        **({"handlers": options.handlers} if options.handlers else {}),
        **({"cpu": options.cpu} if options.cpu else {}),
        **({"sockets": options.sockets} if options.sockets != "host" else {}),
        **({"notes": described.notes} if described.notes else {}),
        "exanet_version": version(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "mpi_library": str(mpi.library or ""),
        "working_directory": str(Path.cwd()),
    }


# -- results -----------------------------------------------------------------------------------------------------------


def label(command: Sequence[str]) -> str:
    """A short name for the program: the script's, when an interpreter runs one."""
    name = Path(command[0]).name
    if python.is_interpreter(name):
        kind, what = python.what(command)
        name = (Path(what).stem if kind == "script" else what) or name
    return re.sub(r"[^\w.+-]+", "_", name) or "program"


def _import_results(options: Options) -> None:
    """Imports what `_publish` takes."""
    with lightly.imports():
        import exanet.results

        if options.report:
            import exanet.results.report
        if not options.quiet:
            import exanet.results.summary  # noqa: F401


def _publish(options: Options, directory: Path, results: dict[str, Any], meta: dict[str, Any], *, joined: bool) -> None:
    """Writes the folder, and the report into it, and shows what ranks that `joined` the network did, unless asked to
    be quiet."""
    from exanet import results as run_results

    tables = run_results.to_tables(results, meta["machine"])
    directory = run_results.write(directory, results, meta, tables=tables, fresh=options.directory is None)
    console = None
    if not options.quiet:
        from exanet import terminal
        from exanet.results import summary

        # The ranks' own output stays alone on stdout, so that it can be compared with that of a native run.
        console = terminal.console(80, sys.stderr)
        if joined:
            summary.show(results, meta, console, tables=tables, reason_shown=True)
    file = directory / "summary.json"
    if options.report:
        from exanet.results import report

        file = report.write(directory)
    if options.timeline:
        from exanet.results import timeline

        file = timeline.write(directory)
    if console:
        with contextlib.suppress(BrokenPipeError):
            console.print(f"\nResults: [bold]{directory}[/], {file.name}", highlight=False)
