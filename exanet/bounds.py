# SPDX-License-Identifier: Apache-2.0
"""Bounds of the figures that a simulation is asked for: well within what the simulator's whole numbers hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from exanet import units
from exanet.errors import InputError

LONGEST_PS = 10**15  # 1000 s of simulated time
LARGEST_MESSAGE = 1 << 40  # bytes
MOST_LOAD = 10
"""Of the loads on a command line and in a file of a sweep. Loads above 1 show a network beyond saturation, in which
more changes nothing but the senders' queues; what is above this one is a percentage."""
_LARGEST_SEED = (1 << 64) - 1


def within(what: str, value: Any, least: int, most: int, text: Callable[[int], str] = str) -> None:
    """Raises InputError unless `value` is a whole number from `least` to `most`; `text` says how such a figure is
    written."""
    whole = hasattr(value, "__index__")
    if not whole or not least <= value <= most:
        shown = text(int(value)) if whole else repr(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        raise InputError(f"{what} {shown}: give {'' if whole else 'a whole number '}from {text(least)} to {text(most)}")


def time_within(what: str, ps: Any, least_ps: int = 0) -> None:
    """The same of a time in picoseconds, up to LONGEST_PS."""
    within(what, ps, least_ps, LONGEST_PS, units.format_time)


def percentages(loads: Sequence[float]) -> str:
    """`; did you mean 0.3?` of loads of which one is above MOST_LOAD, and which are percentages; "" of others."""
    if not all(1 <= load <= 100 for load in loads):
        return ""
    return f"; did you mean {','.join(f'{load / 100:g}' for load in loads)}?"


def check_seed(seed: Any) -> None:
    """The same of a seed."""
    within("seed", seed, 0, _LARGEST_SEED, lambda value: "2^64 - 1" if value == _LARGEST_SEED else str(value))
