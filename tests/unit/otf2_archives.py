# SPDX-License-Identifier: Apache-2.0
"""Archives of OTF2 as Score-P writes them, and what a trace that was made of one holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import otf2

from exanet import replay
from exanet.trace import folder

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
