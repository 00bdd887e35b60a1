# SPDX-License-Identifier: Apache-2.0
"""Runs jobs to their end, writes the folder, shows the table: for `exanet sim jobs`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exanet import level as levels
from exanet.machine import Machine
from exanet.progress import share_done
from exanet.sim import job_results, tables
from exanet.sim.jobs import Job, finish
from exanet.sim.run import directory_of

_OF_EACH = ("message", "endpoints")  # tables of a job, which are no columns of its row
# what is no single figure
_OF_ALL = ("jobs", "links", "energy", "queued", "first_watched", "watched_ps", "cpu_s", "faults")


@dataclass(frozen=True)
class Spec:
    """What is asked for, as the command line has it."""

    jobs: tuple[str, ...]
    mapping: str
    packet_bytes: int | None
    seed: int
    level: str
    nic: str


def run(described: Machine, spec: Spec, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Runs the jobs together, and leaves the folder. Raises InputError on what cannot be run."""
    directory = directory_of(output, described, spec.jobs[0].partition(":")[0] + "-job", quiet)
    jobs = [Job.parse(text) for text in spec.jobs]
    began = time.monotonic()
    options = {name: value for name, value in vars(spec).items() if name != "jobs"}
    with share_done("jobs", quiet) as progress:
        found = finish(described, jobs, progress=progress, **options)
    figures = {key: value for key, value in found.items() if key not in _OF_ALL}
    rows = _rows(jobs, found["jobs"])
    what = _what(described, spec)
    spent = {"energy": found["energy"]} if "energy" in found else {}
    summary = {"run": _asked(described, spec), **figures, **spent}
    directory = job_results.write(directory, described, what, found, rows, summary, time.monotonic() - began, output is None)
    if as_json:
        print(json.dumps({**figures, **spent, "jobs": rows}, indent=2))
    elif not quiet:
        named = [{**row, "text": text} for row, text in zip(rows, spec.jobs, strict=True)]
        tables.show_jobs(what, figures, named, directory, spec.level, described)


def _rows(jobs: Sequence[Job], found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each job what was asked, and its figures."""
    return [
        {"job": number, **vars(job), **{key: value for key, value in row.items() if key not in _OF_EACH}}
        for number, (job, row) in enumerate(zip(jobs, found, strict=True))
    ]


def _asked(described: Machine, spec: Spec) -> dict[str, Any]:
    """The run in summary.json."""
    notes = levels.caveats(spec.level, described)
    return {
        **described.identity(),
        "jobs": list(spec.jobs),
        "mapping": spec.mapping,
        "packet_bytes": spec.packet_bytes,
        "seed": spec.seed,
        "level": spec.level,
        **({} if spec.nic == "ideal" else {"nic": spec.nic}),
        **({"notes": notes} if notes else {}),
    }


def _what(described: Machine, spec: Spec) -> str:
    """What the jobs ran on, for titles."""
    mapped = "" if spec.mapping == "linear" else f", {spec.mapping} mapping"
    through = "" if spec.nic == "ideal" else f", {spec.nic} interfaces"
    return f"{described.name}{described.label}{mapped}{through}"
