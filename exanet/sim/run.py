# SPDX-License-Identifier: Apache-2.0
"""Measures each load, writes the folder, shows the table: for `exanet sim load` and `exanet sim messages` alike."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from exanet.bounds import MOST_LOAD, percentages
from exanet.directory import result_directory
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.progress import share_done
from exanet.quantity import counted
from exanet.sim import matrix, tables
from exanet.sim import results as sim_results
from exanet.sim.points import figures, senders, simulate
from exanet.sim.spec import TrafficSpec

Show = Callable[[Machine, TrafficSpec, Sequence[dict[str, Any]], float, Path], None]
"""Prints the table of points, from their rows, the processor time, and the folder."""


def loads(text: str) -> list[float]:
    """Offered loads in ascending order. Raises InputError."""
    try:
        wanted = [float(part) for part in text.split(",")]
    except ValueError:
        wanted = []
    if not wanted or "_" in text or not all(0 < value <= MOST_LOAD for value in wanted):
        hint = "; `exanet sweep` searches for the load of saturation" if text == "saturation" else percentages(wanted) if wanted else ""
        raise InputError(
            f"--load {text}: give numbers above 0, at most {MOST_LOAD}, by commas, e.g. 0.1,0.2,0.3; 1 fills a link of each sender{hint}"
        )
    return sorted(set(wanted))


def directory_of(output: Path | None, described: Machine, what: str, quiet: bool) -> Path:
    """Where the results go: what -o says, or a new folder named after the machine and what runs on it."""
    named = re.sub(r"[^A-Za-z0-9._-]+", "-", matrix.label(what))
    return result_directory("sim", output, f"exanet-sim-{described.name}-{named}", quiet=quiet)


def run(
    described: Machine,
    offered: Sequence[float],
    spec: TrafficSpec,
    threads: int,
    output: Path | None,
    as_json: bool,
    quiet: bool,
    show: Show,
    sample_ps: int | None = None,
) -> None:
    """Measures each of the `offered` loads, 0 for a burst, and leaves the folder. Raises InputError on what cannot
    be simulated."""
    directory = directory_of(output, described, spec.traffic, quiet)
    began = time.monotonic()
    points, stopped = [], ""
    try:
        for point in _points(described, offered, spec, threads, quiet, sample_ps):
            points.append(point)
    except KeyboardInterrupt:
        stopped = f"{len(points)} of {counted(len(offered), 'load')} {'was' if len(offered) == 1 else 'were'} measured"
        if not points:
            raise KeyboardInterrupt(f"{stopped}, and no results were written") from None
    directory = sim_results.write(directory, described, spec, points, threads, time.monotonic() - began, stopped, fresh=output is None)
    if stopped:
        raise KeyboardInterrupt(f"{stopped}, and are in {directory}")
    if as_json:
        print(json.dumps([figures(point) for point in points], indent=2))
    elif not quiet:
        show(described, spec, [figures(point) | senders(point) for point in points], sum(point["cpu_s"] for point in points), directory)
        tables.show_parts(points, spec)


def _points(
    described: Machine, wanted: Sequence[float], spec: TrafficSpec, threads: int, quiet: bool, sample_ps: int | None
) -> Iterator[dict[str, Any]]:
    for number, offered in enumerate(wanted, 1):
        with share_done(f"load {offered:g}, {number} of {len(wanted)}" if offered else "messages", quiet) as progress:
            point = simulate(described, offered=offered, spec=spec, threads=threads, sample_ps=sample_ps, progress=progress)
        yield point
