# SPDX-License-Identifier: Apache-2.0
"""Traces in OTF2: what is written comes back and replays as it did, archives of Score-P are read, and bad ones are
reported in a line."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _otf2
import otf2
import pytest
from typer.testing import CliRunner

from exanet import cli, replay
from exanet.errors import InputError
from exanet.trace import convert, folder
from exanet.trace.otf2 import ends, sizes
from exanet.trace.otf2.archive import Archive
from exanet.trace.write import Stream, Writer

UNKNOWN = 0xFFFFFFFF


def summary(trace: Path, **options: Any) -> dict[str, Any]:
    found = dict(replay.replay(replay.Options((trace,), "torus-2x2x2", "round-robin", **options))[0]["summary"])
    return {key: found[key] for key in ("messages", "bytes", "packets", "virtual_ps")}


def streams(trace: Path) -> list[bytes]:
    return [stream.read_bytes() for stream in folder.load(trace).streams]


def calls(trace: Path, rank: int, *columns: str) -> list[tuple[Any, ...]]:
    table = folder.load(trace).calls()
    return [tuple(row) for row in table.filter(table["rank"] == rank).select("call", *columns).iter_rows()]


# -- there and back ----------------------------------------------------------------------------------------------------


def every_call(stream: Stream, rank: int, ranks: int) -> None:
    """Each kind of call whose parts OTF2 can hold."""
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    half = [other for other in range(ranks) if other % 2 == rank % 2]
    me, count = half.index(rank), len(half)
    blocks = [100 * (member + 1) for member in range(count)]
    stream.call("Comm_split", 1, 3, 0, count, *half, 0, compute_ps=1_234, inside_ps=55, took_ps=9_000)
    for turn in range(2):
        stream.message("Irecv", before, 5000, tag=3, request=1, compute_ps=1_500_500)
        stream.message("Issend", after, 5000, tag=3, request=2)
        if turn == 0:
            stream.call("communicator", 0, 4, 0, count, *half, 0)  # where it is used first
        stream.call("Iallreduce", 4, 0, 3, 3, 8, 640, 0, 0, 0)
        stream.call("Test", took_ps=100)
        stream.wait(3, 1, 2, compute_ps=2_000_000)
        stream.call("Sendrecv", 3, half[(me + 1) % count] + 2, 8, 40, half[me - 1] + 2, 8, 40, compute_ps=3)
    stream.call("Iprobe", 1, 1, 0, 0)
    stream.message(*(("Ssend", after, 77) if rank % 2 == 0 else ("Recv", before, 77)))
    stream.message("Isend", after, 8, tag=5)  # over at once
    stream.call("Probe", 1, before + 2, 6, 1)
    stream.message("Recv", before, 8, tag=5)
    for root in (0, count - 1):
        is_root = 8 * (me == root)
        stream.call("Barrier", 3, 0, 0, 0, 0, 0, 0, 0, 0)
        stream.call("Bcast", 3, root, 0, is_root, 4, 400, 0, 0, 0)
        stream.call("Gather", 3, root, 0, is_root, 8, 80, 80 if is_root else 0, 0, 0)
        stream.call("Scatter", 3, root, 0, is_root, 8, 80 if is_root else 0, 80, 0, 0)
        stream.call("Reduce", 3, root, 0, 3 | is_root, 8, 4000, 0, 0, 0)
        stream.call("Gatherv", 3, root, 0, is_root, 4, blocks[me], 0, 0, *([count, *blocks] if is_root else [0]))
        stream.call("Scatterv", 3, root, 0, is_root, 4, 0, blocks[me], *([count, *blocks] if is_root else [0]), 0)
    stream.call("Allreduce", 1, 0, 0, 1, 16, 48, 0, 0, 0)
    stream.call("Allreduce", 3, 0, 0, 7, 8, 8000, 0, 0, 0)  # in place
    stream.call("Scan", 3, 0, 0, 3, 8, 48, 0, 0, 0)
    stream.call("Exscan", 3, 0, 0, 3, 8, 48, 0, 0, 0)
    stream.call("Allgather", 3, 0, 0, 4, 8, 0, 120, 0, 0)  # in place
    stream.call("Alltoall", 3, 0, 0, 0, 8, 120, 120, 0, 0)
    stream.call("Allgatherv", 3, 0, 0, 0, 4, blocks[me], 0, 0, count, *blocks)
    stream.call("Reduce_scatter", 3, 0, 0, 3, 4, 0, 0, 0, count, *blocks)
    stream.call("Reduce_scatter_block", 3, 0, 0, 3, 4, 0, 60, 0, 0)
    to_all, from_all = [7 * (me + 1) * other for other in range(count)], [7 * (other + 1) * me for other in range(count)]
    stream.call("Alltoallv", 3, 0, 0, 0, 4, 0, 0, count, *to_all, count, *from_all)
    stream.end(3_000)


def test_what_is_written_comes_back_byte_by_byte(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 6, {"program": ["every"]}) as to:
        for rank, stream in enumerate(to):
            every_call(stream, rank, 6)
    assert convert.convert(tmp_path / "trace", tmp_path / "there.otf2", {}) == {}
    assert sorted(path.name for path in (tmp_path / "there.otf2").iterdir()) == ["traces", "traces.def", "traces.otf2"]
    assert convert.convert(tmp_path / "there.otf2", tmp_path / "back", {}) == {}
    assert calls(tmp_path / "back", 1, "compute_ps", "peer", "bytes") == calls(tmp_path / "trace", 1, "compute_ps", "peer", "bytes")
    assert streams(tmp_path / "back") == streams(tmp_path / "trace")
    assert summary(tmp_path / "back") == summary(tmp_path / "trace")


def every_access(stream: Stream, rank: int, ranks: int) -> None:
    """Each kind of call on windows, of which some are on half of the ranks, freed and made again; and collectives
    among neighbours."""
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    half = [other for other in range(ranks) if other % 2 == rank % 2]
    there = half[(half.index(rank) + 1) % len(half)]
    stream.call("Comm_split", 1, 3, 0, len(half), *half, 0)
    for name, number in (("Win_create", 1), ("Win_allocate", 2), ("Win_allocate_shared", 3), ("Win_create_dynamic", 4)):
        stream.call(name, 1, number, 4096 * (number < 4), compute_ps=700, took_ps=30)
    stream.call("window", 3, 5, 0)  # that no call has made
    stream.call("Win_fence", 5, 0, 2, 0)
    stream.call("Put", 5, there + 2, 0, 1, 700, 0, took_ps=3)
    stream.call("Win_fence", 5, 0, 0, 0)
    for kind in (0, 1, 2, 3):  # shared, exclusive, and not checked
        stream.call("Win_lock", 1, after + 2, kind, 0)
        stream.call("Get", 1, after + 2, 0, kind % 2, 0, 80)  # in one piece or several
        stream.call("Win_flush", 1, after + 2, 0, 0)
        stream.call("Win_flush_local", 1, after + 2, 0, 0)
        stream.call("Win_unlock", 1, after + 2, 0, 0, inside_ps=9)
    stream.call("Win_lock_all", 2, 0, 2 * (rank % 2), 0)
    for number, name in enumerate(("Rput", "Rget", "Raccumulate", "Rget_accumulate"), 1):
        stream.call(name, 2, before + 2, number, 1, 8 * (name != "Rget"), 8 * ("get" in name.lower()))
    for name in ("Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"):
        stream.call(name, 2, before + 2, 0, 1, 16, 16 * (name != "Accumulate"))
    stream.call("Raccumulate", 2, before + 2, 0, 1, 24, 0)  # over at once
    stream.call("Win_flush_all", 2, 0, 0, 0)
    stream.call("Win_flush_local_all", 2, 0, 0, 0)
    stream.wait(1, 2, 3, 4)
    stream.call("Win_unlock_all", 2, 0, 0, 0)
    stream.call("Win_post", 3, 0, 2 * (rank % 2), 1, before)
    stream.call("Win_start", 3, 0, 0, 1, after)
    stream.call("Win_complete", 3, 0, 0, 0)
    stream.call("Win_test", 3, 0, 4, 0, took_ps=4)
    stream.call(*(("Win_wait", 3, 0, 0, 0) if rank % 2 else ("Win_test", 3, 0, 0, 0)))
    for name in ("Win_post", "Win_start", "Win_complete", "Win_wait"):  # with nobody
        stream.call(name, 3, 0, 0, 0)
    for name in ("Win_lock", "Win_flush", "Win_unlock"):  # of MPI_PROC_NULL
        stream.call(name, 1, 0, 0, 0)
    stream.call("Win_free", 2, 0, 0, 0)
    stream.call("Win_allocate", 1, 6, 12)
    around = (2, before + 2, 0, 2, 8, 0), (1, after + 2, 1, 8)
    stream.call("Neighbor_alltoallv", 1, 0, *around[0], *around[1])
    stream.message("Irecv", before, 8, request=1)
    stream.call("Ineighbor_allgather", 1, 2, *around[0], *around[1], compute_ps=50)
    stream.call("Ineighbor_alltoallw", 3, 3, 0, 0, 0, 0)
    stream.message("Send", after, 8)
    stream.wait(1, 2, 3)
    stream.end()


def test_one_sided_calls_and_neighbours_come_back_byte_by_byte(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 6, {"program": ["every"]}) as to:
        for rank, stream in enumerate(to):
            every_access(stream, rank, 6)
    assert convert.convert(tmp_path / "trace", tmp_path / "there.otf2", {}) == {}
    assert convert.convert(tmp_path / "there.otf2", tmp_path / "back", {}) == {}
    columns = ("communicator", "peer", "receive_peer", "bytes", "receive_bytes", "requests", "compute_ps", "took_ps", "inside_ps")
    for rank in range(6):
        assert calls(tmp_path / "back", rank, *columns) == calls(tmp_path / "trace", rank, *columns)
    assert streams(tmp_path / "back") == streams(tmp_path / "trace")


def archive_of_open_mpi(place: Path) -> Path:
    """Of a recording that Open MPI made, of one rank that does nothing."""
    with Writer(place / "trace", 1, {}) as (stream,):
        stream.end()
    stream_file = folder.stream(place / "trace", 0)
    content = bytearray(stream_file.read_bytes())
    content[12] = 2
    stream_file.write_bytes(content)
    for name in ("trace.json", "calls.parquet"):
        (place / "trace" / name).unlink()
    folder.finish(place / "trace", 1, {})
    convert.convert(place / "trace", place / "there.otf2", {})
    return place / "there.otf2"


def test_the_mpi_that_was_recorded_comes_back(tmp_path: Path) -> None:
    """By its rules a replay makes collectives."""
    archive_of_open_mpi(tmp_path)
    convert.convert(tmp_path / "there.otf2", tmp_path / "back", {})
    assert folder.load(tmp_path / "back").about.mpi == "Open MPI"


def test_written_examples_come_back_byte_by_byte(tmp_path: Path) -> None:
    """Halos of a grid of 128 ranks, and broadcasts along trees."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "broadcast_trees.py"))
    example["molecular_dynamics"](tmp_path / "halo", 2)
    example["broadcasts"](tmp_path / "tree", 16, 3, 10_000)
    for name in ("halo", "tree"):
        assert convert.convert(tmp_path / name, tmp_path / f"{name}.otf2", {}) == {}
        assert convert.convert(tmp_path / f"{name}.otf2", tmp_path / f"{name}-back", {}) == {}
        assert streams(tmp_path / f"{name}-back") == streams(tmp_path / name)


