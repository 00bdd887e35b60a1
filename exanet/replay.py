# SPDX-License-Identifier: Apache-2.0
"""`exanet replay`: a recorded program on a machine, which need not be the one that it was recorded on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from exanet import _core
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.run import placement
from exanet.sim import background
from exanet.trace import folder


@dataclass(frozen=True)
class Options:
    """Options of a replay, as the command line has them."""

    trace: Path
    machine: str
    mapping: str = "linear"
    compute: float = 1.0
    collectives: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1


def choices(text: str | None) -> dict[str, str]:
    """From NAME=ALGORITHM,… the algorithm by collective. Raises InputError."""
    found: dict[str, str] = {}
    known = _core.collective_algorithms()
    for part in text.split(",") if text else ():
        collective, equals, algorithm = part.partition("=")
        algorithms = [name for of, name in known if of == collective]
        if not equals or not algorithms:
            names = ", ".join(dict.fromkeys(of for of, _ in known))
            raise InputError(f"--collective {text}: '{part}' is not understood; give COLLECTIVE=ALGORITHM,... with one of {names}")
        if algorithm not in algorithms:
            raise InputError(f"--collective {text}: {collective} by '{algorithm}' is unknown; give one of {', '.join(algorithms)}")
        if collective in found:
            raise InputError(f"--collective {text}: {collective} is given twice; keep one")
        found[collective] = algorithm
    return found


def replay(options: Options, progress: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Replays the trace: what was measured, as a run's (exanet.results), and what was asked.

    Raises InputError on what cannot be replayed.
    """
    trace = folder.load(options.trace)
    if not trace.about.complete:
        raise InputError(f"{options.trace}: the recording is not whole, so it cannot be replayed: {trace.about.reason}")
    if trace.about.unrecorded:
        raise InputError(
            f"{options.trace}: the program calls {', '.join(trace.about.unrecorded)}, which is not recorded and cannot be replayed"
        )
    described = load(options.machine)
    cores = described.cores_for_programs()
    placed = placement.place(options.mapping, ranks=trace.about.ranks, nodes=described.nodes, cores_per_node=cores, seed=options.seed)
    resolved = described.resolve()
    _check_nodes(resolved, placed)
    began = time.monotonic()
    try:
        simulation = _core.Replay(resolved, [str(path) for path in trace.streams], placed, options.compute, dict(options.collectives))
        background.work(simulation, progress, resolved, {"trace": str(options.trace)})
    except ValueError as error:
        raise InputError(str(error)) from None
    found = dict(simulation.results())
    found["summary"]["wall_s"] = time.monotonic() - began
    return found, _meta(options, trace, described, resolved) | {"cpu_s": found["summary"]["cpu_s"]}


def _check_nodes(resolved: Mapping[str, Any], placed: Sequence[int]) -> None:
    lost = set(_core.failed_endpoints(resolved["topology"])) & set(placed) if resolved["topology"].get("failed") else set()
    if lost:
        raise InputError(f"rank {placed.index(min(lost))} is placed on node {min(lost)}, which has failed; give another placement (--map)")


def _meta(options: Options, trace: folder.Trace, described: Machine, resolved: dict[str, Any]) -> dict[str, Any]:
    try:
        own_version = version("exanet")
    except PackageNotFoundError:
        own_version = "unknown"
    return {
        "program": trace.about.run.get("program", []),
        "machine": resolved,
        "machine_name": described.name,
        "ranks": trace.about.ranks,
        "map": options.mapping,
        "compute": f"{options.compute:g} of the recorded",
        "mpi": f"{trace.about.mpi}, replayed",
        "seed": options.seed,
        "exanet_version": own_version,
        "trace": str(options.trace),
        "collectives": dict(options.collectives),
        "recorded": trace.about.run,
    }
