# SPDX-License-Identifier: Apache-2.0
"""Of several programs that a replay runs together: the bytes that each sent over time, beside those that it sent
alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

MOST_PARTS = 128
"""Of the time from the replay's beginning to its end, equally long."""


def table(programs: Sequence[Mapping[str, Any]], together: Mapping[str, Any], alone: Sequence[Mapping[str, Any]] = ()) -> pl.DataFrame:
    """The table `throughput`. `programs`: rows of the table of that name; `together` and `alone`: timelines of
    Replay.results(), the latter of each program by itself, or none. A message counts when it is posted.
    """
    width = max(int(timeline["bin_ps"]) for timeline in (together, *alone))
    rows = []
    for number, program in enumerate(programs):
        first = program["first_rank"]
        columns = [_bytes(together, width, first, first + program["ranks"])]
        columns += [_bytes(alone[number], width, 0, program["ranks"])] if alone else []
        rows.append(columns)
    parts = max(len(column) for columns in rows for column in columns)
    fold = -(-parts // MOST_PARTS)
    parts = -(-parts // fold)
    frames = []
    for number, columns in enumerate(rows):
        start = np.arange(parts, dtype=np.int64) * width * fold
        named = dict(zip(("bytes", "alone_bytes"), (_folded(column, fold, parts) for column in columns), strict=False))
        frames.append(pl.DataFrame({"program": np.full(parts, number), "start_ps": start, "end_ps": start + width * fold, **named}))
    return pl.concat(frames)


def _bytes(timeline: Mapping[str, Any], width_ps: int, first: int, end: int) -> npt.NDArray[np.int64]:
    """Sent by ranks from `first` to before `end` in parts of this width, which is a multiple of the timeline's own."""
    sent = np.asarray(timeline["sent_bytes"], dtype=np.int64)[first:end].sum(axis=0)
    fold = width_ps // int(timeline["bin_ps"])
    return _folded(sent, fold, -(-len(sent) // fold))


def _folded(values: npt.NDArray[np.int64], fold: int, parts: int) -> npt.NDArray[np.int64]:
    """Sums of so many neighbours each, in so many parts."""
    whole = np.zeros(fold * parts, dtype=np.int64)
    whole[: len(values)] = values
    sums: npt.NDArray[np.int64] = whole.reshape(parts, fold).sum(axis=1)
    return sums