def test_what_cannot_be_held_is_said(tmp_path: Path) -> None:
    """Senders that no call names, cancelled receives and persistent requests; the same messages all the same."""
    with Writer(tmp_path / "trace", 2, {}) as (one, other):
        one.call("Recv_init", 1, 3, 2, 64, 1)
        one.call("Recv", 1, 1, 0, 100, 0)
        one.call("Start", 1, compute_ps=500)
        one.call("Wait", 1)
        one.call("Request_free", 1)
        one.call("Irecv", 1, 3, 9, 100, 1)
        one.call("Cancel", 1, compute_ps=70)
        one.call("Wait", 1, compute_ps=30)
        other.call("Ssend_init", 1, 2, 2, 64, 1)
        other.message("Send", 0, 33, tag=4)
        other.call("Startall", 1)
        other.call("Waitall", 1)
        for stream in (one, other):
            stream.call("unrecorded", *b"MPI_Put")
            stream.end()
    said = convert.convert(tmp_path / "trace", tmp_path / "there.otf2", {})
    assert [(what.split()[0], count) for what, count in said.items()] == [("senders", 1), ("tags", 1), ("receives", 1)]
    assert convert.convert(tmp_path / "there.otf2", tmp_path / "back", {}) == {"receives and sends that were cancelled": 1}
    assert folder.load(tmp_path / "back").about.unrecorded == ["MPI_Put"]
    found = calls(tmp_path / "back", 0, "compute_ps", "receive_peer", "receive_tag", "receive_bytes")
    assert found == [
        ("MPI_Recv", 0, -1, -1, 100),
        ("MPI_Irecv", 500, 1, 1, 64),
        ("MPI_Wait", 0, -2, 0, 0),
        ("MPI_Wait", 100, -2, 0, 0),
        ("unrecorded", 0, -2, 0, 0),
        ("MPI_Finalize", 0, -2, 0, 0),
    ]


