# SPDX-License-Identifier: Apache-2.0
"""The tables of programs that ran together in a replay, beside those that every run has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from exanet.results import report
from exanet.results.folder import to_tables


def tables(found: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The frames of a run's results, and the queues; of several programs `programs` and `throughput` besides, and in
    `ranks` the program of each rank."""
    frames = to_tables(found, meta["machine"])
    if "queued" in found:
        frames["queues"] = report.queue_table(found, found["watched_ps"])
    if "programs" in found:
        rows = found["programs"]
        program = [row["program"] for row in rows for _ in range(row["ranks"])]
        frames["ranks"] = frames["ranks"].with_columns(pl.Series("program", program, dtype=pl.Int64))
        frames["programs"] = pl.DataFrame(rows)
        frames["throughput"] = found["throughput"]
    return frames
