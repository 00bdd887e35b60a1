# SPDX-License-Identifier: Apache-2.0
"""`exanet check`: can packets on a machine's network wait for each other in a cycle? Proves that they cannot, or
shows the cycle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.commands.options import Failed, Faults, Routing, Topology
from exanet.quantity import counted

if TYPE_CHECKING:
    from exanet.machine import Machine
    from exanet.machine.deadlock import FaultsVerdict, Verdict


def command(
    machine: Annotated[str, typer.Argument(help="The machine: a name (see `exanet machines`) or a file.")],
    routing: Routing = None,
    failed: Failed = None,
    topology: Topology = None,
    faults: Faults = None,
    channels: Annotated[
        int | None,
        typer.Option("--channels", help="Check with only this many virtual channels a link, e.g. to see what the others prevent."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Prove that a machine's routing is free of deadlock. Otherwise print the cycle of channels and exit with 1.

    Warn of a router that is slower than its links.
    """
    with lightly.imports():
        from exanet import faults as files
        from exanet.machine.deadlock import check, check_faults
        from exanet.machine.variant import variant
        from exanet.progress import share_done

    described = files.add(variant(machine, topology, routing, failed or []), faults)
    with share_done(f"routes on {described.name}", False) as progress:
        if faults is None:
            verdict: Verdict | FaultsVerdict = check(described, channels=channels, progress=progress)
        else:
            verdict = check_faults(described, channels=channels, progress=progress)
    slow = described.slow_router()
    if slow is not None:
        typer.echo(f"warning: {described.name}: {slow}", err=True)
    if as_json:
        typer.echo(json.dumps({"machine": described.name, **vars(verdict), "free_of_deadlock": not verdict.cycle}, indent=2))
    else:
        _say(described, verdict)
    if verdict.cycle:
        raise typer.Exit(1)


def _say(described: Machine, verdict: Verdict | FaultsVerdict) -> None:
    from exanet.machine.deadlock import FaultsVerdict
    from exanet.quantity import time_text

    routes = described.model.topology.routing or "own"
    on = f"{counted(verdict.links, 'directed link')} with {counted(verdict.virtual_channels, 'virtual channel')}"
    states = ""
    if isinstance(verdict, FaultsVerdict):
        new = "with new routes in each" if verdict.follows else "with routes that never change"
        states = f" in {verdict.states} state{'s' * (verdict.states > 1)} of links, {new}"
    elif verdict.miniatures:
        sizes = ", ".join(str(nodes) for nodes in verdict.miniatures)
        typer.echo(f"{described.name}: too many pairs to check; checked a ring of each dimension on networks of {sizes} nodes")
    if verdict.cycle:
        when = f" from {time_text(verdict.at_ps)} on" if isinstance(verdict, FaultsVerdict) else ""
        typer.echo(f"{described.name}: packets can wait for each other in a cycle{when}, on {on} ({routes} routes):")
        for (node, port, vc), (follower, _, _) in zip(verdict.cycle, verdict.cycle[1:] + verdict.cycle[:1], strict=True):
            typer.echo(f"  {node} {port}, channel {vc}: held by a packet that waits at {follower}")
    else:
        typer.echo(
            f"{described.name}: free of deadlock{states}; the routes between {verdict.pairs} pairs close no cycle on {on} ({routes} routes)"
        )


app = single.app(command)
