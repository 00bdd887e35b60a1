# SPDX-License-Identifier: Apache-2.0
"""LO|FA|MO: from a fault to those who know of it, against the watchdogs' period, by the model of core/lofamo.

The model's cycles are the gateware's (gateware/node/tb/lofamo_equality_test.cpp). Rows are dicts, ready for a table and
JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exanet import _core
from exanet.karma.board import CYCLE_NS

TORUS = (4, 4, 4)
MOST_NODES = 512
PERIODS_NS = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 5e8)
"""Watchdog periods: 1 µs to 500 ms."""
FAULTS = (1, 2, 4)
KINDS = ("host", "node")
WHO = ("local", "neighbours", "global")
WHICH = ("least", "mean", "most")
BEATS = 2
"""Signs of life, and readings of registers, in a period: one may be late by as much again."""
INTERVAL_CYCLES = 256
"""Idle cycles after which a link repeats its control words, the register's value after a reset (spec/node.rdl)."""
SILENCE_CYCLES = 1024
"""After which a link is silent: three of those intervals, and a packet of 512 bytes."""
RESPONSE_CYCLES = 3 * 20 + 3 * 4
"""A processor's reading and writing of a packet's words at an intra-tile port (K06 and K07: 3 words of 20 and of 4
cycles)."""
_DRAWS = 20


def awareness(torus: Sequence[int] = TORUS, *, line_cycles: int, draws: int = _DRAWS, seed: int = 1) -> list[dict[str, Any]]:
    """Times in ns, least, mean and most over drawn places and phases: until hardware calls a fault so (local), until
    the first neighbour's host knows (neighbours), and until all live nodes do that a chain of live ones joins to one
    beside it (global)."""
    rows = []
    for kind in KINDS:
        for faults in FAULTS:
            for period_ns in PERIODS_NS:
                watchdog = round(period_ns / CYCLE_NS)
                found = _core.awareness(
                    {"kind": "torus", "shape": list(torus)},
                    watchdog_cycles=watchdog,
                    beat_cycles=watchdog // BEATS,
                    silence_cycles=SILENCE_CYCLES,
                    interval_cycles=INTERVAL_CYCLES,
                    line_cycles=line_cycles,
                    response_cycles=RESPONSE_CYCLES,
                    kind=kind,
                    faults=faults,
                    draws=draws,
                    seed=seed,
                )
                row: dict[str, Any] = {"kind": kind, "faults": faults, "watchdog_ns": period_ns}
                for who in WHO:
                    row |= {f"{who}_{which}_ns": found[who][f"{which}_cycles"] * CYCLE_NS for which in WHICH}
                rows.append(row | {key: found[key] for key in ("unaware", "misjudged", "unseen", "cut_off", "packets")})
    return rows
