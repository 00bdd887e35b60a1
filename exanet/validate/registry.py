# SPDX-License-Identifier: Apache-2.0
"""Lists the published figures, and the experiment of each or the reason why it has none.

A new row is a fact in a file of `published/`, one for each paper, and one decorated function in a module of
`experiments/`; nothing else lists them. What a calibrated or structural row may miss stands beside its fact, so it was
set before anything was measured.
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

Kind = Literal["calibrated", "structural", "predicted", "bound", "shape", "beside", "none"]
"""Kind of a row: it fixes a constant; it follows from what the simulator or the gateware is built of, by counting and
arithmetic; it is predicted from what other rows fixed; ours is to be no worse; an order is to hold; what it depends on
was not published, so that ours has no verdict; or nothing of ours determines it."""

Verdict = Literal["passed", "off", "failed", "skipped", "beside", "not reproduced"]
"""`off`: a figure that is missed by as much as is known, for a cause that is stated. `skipped`: a tool is missing."""

WITH_TOLERANCE = ("calibrated", "structural")
MAY_BE_OFF = ("structural", "predicted", "bound")

PREDICTED_WITHIN = 0.05
"""Share of the published value by which a prediction may miss it: one figure for all rows."""

DRIFT = 0.01
"""Share of the published value by which the known deviation of a row that is off may change before the row fails."""

Value = float | tuple[float, ...]
"""A figure, or several that a source gives together."""


@dataclass(frozen=True)
class Reading:
    """A second way in which the source can be read: ours and the published value under it, in the row's unit.

    A row's verdict is that of its first reading. `verdict` of a further reading is shown beside it, and counted apart.
    """

    text: str
    ours: Value
    published: Value
    holds: bool | None = None  # of a bound from below


@dataclass(frozen=True)
class Measured:
    """Finding of an experiment: `value` in the published unit (of shapes, bounds and what is published in words:
    whether it `holds`), and what to know about it."""

    value: Value
    remark: str
    holds: bool | None = None
    text: str = ""  # shown in place of the number
    data: Any = None  # whatever else was measured, for --json
    readings: tuple[Reading, ...] = ()  # further ways to read the source


@dataclass(frozen=True)
class Off:
    """A figure that is missed: by which share of the published value, and why."""

    error: float
    cause: str


@dataclass(frozen=True)
class Tolerance:
    """The share of the published value by which a calibrated or structural row may miss it, and why so much."""

    share: float
    reason: str


@dataclass(frozen=True)
class Experiment:
    """How one row is reproduced."""

    id: str
    kind: Kind
    measure: Callable[[Runner], Measured]
    tolerance: Tolerance | None = None  # of calibrated and structural rows
    off: Off | None = None
    needs: tuple[str, ...] = ()  # keys of optional.TOOLS
    long: bool = False  # takes minutes: measured when it is named, or with --long

    @property
    def allowed(self) -> float | None:
        """The share of the published value by which ours may miss it; None where no such figure decides."""
        return PREDICTED_WITHIN if self.kind == "predicted" else self.tolerance.share if self.tolerance else None

    def error(self, ours: Value, published: Value) -> float:
        """Ours less the published value, as a share of it; of several figures the largest."""
        return max(((a - b) / b for a, b in zip(figures(ours), figures(published), strict=True)), key=abs)

    def verdict(self, found: Measured, published: Any) -> Verdict:
        """Words on the finding."""
        if self.kind == "beside":
            return "beside"
        if found.holds or (found.holds is None and self._within(found.value, published)):
            return "passed"
        if self.off is None:
            return "failed"
        return "off" if abs(self.error(found.value, published) - self.off.error) <= DRIFT + 1e-12 else "failed"

    def reading_verdict(self, reading: Reading) -> Verdict:
        """Verdict on a further reading. A bound is one from above, ours to be no more than the published value, unless
        the reading says whether it holds."""
        if reading.holds is not None:
            return "passed" if reading.holds else "off"
        pairs = zip(figures(reading.ours), figures(reading.published), strict=True)
        holds = all(a <= b for a, b in pairs) if self.kind == "bound" else self._within(reading.ours, reading.published)
        return "passed" if holds else "off"

    def _within(self, ours: Value, published: Value) -> bool:
        assert self.allowed is not None
        return abs(self.error(ours, published)) <= self.allowed * (1 + 1e-12)


@dataclass(frozen=True)
class Paper:
    """A publication: its short name, and what it is."""

    name: str
    title: str
    where: str
    rows: tuple[str, ...]


def figures(value: Value) -> tuple[float, ...]:
    """Of one figure, or of several."""
    return tuple(value) if isinstance(value, (tuple, list)) else (float(value),)


_experiments: dict[str, Experiment] = {}


def experiment(
    row: str,
    *,
    kind: Kind,
    off: Off | None = None,
    needs: tuple[str, ...] = (),
    long: bool = False,
) -> Callable[[Callable[[Runner], Measured]], Callable[[Runner], Measured]]:
    """Declares that the function measures the row of that id.

    Raises ValueError where the fact has no tolerance (calibrated, structural) or one that its kind has no use for,
    where it says that it is not reproduced, or where `off` is given to a row that cannot be off.
    """
    fact = published().get(row, {})
    if ("tolerance" in fact) != (kind in WITH_TOLERANCE):
        raise ValueError(f"{row}: calibrated and structural rows have a tolerance with its reason, others none")
    if "not_reproduced" in fact:
        raise ValueError(f"{row} is measured, and is said not to be reproduced")
    tolerance = Tolerance(float(fact["tolerance"]), fact["because"]) if "tolerance" in fact else None
    if off is not None and (kind not in MAY_BE_OFF or abs(off.error) <= (tolerance.share if tolerance else PREDICTED_WITHIN)):
        raise ValueError(f"{row}: {', '.join(MAY_BE_OFF)} rows alone are off, by more than they may be")

    def register(measure: Callable[[Runner], Measured]) -> Callable[[Runner], Measured]:
        if row in _experiments:
            raise ValueError(f"{row} has two experiments")
        _experiments[row] = Experiment(row, kind, measure, tolerance, off, needs, long)
        return measure

    return register


def experiments() -> dict[str, Experiment]:
    """All rows, in the order of `published/`; those that are not reproduced are of kind "none"."""
    from exanet.validate import experiments as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return {
        row: _experiments[row] if row in _experiments else Experiment(row, "none", _reason(fact["not_reproduced"]))
        for row, fact in published().items()
        if row in _experiments or "not_reproduced" in fact
    }


def _reason(why: str) -> Callable[[Runner], Measured]:
    return lambda runner: Measured((), why)


_FOLDER = Path(__file__).with_name("published")
_ORDER = ("prototype", "micpro18", "karma17", "red-sea", "apenet13")


@cache
def _files() -> dict[str, dict[str, Any]]:
    """The files of facts, by paper."""
    found = {file.stem: YAML(typ="safe", pure=True).load(file) for file in _FOLDER.glob("*.yaml")}
    return {name: found[name] for name in (*_ORDER, *sorted(found.keys() - set(_ORDER)))}


@cache
def published() -> dict[str, dict[str, Any]]:
    """The published facts by id."""
    return {row: fact for file in _files().values() for row, fact in file["rows"].items()}


def papers() -> dict[str, Paper]:
    """The publications by their short names."""
    return {name: Paper(name, file["title"], file["where"], tuple(file["rows"])) for name, file in _files().items()}
