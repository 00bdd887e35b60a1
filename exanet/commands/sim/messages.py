# SPDX-License-Identifier: Apache-2.0
"""`exanet sim messages`: whole messages, all at once or at a load, packet by packet or as flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from exanet import lightly, registries
from exanet.commands.options import (
    Failed,
    Faults,
    Json,
    MachineOption,
    Output,
    Quiet,
    Rails,
    Routing,
    Topology,
    packet_size,
    size_bytes,
    time_ps,
)
from exanet.commands.sim.options import Level, PacketBytes, Seed, Traffic

_ABOUT = {
    "flow": "the flow level: take --level flow, or leave it out",
    "packet": "the packet level: leave it out, or --level flow",
    "burst": "messages that are sent all at once: leave out --load",
    "load": "messages that come at a load, not all at once: give --load, or leave it out",
}
_NEEDS = {
    "--rounds": "burst", "--sharing": "flow", "--grain": "flow", "--pace": "packet", "--nic": "packet", "--congestion-control": "packet",
    "--sample-every": "packet",
    "--warm-up": "load", "--measure": "load",
}  # fmt: skip

_Sharing = Annotated[
    str,
    typer.Option("--sharing", help="Flow level: max-min (fair shares of what the network can carry) or fifo (shares of greedy senders)."),
]
_Nic = Annotated[
    str | None,
    typer.Option(
        "--nic",
        help=f"Packet level: network interfaces: {registries.nics()}. By default those that serve the machine's congestion control, "
        "if it has one, otherwise ideal.",
    ),
]
_Control = Annotated[
    str | None,
    typer.Option("--congestion-control", help=f"Replace the congestion control of the machine's interfaces: {registries.controls()}."),
]


_Pace = Annotated[
    str,
    typer.Option(
        "--pace", help="Packet level: send packets as fast as the network accepts them (free), or at the flow level's rates (fair)."
    ),
]
_Sample = Annotated[
    str | None,
    typer.Option(
        "--sample-every",
        metavar="TIME",
        help="Packet level: record rates of flows, use of links and lengths of queues in intervals of this time, e.g. 20us.",
    ),
]


def idle(given: Mapping[str, str]) -> list[str]:
    """A message for each option, of those `given` with their values, that would say nothing in the run that they ask
    for."""
    there_is = {"flow" if given.get("--level") == "flow" else "packet", "load" if "--load" in given else "burst"}
    return [f"{option} belongs to {_ABOUT[need]}" for option, need in _NEEDS.items() if option in given and need not in there_is]


def command(
    machine: MachineOption,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            metavar="SIZE",
            help=f"Size of the messages (default 64 KiB), or a distribution from data centres: {registries.flow_sizes()}.",
        ),
    ] = None,
    traffic: Traffic = "uniform",
    loads: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="LOAD,...",
            help="Offered loads, each measured separately; 1 fills a link of each sender. By default all messages are sent at once.",
        ),
    ] = None,
    level: Level = "packet",
    rounds: Annotated[int, typer.Option("--rounds", help="Messages of each sender; each is sent when the previous one has arrived.")] = 1,
    sharing: _Sharing = "max-min",
    grain: Annotated[str, typer.Option("--grain", help="Flow level: events within this time are handled together.")] = "1 ns",
    pace: _Pace = "free",
    nic: _Nic = None,
    control: _Control = None,
    packets: PacketBytes = None,
    sample: _Sample = None,
    warm_up: Annotated[
        str, typer.Option("--warm-up", help="With --load: simulated time before the measured window; auto: a quarter of --measure.")
    ] = "auto",
    measure: Annotated[str, typer.Option("--measure", help="With --load: simulated time of the measured window.")] = "4 ms",
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
    """Simulate whole messages, all at once or at a load: when they arrive, and their delay against an empty network."""
    with lightly.imports():
        from exanet import level as levels
        from exanet.faults import add as failing
        from exanet.machine.variant import variant
        from exanet.sim import matrix, run, tables
        from exanet.sim.spec import DEFAULT_BYTES, TrafficSpec, distributions

    levels.check(level)
    described = failing(
        variant(machine, topology, routing, failed or [], rails=rails, control=control, packets=level == "packet"), faults, hosts=False
    )
    sizes = message if message in distributions() else None
    if message is None:
        # at flow level they need no size to be messages, and in a list of flows each has its own
        size = DEFAULT_BYTES if level == "packet" and not matrix.lists_flows(traffic) else None
    else:
        size = None if sizes is not None else size_bytes("--message", message)
    spec = TrafficSpec(
        traffic, packet_size(packets), "poisson", seed, None if warm_up == "auto" else time_ps("--warm-up", warm_up),
        time_ps("--measure", measure), level, size, sizes, rounds, time_ps("--grain", grain), sharing, pace, nic,
    )  # fmt: skip
    every = None if sample is None else time_ps("--sample-every", sample)
    wanted = [0.0] if loads is None else run.loads(loads)
    run.run(described, wanted, spec, 1, output, as_json, quiet, tables.show_messages, every)
