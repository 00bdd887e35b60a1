# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the pages from folders that `exanet sweep` made: python docs/plot_sweep.py FOLDER PICTURE.svg

One panel for each traffic, one curve for each machine: mean latency against offered load, and the accepted load; of a
sweep over jobs, bars of the time to the end. Needs matplotlib (pip install matplotlib); the same folder gives the same
bytes with the same version of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import polars as pl

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"svg.hashsalt": "exanet", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
)

from matplotlib import pyplot as plt  # noqa: E402  # after the backend has been chosen

MARKS = "osD^v<>*"


def curves(frame: pl.DataFrame) -> Any:
    """Two rows of panels: latency and accepted load."""
    traffics = list(dict.fromkeys(frame["traffic"]))
    figure, panels = plt.subplots(2, len(traffics), figsize=(3.3 * len(traffics) + 0.6, 5.2), sharex=True, sharey="row", squeeze=False)
    for column, traffic in enumerate(traffics):
        for number, machine in enumerate(dict.fromkeys(frame["machine"])):
            rows = frame.filter((pl.col("traffic") == traffic) & (pl.col("machine") == machine) & pl.col("error").is_null())
            points = rows.group_by("load").agg(pl.col("latency_ns", "accepted_load", "offered_load").mean()).sort("load")
            style: dict[str, Any] = {"marker": MARKS[number % len(MARKS)], "markersize": 3.5, "linewidth": 1.2, "label": machine}
            panels[0][column].plot(points["offered_load"], points["latency_ns"] / 1e3, **style)
            panels[1][column].plot(points["offered_load"], points["accepted_load"], **style)
        panels[0][column].set_title(traffic)
        panels[0][column].set_yscale("log")
        panels[1][column].set_xlabel("offered load")
        panels[1][column].plot([0, 1], [0, 1], color="0.8", linewidth=0.8, zorder=0)
    panels[0][0].set_ylabel("mean latency (µs)")
    panels[1][0].set_ylabel("accepted load")
    panels[0][-1].legend(fontsize=7, frameon=False)
    return figure


def bars(frame: pl.DataFrame) -> Any:
    """Time to the end: a group for each mapping, a bar for each machine."""
    machines, mappings = list(dict.fromkeys(frame["machine"])), list(dict.fromkeys(frame["mapping"]))
    figure, panel = plt.subplots(figsize=(6, 2.8))
    for number, mapping in enumerate(mappings):
        means = [frame.filter((pl.col("machine") == m) & (pl.col("mapping") == mapping))["finished_ns"].mean() / 1e6 for m in machines]
        places = [i + (number - (len(mappings) - 1) / 2) * 0.38 for i in range(len(machines))]
        panel.bar_label(panel.bar(places, means, width=0.36, label=mapping), fmt="%.2f", fontsize=7)
    panel.set_xticks(range(len(machines)), machines)
    panel.set_ylabel("time to the end (ms)")
    panel.legend(title="mapping", fontsize=7, frameon=False)
    return figure


def main() -> None:
    """FOLDER PICTURE."""
    folder, picture = Path(sys.argv[1]), Path(sys.argv[2])
    frame = pl.read_parquet(folder / "runs.parquet")
    figure = bars(frame) if "job" in frame.columns else curves(frame)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
