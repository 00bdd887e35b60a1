# SPDX-License-Identifier: Apache-2.0
"""`exanet replay`: recorded programs on a machine, which need not be the one that they were recorded on, with jobs
beside them.

Model: the programs that are asked for are read first, then the machine, then each program gets its nodes, and the
simulator runs them all together; each folder of the package is used once, in this order (test_straight.py). Limits: a
program must be recorded whole, and what its calls would have sent otherwise on another machine (a race that ends
differently) is not known.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from exanet import _core, background, background_traffic, faults, programs
from exanet import level as levels
from exanet.callable import as_function
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.programs import Program
from exanet.release import version
from exanet.results import critical_path, throughput
from exanet.sim.jobs import check_job
from exanet.trace import folder, rules, timed


@dataclass(frozen=True)
class Options:
    """Options of a replay, as the command line has them."""

    traces: Sequence[str | Path]
    machine: str
    mapping: str = "linear"
    compute: float = 1.0
    collectives: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    jobs: Sequence[str] = ()
    alone: bool = False  # each program of several by itself, too
    level: str = "packet"  # one of exanet.level.LEVELS
    rules: str | None = None  # one of exanet.trace.rules.NAMES; None: those of the MPI that recorded a trace
    collective: str | None = None  # `collectives` as text, NAME=ALGORITHM,...
    faults: str | None = None  # a file of what fails (exanet.faults)
    background: str | None = None  # what others send meanwhile (exanet.background_traffic)
    call_times: bool = False  # the times of every call are kept, for the table `calls`


def replay(options: Options, progress: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Replays the programs together: what was measured, as a run's (exanet.results), and what was asked.

    Of several there are tables `programs`, a row each, and `throughput` besides (docs/traces.md).
    Raises InputError on what cannot be replayed.
    """
    levels.check(options.level)
    options = chosen(options)
    asked = programs_of(options)
    traces = [loaded(program) for program in asked]
    described = faults.add(load(options.machine, packets=options.level == "packet"), options.faults)
    resolved = described.resolve()
    specs = placed(options, asked, traces, described, resolved)
    carried = resolved | background_traffic.resolved(options.background, resolved)
    found, without = simulate(specs, carried, progress, level=options.level, call_times=options.call_times), ""
    if options.call_times:
        found["calls"] = timed.replayed(traces, [len(spec["placement"]) for spec in specs], found.pop("call_times"))
        path, without = critical_path.table(found, resolved, flow=options.level == "flow")
        found |= {} if path is None else {"critical_path": path}
    if len(asked) > 1:
        found["programs"] = _rows(asked, specs, found)
        timelines = []
        for row, spec in zip(found["programs"], specs, strict=True) if options.alone else ():
            alone = simulate([spec], carried, progress, level=options.level)
            row["alone_ps"] = alone["summary"]["virtual_ps"] - spec["start_ps"]
            row["slowdown"] = row["took_ps"] / row["alone_ps"] if row["alone_ps"] else 1.0
            timelines.append(alone["timeline"])
        found["throughput"] = throughput.table(found["programs"], found["timeline"], timelines)
    meta = _meta(options, asked, traces, described, resolved, sum(len(spec["placement"]) for spec in specs))
    beside = background_traffic.note(options.background, found)
    notes = [*meta.get("notes", ()), *([beside] if beside else []), *_by_messages(found), *_truncated(*found.pop("truncated"))]
    notes += [f"no critical path: {without}"] if without else []
    return found, meta | ({"notes": notes} if notes else {}) | {"cpu_s": found["summary"]["cpu_s"]}


def _by_messages(found: Mapping[str, Any]) -> list[str]:
    """What is to be said of calls that interfaces were to carry out (`accelerator`), and did not."""
    calls = found["summary"]["by_messages"]
    return [f'{count} calls of ranks went by messages, not by "accelerator": {why}' for why, count in sorted(calls.items())]


