# SPDX-License-Identifier: Apache-2.0
"""Can packets on a machine's network wait for each other in a cycle? Proves that they cannot, or shows the cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exanet.errors import InputError
from exanet.machine.machine import Machine
from exanet.machine.schema import topology_of


@dataclass(frozen=True)
class Verdict:
    """Verdict from the graph of channel dependencies.

    `cycle` lists channels (node, port, virtual channel), each held by a packet that waits for the next one; empty: free
    of deadlock.
    """

    virtual_channels: int
    links: int  # directions counted for themselves
    pairs: int  # of ends of routes; endpoints of one switch are one
    cycle: list[tuple[str, str, int]]
    # nodes of the small machines that were looked at in place of one with too many pairs; empty: of itself
    miniatures: list[int]


def check(described: Machine, *, channels: int | None = None, progress: Callable[[float], None] | None = None) -> Verdict:
    """Checks the machine's routing; with `channels`, as if a link had only so many virtual channels.

    `progress` is called now and then with the share done.

    A torus or mesh with too many pairs of nodes is looked at in miniatures that have a cycle exactly when it has one:
    one for each dimension, with two points in every other. Raises InputError on another network too large to look at
    every pair of its ends, or fewer channels with another routing than its own.
    """
    described.one_network("exanet check")
    from exanet import _core

    return Verdict(**_proved(_core.check, topology_of(described.model), channels, progress))


@dataclass(frozen=True)
class FaultsVerdict:
    """Verdict on all states of links that a machine's faults reach. `cycle`: as in Verdict, of the first state that has
    one; that begins at `at_ps`."""

    virtual_channels: int
    links: int
    pairs: int
    states: int  # without faults counts as one
    follows: bool  # routes are new in each state; else they never change, and are proved once
    at_ps: int
    cycle: list[tuple[str, str, int]]


def check_faults(failing: Machine, *, channels: int | None = None, progress: Callable[[float], None] | None = None) -> FaultsVerdict:
    """Checks the routes of a machine with faults (exanet.faults.add) in each state of links that these reach.

    What waits while routes change, under routes of two states, is not looked at. Raises InputError on fewer channels
    with another routing than the machine's own.
    """
    from exanet import _core

    return FaultsVerdict(**_proved(_core.check_faults, failing.resolve(), channels, progress))


def _proved(
    prove: Callable[..., dict[str, Any]], subject: dict[str, Any], channels: int | None, progress: Callable[[float], None] | None
) -> dict[str, Any]:
    """The fields of a verdict."""
    if channels is not None and not 1 <= channels <= 8:
        raise InputError(f"--channels {channels}: give a number from 1 to 8")
    try:
        found = prove(subject, channels or 0, progress)
    except ValueError as error:
        raise InputError(str(error)) from None
    return {**found, "cycle": [tuple(channel) for channel in found["cycle"]]}
