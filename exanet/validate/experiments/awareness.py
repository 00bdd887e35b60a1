# SPDX-License-Identifier: Apache-2.0
"""LO|FA|MO: how the time until all nodes know of a fault follows the watchdogs' period, in the gateware's cycles."""

from __future__ import annotations

from exanet.karma.awareness import awareness
from exanet.karma.experiments import LINE_CYCLES
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_DOMINATED_NS = 1e5
"""Periods from here on are long beside the cycles of the network, some microseconds."""
_PERIODS = (0.5, 1.5)
_BEYOND = 0.12
"""Periods between which the time is to be, and by what share of one more: signs of life come twice a period, and so do
readings."""


@experiment("A10", kind="shape")
def awareness_time(runner: Runner) -> Measured:
    """Faults of a host on a torus of 64 nodes, at drawn places and phases."""
    rows = [row for row in awareness(line_cycles=LINE_CYCLES) if row["kind"] == "host" and row["faults"] == 1]
    shares = {row["watchdog_ns"]: [row[f"global_{which}_ns"] / row["watchdog_ns"] for which in ("least", "mean", "most")] for row in rows}
    long = [share for period, share in shares.items() if period >= _DOMINATED_NS]
    all_know = all(row["unaware"] == row["misjudged"] == 0 for row in rows)
    least, most = min(share[0] for share in long), max(share[2] for share in long)
    return Measured(
        long[-1][1],
        f"host faults, periods of {_DOMINATED_NS / 1e3:g} us to {max(shares) / 1e6:g} ms: all know after {least:.2f} to {most:.2f} "
        f"periods, where {_PERIODS[0]:g} to {_PERIODS[1] + _BEYOND:g} were asked for; with a period of 1 us {shares[1e3][1]:.1f}, as the "
        "network's cycles then count",
        holds=all_know and least >= _PERIODS[0] and most <= _PERIODS[1] + _BEYOND,
        text=f"{least:.2f} to {most:.2f} periods",
        data={str(period): share for period, share in shares.items()},
    )
