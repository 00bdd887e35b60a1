# SPDX-License-Identifier: Apache-2.0
"""Point-to-point messages of all kinds and sizes between all pairs; every rank checks what it got. Ends with a line
`ok RANKS`."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size


def pattern(source: int, length: int, salt: int = 0) -> np.ndarray:
    return ((np.arange(length, dtype=np.int64) * 31 + source * 7 + salt) % 251).astype(np.uint8)


def expect(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    if not np.array_equal(found, wanted):
        raise AssertionError(f"rank {rank}: {what}: wrong data, first at {np.flatnonzero(found != wanted)[:4]}")


def ring_of_all_sizes() -> None:
    """Sizes around every limit: packet, eager, page, DMA block."""
    for length in (0, 1, 8, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1024, 4095, 4096, 4097, 65536, 1_000_003):
        got = np.zeros(length, np.uint8)
        request = world.Irecv(got, left, tag=length % 1000)
        world.Send(pattern(rank, length), right, tag=length % 1000)
        status = MPI.Status()
        request.Wait(status)
        assert status.Get_count(MPI.BYTE) == length and status.Get_source() == left
        expect(got, pattern(left, length), f"{length} bytes from the left")


def unexpected_messages_keep_their_order() -> None:
    lengths = [8, 5000, 16, 200_000, 0, 64, 33, 4096]
    requests = [world.Isend(pattern(rank, length, i), right, tag=5) for i, length in enumerate(lengths)]
    world.Barrier()
    for i, length in enumerate(lengths):
        got = np.zeros(200_000, np.uint8)
        status = MPI.Status()
        world.Recv(got, left, tag=5, status=status)
        assert status.Get_count(MPI.BYTE) == length, (i, length, status.Get_count(MPI.BYTE))
        expect(got[:length], pattern(left, length, i), f"message {i} of the burst")
    MPI.Request.Waitall(requests)


def tags_select() -> None:
    requests = [world.Isend(pattern(rank, 40, tag), right, tag=tag) for tag in range(6)]
    for tag in (3, 0, 5, 1, 4, 2):
        got = np.zeros(40, np.uint8)
        world.Recv(got, left, tag=tag)
        expect(got, pattern(left, 40, tag), f"tag {tag}")
    MPI.Request.Waitall(requests)


def any_source() -> None:
    """Everybody sends to rank 0, which answers each: 24 bytes, then 20 kB, when all of the first ones are there.

    Nobody sends on before: that message would match a receive that is meant for another rank's first one.
    """
    for length in (24, 20_000):
        if rank == 0:
            seen = set()
            for _ in range(size - 1):
                got = np.zeros(length, np.uint8)
                status = MPI.Status()
                world.Recv(got, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
                source = status.Get_source()
                assert status.Get_tag() == source + 100
                expect(got, pattern(source, length), f"any source: {source}")
                seen.add(source)
                world.Send(got[:8].copy(), source, tag=9)
            assert len(seen) == size - 1
        else:
            world.Send(pattern(rank, length), 0, tag=rank + 100)
            answer = np.zeros(8, np.uint8)
            world.Recv(answer, 0, tag=9)
            expect(answer, pattern(rank, 8), "answer")
        world.Barrier()


def synchronous_buffered_ready() -> None:
    got = np.zeros(100, np.uint8)
    request = world.Irecv(got, left, tag=1)
    world.Barrier()
    world.Ssend(pattern(rank, 100), right, tag=1)
    request.Wait()
    expect(got, pattern(left, 100), "synchronous")
    got[:] = 0
    request = world.Irecv(got, left, tag=2)
    world.Barrier()
    world.Rsend(pattern(rank, 100, 1), right, tag=2)
    request.Wait()
    expect(got, pattern(left, 100, 1), "ready")
    MPI.Attach_buffer(bytearray(10_000 + MPI.BSEND_OVERHEAD))
    world.Bsend(pattern(rank, 5000, 2), right, tag=3)
    big = np.zeros(5000, np.uint8)
    world.Recv(big, left, tag=3)
    expect(big, pattern(left, 5000, 2), "buffered")
    MPI.Detach_buffer()


def probes() -> None:
    length = 1000 + rank
    request = world.Isend(pattern(rank, length), right, tag=11)
    status = MPI.Status()
    world.Probe(left, 11, status)
    assert status.Get_count(MPI.BYTE) == 1000 + left
    message = world.Mprobe(MPI.ANY_SOURCE, 11, status)
    got = np.zeros(status.Get_count(MPI.BYTE), np.uint8)
    message.Recv(got)
    expect(got, pattern(left, 1000 + left), "matched probe")
    request.Wait()
    assert not world.Iprobe(MPI.ANY_SOURCE, 12)


def persistent() -> None:
    out, got = np.zeros(50, np.uint8), np.zeros(50, np.uint8)
    requests = [world.Send_init(out, right, 21), world.Recv_init(got, left, 21)]
    for turn in range(5):
        out[:] = pattern(rank, 50, turn)
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        expect(got, pattern(left, 50, turn), f"persistent {turn}")
    for request in requests:
        request.Free()


def cancelled_receive() -> None:
    request = world.Irecv(np.zeros(4, np.uint8), left, tag=77)
    request.Cancel()
    status = MPI.Status()
    request.Wait(status)
    assert status.Is_cancelled()


def truncation_is_an_error() -> None:
    request = world.Isend(pattern(rank, 60), right, tag=31)
    try:
        world.Recv(np.zeros(10, np.uint8), left, tag=31)
    except MPI.Exception as problem:
        assert problem.Get_error_class() == MPI.ERR_TRUNCATE
    else:
        raise AssertionError("a message longer than its buffer was accepted")
    request.Wait()


def to_oneself() -> None:
    for length in (8, 100_000):
        got = np.zeros(length, np.uint8)
        request = world.Irecv(got, rank, tag=41)
        world.Send(pattern(rank, length), rank, tag=41)
        request.Wait()
        expect(got, pattern(rank, length), "own message")


for check in (
    ring_of_all_sizes,
    unexpected_messages_keep_their_order,
    tags_select,
    any_source,
    synchronous_buffered_ready,
    probes,
    persistent,
    cancelled_receive,
    truncation_is_an_error,
    to_oneself,
):
    check()
    world.Barrier()
if rank == 0:
    print(f"ok {size}")
