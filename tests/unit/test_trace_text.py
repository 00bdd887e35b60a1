# SPDX-License-Identifier: Apache-2.0
"""Traces that people write as text: what is wrong with one is said of its file and line, when it is converted."""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.trace import convert, folder

HEAD = 'exanet-trace 1\nranks 2\nmpi MPICH\nrun {"program": ["x"]}\n'
FIRST = 6  # line of the first call of rank 0


def converted(tmp_path: Path, calls: str, others: str = "Finalize", head: str = HEAD) -> list[str]:
    """Messages of a conversion of two ranks' calls."""
    (tmp_path / "x.txt").write_text(f"{head}rank 0\n{calls}\nFinalize\nrank 1\n{others}\n")
    try:
        convert.convert(tmp_path / "x.txt", tmp_path / "out", {})
    except InputError as error:
        assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
        return error.messages
    return []


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("Send communicator=1 peer=4 tag=1", "peer: 4 is not from 0 to 1, the ranks that there are, or any"),
        ("Send communicator=1 peer=99999999999999999999999", "peer: 99999999999999999999999 is not from 0 to 1"),
        ("Send communicator=1 peer=-1 tag=1", "peer: '-1' is no whole number; give one from 0 to 1, or any"),
        ("Send communicator=1 peer=1 tag=2147483648", "tag: 2147483648 is not from 0 to 2147483647"),
        ("Send communicator=1 peer=1 tag=-1", "tag: '-1' is no whole number; give one from 0 to 2147483647, or any"),
        ("Send communicator=1 peer=1 tag=1 bytes=9223372036854775808", "bytes: 9223372036854775808 is not from 0 to 140737488355327"),
        ("Send compute_ps=4611686018427387904", "compute_ps: 4611686018427387904 is not from 0 to 4611686018427387903"),
        ("Irecv communicator=1 peer=1 tag=1 request=16777216", "request: 16777216 is not from 0 to 16777215"),
        ("Bcast communicator=1 root=2", "root: 2 is not from 0 to 1, the ranks that there are"),
        ("Comm_split from=1 made=3 members=0,2", "members: 2 is not from 0 to 1"),
        ("Neighbor_alltoall communicator=1 sources=3 received=1", "sources: 3 is not from 0 to 1, the ranks that there are, or none"),
        ("Iprobe communicator=1 peer=1 tag=1 found=2", "found: 2 is not from 0 to 1"),
        ("unrecorded name=MPI_\u00e9", "name: 'MPI_\u00e9' has letters that are not ASCII"),
    ],
)
def test_a_number_that_cannot_be_is_named_as_it_stands(call: str, what: str, tmp_path: Path) -> None:
    (message,) = converted(tmp_path, call)
    assert message.startswith(f"{tmp_path / 'x.txt'}:{FIRST}:1: error: {what}")