def test_an_incomplete_trace_stays_incomplete(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 2, {}) as both:
        for rank, stream in enumerate(both):
            stream.message("Isend", 1 - rank, 5, request=1)
    convert.convert(tmp_path / "trace", tmp_path / "there.otf2", {})
    convert.convert(tmp_path / "there.otf2", tmp_path / "back", {})
    about = folder.load(tmp_path / "back").about
    assert not about.complete and about.calls == 2


def test_the_command_replaces_an_archive_and_nothing_else(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 1, {}) as (stream,):
        stream.end(5)
    words = ["trace", "convert", str(tmp_path / "trace"), str(tmp_path / "x.otf2")]
    for _ in range(2):
        assert CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code == 0
    (tmp_path / "mine.otf2").mkdir()
    (tmp_path / "mine.otf2" / "notes").touch()
    with pytest.raises(InputError, match="the folder holds other files"):
        convert.convert(tmp_path / "trace", tmp_path / "mine.otf2", {})
    with pytest.raises(InputError, match="becomes a trace, which is a folder"):
        convert.convert(tmp_path / "x.otf2", tmp_path / "x.json", {})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").touch()
    with pytest.raises(InputError, match="holds other files"):
        convert.convert(tmp_path / "x.otf2", tmp_path / "other", {})


# -- as Score-P writes -------------------------------------------------------------------------------------------------


class ScoreP:
    """A recording of ranks by nanoseconds, with a region of the program around all calls, by what Score-P 8 writes
    of each."""

    def __init__(self, to: Any, ranks: int) -> None:
        self.to, define = to, to.definitions
        machine = define.system_tree_node("machine", class_name="machine")
        self.locations = []
        for rank in range(ranks):
            process = define.location_group(f"MPI Rank {rank}", otf2.LocationGroupType.PROCESS, system_tree_parent=machine)
            self.locations.append(define.location("Master thread", group=process))
            self.threads = define.location("OMP thread 1", group=process)
            define.location("counters", type=otf2.LocationType.METRIC, group=process)
        kinds, mpi = otf2.GroupType, otf2.Paradigm.MPI
        define.group("MPI", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=self.locations)
        world = define.group("", group_type=kinds.COMM_GROUP, paradigm=mpi, members=self.locations)
        alone = define.group("", group_type=kinds.COMM_SELF, paradigm=mpi, members=[])
        self.world = define.comm("MPI_COMM_WORLD", group=world)
        define.comm("MPI_COMM_SELF", group=alone)
        self.clock = [100 * rank for rank in range(ranks)]
        self.user = define.region("solve", paradigm=otf2.Paradigm.COMPILER)
        self.requests = 0

    def comm(self, members: Sequence[int], by_event: bool = True) -> Any:
        locations = [self.locations[rank] for rank in members]
        group = self.to.definitions.group("", group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI, members=locations)
        flags = otf2.CommFlag.CREATE_DESTROY_EVENTS if by_event else otf2.CommFlag.NONE
        return self.to.definitions.comm(f"communicator {self.request()}", group=group, parent=self.world, flags=flags)

    def computes(self, rank: int, ns: int) -> None:
        self.clock[rank] += ns

    @contextmanager
    def call(self, rank: int, name: str, took: int = 10) -> Iterator[Callable[..., None]]:
        """A region, and a function that writes an event in it, by its name and fields."""
        to = self.to.event_writer_from_location(self.locations[rank])
        region = self.to.definitions.region(name, paradigm=otf2.Paradigm.MPI if name.startswith("MPI") else otf2.Paradigm.COMPILER)
        to.enter(self.clock[rank], region)
        yield lambda kind, *fields: getattr(to, kind)(self.clock[rank], *fields)
        self.clock[rank] += took
        to.leave(self.clock[rank], region)

    def init(self, rank: int) -> None:
        to = self.to.event_writer_from_location(self.locations[rank])
        to.program_begin(self.clock[rank], "solver", [])
        to.enter(self.clock[rank], self.user)
        self.computes(rank, 4_000)
        with self.call(rank, "MPI_Init") as event:
            event("mpi_collective_begin")
            event("mpi_collective_end", otf2.CollectiveOp.CREATE_HANDLE, self.world, UNKNOWN, 0, 0)

    def collective(self, rank: int, name: str, operation: Any, comm: Any, sent: int, received: int, root: int = UNKNOWN) -> None:
        with self.call(rank, name) as event:
            event("mpi_collective_begin")
            event("mpi_collective_end", operation, comm, root, sent, received)

    def finalize(self, rank: int) -> None:
        self.collective(rank, "MPI_Finalize", otf2.CollectiveOp.DESTROY_HANDLE, self.world, 0, 0)
        to = self.to.event_writer_from_location(self.locations[rank])
        to.leave(self.clock[rank], self.user)
        to.program_end(self.clock[rank], 0)

    def request(self) -> int:
        self.requests += 1
        return self.requests


