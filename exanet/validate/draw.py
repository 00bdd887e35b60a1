# SPDX-License-Identifier: Apache-2.0
"""Pictures of figures by matplotlib; the same figure gives the same bytes with the same version of it."""

from __future__ import annotations

import io
import math
from typing import Any

import matplotlib

from exanet.validate.figures import Curve, Drawing

matplotlib.use("agg")
matplotlib.rcParams.update(
    {"svg.hashsalt": "exanet", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
)

from matplotlib import pyplot as plt  # noqa: E402  # after the backend has been chosen

_MARKS, _THEIRS = "o^Dv<>", "sP*X"
_MOST_WRITTEN = 1024
_FORMATS: dict[str, dict[str, Any]] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 150, "metadata": {"Software": None}}}


def pictures(drawing: Drawing) -> dict[str, bytes]:
    """The picture by format: curves of ours, with the published points beside them."""
    shape, panel = plt.subplots(figsize=(5.2, 3.4))
    ours = [curve for curve in drawing.curves if not curve.published]
    theirs = [curve for curve in drawing.curves if curve.published]
    joined = 0 if drawing.ticks else 1.2  # between names there is nothing
    for number, curve in enumerate(ours):
        panel.plot(curve.x, curve.y, marker=_MARKS[number % len(_MARKS)], markersize=3.5, linewidth=joined, label=curve.label)
    for number, curve in enumerate(theirs):
        panel.plot(curve.x, curve.y, color="black", label=curve.label, **_style(curve, number))
    panel.set_title(drawing.title, fontsize=9)
    panel.set_xlabel(drawing.across)
    panel.set_ylabel(drawing.up)
    panel.set_ylim(bottom=0)
    if drawing.logarithmic:
        panel.set_xscale("log")
        if places := _powers_of_two(ours):
            panel.set_xticks(places, [f"{place:g}" for place in places])
            panel.minorticks_off()
    if drawing.ticks:
        panel.set_xticks(range(len(drawing.ticks)), drawing.ticks)
    panel.legend(fontsize=7, frameon=False)
    shape.tight_layout()
    found = {}
    for name, options in _FORMATS.items():
        buffer = io.BytesIO()
        shape.savefig(buffer, format=name, **options)
        found[name] = buffer.getvalue()
    plt.close(shape)
    return found


def _powers_of_two(curves: list[Curve]) -> list[float]:
    """The places of curves over powers of two, such as numbers of ranks; none where they are others, or too long to be
    written at the axis."""
    places = sorted({x for curve in curves for x in curve.x})
    return places if places and places[-1] <= _MOST_WRITTEN and all(math.log2(x).is_integer() for x in places) else []


def _style(curve: Curve, number: int) -> dict[str, Any]:
    if curve.level:
        return {"linestyle": "--", "linewidth": 1}
    return {"linestyle": "none", "marker": _THEIRS[number % len(_THEIRS)], "markersize": 6, "fillstyle": "none"}
