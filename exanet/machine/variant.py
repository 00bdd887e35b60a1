# SPDX-License-Identifier: Apache-2.0
"""Machines with another topology, routing, or failures than their files say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from exanet.errors import InputError
from exanet.machine.located import values
from exanet.machine.machine import Machine, load


def variant(
    machine: str,
    topology: str | None,
    routing: str | None,
    failed: Sequence[str],
    *,
    rails: int | None = None,
    control: str | None = None,
    packets: bool = True,
) -> Machine:
    """The machine with another topology, routing, failures, number of rails, or congestion control. Raises InputError
    on what does not fit."""
    changes: dict[str, Any] = {}
    if topology is not None:
        kind, _, shape = topology.partition(":")
        sides = re.split(r"[,x]", shape)
        if kind == "graph":
            raise InputError(
                f"--topology {topology}: a graph is described by a file: name it in a machine file, with 'kind: graph' (docs/topologies.md)"
            )
        if not all(re.fullmatch("[0-9]{1,18}", side) for side in sides):
            raise InputError(f"--topology {topology}: give a kind and its shape, e.g. torus:16,16,16")
        name = re.sub("[^a-z0-9]+", "-", topology.lower()).strip("-")
        changes = {
            "topology.kind": kind,
            "topology.shape": [int(side) for side in sides],
            "name": name,
            "description": f"{topology} of {machine}",
        }
    if routing is not None:
        changes["topology.routing"] = routing
    if failed:
        changes["topology.failed"] = list(failed)
    if rails is not None:
        changes["topology.rails"] = rails
    if control is not None:
        changes["ni.congestion_control"] = control
    return load(machine, values(changes, "command line"), packets=packets)
