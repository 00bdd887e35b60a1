# SPDX-License-Identifier: Apache-2.0
"""Broadcasts of all kinds, each looked at by every rank: communicators, roots, types, sizes down to nothing, errors,
threads.

Ends with "broadcasts N", how many each rank took part in.
"""

import threading

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
done = 0


def spread(comm: MPI.Intracomm, count: int, root: int, seed: int) -> None:
    """Whole numbers, from the root on."""
    global done
    data = np.arange(count, dtype="i4") * 3 + seed if comm.rank == root else np.full(count, -1, dtype="i4")
    comm.Bcast(data, root=root)
    assert (data == np.arange(count, dtype="i4") * 3 + seed).all(), (comm.rank, count, root)
    done += 1


def kinds(comm: MPI.Intracomm) -> None:
    for count in (0, 1, 7, 300, 40_000):
        for root in {0, comm.size // 2, comm.size - 1}:
            spread(comm, count, root, 17 * count + root)
    for turn in range(3 * comm.size):  # one after another, from all
        spread(comm, 5, turn % comm.size, turn)


def types(comm: MPI.Intracomm) -> None:
    """Every other double at the root, dense ones elsewhere; and a type without any bytes."""
    global done
    every_other = MPI.DOUBLE.Create_vector(50, 1, 2).Commit()
    data = np.zeros(100)
    if comm.rank == 0:
        data[::2] = np.arange(50)
        comm.Bcast([data, 1, every_other], root=0)
        assert (data[1::2] == 0).all()
    else:
        comm.Bcast([data, 50, MPI.DOUBLE], root=0)
        assert (data[:50] == np.arange(50)).all() and (data[50:] == 0).all()
    every_other.Free()
    nothing = MPI.DOUBLE.Create_contiguous(0).Commit()
    comm.Bcast([data, 3, nothing] if comm.rank == 0 else [data, 0, MPI.DOUBLE], root=0)
    nothing.Free()
    done += 2
    said = comm.bcast({"root": 1} if comm.rank == 1 % comm.size else None, root=1 % comm.size)
    assert said == {"root": 1}
    done += 2  # its size, and itself


def beside_messages(comm: MPI.Intracomm) -> None:
    """A receive for anything is open, and takes what was sent to it alone."""
    box = np.zeros(1, dtype="i4")
    request = comm.Irecv(box, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
    spread(comm, 100, 0, 1)
    spread(comm, 20_000, comm.size - 1, 2)
    assert not request.Test()
    comm.Barrier()
    comm.Send(np.array([comm.rank], dtype="i4"), (comm.rank + 1) % comm.size, 9)
    request.Wait()
    assert box[0] == (comm.rank - 1) % comm.size


def between_groups() -> None:
    """An intercommunicator: from one rank of the one half to all of the other."""
    global done
    half = world.rank % 2
    own = world.Split(half, world.rank)
    between = own.Create_intercomm(0, world, 1 - half, 5)
    data = np.full(10, 7.0 if (half, own.rank) == (0, 0) else 0.0)
    between.Bcast(data, root=(MPI.ROOT if own.rank == 0 else MPI.PROC_NULL) if half == 0 else 0)
    assert data[0] == (7 if half == 1 or own.rank == 0 else 0)
    done += 1
    between.Free()
    own.Free()


def errors() -> None:
    """A root that is none, and a buffer that is too short, where errors are returned."""
    comm = world.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        comm.Bcast(np.zeros(1), root=comm.size)
        raise AssertionError("a root that does not exist")
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_ROOT, error
    pair = comm.Split(comm.rank // 2, comm.rank)
    if pair.size == 2:
        try:
            pair.Bcast(np.zeros(80 - 40 * pair.rank), root=0)
            assert pair.rank == 0
        except MPI.Exception as error:
            assert pair.rank == 1 and error.Get_error_class() == MPI.ERR_TRUNCATE, error
    pair.Free()
    comm.Free()


def threads() -> None:
    """Two threads, each on a communicator of its own."""
    comms = [world.Dup(), world.Dup()]
    failed = []

    def work(comm: MPI.Intracomm, seed: int) -> None:
        try:
            for turn in range(6):
                data = np.full(50, seed + turn if comm.rank == turn % comm.size else 0)
                comm.Bcast(data, root=turn % comm.size)
                assert (data == seed + turn).all()
        except BaseException as error:  # reported below
            failed.append(error)

    running = [threading.Thread(target=work, args=(comm, 100 * i)) for i, comm in enumerate(comms)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failed, failed
    for comm in comms:
        comm.Free()


kinds(world)
types(world)
beside_messages(world)
between_groups()
for turn in range(30):  # communicators come and go, and their handles come again
    part = world.Split(turn % 3 == world.rank % 3, -world.rank)
    spread(part, 50 + turn, (turn * 7) % part.size, turn)
    part.Free()
kinds(world.Split(world.rank % 2, -world.rank))  # never freed
kinds(MPI.COMM_SELF)
errors()
if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
    threads()
world.Barrier()
if world.rank == 0:
    print("broadcasts", done)
