# SPDX-License-Identifier: Apache-2.0
"""The critical path: is it the one that small programs are known to have, and does it add up to the run's time?"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import needs_browser
from test_timeline import replayed, shown
from typer.testing import CliRunner

import exanet
from exanet import cli, results
from exanet.results import Run, critical_path, path_tables
from exanet.trace.write import Stream, Writer

US = 1_000_000
LONG = 100_000

Program = Callable[[int, Stream], None]


def run_of(tmp_path: Path, ranks: int, program: Program, machine: str = "torus-512", **options: Any) -> Run:
    with Writer(tmp_path / "trace", ranks, {"program": ["small"]}) as streams:
        for rank, stream in enumerate(streams):
            program(rank, stream)
            stream.end()
    run = exanet.replay(tmp_path / "trace", machine, timeline=True, **{"mapping": "round-robin", **options})
    whole(run)
    return run


def whole(run: Run) -> None:
    """The parts follow each other from 0 to the end, and each leads to the rank of the next."""
    path = run.critical_path
    assert path is not None and path.schema == critical_path.SCHEMA
    assert path["begin_ps"][0] == 0 and path["end_ps"][-1] == run.summary["virtual_ps"]
    assert path["begin_ps"].to_list()[1:] == path["end_ps"].to_list()[:-1]
    assert path["begins_at"].to_list()[1:] == path["ends_at"].to_list()[:-1]
    assert (path["end_ps"] > path["begin_ps"]).all()
    parts = path.filter(kind="message")
    assert (parts["interface_ps"] + parts["links_ps"] + parts["queueing_ps"] == parts["end_ps"] - parts["begin_ps"]).all()
    assert sum(share.took_ps for share in path_tables.shares(path)) == run.summary["virtual_ps"]


def steps(run: Run) -> list[tuple[Any, ...]]:
    """The path without its times: computing and calls with their rank, messages with both."""
    assert run.critical_path is not None
    found: list[tuple[Any, ...]] = []
    for part in run.critical_path.iter_rows(named=True):
        short = {"message": (part["rank"], part["to_rank"]), "compute": (part["rank"],)}
        found.append(short.get(part["kind"], (part["rank"], part["call"])))
    return found


def computing(run: Run) -> dict[int, int]:
    """By rank, in picoseconds."""
    assert run.critical_path is not None
    parts = run.critical_path.filter(kind="compute").group_by("rank").agg((pl.col("end_ps") - pl.col("begin_ps")).sum().alias("ps"))
    return dict(parts.sort("rank").iter_rows())


@pytest.mark.parametrize("size", [8, LONG])
def test_a_rank_that_sends_late(tmp_path: Path, size: int) -> None:
    def program(rank: int, stream: Stream) -> None:
        if rank == 0:
            stream.message("Send", 1, size, compute_ps=100 * US)
        else:
            stream.message("Recv", 0, size, compute_ps=3 * US)

    run = run_of(tmp_path, 2, program)
    end = [] if size == 8 else [(0, "MPI_Send")]  # the sender of a long message ends last: it learns of the delivery
    assert steps(run)[:3] == [(0,), (0, "MPI_Send"), (0, 1)] and computing(run) == {0: 100 * US}
    assert steps(run)[3:] == (end or [(1, "MPI_Recv")])
    message = run.messages.row(0, named=True)
    assert run.critical_path is not None
    part = run.critical_path.row(2, named=True)
    assert part["begin_ps"] == message["posted_ps"] and part["queueing_ps"] == 0, "the network is idle"
    assert part["end_ps"] == message["delivered_ps"] or size == LONG


def test_a_receiver_that_is_late(tmp_path: Path) -> None:
    """Of a long message: the sender waits until it has been fetched."""

    def program(rank: int, stream: Stream) -> None:
        if rank == 0:
            stream.message("Send", 1, LONG, compute_ps=2 * US)
            stream.message("Recv", 1, 8)
        else:
            stream.message("Recv", 0, LONG, compute_ps=300 * US)
            stream.message("Send", 0, 8)

    run = run_of(tmp_path, 2, program)
    assert computing(run) == {1: 300 * US}
    assert steps(run)[:3] == [(1,), (1, "MPI_Recv"), (0, 1)] or steps(run)[:2] == [(1,), (0, 1)]


def test_a_receiver_that_computes_between_posting_and_waiting(tmp_path: Path) -> None:
    """Its processor fetches a long message only in a call."""

    def program(rank: int, stream: Stream) -> None:
        if rank == 0:
            stream.message("Send", 1, LONG, compute_ps=10 * US)
        else:
            stream.message("Irecv", 0, LONG, request=1)
            stream.wait(1, compute_ps=300 * US)

    assert computing(run_of(tmp_path, 2, program)) == {1: 300 * US}


@pytest.mark.parametrize("size", [8, LONG])
def test_a_pipeline(tmp_path: Path, size: int) -> None:
    """Each rank computes on what the one before has sent."""

    def program(rank: int, stream: Stream) -> None:
        if rank > 0:
            stream.message("Recv", rank - 1, size)
        if rank < 3:
            stream.message("Send", rank + 1, size, compute_ps=(rank + 1) * 50 * US)

    run = run_of(tmp_path, 4, program)
    assert computing(run) == {0: 50 * US, 1: 100 * US, 2: 150 * US}
    if size == 8:
        expected: list[tuple[Any, ...]] = [(0,), (0, "MPI_Send")]
        for rank in (1, 2):
            expected += [(rank - 1, rank), (rank, "MPI_Recv"), (rank,), (rank, "MPI_Send")]
        assert steps(run) == [*expected, (2, 3), (3, "MPI_Recv")]


def test_a_ring(tmp_path: Path) -> None:
    """A token goes round twice."""
    ranks, rounds = 5, 2

    def program(rank: int, stream: Stream) -> None:
        for number in range(rounds):
            if rank == 0:
                stream.message("Send", 1, 8, compute_ps=US)
                stream.message("Recv", ranks - 1, 8)
            else:
                stream.message("Recv", rank - 1, 8, compute_ps=US // 2 * (number == 0))  # before the token comes
                stream.message("Send", (rank + 1) % ranks, 8, compute_ps=20 * US)

    run = run_of(tmp_path, ranks, program)
    messages = [step for step in steps(run) if len(step) == 2 and isinstance(step[1], int)]
    assert messages == [(i % ranks, (i + 1) % ranks) for i in range(ranks * rounds)]
    assert computing(run) == {0: rounds * US} | {rank: rounds * 20 * US for rank in range(1, ranks)}


@pytest.mark.parametrize("slow", [0, 3, 6])
@pytest.mark.parametrize("algorithm", ["recursive-doubling", "ring"])
def test_an_allreduce_with_one_slow_rank(tmp_path: Path, slow: int, algorithm: str) -> None:
    def program(rank: int, stream: Stream) -> None:
        stream.collective("Allreduce", 4096, element=8, compute_ps=500 * US if rank == slow else 3 * US)

    run = run_of(tmp_path, 8, program, collectives={"allreduce": algorithm})
    assert computing(run) == {slow: 500 * US}
    assert steps(run)[:2] == [(slow,), (slow, "MPI_Allreduce")]
    assert {step[1] for step in steps(run) if len(step) == 2 and not isinstance(step[1], int)} <= {"MPI_Allreduce", "MPI_Finalize"}


def test_messages_that_share_a_link_wait_for_each_other(tmp_path: Path) -> None:
    def program(rank: int, stream: Stream) -> None:
        if rank < 4:
            stream.message("Send", 4, LONG)
        else:
            for source in range(4):
                stream.message("Irecv", source, LONG, request=1 + source)
            stream.wait(1, 2, 3, 4)

    run = run_of(tmp_path, 5, program)
    assert run.critical_path is not None
    assert run.critical_path["queueing_ps"].sum() > run.summary["virtual_ps"] // 2


def test_programs_that_start_later_begin_with_that(tmp_path: Path) -> None:
    def program(rank: int, stream: Stream) -> None:
        stream.collective("Barrier", 0, compute_ps=US)

    run_of(tmp_path, 4, program)
    run = exanet.replay(f"{tmp_path / 'trace'}:start=2ms", "torus-512", timeline=True)
    whole(run)
    assert run.critical_path is not None
    assert run.critical_path.row(0, named=True)["kind"] == "start" and run.critical_path["end_ps"][0] == 2000 * US


def test_without_recorded_calls_the_path_has_ranks(tmp_path: Path) -> None:
    run = exanet.replay([], "torus-512", jobs=["allreduce:algorithm=ring,ranks=8,bytes=1KiB,rounds=3"], timeline=True)
    whole(run)
    assert run.critical_path is not None and set(run.critical_path["kind"]) == {"rank", "message"}


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("seed", range(6))
def test_any_program_has_a_path_as_long_as_the_run(tmp_path: Path, seed: int, level: str) -> None:
    """Rounds of drawn pairs that exchange, collectives, one-sided accesses."""
    draw = random.Random(seed)
    ranks = draw.choice([2, 6, 9])
    kinds = ["exchange", "Allreduce", "Barrier", "Alltoall"]
    rounds = [(draw.choice(kinds), draw.choice([8, 600, LONG]), draw.sample(range(ranks), ranks)) for _ in range(12)]
    pauses = [[draw.randrange(50 * US) for _ in rounds] for _ in range(ranks)]

    def program(rank: int, stream: Stream) -> None:
        for (kind, size, order), pause in zip(rounds, pauses[rank], strict=True):
            if kind != "exchange":
                stream.collective(kind, size, size, element=8, compute_ps=pause)
                continue
            place = order.index(rank)
            stream.message("Irecv", order[place - 1], size, request=1, compute_ps=pause)
            stream.message("Isend", order[(place + 1) % ranks], size, request=2)
            stream.wait(1, 2, compute_ps=pause // 3)

    run = run_of(tmp_path, ranks, program, mapping="random", seed=seed, level=level)
    assert run.critical_path is not None and run.critical_path["end_ps"].max() == run.summary["virtual_ps"]


def test_lists_that_are_full_leave_no_path() -> None:
    found = {"summary": {}, "ranks": {"rank": [0]}, "waits": {"dropped": 1}, "messages_dropped": 0}
    assert critical_path.table(found, {}, flow=False) == (None, "there are more waits or messages than the simulator lists")


def test_the_terminal_shows_what_the_end_waited_for(tmp_path: Path) -> None:
    replayed(tmp_path)
    options = ["-m", "torus-512", "--timeline", "--no-report", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, ["replay", str(tmp_path / "trace"), *options])
    text = " ".join(done.output.split())
    assert "Critical path what the end of the run waited for" in text and "computing of rank 7" in text
    assert "network: waiting for other messages" in text and "Its longest parts" in text and "rendezvous message of" in text
    run = results.load(tmp_path / "out")
    whole(run)
    options = [option for option in options if option != "--timeline"]
    assert "Critical path" not in CliRunner().invoke(cli.app, ["replay", str(tmp_path / "trace"), *options]).output


PLACES = "(() => { drawNow(); return pathPlaces(timeline.canvas, timeline.view, timeline.store.path); })()"
PIXELS = """
(() => {
  drawNow();
  const { canvas } = timeline.canvas, copy = document.createElement("canvas");
  Object.assign(copy, { width: canvas.width, height: canvas.height });
  const paper = copy.getContext("2d", { willReadFrequently: true });
  paper.drawImage(canvas, 0, 0);
  const { data } = paper.getImageData(0, 0, copy.width, copy.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) found += data[i] === 0xf0 && data[i + 1] === 0xe4 && data[i + 2] === 0x42;
  return found;
})()
"""


@pytest.mark.slow
@needs_browser
def test_the_page_draws_the_path_and_a_key_hides_it(tmp_path: Path) -> None:
    place = replayed(tmp_path)
    path = results.load(place).critical_path
    assert path is not None
    with shown(place / "timeline.html") as window:
        assert window.ask("[timeline.store.path.parts, timeline.store.path.begin.at(-1)]") == [len(path), path["end_ps"][-1]]
        assert window.ask("[...timeline.store.path.at]") == [*path["begins_at"], path["ends_at"][-1]]
        places = window.ask(PLACES)
        assert len(places) > 10 and all(a["x"] <= b["x"] for a, b in pairwise(places))
        assert window.ask(PIXELS) > 500
        window.ask("document.querySelector('canvas').focus()")
        window.press("c")
        assert window.ask(PIXELS) == 0 and window.ask("document.getElementById('with-path').checked") is False
        window.ask("document.getElementById('with-path').click()")
        assert window.ask(PIXELS) > 500
        assert "computing of rank 7" in window.ask("document.getElementById('path').textContent")


def test_shares_name_the_largest_and_add_the_others_up() -> None:
    empty = dict.fromkeys(critical_path.SCHEMA)
    rows = [{**empty, "kind": "compute", "rank": rank, "begin_ps": 0, "end_ps": 10 + rank} for rank in range(8)]
    path = pl.DataFrame(rows, schema=critical_path.SCHEMA)
    found = path_tables.shares(path)
    assert [share.what for share in found] == [*(f"computing of rank {rank}" for rank in (7, 6, 5, 4, 3)), "computing of 3 other ranks"]
    assert sum(share.took_ps for share in found) == sum(10 + rank for rank in range(8))


def test_time_of_messages_beside_faults_is_said_to_hold_what_these_cost() -> None:
    row = {**dict.fromkeys(critical_path.SCHEMA), "kind": "message", "begin_ps": 0, "end_ps": 9, "queueing_ps": 9}
    path = pl.DataFrame([row], schema=critical_path.SCHEMA)
    named = [[share.what for share in path_tables.shares(path, faults=faults)] for faults in (False, True)]
    assert named == [["network: waiting for other messages"], ["network: waiting for other messages, and what faults cost"]]
