# SPDX-License-Identifier: Apache-2.0
"""Lists the published figures to reproduce, and the experiment of each.

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

Kind = Literal["calibrated", "constructed", "predicted", "bound", "shape", "beside"]
"""Kind of a row: it fixes a constant; it follows from widths and clocks that the gateware is built with; it is predicted from what other
rows fixed; ours is to be no worse; an order is to hold; or what it depends on was not published, so that ours has no verdict."""

Verdict = Literal["passed", "off", "failed", "skipped", "beside"]
"""`off`: a prediction that misses by more than it may, by as much as is known, for a cause that is stated. `skipped`: a tool is missing."""

PREDICTED_WITHIN = 0.05
"""Share of the published value by which a prediction may miss it: one figure for all rows."""

DRIFT = 0.01
"""Share of the published value by which the known deviation of a row that is off may change before the row fails."""


@dataclass(frozen=True)
class Measured:
    """Finding of an experiment: `value` in the published unit (for a shape or a bound: whether it holds), and what to know about it."""

    value: float
    remark: str
    holds: bool | None = None  # shapes and bounds only
    text: str = ""  # shown in place of the number
    data: Any = None  # whatever else was measured, for --json


@dataclass(frozen=True)
class Off:
    """A prediction that misses: by which share of the published value, and why."""

    error: float
    cause: str


@dataclass(frozen=True)
class Tolerance:
    """The share of the published value by which a calibrated or constructed row may miss it, and why so much."""

    share: float
    reason: str


@dataclass(frozen=True)
class Experiment:
    """How one row is reproduced."""

    id: str
    kind: Kind
    measure: Callable[[Runner], Measured]
    tolerance: Tolerance | None = None  # of calibrated and constructed rows
    off: Off | None = None  # of predicted rows
    needs: tuple[str, ...] = ()  # keys of optional.TOOLS
    long: bool = False  # takes minutes: measured when it is named, or with --long

    @property
    def allowed(self) -> float | None:
        """The share of the published value by which ours may miss it; None where no such figure decides."""
        return PREDICTED_WITHIN if self.kind == "predicted" else self.tolerance.share if self.tolerance else None

    def error(self, ours: float, published: float) -> float:
        """Ours less the published value, as a share of it."""
        return (ours - published) / published

    def verdict(self, found: Measured, published: Any) -> Verdict:
        """Words on the finding."""
        if self.kind == "beside":
            return "beside"
        if found.holds is not None:
            return "passed" if found.holds else "failed"
        assert self.allowed is not None
        error = self.error(found.value, float(published))
        if abs(error) <= self.allowed * (1 + 1e-12):
            return "passed"
        return "off" if self.off and abs(error - self.off.error) <= DRIFT + 1e-12 else "failed"


_experiments: dict[str, Experiment] = {}


def experiment(
    row: str,
    *,
    kind: Kind,
    tolerance: Tolerance | None = None,
    off: Off | None = None,
    needs: tuple[str, ...] = (),
    long: bool = False,
) -> Callable[[Callable[[Runner], Measured]], Callable[[Runner], Measured]]:
    """Declares that the function measures the row of that id.

    Raises ValueError where `tolerance` is missing (calibrated, constructed), or it or `off` is given to a row that has none.
    """
    if (tolerance is not None) != (kind in ("calibrated", "constructed")):
        raise ValueError(f"{row}: calibrated and constructed rows have a tolerance with its reason, others none")
    if off is not None and (kind != "predicted" or abs(off.error) <= PREDICTED_WITHIN):
        raise ValueError(f"{row}: predictions alone are off, by more than {PREDICTED_WITHIN:.0%}")

    def register(measure: Callable[[Runner], Measured]) -> Callable[[Runner], Measured]:
        if row in _experiments:
            raise ValueError(f"{row} has two experiments")
        _experiments[row] = Experiment(row, kind, measure, tolerance, off, needs, long)
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