def _truncated(messages: int, first: str) -> list[str]:
    """What is to be said of messages that are longer than their receives: the recorded programs have gone on."""
    if not messages:
        return []
    many = "message is longer than its receive" if messages == 1 else "messages are longer than their receives"
    return [f"{messages} {many}, which is an error of the call (MPI_ERR_TRUNCATE); the first is in {first}"]


def chosen(options: Options) -> Options:
    """With the algorithms of collectives read from their text. Raises InputError on these, and on rules that there
    are not."""
    rules.check(options.rules)
    return options if options.collective is None else replace(options, collectives=rules.choices(options.collective))


def programs_of(options: Options) -> list[Program]:
    """The programs that the options name. Raises InputError."""
    return [*(Program.recorded(str(text)) for text in options.traces), *(Program.synthetic(text) for text in options.jobs)]


def placed(
    options: Options, asked: Sequence[Program], traces: Sequence[folder.Trace | None], described: Machine, resolved: dict[str, Any]
) -> list[dict[str, Any]]:
    """The programs on their nodes of the machine, as simulate() takes them; `traces` are theirs by `loaded`. Raises
    InputError."""
    ranks = [trace.about.ranks if trace else program.job.ranks if program.job else 0 for program, trace in zip(asked, traces, strict=True)]
    nodes = programs.place(asked, ranks, options.mapping, described, resolved["topology"], options.seed)
    _check_nodes(resolved, asked, nodes)
    return [_spec(program, trace, own, options) for program, trace, own in zip(asked, traces, nodes, strict=True)]


def loaded(program: Program) -> folder.Trace | None:
    """Its trace, if it is one that can be replayed. Raises InputError."""
    if program.trace is None:
        return None
    trace = folder.load(program.trace).verify()
    if not trace.about.complete:
        raise InputError(f"{program.trace}: the recording is incomplete and cannot be replayed: {trace.about.reason}")
    if trace.about.missing:
        raise InputError(
            f"{program.trace}: the program calls {', '.join(trace.about.missing)}, which is not recorded and cannot be replayed"
        )
    return trace


def _spec(program: Program, trace: folder.Trace | None, nodes: Sequence[int], options: Options) -> dict[str, Any]:
    """One program as the simulator takes it."""
    common = {"name": program.text, "placement": list(nodes), "start_ps": program.start_ps}
    if trace is not None:
        own = _of(program, options)
        chosen = {"rules": trace.rules(own.rules), "collectives": dict(own.collectives)}
        return common | {"streams": [str(path) for path in trace.streams], "compute_factor": own.compute} | chosen
    job = program.job
    assert job is not None
    check_job(job)
    keys = {"ranks": len(nodes), "bytes": job.size_bytes, "rounds": job.rounds, "pause_ps": job.pause_ps, "priority": job.priority}
    return common | {"job": {"program": job.program, **keys}, "collectives": dict(program.collectives)}


def _of(program: Program, options: Options) -> Options:
    """The options of a recorded program: its own before those of all."""
    compute = options.compute if program.compute is None else program.compute
    collectives = {**options.collectives, **program.collectives}
    return replace(options, mapping=program.mapping or options.mapping, compute=compute, collectives=collectives)


def simulate(
    specs: Sequence[dict[str, Any]],
    resolved: dict[str, Any],
    progress: Any = None,
    *,
    level: str = "packet",
    call_times: bool = False,
) -> dict[str, Any]:
    """Runs the programs together: what was measured, with `call_times` also of each call. Raises InputError."""
    began = time.monotonic()
    try:
        simulation = _core.Replay(resolved, list(specs), level == "flow", call_times)
        background.work(simulation, progress, resolved, {"trace": ", ".join(spec["name"] for spec in specs)})
    except ValueError as error:
        raise InputError(str(error)) from None
    found = dict(simulation.results())
    found["summary"]["wall_s"] = time.monotonic() - began
    return found


