# SPDX-License-Identifier: Apache-2.0
"""Lists the published figures to reproduce, and the experiment of each.

A new row is a fact in `published.yaml` and one decorated function in a module of `experiments/`; nothing else lists
them.
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
"""Kind of a row: it fixes a constant; it follows from widths and clocks that the gateware is built with; it is
predicted from what other rows fixed; ours is to be no worse; an order is to hold; or what it depends on was not
published, so that ours has no verdict."""

Verdict = Literal["passed", "off", "failed", "skipped", "beside"]
"""`off`: a prediction or a bound that is missed by as much as is known, for a cause that is stated. `skipped`: a
tool is missing."""

PREDICTED_WITHIN = 0.05
"""Share of the published value by which a prediction may miss it: one figure for all rows."""

DRIFT = 0.01
"""Share of the published value by which the known deviation of a row that is off may change before the row fails."""


@dataclass(frozen=True)
class Reading:
    """A second way in which the source can be read: ours and the published value under it, in the row's unit.

    A row's verdict is that of its first reading. `verdict` of a further reading is shown beside it, and counted apart.
    """

    text: str
    ours: float
    published: float


@dataclass(frozen=True)
class Measured:
    """Finding of an experiment: `value` in the published unit (for a shape or a bound: whether it holds), and what
    to know about it."""

    value: float
    remark: str
    holds: bool | None = None  # shapes and bounds only
    text: str = ""  # shown in place of the number
    data: Any = None  # whatever else was measured, for --json
    readings: tuple[Reading, ...] = ()  # further ways to read the source


@dataclass(frozen=True)
class Off:
    """A prediction or a bound that is missed: by which share of the published value, and why."""

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
    off: Off | None = None  # of predicted rows and bounds
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
        if found.holds or (found.holds is None and self._within(found.value, float(published))):
            return "passed"
        if self.off is None:
            return "failed"
        return "off" if abs(self.error(found.value, float(published)) - self.off.error) <= DRIFT + 1e-12 else "failed"

    def reading_verdict(self, reading: Reading) -> Verdict:
        """Verdict on a further reading. A bound is one from above: ours is to be no more than the published value."""
        holds = reading.ours <= reading.published if self.kind == "bound" else self._within(reading.ours, reading.published)
        return "passed" if holds else "off"

    def _within(self, ours: float, published: float) -> bool:
        assert self.allowed is not None
        return abs(self.error(ours, published)) <= self.allowed * (1 + 1e-12)


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

    Raises ValueError where `tolerance` is missing (calibrated, constructed), or it or `off` is given to a row that has
    none.
    """
    if (tolerance is not None) != (kind in ("calibrated", "constructed")):
        raise ValueError(f"{row}: calibrated and constructed rows have a tolerance with its reason, others none")
    if off is not None and (kind not in ("predicted", "bound") or abs(off.error) <= PREDICTED_WITHIN):
        raise ValueError(f"{row}: predictions and bounds alone are off, by more than {PREDICTED_WITHIN:.0%}")

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
