# SPDX-License-Identifier: Apache-2.0
"""`exanet sim jobs`: programs of communication that run to their end."""

from __future__ import annotations

from typing import Annotated

import typer

from exanet import lightly, registries
from exanet.commands.options import Failed, Faults, Json, MachineOption, Output, Quiet, Rails, Routing, Topology, packet_size
from exanet.commands.sim.options import Level, PacketBytes, Seed

Jobs = Annotated[
    list[str],
    typer.Option(
        "--job",
        metavar="NAME:KEY=VALUE,...",
        help="A job that runs to its end, e.g. stencil-3d:bytes=4KiB,rounds=10. Keys: ranks, bytes, rounds, pause, priority. "
        f"Several run together. Programs: {registries.programs()}.",
    ),
]
Mapping = Annotated[str, typer.Option("--map", help=f"Placement of jobs on endpoints: {registries.mappings()}.")]
Nic = Annotated[str, typer.Option("--nic", help=f"Network interfaces of the ranks: {registries.nics()}.")]


def command(
    machine: MachineOption,
    texts: Jobs,
    mapping: Mapping = "linear",
    nic: Nic = "ideal",
    level: Level = "packet",
    packets: PacketBytes = None,
    seed: Seed = 1,
    topology: Topology = None,
    routing: Routing = None,
    rails: Rails = None,
    failed: Failed = None,
    faults: Faults = None,
    output: Output = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate jobs to their end, each on its own endpoints: when they finish, and how long their messages take."""
    with lightly.imports():
        from exanet import level as levels
        from exanet.faults import add as failing
        from exanet.machine.variant import variant
        from exanet.sim import job_run

    levels.check(level)
    spec = job_run.Spec(tuple(texts), mapping, packet_size(packets), seed, level, nic)
    described = failing(variant(machine, topology, routing, failed or [], rails=rails, packets=level == "packet"), faults, hosts=False)
    job_run.run(described, spec, output, as_json, quiet)
