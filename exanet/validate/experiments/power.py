# SPDX-License-Identifier: Apache-2.0
"""Power of a Trenz board's network: what its parts draw in a simulation. The vendor's estimates fix the machine's power
table, which has the router, each link with its transceiver, and the registers; the estimates of links and
transceivers are one figure there, so each is measured with the other published one taken away."""

from __future__ import annotations

import functools

from exanet import sim
from exanet.validate.registry import Measured, Off, experiment, published
from exanet.validate.runner import Runner

_MACHINE = "trenz-2x2"
_LINKS = 2
_UNNAMED = "0.2 W of the published board belong to none of its published parts, so they are in no power table"


@functools.cache
def _watts(runner: Runner) -> dict[str, float]:
    """Of one board by part, at a small load."""
    machine = runner.machine(_MACHINE)
    point = sim.simulate(machine.resolve(), offered=0.1)
    found = {row["part"].split(",")[0]: float(row["power_w"]) / machine.nodes for row in point["energy"]}
    return found | {"board": float(point["power_w"]) / machine.nodes}


def _published(row: str) -> float:
    return float(published()[row]["value"])


@experiment("K22", kind="calibrated")
def network_ip(runner: Runner) -> Measured:
    """The board's network less the published transceivers."""
    board = _watts(runner)["board"]
    return Measured(board - _published("K25"), f"the network of a board draws {board:.3f} W, less the transceivers of K25; fixes ni.idle")


@experiment("K23", kind="calibrated")
def router(runner: Runner) -> Measured:
    """The routers' part; the share of their ports is not in the machine's table."""
    return Measured(_watts(runner)["routers"], "fixes power.router.idle; the machine has no share of the ports")


@experiment("K24", kind="calibrated")
def link(runner: Runner) -> Measured:
    """The links' part less the published transceivers."""
    links = _watts(runner)["links"]
    return Measured(links / _LINKS - _published("K25") / 2, f"both links draw {links:.3f} W, less K25; fixes links.link.idle")


@experiment("K25", kind="calibrated")
def transceivers(runner: Runner) -> Measured:
    """The links' part less the published links without transceivers."""
    links = _watts(runner)["links"]
    return Measured(links - _LINKS * _published("K24"), f"both links draw {links:.3f} W, less K24; fixes links.link.idle")


@experiment("K26", kind="structural", off=Off(-0.0586, _UNNAMED))
def board(runner: Runner) -> Measured:
    """The published processors, and with them the network of a board."""
    processors = float(published()["K26"]["value"][0])
    network = _watts(runner)["board"]
    return Measured((processors, processors + network), f"the processors are given; the network of a board draws {network:.3f} W")
