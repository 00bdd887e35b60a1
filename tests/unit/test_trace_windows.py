# SPDX-License-Identifier: Apache-2.0
"""One-sided calls and collectives among neighbours in what is made of a trace: figures, parts, other formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import replay
from exanet.errors import InputError
from exanet.trace import convert, folder, parts, statistics
from exanet.trace.write import Writer

RANKS = 3
ACCESSES = ("Put", "Get", "Accumulate", "Get_accumulate")


def windows(directory: Path, *, locked: bool = False) -> Path:
    """A ring that puts, gets, accumulates and exchanges, between barriers; a lock may be held over the second one."""
    with Writer(directory, RANKS, {"program": ["windows"]}) as streams:
        for rank, stream in enumerate(streams):
            after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
            stream.call("Win_allocate", 1, 1, 4096)
            stream.collective("Barrier", 0)
            stream.call("Win_lock", 1, after + 2, 0, 0)
            for name, sent, back in zip(ACCESSES, (1000, 0, 64, 8), (0, 500, 0, 8), strict=True):
                stream.call(name, 1, after + 2, 0, 1, sent, back)
            if not locked:
                stream.call("Win_unlock", 1, after + 2, 0, 0)
            stream.call("Neighbor_alltoallv", 1, 0, 1, before + 2, 1, 32, 1, after + 2, 1, 32)
            stream.collective("Barrier", 0)
            if locked:
                stream.call("Win_unlock", 1, after + 2, 0, 0)
            stream.call("Win_free", 1, 0, 0, 0)
            stream.end()
    return directory


def messages(*traces: Path) -> int:
    found, _ = replay.replay(replay.Options(traces, "torus-2x2x2"))
    return int(found["summary"]["messages"])


def test_figures_say_who_sends_to_whom(tmp_path: Path) -> None:
    tables = statistics.statistics(folder.load(windows(tmp_path / "trace")))
    matrix = {(row["src"], row["dst"]): (row["messages"], row["bytes"]) for row in tables["matrix"].to_dicts()}
    assert matrix[0, 1] == (3, 1000 + 64 + 8)
    assert matrix[1, 0] == (2, 500 + 8)
    calls = {row["call"]: row["calls"] for row in tables["by_call"].to_dicts()}
    assert all(calls[f"MPI_{name}"] == RANKS for name in (*ACCESSES, "Win_lock", "Neighbor_alltoallv"))


def test_a_part_has_the_window_that_was_made_before(tmp_path: Path) -> None:
    trace = windows(tmp_path / "trace")
    parts.cut(trace, tmp_path / "part", after=1, until=2)
    made = 3 * 2 + 2  # of a barrier of three ranks, of which each sends two messages
    assert 0 < messages(tmp_path / "part") < messages(trace) - made
    parts.merge([trace, trace], tmp_path / "twice")
    assert messages(tmp_path / "twice") == 2 * messages(trace)


def test_a_lock_is_not_parted(tmp_path: Path) -> None:
    trace = windows(tmp_path / "trace", locked=True)
    with pytest.raises(InputError, match="--until 2: rank 0 holds a lock there, or exposes a window"):
        parts.cut(trace, tmp_path / "part", after=1, until=2)


def test_other_formats_have_the_neighbours_and_say_what_they_leave_out(tmp_path: Path) -> None:
    trace = windows(tmp_path / "trace")
    for name in ("out.goal", "out.simgrid"):
        assert convert.convert(trace, tmp_path / name, {})["one-sided calls"] == RANKS * 8
    pytest.importorskip("otf2")
    assert convert.convert(trace, tmp_path / "out.otf2", {}) == {}
    assert (tmp_path / "out.goal").read_text().count("send 32b") == RANKS
    assert convert.convert(trace, tmp_path / "out.json", {}) == convert.convert(trace, tmp_path / "out.paje", {}) == {}
