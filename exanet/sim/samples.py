# SPDX-License-Identifier: Apache-2.0
"""What flows, links and queues did over the time of a point: its tables, and what the page draws of flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exanet.quantity import time_text
from exanet.sim.spec import TrafficSpec

if TYPE_CHECKING:
    import polars as pl

MOST_FLOWS = 10
"""Flows that the page draws, those with the most bytes; flow_rates.parquet has all."""

MOST_INTERVALS = 500
"""Of a line on the page; neighbours are drawn as their mean."""


def sampled_ps(point: dict[str, Any], spec: TrafficSpec) -> int:
    """The time that the samples of queues and links cover: the whole run where they were asked for (--sample-every),
    else the measured window."""
    return round(len(point["link_use"]) * point["sample_ns"] * 1e3) if "sample_ns" in point else spec.measure_ps


def note(point: dict[str, Any]) -> str:
    """Of samples that are further apart than was asked for; otherwise empty."""
    if "sample_ns" not in point or point["sample_ns"] == point["asked_sample_ns"]:
        return ""
    apart, asked = (time_text(point[key] * 1e3) for key in ("sample_ns", "asked_sample_ns"))
    return f"samples are {apart} apart, and not {asked}: there would be too many"


def flow_rates(points: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """The table `flow_rates`: a row for each flow and interval in which it moved, or was due, something."""
    import polars as pl

    return pl.concat(
        pl.DataFrame({"load": [point["load"]] * len(point["flow_rates"]["src"]), **point["flow_rates"]}).insert_column(
            2, pl.Series("end_ns", point["flow_rates"]["begin_ns"] + point["sample_ns"])
        )
        for point in points
    )


def for_page(point: dict[str, Any]) -> dict[str, Any] | None:
    """Lines of the greatest flows: `step_us` from one value to the next, and for each flow its ends, rates and shares
    in Mb/s, these empty where they are not known. None without samples."""
    import numpy as np

    if "flow_rates" not in point:
        return None
    rates, sample_ns = point["flow_rates"], point["sample_ns"]
    if not len(rates["src"]):
        return None
    interval = np.rint(rates["begin_ns"] / sample_ns).astype(np.int64)
    count = int(interval.max()) + 1
    fold = -(-count // MOST_INTERVALS)
    ends = np.stack([rates["src"], rates["dst"]], axis=1)
    pairs, flow = np.unique(ends, axis=0, return_inverse=True)
    flow = flow.reshape(-1)
    moved = np.bincount(flow, weights=rates["gbps"])
    greatest = np.argsort(-moved, kind="stable")[:MOST_FLOWS]

    def line(which: int, column: str) -> list[int]:
        rows = flow == which
        sums = np.bincount(interval[rows] // fold, weights=rates[column][rows], minlength=-(-count // fold))
        return [round(value) for value in sums * (1e3 / fold)]

    shares = "share_gbps" in rates
    return {
        "load": point["load"],
        "step_us": sample_ns * fold / 1e3,
        "flows": len(pairs),
        "lines": [
            [*pairs[which].tolist(), line(which, "gbps"), line(which, "share_gbps") if shares else []] for which in greatest.tolist()
        ],
    }