@pytest.mark.parametrize(
    ("calls", "what"),
    [
        ("Send communicator=5 peer=1 tag=1", "communicator: 5 has not been made"),
        ("Send peer=1 tag=1", "communicator: 0 has not been made; 1 is MPI_COMM_WORLD"),
        ("Barrier communicator=3", "communicator: 3 has not been made"),
        ("Comm_dup from=3 made=4 flags=world", "communicator: 3 has not been made"),
        ("Comm_split from=1 made=3 members=0,1,0", "members: rank 0 is named twice"),
        ("Comm_split from=1 made=2 members=0", "made: 2 is a communicator that there always is"),
        ("Comm_split from=1 made=3 members=1", "members: rank 0 makes the communicator and is none of its members"),
        (
            "Comm_split from=1 made=3 members=0\nBcast communicator=3 root=1",
            "root: 1 is not in the communicator, whose",
        ),
        ("Wait requests=7", "requests: 7 is none that a call before has begun"),
        ("Irecv communicator=1 peer=1 tag=0 request=1\nWait requests=1\nWait requests=1", "requests: 1 is none"),
        ("Startall requests=9", "requests: 9 is none"),
        ("Irecv communicator=1 peer=1 tag=0 request=1\nStart requests=1", "requests: 1 is not persistent"),
        ("Recv_init communicator=1 peer=1 tag=0 request=1\nStart requests=1\nStart requests=1", "requests: 1 is under way"),
        ("Recv_init communicator=1 peer=1 tag=0", "request: a persistent one has a number"),
        ("Send communicator=1 peer=1 tag=0 request=1\nWait requests=1", "requests: 1 is none"),
        ("Send communicator=1 peer=any tag=0", "peer: a message goes to one rank"),
        ("Send communicator=1 peer=1", "tag: a message is sent with one"),
        ("Sendrecv communicator=1 peer=1 receive_peer=1", "tag: a message is sent with one"),
        ("Alltoallv communicator=1 sent=8 received=8,8", "sent: 1 sizes for the 2 ranks"),
        ("Alltoallv communicator=1 received=8,8", "sent: it is missing; give a size for each of 2 ranks"),
        ("Gatherv communicator=1 flags=root bytes=8", "received: it is missing"),
        ("Neighbor_alltoall communicator=1 sources=1 received=1,2", "received: 2 sizes for 1 sources"),
        ("Win_fence window=1", "window: 1 has not been made"),
        ("Put window=2 peer=1 bytes=8", "window: 2 has not been made"),
        ("Win_allocate communicator=4 window=1", "communicator: 4 has not been made"),
        ("Win_allocate communicator=1", "window: it has a number from 1 on"),
        ("Win_allocate communicator=1 window=1\nWin_free window=1\nWin_free window=1", "window: 1 has not been made, or has been freed"),
        ("compute compute_ps=5 after=1", "after: 1 is no operation before it; 0 of its graph are"),
        ("compute\ncompute beside=2", "beside: 2 is no operation before it; 1 of its graph are"),
        ("send tag=1", "peer: it is missing"),
        ("Finalize\nSend", "it stands behind the rank's Finalize"),
    ],
)
def test_what_no_call_has_made_is_refused_where_it_is_named(calls: str, what: str, tmp_path: Path) -> None:
    (message,) = converted(tmp_path, calls)
    assert message.startswith(f"{tmp_path / 'x.txt'}:{FIRST + calls.count(chr(10))}:1: error: {what}")


def test_what_calls_have_made_may_be_named(tmp_path: Path) -> None:
    mine = """Comm_split from=1 made=3 members=0,1
Recv_init communicator=3 peer=1 tag=0 bytes=8 request=2
Start requests=2
Irecv communicator=3 peer=1 bytes=8 request=1
Waitall requests=1,2
Startall requests=2
Wait requests=2
Request_free requests=2
Irecv communicator=1 peer=any bytes=8 request=1
Cancel requests=1
Wait requests=1
Send
Alltoallv communicator=3 flags=in-place received=8,8
Gatherv communicator=1 flags=root received=8,8
Win_allocate communicator=3 window=1 bytes=8
Rput window=1 peer=1 request=1 bytes=8
Wait requests=1
Win_free window=1"""
    theirs = """Comm_split from=1 made=4 members=0,1
Send communicator=4 peer=0 tag=0 bytes=8
Send communicator=4 peer=0 tag=5 bytes=8
Send communicator=4 peer=0 tag=0 bytes=8
Alltoallv communicator=4 flags=in-place received=8,8
Gatherv communicator=1 bytes=8
Win_allocate communicator=4 window=1 bytes=8
Win_free window=1
Finalize"""
    assert converted(tmp_path, mine, theirs) == []


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        (b"exanet-trace 12\nranks 1\n", ":1:1: error: ", "'exanet-trace 12' where 'exanet-trace 1' is expected"),
        (b"exanet-trace 1\n", ":1:1: error: ", "the file ends before its line 'ranks'"),
        (b"exanet-trace 1\nranks 2\n\n", ":3:1: error: ", "the file ends before its line 'mpi'"),
        (HEAD.encode() + b"rank 0\nFinalize\n", ":6:1: error: ", "the file ends after 1 of 2 ranks; write the calls of rank 1"),
        (HEAD.encode() + b"rank 0\nrank 1\nrank 2\n", ":7:1: error: ", "ranks stand in their order, from 0 to 1; there are no more"),
        (HEAD.encode() + b"rank 0\n# caf\xe9\n", ":6:1: error: ", "the byte 0xe9 is not UTF-8"),
    ],
)
def test_a_file_that_ends_early_or_is_of_another_form(content: bytes, where: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(content)
    with pytest.raises(InputError) as said:
        convert.convert(tmp_path / "x.txt", tmp_path / "out", {})
    assert str(said.value).startswith(f"{tmp_path / 'x.txt'}{where}") and what in str(said.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", f"{HEAD}rank 0\nFinalize\nrank 1\nFinalize\n"),
        ("x.goal", "num_ranks 2\nrank 0 {\ncalc 5\n}\nrank 1 {\n}\n"),
        ("x.ti", "0 init\n0 finalize\n1 init\n1 finalize\n"),
    ],
)
def test_marks_and_ends_of_lines_of_other_editors_are_read(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    convert.convert(tmp_path / name, tmp_path / "out", {})
    assert folder.load(tmp_path / "out").about.ranks == 2


@pytest.mark.parametrize("content", [b"num_ranks 1\n// caf\xe9\nrank 0 {\n}\n", b"0 init\n# caf\xe9\n0 finalize\n"])
def test_a_line_that_is_not_utf_8_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=r"x:2:1: error: the byte 0xe9 is not UTF-8; give a "):
        convert.convert(tmp_path / "x", tmp_path / "out", {})


