# SPDX-License-Identifier: Apache-2.0
"""`exanet sim load`: single packets at offered loads."""

from __future__ import annotations

from typing import Annotated

import typer

from exanet import lightly
from exanet.commands.options import Failed, Faults, Json, MachineOption, Output, Quiet, Rails, Routing, Topology, packet_size, time_ps
from exanet.commands.sim.options import PacketBytes, PacketTraffic, Seed

_DEFAULT_LOADS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"


def command(
    machine: MachineOption,
    traffic: PacketTraffic = "uniform",
    loads: Annotated[
        str,
        typer.Option("--load", metavar="LOAD,...", help="Offered loads, each measured separately; 1 fills a link of each sender."),
    ] = _DEFAULT_LOADS,
    packets: PacketBytes = None,
    arrivals: Annotated[
        str, typer.Option("--arrivals", help="How packets are created: poisson, bernoulli, or bursts[:PACKETS].")
    ] = "poisson",
    priority: Annotated[float, typer.Option("--priority", help="Share of packets with priority in routers; reported separately.")] = 0.0,
    warm_up: Annotated[
        str, typer.Option("--warm-up", help="Simulated time before the measured window; auto: until latency has settled.")
    ] = "auto",
    measure: Annotated[str, typer.Option("--measure", help="Simulated time of the measured window.")] = "100 us",
    seed: Seed = 1,
    topology: Topology = None,
    routing: Routing = None,
    rails: Rails = None,
    failed: Failed = None,
    faults: Faults = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads for each load; results do not depend on it.")] = 1,
    output: Output = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate single packets at offered loads: accepted load, latency, link use and fairness."""
    with lightly.imports():
        from exanet.errors import InputError
        from exanet.faults import add as failing
        from exanet.machine.variant import variant
        from exanet.sim import matrix, run, tables
        from exanet.sim.spec import TrafficSpec

    described = failing(variant(machine, topology, routing, failed or [], rails=rails), faults, hosts=False)
    if matrix.lists_flows(traffic):
        raise InputError(f"--traffic {traffic}: a list of flows has whole messages: use exanet sim messages")
    window = time_ps("--measure", measure)
    spec = TrafficSpec(
        traffic,
        packet_size(packets),
        arrivals,
        seed,
        None if warm_up == "auto" else time_ps("--warm-up", warm_up),
        window,
        priority_share=priority,
    )
    run.run(described, run.loads(loads), spec, threads, output, as_json, quiet, tables.show_packets)
