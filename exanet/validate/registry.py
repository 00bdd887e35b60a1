# SPDX-License-Identifier: Apache-2.0
"""Which published figures there are to reproduce, and by which experiment.

A new row is a fact in `published.yaml` and one decorated function in a module of `experiments/`; nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

from exanet.validate.runner import Runner

Kind = Literal["calibrated", "predicted", "bound", "shape", "beside"]
"""The last: what it depends on was not published, so that ours is shown without a verdict."""


@dataclass(frozen=True)
class Measured:
    """What an experiment found: `value` in the published unit (for a shape or a bound: whether it holds), and what to know about it."""

    value: float
    remark: str
    holds: bool | None = None  # shapes and bounds only
    text: str = ""  # shown in place of the number
    data: Any = None  # whatever else was measured, for --json


@dataclass(frozen=True)
class Experiment:
    """How one row is reproduced."""

    id: str
    kind: Kind
    tolerance: float  # share of the published value, or points when `points`; 0 for a shape or a bound
    points: bool
    measure: Callable[[Runner], Measured]
    long: bool = False  # takes minutes: measured when it is named, or with --long

    def error(self, ours: float, published: float) -> float:
        """Ours less the published value: in points, or as a share of it."""
        return ours - published if self.points else (ours - published) / published

    def passes(self, found: Measured, published: Any) -> bool | None:
        """None: there is no verdict."""
        if self.kind == "beside":
            return None
        if found.holds is not None:
            return found.holds
        return abs(self.error(found.value, float(published))) <= self.tolerance * (1 + 1e-12)


_experiments: dict[str, Experiment] = {}


def experiment(
    row: str, *, kind: Kind, tolerance: float = 0.0, points: bool = False, long: bool = False
) -> Callable[[Callable[[Runner], Measured]], Callable[[Runner], Measured]]:
    """Declares that the function measures the row of that id.

    `tolerance` is a share of the published value (0.02: 2 %), or a difference in its unit when `points`.
    """

    def register(measure: Callable[[Runner], Measured]) -> Callable[[Runner], Measured]:
        if row in _experiments:
            raise ValueError(f"{row} has two experiments")
        _experiments[row] = Experiment(row, kind, tolerance, points, measure, long)
        return measure

    return register


def experiments() -> dict[str, Experiment]:
    """All experiments by row, in the order of `published.yaml`."""
    from exanet.validate import experiments as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return {row: _experiments[row] for row in published() if row in _experiments}


@cache
def published() -> dict[str, dict[str, Any]]:
    """The published facts by id."""
    facts: dict[str, dict[str, Any]] = YAML(typ="safe", pure=True).load(Path(__file__).with_name("published.yaml"))
    return facts
