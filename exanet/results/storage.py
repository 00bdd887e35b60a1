# SPDX-License-Identifier: Apache-2.0
"""What ranks did on simulated storages, in the results of a run with --storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from exanet.quantity import bytes_text, count_text, time_text

_COLUMNS = tuple(f"storage_{name}" for name in ("reads", "writes", "syncs", "metadata", "read_bytes", "written_bytes", "ps"))
"""Of the table of ranks."""


def has(ranks: pl.DataFrame) -> bool:
    """Whether the table of ranks has the columns."""
    return "storage_ps" in ranks.columns


def totals(ranks: pl.DataFrame) -> dict[str, int]:
    """The sums over all ranks."""
    return {name.removeprefix("storage_"): int(ranks[name].sum()) for name in _COLUMNS}


def line(total: Mapping[str, Any]) -> str:
    """These as a line for the terminal."""
    moved = (
        f"{count_text(total['reads'])} reads, {bytes_text(total['read_bytes'])}; "
        f"{count_text(total['writes'])} writes, {bytes_text(total['written_bytes'])}; {count_text(total['syncs'])} syncs"
    )
    return f"storage: {moved}{_metadata(total)}; all ranks together waited {time_text(total['ps'])}"


def _metadata(total: Mapping[str, Any]) -> str:
    """Results of earlier releases do not have them."""
    return f"; {count_text(total['metadata'])} metadata operations" if total.get("metadata") else ""