@contextmanager
def scorep(place: Path, ranks: int) -> Iterator[ScoreP]:
    with otf2.writer.open(str(place), timer_resolution=10**9) as to:
        yield ScoreP(to, ranks)


def solver(place: Path) -> Path:
    """Four ranks: a split, messages without blocking that a Waitall ends, collectives on half of the ranks, and
    calls of one process."""
    operations = otf2.CollectiveOp
    with scorep(place, 4) as run:
        halves = [run.comm((0, 2)), run.comm((1, 3))]
        for rank in range(4):
            half, me = halves[rank % 2], rank // 2
            run.init(rank)
            run.computes(rank, 1_000)
            with run.call(rank, "MPI_Comm_split", 500) as event:
                event("mpi_collective_begin")
                event("comm_create", half)
                event("mpi_collective_end", operations.CREATE_HANDLE, run.world, UNKNOWN, 0, 0)
            with run.call(rank, "exchange"):
                run.computes(rank, 200)
                with run.call(rank, "MPI_Comm_rank", 30):
                    pass
                received, sent = run.request(), run.request()
                with run.call(rank, "MPI_Irecv") as event:
                    event("mpi_irecv_request", received)
                with run.call(rank, "MPI_Isend") as event:
                    event("mpi_isend", 1 - me, half, 7, 800, sent)
                with run.call(rank, "MPI_Test") as event:
                    event("mpi_request_test", received)
                run.computes(rank, 300)
                with run.call(rank, "MPI_Waitall", 1_000) as event:
                    event("mpi_irecv", 1 - me, half, 7, 800, received)
                    event("mpi_isend_complete", sent)
            reduced = run.request()
            with run.call(rank, "MPI_Iallreduce") as event:
                event("non_blocking_collective_request", reduced)
            run.collective(rank, "MPI_Allreduce", operations.ALLREDUCE, half, 2 * 64, 2 * 64)
            with run.call(rank, "MPI_Wait") as event:
                event("non_blocking_collective_complete", operations.ALLREDUCE, run.world, UNKNOWN, 4 * 8, 4 * 8, reduced)
            with run.call(rank, "MPI_Sendrecv") as event:
                event("mpi_send", (rank + 1) % 4, run.world, 1, 60)
                event("mpi_recv", (rank - 1) % 4, run.world, 1, 60)
            for peer in (None, (rank + 1) % 4):  # none: MPI_PROC_NULL
                with run.call(rank, "MPI_Bsend") as event:
                    if peer is not None:
                        event("mpi_send", peer, run.world, 2, 16)
            with run.call(rank, "MPI_Recv") as event:
                event("mpi_recv", (rank - 1) % 4, run.world, 2, 16)
            own = 10 * (rank + 1)
            root = rank == 1
            run.collective(rank, "MPI_Gatherv", operations.GATHERV, run.world, own, 100 if root else 0, 1)
            run.collective(rank, "MPI_Scatterv", operations.SCATTERV, run.world, 100 if root else 0, own, 1)
            run.collective(rank, "MPI_Allgatherv", operations.ALLGATHERV, run.world, 4 * own, 100)
            run.collective(rank, "MPI_Reduce_scatter", operations.REDUCE_SCATTER, run.world, 100, 4 * own)
            run.collective(rank, "MPI_Alltoallv", operations.ALLTOALLV, run.world, 40 * rank, 60)
            run.collective(rank, "MPI_Bcast", operations.BCAST, run.world, 4 * 500 if root else 0, 500, 1)
            run.collective(rank, "MPI_Comm_free", operations.DESTROY_HANDLE, half, 0, 0)
            run.finalize(rank)
    return place


