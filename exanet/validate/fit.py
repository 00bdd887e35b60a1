# SPDX-License-Identifier: Apache-2.0
"""Least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """y = intercept + slope * x, and the share of y's variance that it explains."""

    slope: float
    intercept: float
    r2: float


def line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The best line through at least two points of different x."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread_x = sum((a - mean_x) ** 2 for a in x)
    spread_y = sum((b - mean_y) ** 2 for b in y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread_x
    intercept = mean_y - slope * mean_x
    residual = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    return Line(slope, intercept, 1 - residual / spread_y if spread_y else 1.0)
