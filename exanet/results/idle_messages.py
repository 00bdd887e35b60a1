# SPDX-License-Identifier: Apache-2.0
"""How long messages take where nothing else is under way: on the same machine, between the same nodes.

Problem: what a message of a run has lost to others is the time beyond that. Model: each kind of message (nodes, size)
is sent once, from a rank to one that waits for it, long after the one before, all in one replay of jobs. Limits: puts,
gets and atomics are not measured; links are those of the topology's own routes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Kind = tuple[int, int, int]
"""Node of the sender, node of the receiver, bytes."""

_AT_ONCE = 1024
"""Kinds in one replay: each takes two ranks, which have memory of their own."""

_APART_PS = 10**9
"""Between one message and the next, beside the time that its bytes take at the slowest rate that there is."""

_SLOWEST_PS = 8000
"""Of a byte, at 1 Gb/s."""


@dataclass(frozen=True)
class Idle:
    """From posting to delivery, and from there until a sender that waits knows (0 where none does)."""

    took_ps: int
    known_ps: int


def measured(kinds: Iterable[Kind], machine: Mapping[str, Any], *, flow: bool) -> dict[Kind, Idle]:
    """Of each kind. Sizes below 1 B are measured as 1 B."""
    wanted = sorted(set(kinds))
    found: dict[Kind, Idle] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        found |= _replayed(wanted[first : first + _AT_ONCE], machine, flow)
    return found


def _replayed(kinds: list[Kind], machine: Mapping[str, Any], flow: bool) -> dict[Kind, Idle]:
    from exanet import _core

    calm = {key: value for key, value in machine.items() if key not in ("faults", "background")}
    specs, at = [], 0
    for src, dst, size in kinds:
        job = {"program": "bcast", "ranks": 2, "bytes": max(size, 1), "rounds": 1, "pause_ps": 0, "priority": 0}
        specs.append({"name": "idle", "placement": [src, dst], "start_ps": at, "job": job, "collectives": {"bcast": "binomial"}})
        at += _APART_PS + size * _SLOWEST_PS
    simulation = _core.Replay(calm, specs, flow, False)
    simulation.run()
    results = simulation.results()
    messages, waits = results["messages"], results["waits"]
    known = {int(rank): int(to) for rank, to in zip(waits["rank"], waits["to_ps"], strict=True)}
    found = {}
    for rank, posted, delivered in zip(messages["src"], messages["posted_ps"], messages["delivered_ps"], strict=True):
        ended = known.get(int(rank), int(delivered))
        found[kinds[int(rank) // 2]] = Idle(int(delivered) - int(posted), max(ended - int(delivered), 0))
    return found


def link_times(
    pairs: Iterable[tuple[int, int]], machine: Mapping[str, Any], links: Mapping[str, Any]
) -> dict[tuple[int, int], tuple[int, float]]:
    """Of each pair of nodes: the latencies of the links of its route, together, and the time of a byte on the slowest
    of them."""
    from exanet import _core

    ends = sorted({pair for pair in pairs if pair[0] != pair[1]})
    kind = {(int(n), int(p)): machine["links"][int(c)] for n, p, c in zip(links["node"], links["port"], links["link_class"], strict=True)}
    found: dict[tuple[int, int], tuple[int, float]] = {}
    for ends_of, route in zip(ends, _core.routes(dict(machine), ends), strict=True):
        on = [kind[hop] for hop in route]
        slowest = max((link["word_time_ps"] * 8 / link["word_bits"] for link in on), default=0.0)
        found[ends_of] = sum(link["latency_ps"] for link in on), slowest
    return found
