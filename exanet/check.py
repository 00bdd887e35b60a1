# SPDX-License-Identifier: Apache-2.0
"""`exanet check`: can packets on a machine's network wait for each other in a circle? Proves that they cannot, or shows the circle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from exanet.errors import InputError
from exanet.machine import Machine
from exanet.machine_schema import topology_of
from exanet.progress import told


@dataclass(frozen=True)
class Verdict:
    """What the graph of channel dependencies says.

    `cycle` lists channels (node, port, virtual channel), each held by a packet that waits for the next one; empty: free of deadlock.
    """

    virtual_channels: int
    links: int  # directions counted for themselves
    pairs: int  # of ends of ways; endpoints of one switch are one
    cycle: list[tuple[str, str, int]]
    miniatures: list[int]  # nodes of the small machines that were looked at in place of one with too many pairs; empty: of itself


def check(described: Machine, *, channels: int | None = None, progress: Callable[[float], None] | None = None) -> Verdict:
    """Checks the machine's routing; with `channels`, as if a link had only so many virtual channels.

    `progress` is called now and then with the share done.

    A torus or mesh with too many pairs of nodes is looked at in miniatures that have a circle exactly when it has one: one for each
    dimension, with two points in every other. Raises InputError on another network too large to look at every pair of its ends, or fewer
    channels with another routing than its own.
    """
    from exanet import _core

    if channels is not None and not 1 <= channels <= 8:
        raise InputError(f"--channels {channels}: give a number from 1 to 8")
    try:
        found = _core.check(topology_of(described.model), channels or 0, progress)
    except ValueError as error:
        raise InputError(str(error)) from None
    cycle = [tuple(channel) for channel in found["cycle"]]
    return Verdict(found["virtual_channels"], found["links"], found["pairs"], cycle, found["miniatures"])


def command(
    machine: Annotated[str, typer.Argument(help="The machine: a name (see `exanet machines`) or a file.")],
    routing: Annotated[
        str | None,
        typer.Option("--routing", help="Other ways than the machine's: minimal, up-down, valiant, ugal-l, ugal-g, par, adaptive."),
    ] = None,
    failed: Annotated[
        list[str] | None,
        typer.Option("--fail", metavar="WHAT", help="A node or link that has failed, or how many at random: links:3:SEED, nodes:1:SEED."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="KIND:SHAPE", help="Another shape for the machine, e.g. torus:16,16,16.")
    ] = None,
    channels: Annotated[
        int | None, typer.Option("--channels", help="As if a link had only so many virtual channels: what the others are for.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of sentences.")] = False,
) -> None:
    """Prove that a machine's routing is free of deadlock, or print the circle of channels and exit with 1."""
    from exanet import sim

    described = sim.variant(machine, topology, routing, failed or [])
    with told(f"ways on {described.name}", False) as tell:
        verdict = check(described, channels=channels, progress=tell)
    if as_json:
        typer.echo(json.dumps({"machine": described.name, **vars(verdict), "free_of_deadlock": not verdict.cycle}, indent=2))
    else:
        ways = described.model.topology.routing or "own"
        on = f"{verdict.links} directed links with {verdict.virtual_channels} virtual channel{'s' * (verdict.virtual_channels > 1)}"
        if verdict.miniatures:
            sizes = ", ".join(str(nodes) for nodes in verdict.miniatures)
            typer.echo(f"{described.name}: too many pairs to look at; looked at a ring of each dimension, on networks of {sizes} nodes")
        if verdict.cycle:
            typer.echo(f"{described.name}: packets can wait for each other in a circle, on {on} ({ways} ways):")
            for (node, port, vc), (follower, _, _) in zip(verdict.cycle, verdict.cycle[1:] + verdict.cycle[:1], strict=True):
                typer.echo(f"  {node} {port}, channel {vc}: held by a packet that waits at {follower}")
        else:
            typer.echo(f"{described.name}: free of deadlock; the ways between {verdict.pairs} pairs close no circle on {on} ({ways} ways)")
    if verdict.cycle:
        raise typer.Exit(1)
