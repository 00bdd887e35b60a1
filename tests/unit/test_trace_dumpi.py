# SPDX-License-Identifier: Apache-2.0
"""DUMPI traces are read as the description of their files says, without SST's library, and refused by file and byte
where they are damaged or cannot be replayed. The files are made here, by that description."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

import exanet
from exanet.errors import InputError
from exanet.trace import convert, folder

MAGIC = bytes.fromhex("ffaadd44554d5049")
NUMBERS = {
    "Send": 0, "Recv": 1, "Isend": 8, "Irecv": 12, "Wait": 13, "Test": 14, "Waitany": 16, "Waitall": 18, "Testall": 19, "Waitsome": 20,
    "Iprobe": 22, "Probe": 23, "Send_init": 26, "Recv_init": 30, "Start": 31, "Startall": 32, "Sendrecv": 33, "Sendrecv_replace": 34,
    "Type_contiguous": 35, "Type_vector": 36, "Type_struct": 40, "Barrier": 52, "Bcast": 53, "Gather": 54, "Gatherv": 55, "Scatter": 56,
    "Scatterv": 57, "Allgather": 58, "Allgatherv": 59, "Alltoall": 60, "Alltoallv": 61, "Reduce": 62, "Op_create": 63, "Allreduce": 65,
    "Reduce_scatter": 66, "Scan": 67, "Comm_group": 72, "Group_incl": 76, "Group_range_excl": 79, "Comm_size": 81, "Comm_rank": 82,
    "Comm_dup": 84, "Comm_create": 85, "Comm_split": 86, "Intercomm_create": 91, "Cart_create": 99, "Cart_sub": 111,
    "Init": 124, "Finalize": 125, "Put": 143, "Alltoallw": 155, "Exscan": 156, "File_open": 230,
}  # fmt: skip
CALLS, END = 290, 293
INT, DOUBLE, WORLD = 9, 14, 2
Value = int | tuple[str, Any]


def i(value: int) -> bytes:
    return struct.pack(">i", value)


def w(value: int) -> bytes:
    return struct.pack(">H", value)


def b(value: int) -> bytes:
    return struct.pack(">B", value)


def ints(*values: int) -> bytes:
    return b"".join(map(i, (len(values), *values)))


NO_STATUS = i(0)
STATUS = i(1) + i(8) + i(0) + b(0) * 2 + i(5)


class File:
    """The file of a rank. Each call takes a microsecond, and the rank computes for two between them."""

    def __init__(self, mask: int = 0x4F) -> None:
        self.mask, self.us, self.body, self.counts = mask, 0, bytearray(i(0) * 2), [0] * (CALLS + 1)

    def call(self, name: str, *fields: bytes, thread: int = 0) -> File:
        times = b"".join(w(us // 10**6 % 65536) + i(us % 10**6 * 1000) for us in (self.us, self.us + 1))
        self.us += 3
        self.body += w(NUMBERS[name]) + b(self.mask) + (w(thread) if self.mask & 64 else b"")
        self.body += times * ((self.mask >> 2 & 1) + (self.mask >> 3 & 1)) + b"".join(fields)
        self.counts[NUMBERS[name]] += 1
        return self

    def bytes(self, version: tuple[int, int, int] = (1, 0, 0), sizes: tuple[int, ...] = ()) -> bytes:
        out = bytearray(MAGIC + self.body + w(END))
        header = len(out)
        out += bytes(version) + bytes(8) + w(4) + b"host" + w(4) + b"user" + i(0) * 2
        footer = len(out)
        out += struct.pack(">Q", 0xF007FEE7) + b"".join(map(i, (*self.counts, *[0] * (CALLS + 1))))
        at = len(out)
        out += ints(*sizes)
        return bytes(out + MAGIC + struct.pack(">7Q", at if sizes else 0, 0, 0, header, len(MAGIC), footer, 0))


def begun(mask: int = 0x4F) -> File:
    return File(mask).call("Init", i(1), i(4), b"prog")


def trace(place: Path, *files: File | bytes) -> Path:
    place.mkdir(parents=True)
    for rank, file in enumerate(files):
        (place / f"dumpi-1-{rank:04}.bin").write_bytes(file if isinstance(file, bytes) else file.bytes())
    (place / "dumpi-1.meta").write_text(f"hostname=x\nnumprocs={len(files)}\nfileprefix=dumpi-1\nversion=1\n")
    return place / "dumpi-1.meta"


def calls(source: Path, target: Path) -> list[dict[str, Any]]:
    assert convert.convert(source, target, {}) == {}
    return folder.load(target).calls().to_dicts()


def pair() -> tuple[File, File]:
    first = begun().call("Comm_size", w(WORLD), i(2)).call("Isend", i(100), w(DOUBLE), i(1), i(7), w(WORLD), i(2))
    first.call("Irecv", i(10), w(INT), i(-1), i(-1), w(WORLD), i(3)).call("Waitall", i(2), ints(2, 3), NO_STATUS)
    first.call("Allreduce", i(4), w(DOUBLE), b(3), w(WORLD)).call("Finalize")
    second = begun().call("Recv", i(100), w(DOUBLE), i(0), i(7), w(WORLD), STATUS).call("Send", i(10), w(INT), i(0), i(8), w(WORLD))
    return first, second.call("Allreduce", i(4), w(DOUBLE), b(3), w(WORLD)).call("Finalize")


def test_a_meta_file_a_folder_and_the_file_of_a_rank_become_the_same_calls(tmp_path: Path) -> None:
    source = trace(tmp_path / "given", *pair())
    found = calls(source, tmp_path / "a")
    assert found == calls(source.parent, tmp_path / "b") == calls(source.parent / "dumpi-1-0001.bin", tmp_path / "c")
    assert [(each["rank"], each["call"], each["bytes"]) for each in found] == [
        (0, "MPI_Isend", 800), (0, "MPI_Irecv", 0), (0, "MPI_Waitall", 0), (0, "MPI_Allreduce", 32), (0, "MPI_Finalize", 0),
        (1, "MPI_Recv", 0), (1, "MPI_Send", 40), (1, "MPI_Allreduce", 32), (1, "MPI_Finalize", 0),
    ]  # fmt: skip
    # two microseconds before each call, and three for a local call
    assert [each["compute_ps"] for each in found] == [5 * 10**6, *[2 * 10**6] * 4, *[2 * 10**6] * 4]
    assert int(exanet.replay(tmp_path / "a", "torus-2x2x2", mapping="round-robin").summary["virtual_ps"]) > 13 * 10**6


@pytest.mark.parametrize("mask", [0x40, 0x44, 0x48, 0x0C, 0x03 | 0x4C])
def test_clocks_threads_and_statuses_are_there_as_the_mask_says(mask: int, tmp_path: Path) -> None:
    status = (STATUS,) if mask & 3 else ()
    file = begun(mask).call("Send", i(1), w(INT), i(0), i(5), w(WORLD)).call("Recv", i(1), w(INT), i(0), i(5), w(WORLD), *status)
    left_out = convert.convert(trace(tmp_path / "given", file.call("Finalize")), tmp_path / "trace", {})
    assert left_out == ({} if mask & 12 else {"computing, where the trace has no clock": 4})
    computed = folder.load(tmp_path / "trace").calls()["compute_ps"].to_list()
    assert computed == [2 * 10**6 if mask & 12 else 0] * 3


def test_seconds_begin_again_after_eighteen_hours(tmp_path: Path) -> None:
    file = begun()
    for hours in range(1, 30):
        file.us = hours * 3600 * 10**6
        file.call("Barrier", w(WORLD))
    found = calls(trace(tmp_path / "given", file.call("Finalize")), tmp_path / "trace")
    assert {each["compute_ps"] for each in found[1:-1]} == {(3600 * 10**6 - 1) * 10**6}


COLLECTIVES = [
    ("Barrier", [w(WORLD)] * 2, [], []),
    ("Bcast", [i(3) + w(DOUBLE) + i(1) + w(WORLD)] * 2, [24], []),
    ("Reduce", [i(3) + w(DOUBLE) + b(3) + i(1) + w(WORLD)] * 2, [24], []),
    ("Scan", [i(3) + w(INT) + b(3) + w(WORLD)] * 2, [12], []),
    ("Exscan", [i(3) + w(INT) + b(20) + w(WORLD)] * 2, [12], []),
    ("Allgather", [i(3) + w(INT) + i(3) + w(INT) + w(WORLD)] * 2, [12], [12]),
    ("Alltoall", [i(3) + w(INT) + i(3) + w(INT) + w(WORLD)] * 2, [12], [12]),
    ("Gather", [i(0) + i(5) + w(INT) + i(0) + w(WORLD) + i(5) + w(INT), i(1) + i(5) + w(INT) + i(0) + w(WORLD)], [20], [20]),
    ("Scatter", [i(0) + i(5) + w(INT) + i(0) + w(WORLD) + i(5) + w(INT), i(1) + i(5) + w(INT) + i(0) + w(WORLD)], [20], [20]),
    ("Gatherv", [i(0) + i(2) + i(5) + w(INT) + i(0) + w(WORLD) + ints(5, 6) + ints(0, 5) + w(INT),
                 i(1) + i(2) + i(6) + w(INT) + i(0) + w(WORLD) + w(INT)], [20], [44]),
    ("Scatterv", [i(0) + i(2) + w(INT) + i(5) + w(INT) + i(0) + w(WORLD) + ints(5, 6) + ints(0, 5),
                  i(1) + i(2) + w(INT) + i(6) + w(INT) + i(0) + w(WORLD)], [44], [20]),
    ("Allgatherv", [i(2) + i(n) + w(INT) + ints(5, 6) + ints(0, 5) + w(INT) + w(WORLD) for n in (5, 6)], [20], [44]),
    ("Alltoallv", [i(2) + ints(1, 2) + ints(0, 1) + w(INT) + ints(1, 2) + ints(0, 1) + w(INT) + w(WORLD)] * 2, [12], [12]),
    ("Alltoallw", [i(2) + ints(1, 2) + ints(0, 1) + i(2) + w(INT) + w(DOUBLE) + ints(1, 2) + ints(0, 1) + i(2) + w(INT) + w(DOUBLE)
                   + w(WORLD)] * 2, [20], [20]),
    ("Reduce_scatter", [i(2) + ints(3, 4) + w(INT) + b(3) + w(WORLD)] * 2, [28], [12]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "sent", "received"), COLLECTIVES)
def test_collectives_have_their_sizes_and_are_replayed(
    name: str, fields: list[bytes], sent: list[int], received: list[int], tmp_path: Path
) -> None:
    files = [begun().call("Op_create", i(1), b(20)).call(name, each).call("Finalize") for each in fields]
    if name == "Alltoallv":  # what a rank sends is what the other one receives
        files[1] = (
            begun().call(name, i(2) + ints(2, 1) + ints(0, 2) + w(INT) + ints(2, 1) + ints(0, 2) + w(INT) + w(WORLD)).call("Finalize")
        )
        fields[1] = b""
    found = [each for each in calls(trace(tmp_path / "given", *files), tmp_path / "trace") if each["call"] == f"MPI_{name}"]
    assert len(found) == 2
    assert (found[0]["bytes"], found[0]["receive_bytes"]) == (sum(sent), sum(received))
    exanet.replay(tmp_path / "trace", "torus-2x2x2")


def test_requests_are_those_that_a_call_completes(tmp_path: Path) -> None:
    file = begun()
    for request in (2, 3, 4, 5):
        file.call("Isend", i(1), w(INT), i(0), i(request), w(WORLD), i(request))
    for request in (6, 7, 8, 9):
        file.call("Irecv", i(1), w(INT), i(0), i(request - 4), w(WORLD), i(request))
    file.call("Test", i(2), i(0), NO_STATUS).call("Waitany", i(3), ints(1, 3, 2), i(1), STATUS)
    file.call("Testall", i(2), ints(2, 4), i(0), NO_STATUS).call("Waitsome", i(3), ints(2, 1, 4), i(2), ints(0, 2), NO_STATUS)
    file.call("Wait", i(5), STATUS).call("Waitall", i(4), ints(6, 7, 8, 9), NO_STATUS).call("Iprobe", i(0), i(1), w(WORLD), i(0), NO_STATUS)
    found = calls(trace(tmp_path / "given", file.call("Finalize")), tmp_path / "trace")
    assert [each["requests"] for each in found][8:14] == [0, 1, 0, 2, 1, 4]
    convert.convert(tmp_path / "trace", tmp_path / "trace.txt", {})
    text = (tmp_path / "trace.txt").read_text()
    assert [line.split("requests=")[1] for line in text.splitlines() if "requests=" in line] == ["3", "2,4", "5", "6,7,8,9"]
    exanet.replay(tmp_path / "trace", "torus-2x2x2")


@pytest.mark.parametrize("request_number", [3, 2])
def test_requests_that_no_call_in_the_file_has_begun_are_refused(request_number: int, tmp_path: Path) -> None:
    """Of collectives, which libdumpi leaves out; or whose message is over."""
    file = begun().call("Isend", i(1), w(INT), i(0), i(5), w(WORLD), i(2)).call("Wait", i(2), STATUS)
    file.call("Waitall", i(1), ints(request_number), NO_STATUS).call("Finalize")
    with pytest.raises(InputError, match=f"MPI_Waitall: request {request_number}, which no call in the file has begun; libdumpi"):
        convert.convert(trace(tmp_path / "given", file), tmp_path / "trace", {})


def test_communicators_of_splits_groups_and_grids_have_their_members(tmp_path: Path) -> None:
    """The first message in each goes from its rank 0 to its rank 1."""
    files = []
    for rank in range(6):
        file = begun().call("Comm_split", w(WORLD), i(rank % 2), i(-rank), w(4))
        file.call("Cart_create", w(WORLD), i(2), ints(2, 3), ints(0, 0), i(0), w(5)).call("Cart_sub", i(2), w(5), ints(0, 1), w(6))
        file.call("Comm_group", w(WORLD), w(3)).call("Group_range_excl", w(3), i(1), i(1) + ints(0, 4, 2), w(4))
        file.call("Comm_create", w(WORLD), w(4), w(7 if rank in (1, 3, 5) else 1)).call("Comm_dup", w(4), w(8))
        mine = {4: [4, 2, 0] if rank % 2 == 0 else [5, 3, 1], 6: [0, 1, 2] if rank < 3 else [3, 4, 5], 7: [1, 3, 5]}
        for number, members in (*mine.items(), (8, mine[4])):
            if rank == members[0]:
                file.call("Send", i(1), w(INT), i(1), i(number), w(number))
            elif rank == members[1]:
                file.call("Recv", i(1), w(INT), i(0), i(number), w(number), NO_STATUS)
            if rank in members:
                file.call("Barrier", w(number))
        files.append(file.call("Finalize"))
    found = calls(trace(tmp_path / "given", *files), tmp_path / "trace")
    sends = [(each["rank"], each["peer"]) for each in found if each["call"] == "MPI_Send"]
    assert sorted(sends) == [(0, 1), (1, 3), (3, 4), (4, 2), (4, 2), (5, 3), (5, 3)]
    exanet.replay(tmp_path / "trace", "torus-2x2x2", mapping="round-robin")


def test_datatypes_have_the_sizes_that_the_file_says_or_that_their_calls_make(tmp_path: Path) -> None:
    file = begun().call("Type_vector", i(3), i(2), i(9), w(INT), w(28)).call("Type_contiguous", i(2), w(28), w(29))
    file.call("Type_struct", i(2), ints(1, 2), ints(0, 8), i(2) + w(DOUBLE) + w(29), w(30))
    file.call("Send", i(2), w(30), i(0), i(5), w(WORLD)).call("Recv", i(2), w(30), i(0), i(5), w(WORLD), NO_STATUS).call("Finalize")
    found = calls(trace(tmp_path / "made", file), tmp_path / "a")
    assert found[0]["bytes"] == 2 * (8 + 2 * 2 * 3 * 2 * 4)
    said = trace(tmp_path / "said", file.bytes(sizes=(*[0] * 30, 77)))
    assert calls(said, tmp_path / "b")[0]["bytes"] == 154


ENDS = begun().call("Finalize")
REFUSED = [
    (begun().call("Put", bytes(22)), "byte 57: MPI_Put is not read"),
    (begun().call("File_open", bytes(30)), "byte 57: MPI_File_open is not read"),
    (begun().call("Barrier", w(9)), "MPI_Barrier: communicator 9, which no call"),
    (begun().call("Barrier", w(WORLD), thread=1), "a call of a second thread"),
    (begun().call("Bcast", i(1), w(INT), i(7), w(WORLD)), "MPI_Bcast: root 7 of a communicator of 1"),
    (begun().call("Send", i(-1), w(INT), i(0), i(0), w(WORLD)), "MPI_Send: a count of -1"),
    (begun().call("Send", i(1), w(99), i(0), i(0), w(WORLD)), "datatype 99, of which the trace has no size"),
    (begun().call("Send", i(1), w(INT), i(3), i(0), w(WORLD)), "MPI_Send: rank 3 of a communicator of 1"),
    (begun().call("Finalize").call("Barrier", w(WORLD)), "MPI_Barrier behind MPI_Finalize"),
    (ENDS.bytes(version=(0, 6, 6)), "version 0.6.6; 0.6.7 and later are read"),
    (ENDS.bytes()[:-1], "no index where it should be"),
    (ENDS.bytes() + b"\0", "no index where it should be"),
    (MAGIC, "no index where it should be"),
    (b"something else", "it does not begin as a DUMPI trace does"),
]


@pytest.mark.parametrize(("file", "what"), REFUSED)
def test_what_cannot_be_read_is_refused_by_file_and_byte(file: File | bytes, what: str, tmp_path: Path) -> None:
    source = trace(tmp_path / "given", file)
    with pytest.raises(InputError, match=r"dumpi-1-0000\.bin: byte \d+: ") as said:
        convert.convert(source, tmp_path / "trace", {})
    assert what in said.value.messages[0] and len(said.value.messages) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["given"]


def test_a_missing_rank_and_one_that_makes_no_communicator_are_named(tmp_path: Path) -> None:
    source = trace(tmp_path / "given", *pair())
    (source.parent / "dumpi-1-0001.bin").unlink()
    with pytest.raises(InputError, match=r"it has 2 ranks, and there is no dumpi-1-0001\.bin beside it for rank 1"):
        convert.convert(source, tmp_path / "trace", {})
    alone = trace(tmp_path / "alone", begun().call("Comm_dup", w(WORLD), w(4)).call("Finalize"), ENDS)
    with pytest.raises(InputError, match=r"dumpi-1-0000\.bin: byte 57: MPI_Comm_dup is not called by all members"):
        convert.convert(alone, tmp_path / "trace", {})
    (source.parent / "dumpi-1.meta").unlink()
    with pytest.raises(InputError, match=r"without its \.meta file"):
        convert.convert(source.parent / "dumpi-1-0000.bin", tmp_path / "trace", {})


def test_a_damaged_file_is_refused_or_read_and_never_ends_otherwise(tmp_path: Path) -> None:
    """A call's number is seen by the footer, a length at the end, and a collective's size beside another rank's."""
    first, second = (file.bytes() for file in pair())
    draw = random.Random(46013)
    refused = 0
    for run in range(120):
        damaged = bytearray(first)
        damaged[draw.randrange(8, len(pair()[0].body) + 8)] ^= 1 << draw.randrange(8)
        source = trace(tmp_path / f"given{run}", bytes(damaged), second)
        try:
            convert.convert(source, tmp_path / f"trace{run}", {})
        except InputError as error:
            refused += 1
            assert len(error.messages) == 1 and "dumpi-1" in error.messages[0], error.messages
    assert refused > 20
