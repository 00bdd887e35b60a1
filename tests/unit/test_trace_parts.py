# SPDX-License-Identifier: Apache-2.0
"""Parts of traces: cut and put together again they replay as the whole, and a place that parts a message from its
receive is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from earlier_trace import without_checksums
from typer.testing import CliRunner

from exanet import cli, replay
from exanet.errors import InputError
from exanet.trace import folder, parts, records
from exanet.trace.write import CODES, WORLD, Stream, Writer

RANKS, STEPS = 4, 5


def step(stream: Stream, rank: int) -> None:
    """Persistent requests, which stay; messages and a collective in a communicator of even and odd ranks; a receive
    from any source."""
    after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    stream.call("Startall", 1, 2, compute_ps=1_000_000)
    stream.call("Waitall", 1, 2)
    partner = (rank + 2) % RANKS
    stream.call("Irecv", 3, partner + 2, 8, 5000, 3)
    stream.call("Send", 3, partner + 2, 8, 5000, 0, compute_ps=300)
    stream.call("Wait", 3)
    stream.call("Allreduce", 3, 0, 0, 3, 8, 64, 0, 0, 0)
    stream.call("Iallreduce", WORLD, 0, 4, 3, 8, 64, 0, 0, 0)
    stream.call("Wait", 4)
    stream.message("Send", after, 8) if rank % 2 == 0 else stream.message("Recv", -1, 8)
    stream.call("Sendrecv", WORLD, after + 2, 8, 40, before + 2, 8, 40)
    stream.collective("Barrier", 0, compute_ps=700)


def traced(place: Path) -> Path:
    with Writer(place, RANKS, {"program": ["steps"]}) as streams:
        for rank, stream in enumerate(streams):
            members = [rank % 2, rank % 2 + 2]
            stream.call("Comm_split", WORLD, 3, 0, 2, *members, 0)
            stream.call("Send_init", WORLD, (rank + 1) % RANKS + 2, 3, 900, 1)
            stream.call("Recv_init", WORLD, (rank - 1) % RANKS + 2, 3, 900, 2)
            for _ in range(STEPS):
                step(stream, rank)
            stream.call("Request_free", 1)
            stream.call("Request_free", 2)
            stream.end(2_000)
    return place


def summary(trace: Path) -> dict[str, Any]:
    found = replay.replay(replay.Options((trace,), "torus-2x2x2", "round-robin"))[0]["summary"]
    return {name: found[name] for name in ("virtual_ps", "messages", "bytes", "packets")}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return traced(tmp_path / "whole")


@pytest.mark.parametrize("at", [1, 3, STEPS])
def test_two_parts_put_together_replay_as_the_whole(trace: Path, tmp_path: Path, at: int) -> None:
    parts.cut(trace, tmp_path / "first", 0, at)
    parts.cut(trace, tmp_path / "second", at, None)
    parts.merge([tmp_path / "first", tmp_path / "second"], tmp_path / "both")
    whole, both = summary(trace), summary(tmp_path / "both")
    assert both == whole
    assert summary(tmp_path / "first")["bytes"] + summary(tmp_path / "second")["bytes"] == whole["bytes"] > 0


def test_a_part_of_the_middle_is_so_many_steps(trace: Path, tmp_path: Path) -> None:
    words = ["trace", "cut", str(trace), "-o", str(tmp_path / "middle"), "--after", "2", "--until", "4"]
    done = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert done.exit_code == 0 and "Wrote " in done.output
    calls = folder.load(tmp_path / "middle").calls()["call"].to_list()
    assert calls.count("MPI_Barrier") == 2 * RANKS
    assert calls[:3] == ["communicator", "MPI_Send_init", "MPI_Recv_init"]
    one = tmp_path / "one"
    parts.cut(trace, one, 2, 3)
    words = ["trace", "merge", str(one), str(one), "-o", str(tmp_path / "two")]
    assert CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code == 0
    assert summary(tmp_path / "two") == summary(tmp_path / "middle")
    again = tmp_path / "again"
    parts.cut(tmp_path / "two", again, 1, 2)
    assert summary(again) == summary(one)


def test_all_of_a_trace_is_the_trace(trace: Path, tmp_path: Path) -> None:
    parts.cut(trace, tmp_path / "all", 0, None)
    for rank in range(RANKS):
        assert folder.stream(tmp_path / "all", rank).read_bytes() == folder.stream(trace, rank).read_bytes()


def crossing(place: Path, kind: str) -> Path:
    """What is sent before a barrier is received behind it."""
    with Writer(place, 2, {}) as (sender, receiver):
        if kind == "request":
            sender.message("Isend", 1, 8, request=1)
        else:
            sender.message("Send", 1, 8)
        if kind == "balanced":  # as many on both sides of the barrier, with other tags
            receiver.message("Recv", 0, 8, tag=9)
        for stream in (sender, receiver):
            stream.collective("Barrier", 0)
        if kind == "request":
            sender.wait(1)
        if kind == "balanced":
            sender.message("Send", 1, 8, tag=9)
        receiver.message("Recv", -1 if kind == "any" else 0, 8)
        for stream in (sender, receiver):
            stream.end()
    return place


@pytest.mark.parametrize(
    ("kind", "after", "until", "what"),
    [
        ("request", 0, 1, "--until 1: rank 0 has 1 requests under way there"),
        ("request", 1, None, "--after 1: rank 0 has 1 requests under way there"),
        ("plain", 0, 1, "1 message is sent to rank 1 whose other end lies outside"),
        ("plain", 1, None, "rank 1 receives from rank 0 what was sent outside"),
        ("any", 1, None, "1 message is received by rank 1 whose other end lies outside"),
        ("balanced", 1, None, "rank 1 receives from rank 0 what was sent outside"),
    ],
)
def test_a_message_is_not_parted(tmp_path: Path, kind: str, after: int, until: int | None, what: str) -> None:
    trace = crossing(tmp_path / "trace", kind)
    with pytest.raises(InputError, match=what):
        parts.cut(trace, tmp_path / "part", after, until)
    assert not (tmp_path / "part").exists()


def test_what_cannot_be_cut_or_merged_is_reported(trace: Path, tmp_path: Path) -> None:
    for after, until, what in (
        (6, None, "--after 6: .* has 5 blocking"),
        (0, 6, "--until 6: .* has 5"),
        (3, 3, "the second above"),
        (-1, 2, "from 0 on"),
    ):
        with pytest.raises(InputError, match=what):
            parts.cut(trace, tmp_path / "part", after, until)
    with pytest.raises(InputError, match="that is a trace to read"):
        parts.cut(trace, trace, 0, 1)
    with pytest.raises(InputError, match="that is a trace to read"):
        parts.merge([trace, trace], trace)
    with pytest.raises(InputError, match="two traces or more"):
        parts.merge([trace], tmp_path / "part")
    crossing(tmp_path / "two", "plain")
    with pytest.raises(InputError, match=r"it has 2 ranks, and .* has 4"):
        parts.merge([trace, tmp_path / "two"], tmp_path / "part")
    stream = folder.stream(without_checksums(trace), 1)
    stream.write_bytes(stream.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"rank-000001.calls: it is cut before"):
        parts.cut(trace, tmp_path / "part", 0, None)
    assert not (tmp_path / "part").exists()


def test_codes_are_those_of_the_format() -> None:
    """Ranges of codes, against the names that the core has."""
    names = {code: name for name, code in CODES.items()}
    assert {names[code] for code in records.INITS} == {name for name in CODES if name.endswith("_init")}
    assert {names[code] for code in records.ENDS} == {name for name in CODES if name.startswith(("Wait", "Test"))}
    assert all(names[code].lower().endswith("probe") for code in records.PROBES if code in names)
    assert {names[code] for code in records.NEIGHBOURS} == {name for name in CODES if "eighbor_" in name}
    requested = {"Rput", "Rget", "Raccumulate", "Rget_accumulate"}
    assert {names[code] for code in records.REQUESTED} == requested
    others = {"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"}
    assert {names[code] for code in records.ACCESSES} == requested | others
    assert {names[code] for code in (*records.WINDOWS, *records.SYNCHRONISATIONS)} == {
        name for name in CODES if name.startswith("Win_") or name == "window"
    }
    assert {names[code] for code in records.RECEIVES} == {"Recv", "Irecv", "Recv_init", "Mrecv", "Imrecv"}