def test_an_archive_of_scorep_becomes_the_calls_of_its_program(tmp_path: Path) -> None:
    said = convert.convert(solver(tmp_path / "scorep"), tmp_path / "trace", {})
    assert said == {
        "locations that are no rank of MPI": 8,
        "sizes by pair of ranks of MPI_Alltoallv and MPI_Alltoallw, which follow from those of the ranks": 4,
    }
    about = folder.load(tmp_path / "trace").about
    assert (about.complete, about.unrecorded) == (True, [])
    rows = calls(tmp_path / "trace", 2, "compute_ps", "took_ps", "peer", "bytes", "receive_peer", "receive_bytes", "requests")
    ns = 1000
    assert rows == [
        ("MPI_Comm_split", 1000 * ns, 500 * ns, -2, 0, -2, 0, 0),
        ("MPI_Irecv", 230 * ns, 10 * ns, -2, 0, 0, 800, 1),
        ("MPI_Isend", 0, 10 * ns, 0, 800, -2, 0, 1),
        ("MPI_Test", 0, 10 * ns, -2, 0, -2, 0, 0),
        ("MPI_Waitall", 300 * ns, 1000 * ns, -2, 0, -2, 0, 2),
        ("MPI_Iallreduce", 10 * ns, 10 * ns, -2, 8, -2, 0, 1),
        ("MPI_Allreduce", 0, 10 * ns, -2, 64, -2, 0, 0),
        ("MPI_Wait", 0, 10 * ns, -2, 0, -2, 0, 1),
        ("MPI_Sendrecv", 0, 10 * ns, 3, 60, 1, 60, 0),
        ("MPI_Bsend", 0, 10 * ns, 3, 16, -2, 0, 0),
        ("MPI_Recv", 0, 10 * ns, -2, 0, 1, 16, 0),
        ("MPI_Gatherv", 0, 10 * ns, -2, 30, -2, 0, 0),
        ("MPI_Scatterv", 0, 10 * ns, -2, 0, -2, 30, 0),
        ("MPI_Allgatherv", 0, 10 * ns, -2, 30, -2, 100, 0),
        ("MPI_Reduce_scatter", 0, 10 * ns, -2, 0, -2, 100, 0),
        ("MPI_Alltoallv", 0, 10 * ns, -2, 80, -2, 60, 0),
        ("MPI_Bcast", 0, 10 * ns, -2, 500, -2, 0, 0),
        ("MPI_Finalize", 0, 10 * ns, -2, 0, -2, 0, 0),
    ]
    root = calls(tmp_path / "trace", 1, "bytes", "receive_bytes")
    assert ("MPI_Gatherv", 20, 100) in root and ("MPI_Scatterv", 100, 20) in root
    goal = tmp_path / "trace.goal"
    # plans all messages of a rank and of its peers
    convert.convert(tmp_path / "trace", goal, {"alltoallv": "pairwise"})
    assert "recv 800b from 0" in goal.read_text()
    found = summary(tmp_path / "trace")
    assert found["messages"] > 60 and found["virtual_ps"] > 1_530 * ns


