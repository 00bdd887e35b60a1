# SPDX-License-Identifier: Apache-2.0
"""The specification of a simulation of traffic, and checks of what goes with what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exanet import _core
from exanet import level as levels
from exanet.errors import InputError
from exanet.sim.matrix import lists_flows

PACES = ("free", "fair")
SHARINGS = ("max-min", "fifo")
DEFAULT_BYTES = 64 * 1024
ARRIVALS = ("poisson", "bernoulli", "bursts")


@dataclass(frozen=True)
class TrafficSpec:
    """Parameters that every point of a run has in common."""

    traffic: str = "uniform"
    packet_bytes: int | None = None  # None: the largest payload of the machine's packets
    arrivals: str = "poisson"
    seed: int = 1
    warm_up_ps: int | None = None  # None: until latency has settled, and twice the measured window at most
    measure_ps: int = 100_000_000
    level: str = "packet"  # one of exanet.level.LEVELS
    message_bytes: int | None = None  # None: single packets; at flow level, DEFAULT_BYTES
    message_sizes: str | None = None  # instead of message_bytes: a distribution of sizes, one of distributions()
    rounds: int = 1  # messages of a sender in a burst, one after the other
    grain_ps: int = 1000  # flow level: events so close are taken together
    sharing: str = "max-min"  # flow level, one of SHARINGS
    pace: str = "free"  # of the senders of a burst at packet level, one of PACES
    nic: str | None = None  # of messages at packet level, one of registries.nics(); None: exanet with congestion control, else ideal
    priority_share: float = 0.0  # of single packets: those that overtake the others in arbitration


def of_messages(spec: TrafficSpec) -> bool:
    """Is the traffic of whole messages, rather than of single packets?"""
    levels.check(spec.level)
    if spec.message_bytes is not None and spec.message_sizes is not None:
        raise InputError("messages have one size or sizes that are drawn: give message_bytes or message_sizes, not both")
    sized = spec.message_bytes is not None or spec.message_sizes is not None
    if lists_flows(spec.traffic):
        if sized or spec.rounds != 1:
            raise InputError("a list of flows says how long each is, and has each once: leave out --message (message_bytes) and the rounds")
        return True
    if spec.level == "packet" and not sized and spec.rounds != 1:
        raise InputError("rounds are of messages: say how long they are as well (--message)")
    return spec.level == "flow" or sized


def written(spec: TrafficSpec) -> dict[str, Any]:
    """The parameters as results say them: interfaces only where they are chosen."""
    return {key: value for key, value in vars(spec).items() if key != "nic" or value is not None}


def distributions() -> list[str]:
    """Names of the distributions of flow sizes."""
    return list(_core.flow_size_names())


def check_sharing(level: str, sharing: str) -> None:
    """Raises InputError on a way of sharing that there is not, or not at this level."""
    if sharing not in SHARINGS:
        raise InputError(f"sharing {sharing}: give {' or '.join(SHARINGS)}")
    if sharing != "max-min" and level == "packet":
        raise InputError(f"sharing {sharing} is a way to compute rates; packets share by themselves: take --level flow, or leave it out")


def size_of(spec: TrafficSpec) -> int:
    """Bytes of a message, if its size is not drawn."""
    return DEFAULT_BYTES if spec.message_bytes is None else spec.message_bytes
