# SPDX-License-Identifier: Apache-2.0
"""Collectives that interfaces may carry out, in all their forms: checks every result, and prints how many."""

import threading

import numpy as np
from mpi4py import MPI

TYPES = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
OPERATIONS = (
    (MPI.SUM, np.add),
    (MPI.MIN, np.minimum),
    (MPI.MAX, np.maximum),
    (MPI.BAND, np.bitwise_and),
    (MPI.BOR, np.bitwise_or),
    (MPI.BXOR, np.bitwise_xor),
)
checked = 0


def check(right: bool, what: object) -> None:
    global checked
    checked += 1
    assert right, what


def part(of: int, count: int, kind: type) -> np.ndarray:
    """What a rank brings: whole numbers, so that floats are exact in any order."""
    values = (np.arange(count) * 7919 + of * 104729) % 65521
    return (values - 32000 if np.dtype(kind).kind in "if" else values).astype(kind)


def reductions(comm: MPI.Intracomm) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    for kind in TYPES:
        whole = 256 // np.dtype(kind).itemsize
        for operation, numpy_operation in OPERATIONS:
            if np.dtype(kind).kind == "f" and numpy_operation.__name__.startswith("bitwise"):
                continue
            for count in (1, 3, whole, whole + 1):  # the last one is more than a unit takes
                wanted = numpy_operation.reduce([part(r, count, kind) for r in range(size)])
                out = np.zeros(count, kind)
                comm.Allreduce(part(rank, count, kind), out, operation)
                check(np.array_equal(out, wanted), ("allreduce", kind, numpy_operation, count))
        out = part(rank, 5, kind)
        comm.Allreduce(MPI.IN_PLACE, out, MPI.SUM)
        check(np.array_equal(out, sum(part(r, 5, kind) for r in range(size))), ("in place", kind))
        for root in {0, size - 1, size // 2}:
            out = np.full(4, 9, kind)
            comm.Reduce(part(rank, 4, kind), out if rank == root else None, MPI.MAX, root)
            if rank == root:
                check(np.array_equal(out, np.maximum.reduce([part(r, 4, kind) for r in range(size)])), ("reduce", kind, root))
            here = part(rank, 4, kind)
            comm.Reduce(MPI.IN_PLACE if rank == root else here, here if rank == root else None, MPI.MIN, root)
            if rank == root:
                check(np.array_equal(here, np.minimum.reduce([part(r, 4, kind) for r in range(size)])), ("reduce in place", kind, root))


def library_only(comm: MPI.Intracomm) -> None:
    """What no unit has."""
    rank, size = comm.Get_rank(), comm.Get_size()
    out = np.zeros(1, np.int16)
    comm.Allreduce(np.array([rank], np.int16), out)
    check(out[0] == size * (size - 1) // 2, "16 bits")
    pair = np.zeros(1, np.dtype([("value", np.float64), ("at", np.int32)], align=True))
    mine = np.array([(rank % 3, rank)], pair.dtype)
    comm.Allreduce([mine, MPI.DOUBLE_INT], [pair, MPI.DOUBLE_INT], MPI.MAXLOC)
    check(pair["value"][0] == min(2, size - 1) and pair["at"][0] == min(2, size - 1), "pairs")
    out = np.zeros(2)
    last = MPI.Op.Create(
        lambda a, b, kind: np.frombuffer(b, float).__setitem__(slice(None), np.frombuffer(a, float) + np.frombuffer(b, float)), commute=True
    )
    comm.Allreduce(np.array([1.0, rank]), out, last)
    check(out[0] == size and out[1] == size * (size - 1) / 2, "an operation of the program's")
    last.Free()
    comm.Allreduce(np.zeros(0), np.zeros(0))
    check(comm.allreduce(rank) == size * (size - 1) // 2, "objects")
    request = comm.Iallreduce(np.array([2.0]), out[:1])
    request.Wait()
    check(out[0] == 2 * size, "one that returns at once")


def broadcasts(comm: MPI.Intracomm) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    for root in {0, size - 1}:
        for count in (1, 2, 3, 5, 255, 256, 257):
            data = part(root, count, np.uint8) if rank == root else np.zeros(count, np.uint8)
            comm.Bcast(data, root)
            check(np.array_equal(data, part(root, count, np.uint8)), ("bcast", root, count))
        # The same bytes by other types: a column of a table at every second rank.
        table = np.zeros((6, 4), np.int32)
        column = MPI.INT.Create_vector(6, 1, 4).Commit()
        wanted = part(root, 6, np.int32)
        if rank == root:
            comm.Bcast(wanted.copy(), root)
        elif rank % 2:
            comm.Bcast([table, 1, column], root)
            check(np.array_equal(table[:, 0], wanted) and not table[:, 1:].any(), "a column")
        else:
            line = np.zeros(6, np.int32)
            comm.Bcast(line, root)
            check(np.array_equal(line, wanted), "a line")
        column.Free()


def barriers(comm: MPI.Intracomm) -> None:
    """Nobody leaves before the last has come."""
    rank, size = comm.Get_rank(), comm.Get_size()
    for late in (0, size - 1):
        if rank == late:
            end = MPI.Wtime() + 20e-6
            while MPI.Wtime() < end:
                pass
        came = MPI.Wtime()
        comm.Barrier()
        left = MPI.Wtime()
        check(comm.allreduce(left, MPI.MIN) >= comm.allreduce(came, MPI.MAX), "barrier")


def beside_messages(comm: MPI.Intracomm) -> None:
    """Long messages are under way while all reduce: they need the processor of who waits."""
    rank, size = comm.Get_rank(), comm.Get_size()
    sent, got = np.full(50_000, rank, np.int32), np.zeros(50_000, np.int32)
    requests = [comm.Irecv(got, (rank - 1) % size, 5), comm.Isend(sent, (rank + 1) % size, 5)]
    total = np.zeros(1, np.int64)
    for _ in range(3):
        comm.Allreduce(np.array([rank], np.int64), total)
    MPI.Request.Waitall(requests)
    check(total[0] == size * (size - 1) // 2 and (got == (rank - 1) % size).all(), "beside messages")


def many(world: MPI.Intracomm) -> None:
    """More communicators than a unit has trees for, of which some go and others come."""
    rank, size = world.Get_rank(), world.Get_size()
    for _ in range(2):
        comms = [world.Dup() for _ in range(20)]
        for i, comm in enumerate(comms):
            check(sum_of(comm, i + rank) == size * i + size * (size - 1) // 2, ("many", i))
        for comm in comms[::2]:
            comm.Free()
        for i, comm in enumerate(comms[1::2]):
            check(sum_of(comm, i) == size * i, ("fewer", i))
            comm.Free()


def sum_of(comm: MPI.Intracomm, value: int) -> int:
    out = np.zeros(1, np.int64)
    comm.Allreduce(np.array([value], np.int64), out)
    return int(out[0])


def threads(world: MPI.Intracomm) -> None:
    """Two threads, each with a communicator of its own."""
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        return
    size, sums = world.Get_size(), [0, 0]
    comms = [world.Dup(), world.Dup()]

    def work(which: int) -> None:
        for i in range(10):
            sums[which] += sum_of(comms[which], i + which)

    workers = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    check(sums == [45 * size, 55 * size], ("threads", sums))
    for comm in comms:
        comm.Free()


world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
half, other = world.Split(rank % 2, -rank), world.Split(rank // 3, rank)
for comm in (world, half, other, MPI.COMM_SELF):
    reductions(comm)
    library_only(comm)
    if comm.Get_size() > 1:
        broadcasts(comm)
        barriers(comm)
        beside_messages(comm)
if size > 1:
    inter = half.Create_intercomm(0, world, max(r for r in range(size) if r % 2 != rank % 2), 3)
    total = np.zeros(1, np.int64)
    inter.Allreduce(np.array([rank], np.int64), total)
    check(total[0] == sum(r for r in range(size) if r % 2 != rank % 2), "two sides")
    inter.Barrier()
    inter.Free()
many(world)
threads(world)
half.Free()
other.Free()
print(f"checked {checked}" if rank == 0 else "", end="\n" if rank == 0 else "", flush=True)
