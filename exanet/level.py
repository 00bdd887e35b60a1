# SPDX-License-Identifier: Apache-2.0
"""Levels at which a network is simulated: packets, or flows at rates; and what is known to be wrong with the figures
of a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exanet.errors import InputError

if TYPE_CHECKING:  # the schema is imported where a description has been read
    from exanet.machine import Machine

LEVELS = ("packet", "flow")


def check(level: str) -> None:
    """Raises InputError on a level that there is not."""
    if level not in LEVELS:
        raise InputError(f"level {level}: give {' or '.join(LEVELS)}")


_AWAKE = "at flow level links never sleep: no message waits for them, and they draw idle power all the time; --level packet has both"


def caveats(level: str, described: Machine, sharing: str = "max-min") -> list[str]:
    """Known errors of the figures at this level, on this machine, and what limits them: to be shown with them."""
    from exanet.machine.schema import rails_of, topology_needs

    model = described.model
    routing, router = model.topology.routing, model.router
    found = _of_machine(described)
    if level == "flow" and routing in ("valiant", "spray"):
        found.append(
            f"at flow level a message keeps one of the routes that {routing} draws, while at packet level its packets spread over "
            "many: the message takes longer, "
            "by about twice (docs/flow.md); --level packet has no such error"
        )
    several = router.vc_allocation != "routing" and router.virtual_channels.value > topology_needs(model).virtual_channels
    if level == "flow" and sharing == "fifo" and several:
        found.append(
            "FIFO sharing has one FIFO where this machine's packets spread over several virtual channels: some pass where it makes them "
            "wait, and its mean times are up to 13 % too long (docs/flow.md); --level packet has no such error"
        )
    if level == "flow" and (policy := _rail_policy(described)) and rails_of(model) > 1:
        found.append(f"at flow level each pair of nodes keeps to one rail: {policy} is left out")
    return found + ([_AWAKE] if level == "flow" and _sleeps(described) else [])


def _sleeps(described: Machine) -> bool:
    """Has the machine links that sleep?"""
    return any(link.sleep_after is not None for link in described.model.links.values())


def _of_machine(described: Machine) -> list[str]:
    slow = described.slow_router()
    return ([] if slow is None else [slow]) + _without_rails(described) + _without_energy(described)


def _without_energy(described: Machine) -> list[str]:
    """Of `power` where nobody adds it up."""
    if described.other is None or (described.model.power is None and described.other.model.power is None):
        return []
    return ["the energy of two networks that gateways join is not computed: 'power' is left out"]


def _without_rails(described: Machine) -> list[str]:
    """Of keys that choose among rails where there is one."""
    from exanet.machine.schema import rails_of

    policy = _rail_policy(described)
    return [f"{policy} has no effect: this network has one rail"] if policy and rails_of(described.model) == 1 else []


def _rail_policy(described: Machine) -> str:
    """The key of a policy that takes several rails for a pair; empty where there is none."""
    ni = described.model.ni
    return "" if ni is None or ni.rail_policy in (None, "pair") else f"'rail_policy: {ni.rail_policy}'"


def caveats_of_programs(level: str, described: Machine) -> list[str]:
    """The same where programs run over the message library."""
    if level != "flow":
        return _of_machine(described)
    model = described.model
    return [
        *_of_machine(described),
        "at flow level transfers move at fair rates, and messages do not wait behind them in routers. "
        "This is a first estimate; its error depends "
        "on the program (docs/flow.md); --level packet has no such error",
        *(
            [f"a message keeps one of the routes that {model.topology.routing} draws, where its packets spread over many"]
            if model.topology.routing in ("valiant", "spray")
            else []
        ),
        *([_AWAKE] if _sleeps(described) else []),
    ]