def test_a_library_that_dies_of_an_archive_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = solver(tmp_path / "solver")
    monkeypatch.setattr(Archive, "open_events", lambda archive: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(InputError, match=r"OTF2's library crashed while reading it \(SIGKILL\): the archive is damaged"):
        convert.convert(archive, tmp_path / "back", {})
    assert [file.name for file in tmp_path.iterdir()] == ["solver"]
    monkeypatch.undo()
    convert.convert(archive, tmp_path / "back", {})
    assert folder.load(tmp_path / "back").about.complete


def test_the_archive_is_found_by_its_file_too(tmp_path: Path) -> None:
    solver(tmp_path / "scorep")
    convert.convert(tmp_path / "scorep" / "traces.otf2", tmp_path / "one", {})
    convert.convert(tmp_path / "scorep", tmp_path / "other", {})
    assert streams(tmp_path / "one") == streams(tmp_path / "other")


def test_persistent_requests_probes_and_what_is_not_recorded(tmp_path: Path) -> None:
    with scorep(tmp_path / "scorep", 2) as run:
        unflagged = [run.comm((0, 1), by_event=False) for _ in range(2)]
        for rank in range(2):
            run.init(rank)
            with run.call(rank, "MPI_Send_init"):
                pass
            with run.call(rank, "MPI_Comm_dup") as event:  # of a Score-P that writes no CommCreate
                event("mpi_collective_begin")
                event("mpi_collective_end", otf2.CollectiveOp.CREATE_HANDLE, run.world, UNKNOWN, 0, 0)
            sent, received = run.request(), run.request()
            with run.call(rank, "MPI_Startall") as event:
                event("mpi_irecv_request", received)
                event("mpi_isend", 1 - rank, unflagged[1], 0, 44, sent)
            with run.call(rank, "MPI_Waitany") as event:
                event("mpi_irecv", 1 - rank, unflagged[1], 0, 44, received)
            with run.call(rank, "MPI_Waitsome") as event:
                event("mpi_isend_complete", sent)
            with run.call(rank, "MPI_Irecv") as event:
                event("mpi_irecv_request", cancelled := run.request())
            with run.call(rank, "MPI_Cancel"):
                pass
            with run.call(rank, "MPI_Wait") as event:
                event("mpi_request_cancelled", cancelled)
            with run.call(rank, "MPI_Send") as event:
                event("mpi_send", 1 - rank, unflagged[0], 5, 12)
            with run.call(rank, "MPI_Mprobe") as event:
                event("mpi_probe", 1 - rank, unflagged[0], 5, 71)
            with run.call(rank, "MPI_Mrecv") as event:
                event("mpi_mrecv", 71, 12)
            with run.call(rank, "MPI_Probe"):
                pass
            for name in ("MPI_Win_fence", "MPI_Win_fence", "MPI_Win_get_attr", "MPI_Get_count"):
                with run.call(rank, name):
                    pass
            run.finalize(rank)
    said = convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    assert {what.split(" ")[0]: count for what, count in said.items()} == {"locations": 4, "receives": 2, "probes,": 2}
    assert folder.load(tmp_path / "trace").about.unrecorded == ["MPI_Win_fence"]
    found = calls(tmp_path / "trace", 0, "communicator", "peer", "receive_peer", "bytes", "receive_bytes", "requests")
    assert [row[0] for row in found] == [
        *("MPI_Comm_dup", "communicator", "communicator", "MPI_Irecv", "MPI_Isend", "MPI_Waitany", "MPI_Waitsome"),
        *("MPI_Wait", "MPI_Send", "MPI_Mprobe", "MPI_Mrecv", "unrecorded", "MPI_Finalize"),
    ]
    assert found[4][1] != found[8][1] and found[10] == ("MPI_Mrecv", found[8][1], -2, 1, 0, 12, 0)


def test_one_sided_calls_of_scorep(tmp_path: Path) -> None:
    """Accesses are completed beside their requests, locks are requested, and a window may be there without having
    been made."""
    with scorep(tmp_path / "scorep", 2) as run:
        define = run.to.definitions
        here, made = (define.rma_win(name, comm=run.world) for name in ("one", "other"))
        both = define.group("", group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI, members=run.locations[:1])
        memory, process = otf2.RmaSyncLevel.MEMORY, otf2.RmaSyncLevel.PROCESS
        for rank in range(2):
            run.init(rank)
            other = 1 - rank
            with run.call(rank, "MPI_Win_create") as event:
                event("rma_win_create", made)
            with run.call(rank, "MPI_Win_lock") as event:
                event("rma_request_lock", made, other, 0, otf2.LockType.EXCLUSIVE)
            with run.call(rank, "MPI_Put") as event:
                event("rma_put", made, other, 900, 1)
                event("rma_op_complete_blocking", made, 1)
            with run.call(rank, "MPI_Rget") as event:
                event("rma_get", made, other, 40, 2)
            with run.call(rank, "MPI_Put"):  # to MPI_PROC_NULL
                pass
            with run.call(rank, "MPI_Wait") as event:
                event("rma_op_complete_non_blocking", made, 2)
            with run.call(rank, "MPI_Win_unlock") as event:
                event("rma_op_complete_remote", made, 1)
                event("rma_release_lock", made, other, 0)
            with run.call(rank, "MPI_Win_fence") as event:
                event("rma_collective_begin")
                event("rma_collective_end", otf2.CollectiveOp.BARRIER, memory, here, UNKNOWN, 0, 0)
            with run.call(rank, "MPI_Fetch_and_op") as event:
                event("rma_atomic", here, other, otf2.RmaAtomicType.FETCH_AND_ADD, 8, 8, 3)
            name = "MPI_Win_start" if rank else "MPI_Win_post"
            with run.call(rank, name) as event:
                event("rma_group_sync", process, here, both)
            with run.call(rank, "MPI_Win_test"):  # false
                pass
            with run.call(rank, "MPI_Win_attach"):
                pass
            run.finalize(rank)
    convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    assert folder.load(tmp_path / "trace").about.unrecorded == []
    convert.convert(tmp_path / "trace", tmp_path / "trace.txt", {})
    second = (tmp_path / "trace.txt").read_text().partition("rank 1")[2]
    lines = [" ".join(word for word in line.split() if "_ps=" not in word) for line in second.splitlines() if line]
    assert lines == [
        "Win_create communicator=1 window=1",
        "Win_lock window=1 peer=0 flags=exclusive",
        "Put window=1 peer=0 flags=contiguous bytes=900",
        "Rget window=1 peer=0 request=1 flags=contiguous receive_bytes=40",
        "Wait requests=1",
        "Win_unlock window=1 peer=0",
        "window communicator=1 window=2",
        "Win_fence window=2",
        "Fetch_and_op window=2 peer=0 flags=contiguous bytes=8 receive_bytes=8",
        "Win_start window=2 ranks=0",
        "Test",
        "Finalize",
    ]


def test_flushes_of_scorep_without_their_window_are_reported(tmp_path: Path) -> None:
    with scorep(tmp_path / "scorep", 1) as run:
        run.to.definitions.rma_win("one", comm=run.world)
        run.init(0)
        with run.call(0, "MPI_Win_flush_all"):
            pass
        run.finalize(0)
    convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    assert folder.load(tmp_path / "trace").about.unrecorded == ["MPI_Win_flush_all"]


def test_a_locations_own_numbers_and_clock_are_the_archives(tmp_path: Path) -> None:
    """A process numbers its regions and communicators as it meets them, and says how its clock goes."""
    with scorep(tmp_path / "scorep", 2) as run:
        for rank in range(2):
            run.init(rank)
            to = run.to.event_writer_from_location(run.locations[rank])
            barrier = run.to.definitions.region("MPI_Barrier", paradigm=otf2.Paradigm.MPI)
            for kind, ref, own in ((otf2.MappingType.REGION, barrier._ref, 700), (otf2.MappingType.COMM, run.world._ref, 800)):
                table = _otf2.IdMap_Create(_otf2.ID_MAP_SPARSE, 1)
                _otf2.IdMap_AddIdPair(table, own, ref)
                _otf2.DefWriter_WriteMappingTable(to._def_handle, kind, table)
            run.computes(rank, 1_000)
            begin = run.clock[rank]
            if rank == 1:  # half as fast from its first event on
                for ns in (0, 1_000_000):
                    _otf2.DefWriter_WriteClockOffset(to._def_handle, ns, ns, 0)
            _otf2.EvtWriter_Enter(to.handle, None, begin, 700)
            to.mpi_collective_begin(begin)
            _otf2.EvtWriter_MpiCollectiveEnd(to.handle, None, begin, otf2.CollectiveOp.BARRIER, 800, UNKNOWN, 0, 0)
            _otf2.EvtWriter_Leave(to.handle, None, begin, 700)
            run.locations[rank]._number_of_events_written += 3  # that the writer does not see
            run.finalize(rank)
    convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    for rank, factor in ((0, 1), (1, 2)):
        assert calls(tmp_path / "trace", rank, "compute_ps")[0] == ("MPI_Barrier", 1_000_000 * factor)


def test_calls_of_other_threads_and_measuring_switched_off_are_reported(tmp_path: Path) -> None:
    with scorep(tmp_path / "scorep", 1) as run:
        run.init(0)
        to = run.to.event_writer_from_location(run.locations[0])
        to.measurement_on_off(run.clock[0], otf2.MeasurementMode.OFF)
        run.computes(0, 5)
        to.measurement_on_off(run.clock[0], otf2.MeasurementMode.ON)
        run.finalize(0)
        other = run.to.event_writer_from_location(run.threads)
        other.enter(7, region := run.to.definitions.region("MPI_Send", paradigm=otf2.Paradigm.MPI))
        other.leave(8, region)
    convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    about = folder.load(tmp_path / "trace").about
    assert about.unrecorded == ["MPI in several threads of a rank"]
    assert not about.complete and about.reason.startswith("measuring was switched off")


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 5, 8])
@pytest.mark.parametrize("in_place", [False, True])
def test_sums_become_the_blocks_that_they_are_of(ranks: int, in_place: bool) -> None:
    """Without attributes, as of Score-P; where a sum fits both ways it is taken as not in place, so the block here
    fits one way only."""
    flags = sizes.IN_PLACE * in_place
    for name, sent, received in (("Allgather", 8 * (not in_place), 8), ("Alltoall", 8 * (not in_place), 8), ("Reduce_scatter_block", 0, 8)):
        if in_place and 8 * (ranks - 1) % ranks == 0:
            continue
        reduction = 3 * (name in sizes.REDUCTIONS)
        call = sizes.Collective(name, 0, flags | reduction, 8, sent, received)
        assert sizes.from_totals(name, ranks, 1, UNKNOWN, *sizes.totals(call, ranks, 1), None, None) == call
    blocks = [16 * (rank + 1) for rank in range(ranks)]
    for name in ("Allgatherv", "Reduce_scatter"):
        mine = [
            sizes.Collective(name, 0, flags, 8, blocks[rank] if name == "Allgatherv" and not in_place else 0, 0, [], blocks)
            for rank in range(ranks)
        ]
        sums = [sizes.totals(call, ranks, rank) for rank, call in enumerate(mine)]
        assert sizes.from_all_totals(name, 1, UNKNOWN, sums, flags, 8) == mine[1]
    # Blocks of one size fit both ways, and flags that are known show it.
    same = sizes.Collective("Reduce_scatter", 0, flags, 8, 0, 0, [], [16] * ranks)
    sums = [sizes.totals(same, ranks, rank) for rank in range(ranks)]
    assert sizes.from_all_totals("Reduce_scatter", 1, UNKNOWN, sums, flags, 8) == same