def test_computing_that_is_too_long_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("0 init\n0 compute 3e15\n0 compute 3e15\n0 finalize\n")
    with pytest.raises(InputError, match=r"x:3:1: error: 'compute 3e15': computing of more than 53 days"):
        convert.convert(tmp_path / "x", tmp_path / "out", {})


@pytest.mark.parametrize(
    ("sent", "received", "wrong"),
    [
        ("Send peer=1 tag=7 bytes=16", "Recv peer=0 tag=7 bytes=8", "MPI_Recv of rank 1 from rank 0 by tag 7, message 1"),
        (
            "Isend peer=1 tag=7 bytes=8 request=1\nSend peer=1 tag=3 bytes=99\nSend peer=1 tag=7 bytes=16\nWait requests=1",
            "Recv peer=0 tag=7 bytes=8\nIrecv peer=0 tag=7 bytes=8 request=1\nRecv peer=0 tag=3 bytes=99\nWait requests=1",
            "MPI_Irecv of rank 1 from rank 0 by tag 7, message 2",
        ),
        ("Sendrecv peer=1 tag=7 bytes=16", "Recv peer=0 tag=7 bytes=8", "MPI_Recv of rank 1 from rank 0 by tag 7, message 1"),
        ("Send peer=1 tag=7 bytes=16", "Recv peer=0 tag=7 bytes=16", ""),
        ("Send peer=1 tag=7 bytes=16", "Recv peer=0 tag=7", ""),  # of no size
        ("Send peer=1 tag=7 bytes=16\nSend peer=1 tag=7 bytes=8", "Recv peer=any tag=7 bytes=8\nRecv peer=0 tag=7 bytes=16", ""),
        ("Send peer=1 tag=7 bytes=16\nSend peer=1 tag=8 bytes=8", "Recv peer=0 bytes=16\nRecv peer=0 tag=8 bytes=8", ""),
    ],
)
def test_a_message_that_is_longer_than_its_receive_is_refused(sent: str, received: str, wrong: str, tmp_path: Path) -> None:
    """Where it is certain which receive takes it, and how long that is."""
    sent, received = (lines.replace("peer=", "communicator=1 peer=") for lines in (sent, received))
    found = converted(tmp_path, sent, f"{received}\nFinalize")
    assert len(found) == bool(wrong)
    if wrong:
        assert f"{tmp_path / 'x.txt'}: {wrong} of these, has space for 8 B, but 16 B are sent (MPI_ERR_TRUNCATE)" in found[0]
