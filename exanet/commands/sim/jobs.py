# SPDX-License-Identifier: Apache-2.0
"""`exanet sim jobs`: programs of communication that run to their end."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from exanet import lightly, registries
from exanet.commands.options import Failed, Json, MachineOption, Output, Quiet, Rails, Routing, Topology, packet_size
from exanet.commands.sim.options import Level, PacketBytes, Seed


def command(
    machine: MachineOption,
    texts: Annotated[
        list[str],
        typer.Option(
            "--job",
            metavar="NAME:KEY=VALUE,...",
            help="A program that runs to its end, e.g. stencil-3d:bytes=4KiB,rounds=10; keys: ranks, bytes, rounds, pause, priority. "
            f"Several run together. Programs: {registries.programs()}.",
        ),
    ],
    mapping: Annotated[str, typer.Option("--map", help=f"Endpoints of the jobs: {registries.mappings()}.")] = "linear",
    nic: Annotated[str, typer.Option("--nic", help=f"Network interfaces that ranks send through: {registries.nics()}.")] = "ideal",
    level: Level = "packet",
    packets: PacketBytes = None,
    seed: Seed = 1,
    topology: Topology = None,
    routing: Routing = None,
    rails: Rails = None,
    failed: Failed = None,
    output: Output = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Jobs that run to their end, each on endpoints of its own: when they finish, and what their messages took."""
    with lightly.imports():
        from exanet import level as levels
        from exanet.machine import variant
        from exanet.progress import share_done
        from exanet.sim import job_results, tables
        from exanet.sim.jobs import Job, finish
        from exanet.sim.run import directory_of

    levels.check(level)
    packet_bytes = packet_size(packets)
    described = variant.variant(machine, topology, routing, failed or [], rails=rails, packets=level == "packet")
    directory = directory_of(output, described, texts[0].partition(":")[0] + "-job")
    jobs = [Job.parse(text) for text in texts]
    began = time.monotonic()
    with share_done("jobs", quiet) as progress:
        found = finish(described, jobs, mapping=mapping, packet_bytes=packet_bytes, seed=seed, level=level, nic=nic, progress=progress)
    rows = [
        {"job": number, **vars(job), **{key: value for key, value in row.items() if key not in ("message", "endpoints")}}
        for number, (job, row) in enumerate(zip(jobs, found["jobs"], strict=True))
    ]
    run = {
        **variant.facts(described),
        "jobs": list(texts),
        "mapping": mapping,
        "packet_bytes": packet_bytes,
        "seed": seed,
        "level": level,
        **({} if nic == "ideal" else {"nic": nic}),
    }
    figures = {
        key: value
        for key, value in found.items()
        if key not in ("jobs", "links", "energy", "queued", "first_watched", "watched_ps", "cpu_s")
    }
    spent = {"energy": found["energy"]} if "energy" in found else {}
    if notes := levels.caveats(level, described.model):
        run["notes"] = notes
    what = (
        f"{described.name}{variant.label(described)}"
        + ("" if mapping == "linear" else f", {mapping} mapping")
        + ("" if nic == "ideal" else f", {nic} interfaces")
    )
    directory = job_results.write(
        directory, described, what, found, rows, {"run": run, **figures, **spent}, time.monotonic() - began, output is None
    )
    if as_json:
        typer.echo(json.dumps({**figures, **spent, "jobs": rows}, indent=2))
    elif not quiet:
        tables.show_jobs(what, figures, [{**row, "text": text} for row, text in zip(rows, texts, strict=True)], directory, level, described)