def test_shares_of_an_alltoallv_agree_at_both_ends() -> None:
    sums = [(0, 7), (10, 0), (100, 90), (3, 16)]
    found = [sizes.from_all_totals("Alltoallv", rank, UNKNOWN, sums, None, None) for rank in range(4)]
    for rank, call in enumerate(found):
        assert call.received_by_rank == [other.sent_by_rank[rank] for other in found]
        assert sum(call.sent_by_rank) == sums[rank][0]
    assert found[2].sent_by_rank[1] == 0 and sum(found[3].received_by_rank) in range(14, 19)


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return solver(tmp_path_factory.mktemp("otf2") / "scorep")


def cut(name: str, share: float) -> Callable[[Path], None]:
    def spoil(place: Path) -> None:
        content = (place / name).read_bytes()
        (place / name).write_bytes(content[: int(len(content) * share)])

    return spoil


def behind(name: str, more: bytes) -> Callable[[Path], None]:
    def spoil(place: Path) -> None:
        (place / name).write_bytes((place / name).read_bytes() + more)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (cut("traces.otf2", 0.5), "not an archive of OTF2"),
        (lambda place: (place / "traces.otf2").write_text("hello"), "not an archive of OTF2"),
        (cut("traces.def", 0.5), "definitions"),
        (lambda place: (place / "traces.def").unlink(), "its definitions cannot be read"),
        (lambda place: (place / "traces" / "3.evt").unlink(), "the events of location 3 cannot be read"),
        (cut("traces/3.evt", 0.5), r"traces/3.evt: it ends early"),
        (behind("traces/3.evt", b"\0"), r"traces/3.evt: 1 bytes follow its end"),
        (behind("traces/3.evt", b"more"), r"traces/3.evt: 4 bytes follow its end"),
        (behind("traces/3.evt", b"\0" * (1 << 20)), r"traces/3.evt: from byte 1048576 on it is no part of an archive"),
        (behind("traces/3.def", b"\2\1"), r"traces/3.def: 2 bytes follow its end"),
        (behind("traces.def", b"more"), r"traces.def: 4 bytes follow its end"),
        (lambda place: shutil.copy(place / "traces/6.evt", place / "traces/3.evt"), "rank 1: it uses communicator 2, and is no member"),
        (cut("traces/3.evt", 0.0), "the events of location 3"),
        (lambda place: shutil.rmtree(place / "traces"), "cannot be"),
    ],
)
def test_a_damaged_archive_is_reported_and_leaves_nothing(
    whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], spoil: Callable[[Path], object], what: str
) -> None:
    place = tmp_path / "scorep"
    shutil.copytree(whole, place)
    spoil(place)
    with pytest.raises(InputError, match=what) as said:
        convert.convert(place, tmp_path / "trace", {})
    assert f"{place}/traces" in str(said.value) and "\n" not in str(said.value)
    assert [path.name for path in tmp_path.iterdir()] == ["scorep"]
    assert capfd.readouterr() == ("", "")


