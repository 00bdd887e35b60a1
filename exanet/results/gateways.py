# SPDX-License-Identifier: Apache-2.0
"""What gateways between two networks did, in the results of a run: use, queue and time waited of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from exanet.quantity import bytes_text, count_text, time_text

LONGEST_NAME = 16
"""Characters of a node's name in the table of the terminal: the last ones."""


def table(columns: Mapping[str, Any], names: Sequence[str] | pl.Series, virtual_ps: int) -> pl.DataFrame:
    """A row for each gateway."""
    frame = pl.DataFrame({name: pl.Series(np.asarray(values), dtype=pl.Int64) for name, values in columns.items()})
    named = [pl.Series(f"{end}_node_name", names, pl.String).gather(frame[f"{end}_node"]) for end in ("first", "second")]
    return frame.with_columns(
        *named,
        (pl.col("busy_ps") * (100.0 / virtual_ps) if virtual_ps else pl.lit(0.0)).alias("use_percent"),
    ).insert_column(0, pl.Series("gateway", range(len(frame)), pl.Int64))


def page_rows(gateways: pl.DataFrame) -> list[list[Any]]:
    """Those of the page (report_page/gateways.js): both directions together, and the time waited is a message's."""
    passed = pl.col("messages_from_first") + pl.col("messages_from_second")
    columns = (
        "first_node_name", "second_node_name", passed.alias("messages"), pl.col("bytes_from_first") + pl.col("bytes_from_second"),
        pl.col("use_percent").round(3), pl.col("waited_ps") // pl.max_horizontal(passed, 1), "longest_wait_ps", "most_queue",
        "most_queue_bytes",
    )  # fmt: skip
    return [list(row) for row in gateways.select(*columns).iter_rows()]


def rows(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Of the gateways in summary.json that passed anything on: which, messages, bytes, use, mean and longest time
    waited, most in the queue."""
    found: list[tuple[str, ...]] = []
    for row in summary.get("gateways", ()):
        passed, carried = (sum(row[f"{what}_from_{end}"] for end in ("first", "second")) for what in ("messages", "bytes"))
        if passed:
            name = row["first_node_name"]
            which = f"{row['gateway']} at {name if len(name) <= LONGEST_NAME else '…' + name[1 - LONGEST_NAME :]}"
            waited = time_text(row["waited_ps"] // passed), time_text(row["longest_wait_ps"])
            queue = f"{count_text(row['most_queue'])}, {bytes_text(row['most_queue_bytes'])}"
            found.append((which, count_text(passed), bytes_text(carried), f"{row['use_percent']:.1f} %", *waited, queue))
    return found