def _rows(asked: Sequence[Program], specs: Sequence[dict[str, Any]], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table `programs`: of each when it ran, and what it sent."""
    ranks = pl.DataFrame({name: found["ranks"][name] for name in ("virtual_ps", "messages_sent", "bytes_sent")})
    rows = []
    first = 0
    for number, (program, spec) in enumerate(zip(asked, specs, strict=True)):
        count = len(spec["placement"])
        own = ranks.slice(first, count)
        end = int(own["virtual_ps"].max())  # type: ignore[arg-type]
        rows.append(
            {
                "program": number,
                "name": program.text,
                "first_rank": first,
                "ranks": count,
                "start_ps": program.start_ps,
                "end_ps": end,
                "took_ps": end - program.start_ps,
                "messages": int(own["messages_sent"].sum()),
                "bytes": int(own["bytes_sent"].sum()),
            }
        )
        first += count
    return rows


def _check_nodes(resolved: Mapping[str, Any], asked: Sequence[Program], placed: Sequence[Sequence[int]]) -> None:
    failed = set(_core.failed_endpoints(resolved["topology"])) if resolved["topology"].get("failed") else set()
    for program, nodes in zip(asked, placed, strict=True):
        if lost := failed & set(nodes):
            of = f" of {program.text}" if len(asked) > 1 else ""
            raise InputError(
                f"rank {list(nodes).index(min(lost))}{of} is placed on node {min(lost)}, which has failed; give another placement (--map)"
            )


def _meta(
    options: Options,
    asked: Sequence[Program],
    traces: Sequence[folder.Trace | None],
    described: Machine,
    resolved: dict[str, Any],
    ranks: int,
) -> dict[str, Any]:
    recorded = [trace for trace in traces if trace is not None]
    one = recorded[0] if len(asked) == 1 and recorded else None
    options = _of(asked[0], options) if one else options
    mpis = " and ".join(sorted({trace.about.mpi for trace in recorded}))
    notes = [*levels.caveats_of_programs(options.level, described), *_extrapolated(recorded), *_without_files(recorded)]
    return {
        "program": one.about.run.get("program", []) if one else [" and ".join(program.text for program in asked)],
        "machine": resolved,
        "machine_name": described.name,
        "ranks": ranks,
        "map": options.mapping,
        "compute": f"{options.compute:g} of the recorded",
        **({"start_ps": asked[0].start_ps} if one and asked[0].start_ps else {}),
        "mpi": f"{mpis}, replayed" if mpis else "jobs alone",
        "seed": options.seed,
        "level": options.level,
        **({"faults": options.faults} if options.faults else {}),
        **({"background": options.background} if options.background else {}),
        **({"notes": notes} if notes else {}),
        "exanet_version": version(),
        "trace": str(options.traces[0]) if one else [str(text) for text in options.traces],
        "collectives": dict(options.collectives),
        **({"rules": sorted({trace.rules(options.rules) for trace in recorded})} if recorded else {}),
        "recorded": one.about.run if one else [trace.about.run for trace in recorded],
        **({"jobs": list(options.jobs)} if options.jobs else {}),
    }


def _extrapolated(traces: Sequence[folder.Trace]) -> list[str]:
    """What is to be said of traces that `exanet trace extrapolate` has made."""
    found = []
    for trace in traces:
        if "extrapolated" in trace.about.run:
            ran = " and ".join(str(source["ranks"]) for source in trace.about.run["extrapolated"]["from"])
            found.append(
                f"{trace.folder}: its {trace.about.ranks} ranks are extrapolated from runs of {ran}; no program of so many has run"
            )
    return found


def _without_files(traces: Sequence[folder.Trace]) -> list[str]:
    """What is to be said of traces of programs that use files (MPI-IO)."""
    found = []
    for trace in traces:
        if names := ", ".join(trace.about.file_calls):
            found.append(
                f"{trace.folder}: the program calls {names}, of which a trace has the names alone: the replay leaves out what "
                "ranks wait for and exchange in them, and keeps their computing"
            )
    return found


as_function(__name__)  # exanet.replay(...) is that of exanet/api.py