def test_the_end_of_a_file_of_several_chunks_is_found(tmp_path: Path) -> None:
    with otf2.writer.open(str(tmp_path / "long"), chunk_size_events=256 << 10) as to:
        machine = to.definitions.system_tree_node("machine")
        location = to.definitions.location("thread", group=to.definitions.location_group("process", system_tree_parent=machine))
        writer, region = to.event_writer_from_location(location), to.definitions.region("main")
        for ticks in range(45_000):
            writer.enter(ticks, region)
            writer.leave(ticks, region)
    (events,) = (tmp_path / "long").rglob("*.evt")
    content, chunk = events.read_bytes(), 256 << 10
    assert len(content) > 2 * chunk and len(content) % chunk > 10
    ends.check(events, chunk)
    for length in (len(content) - 1, len(content) // 2, chunk, 2 * chunk):  # two of them as whole chunks
        events.write_bytes(content[:length])
        with pytest.raises(InputError, match="it ends early"):
            ends.check(events, chunk)


def pair(place: Path, gone: bool = False, short: bool = False, twice: bool = False, other: bool = False) -> Path:
    """Three ranks in a ring; the second one has no events, ends early, or calls something else than the others."""
    operations = otf2.CollectiveOp
    with scorep(place, 3) as run:
        for rank in range(3):
            if gone and rank == 1:
                continue
            run.init(rank)
            with run.call(rank, "MPI_Sendrecv") as event:
                event("mpi_send", (rank + 1) % 3, run.world, 5 if twice and rank == 1 else 1, 60)
                event("mpi_recv", (rank - 1) % 3, run.world, 1, 60)
            if short and rank == 1:
                continue
            if other and rank == 1:
                run.collective(rank, "MPI_Bcast", operations.BCAST, run.world, 8, 8, 0)
            else:
                run.collective(rank, "MPI_Barrier", operations.BARRIER, run.world, 0, 0)
            run.finalize(rank)
    return place


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"gone": True}, r"traces.otf2: rank 1 \(location 3\) has no events: the archive is incomplete"),
        ({"twice": True}, r"traces.otf2: rank 2 waits for 1 message of rank 1 by tag 1, and none is sent: the file is incomplete"),
        ({"other": True}, r"traces.otf2: collective 1 on communicator 0 is MPI_Barrier of rank 0, but MPI_Bcast of rank 1"),
    ],
)
def test_ranks_that_do_not_fit_together_are_reported_at_once(tmp_path: Path, wrong: dict[str, bool], what: str) -> None:
    archive = pair(tmp_path / "scorep", **wrong)
    with pytest.raises(InputError, match=what):
        convert.convert(archive, tmp_path / "trace", {})
    assert [path.name for path in tmp_path.iterdir()] == ["scorep"]


def test_a_rank_that_ends_early_is_said_where_the_archive_is_read(tmp_path: Path) -> None:
    archive = pair(tmp_path / "scorep", short=True)
    ended = CliRunner().invoke(cli.app, ["trace", "convert", str(archive), str(tmp_path / "trace")])
    assert ended.exit_code == 0
    assert "Incomplete: the streams of 1 ranks, first of rank 1, end before the program" in ended.output


@pytest.mark.parametrize(
    ("text", "what"),
    [(b"EXANET::MPI", "not an archive of OTF2"), (b"Open MPI", "properties cannot be read: it has text that is not UTF-8")],
)
def test_text_that_is_not_utf8_is_reported(tmp_path: Path, text: bytes, what: str) -> None:
    archive = archive_of_open_mpi(tmp_path)
    anchor = next(archive.rglob("*.otf2")) if archive.is_dir() else archive
    assert text in anchor.read_bytes()
    anchor.write_bytes(anchor.read_bytes().replace(text, text[:3] + b"\xe9" + text[4:]))
    with pytest.raises(InputError, match=what):
        convert.convert(archive, tmp_path / "back", {})
    assert not (tmp_path / "back").exists()


def test_an_attribute_of_our_name_and_another_type_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with scorep(tmp_path / "scorep", 1) as run:
        run.init(0)
        to = run.to.event_writer_from_location(run.locations[0])
        text = run.to.definitions.attribute("exanet::inside_ps", "", otf2.Type.STRING)
        barrier = run.to.definitions.region("MPI_Barrier", paradigm=otf2.Paradigm.MPI)
        to.enter(run.clock[0], barrier)
        to.mpi_collective_begin(run.clock[0])
        to.mpi_collective_end(run.clock[0], otf2.CollectiveOp.BARRIER, run.world, UNKNOWN, 0, 0)
        to.leave(run.clock[0], barrier, attributes={text: "long"})
        run.finalize(0)
    convert.convert(tmp_path / "scorep", tmp_path / "trace", {})
    assert calls(tmp_path / "trace", 0, "inside_ps")[0] == ("MPI_Barrier", 0)
    assert capfd.readouterr() == ("", "")


def test_an_archive_without_mpi_is_reported(tmp_path: Path) -> None:
    with otf2.writer.open(str(tmp_path / "none")) as to:
        machine = to.definitions.system_tree_node("machine")
        location = to.definitions.location("thread", group=to.definitions.location_group("process", system_tree_parent=machine))
        to.event_writer_from_location(location).enter(3, to.definitions.region("main"))
    with pytest.raises(InputError, match="no communicator of MPI"):
        convert.convert(tmp_path / "none", tmp_path / "trace", {})
    with pytest.raises(InputError, match="no such file"):
        convert.convert(tmp_path / "missing.otf2", tmp_path / "trace", {})
    assert [path.name for path in tmp_path.iterdir()] == ["none"]


def test_events_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    with scorep(tmp_path / "scorep", 1) as run:
        run.init(0)
        with run.call(0, "MPI_Wait") as event:
            event("mpi_isend_complete", 99)
    with pytest.raises(InputError, match="rank 0: a call completes request 99, which none has begun"):
        convert.convert(tmp_path / "scorep", tmp_path / "trace", {})


def test_without_the_package_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path / "trace", 1, {}) as (stream,):
        stream.end()
    monkeypatch.setitem(sys.modules, "otf2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"otf2 is not installed: .*pip install '.\[otf2\]'"):
        convert.convert(tmp_path / "trace", tmp_path / "x.otf2", {})
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]
