# SPDX-License-Identifier: Apache-2.0
"""The flows of `exanet sim messages` through interfaces with costs: a line of sums, and a line for each of few.

docs/congestion-control.md says what a share and a victim are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from exanet import terminal
from exanet.quantity import counted, time_text

MOST_ROWS = 16
"""Flows that are shown one by one; the table flows.parquet has all."""


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 where all are alike, 1/n where one of n has all."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def sums(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the flows of a point come to together; None where nothing is known of it."""
    shared = [row["gbps"] / row["share_gbps"] for row in rows if row["share_gbps"] is not None]
    victims = [row for row in rows if row["victim"]]
    packets = sum(row["packets"] for row in rows)
    return {
        "flows": len(rows),
        "of_share": sum(shared) / len(shared) if shared else None,
        "least_of_share": min(shared) if shared else None,
        "fairness": jain(shared) if shared else None,
        "marked": sum(row["marks"] for row in rows) / packets if packets else 0.0,
        "victims": len(victims) if shared else None,
        "victims_fabric_ns": sum(row["fabric_ns"] for row in victims) / len(victims) if victims else None,
        "victims_fabric_p99_ns": max((row["fabric_p99_ns"] for row in victims), default=None),
    }


def show(console: Console, where: str, rows: Sequence[dict[str, Any]]) -> None:
    """Prints the sums, and the flows if they are few."""
    of = sums(rows)
    shares = victims = ""
    if of["of_share"] is not None:
        shares = f", mean rate {of['of_share']:.0%} of the max-min share, minimum {of['least_of_share']:.0%}, "
        shares += f"Jain's index {of['fairness']:.3f}"
    if of["victims"]:
        mean, tail = (time_text(of[key] * 1e3) for key in ("victims_fabric_ns", "victims_fabric_p99_ns"))
        victims = f"; {counted(of['victims'], 'victim')}, packets take {mean} on average, 99th percentile {tail}"
    console.print(f"{where}: {counted(of['flows'], 'flow')}{shares}; {of['marked']:.1%} of packets marked{victims}")
    if len(rows) > MOST_ROWS:
        return
    table = terminal.table("flow", "messages", "Gb/s", "share", "done", "slowdown", "marked", "packet", "99 %", "", left=0)
    for row in rows:
        times = (time_text(row[key] * 1e3) for key in ("end_ns", "fabric_ns", "fabric_p99_ns"))
        end, fabric, tail = times
        table.add_row(
            f"{row['src']} → {row['dst']}", f"{row['arrived']}", f"{row['gbps']:.2f}",
            "" if row["share_gbps"] is None else f"{row['share_gbps']:.2f}", end, f"{row['slowdown']:.2f}",
            f"{row['marks'] / row['packets'] if row['packets'] else 0:.1%}", fabric, tail, "victim" if row["victim"] else "",
        )  # fmt: skip
    console.print(table)
