# SPDX-License-Identifier: Apache-2.0
"""SimGrid's time-independent traces are read as its replay understands them, and refused by file and line where they
cannot be replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exanet
from exanet.errors import InputError
from exanet.trace import convert, folder
from exanet.trace.write import Writer

RANKS = [
    "0 init\n0 compute 3000\n0 isend 1 7 100 0\n0 irecv 1 2147483647 50 1\n0 waitall\n0 allreduce 4 10 0\n0 finalize\n",
    "1 init\n1 irecv 0 7 100 0\n1 wait 0 1 7\n1 sleep 2e-6\n1 send 0 2147483647 50 1\n1 allreduce 4 10 0\n1 finalize\n",
]


def files(place: Path, texts: list[str]) -> Path:
    """As smpirun -trace-ti lays them out: a list, and a folder of files beside it."""
    (place / "smpi_simgrid.txt_files").mkdir(parents=True)
    names = [f"smpi_simgrid.txt_files/{rank}_rank-{rank}.txt" for rank in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (place / name).write_text(text)
    (place / "smpi_simgrid.txt").write_text("".join(f"{name}\n" for name in names))
    return place / "smpi_simgrid.txt"


def taken_ps(trace: Path) -> int:
    return int(exanet.replay(trace, "torus-2x2x2", mapping="round-robin").summary["virtual_ps"])


def calls(source: Path, target: Path) -> list[dict[str, Any]]:
    convert.convert(source, target, {})
    return folder.load(target).calls().to_dicts()


def test_a_list_a_folder_and_one_file_become_the_same_calls(tmp_path: Path) -> None:
    source = files(tmp_path / "ti traces", RANKS)
    one = tmp_path / "all.txt"
    one.write_text("".join(line + "\n" for pair in zip(*(text.splitlines() for text in RANKS), strict=True) for line in pair))
    found = calls(source, tmp_path / "list")
    assert calls(source.parent, tmp_path / "folder") == found == calls(one, tmp_path / "one")
    assert [(each["rank"], each["call"]) for each in found] == [
        *((0, name) for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Finalize")),
        *((1, name) for name in ("MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Allreduce", "MPI_Finalize")),
    ]
    assert [each["bytes"] for each in found if each["call"] in ("MPI_Isend", "MPI_Send")] == [100 * 8, 50 * 4]
    computed = [each["compute_ps"] for each in found]
    assert computed == [3_000_000, 0, 0, 0, 10_000, 0, 0, 2_000_000, 0, 10_000]
    assert taken_ps(tmp_path / "list") > 5_000_000


@pytest.mark.parametrize(
    ("action", "name", "sent", "received"),
    [
        ("barrier", "Barrier", [], []),
        ("bcast 10 1 0", "Bcast", [80], []),
        ("reduce 10 0 1 1", "Reduce", [40], []),
        ("allReduce 10 0 1", "Allreduce", [40], []),
        ("allToAll 3 3 1 1", "Alltoall", [12], [12]),
        ("gather 5 5 1 0 0", "Gather", [40], []),
        ("allgather 5 5 0 0", "Allgather", [40], [40]),
        ("gather 5 5 0 0 0", "Gather", [40], [40]),
        ("scatter 5 5 1 0 0", "Scatter", [], [40]),
        ("gatherv 5 5 6 0 0 0", "Gatherv", [40], [88]),
        ("allgatherv 5 5 5 0 0 5", "Allgatherv", [40], [80]),
        ("scatterv 5 6 5 0 1 1", "Scatterv", [44], [20]),
        ("reducescatter 3 4 100 0", "Reduce_scatter", [56], [24]),
        ("alltoallv 3 2 2 3 2 2 1 1", "Alltoallv", [16], [16]),
    ],
)
def test_collectives_have_their_sizes_and_are_replayed(
    action: str, name: str, sent: list[int], received: list[int], tmp_path: Path
) -> None:
    source = files(tmp_path / "ti", [f"{rank} init\n{rank} {action}\n{rank} finalize\n" for rank in range(2)])
    found = [each for each in calls(source, tmp_path / "trace") if each["call"] == f"MPI_{name}"]
    assert len(found) == 2
    assert [found[0]["bytes"]] == (sent or [0]) and [found[0]["receive_bytes"]] == (received or [0])
    assert taken_ps(tmp_path / "trace") > 0


@pytest.mark.parametrize(
    ("here", "there", "what"),
    [
        ("allreduce 1 0 0", "allreduce 2 0 0", "MPI_Allreduce, has size 8 B at rank 0, but 16 B at rank 1"),
        ("bcast 100 0 1", "bcast 500 0 1", "MPI_Bcast, has size 400 B at rank 0, but 2000 B at rank 1"),
        ("gather 10 10 1 1 1", "gather 30 30 1 1 1", "MPI_Gather, has size 40 B at rank 0, but 120 B at rank 1"),
        ("scatter 9 10 1 1 1", "scatter 30 30 1 1 1", "MPI_Scatter, has size 40 B at rank 0, but 120 B at rank 1"),
        ("reducescatter 3 4 0 0", "reducescatter 3 5 0 0", "MPI_Reduce_scatter, has size 56 B at rank 0, but 64 B at rank 1"),
        ("reduce 5 0 1 1", "reduce 5 0 0 1", "MPI_Reduce, has root 1 at rank 0, but 0 at rank 1"),
    ],
)
def test_collectives_that_differ_between_ranks_are_refused(here: str, there: str, what: str, tmp_path: Path) -> None:
    source = files(tmp_path / "ti", [f"{rank} init\n{rank} {action}\n{rank} finalize\n" for rank, action in enumerate((here, there))])
    with pytest.raises(InputError, match=f"collective 1 on communicator 0, {what}"):
        convert.convert(source, tmp_path / "trace", {})


def test_sizes_without_a_type_are_bytes_or_doubles_by_init(tmp_path: Path) -> None:
    for rest, size in (("", 10), (" 1", 80)):
        source = files(tmp_path / f"ti{size}", [f"0 init{rest}\n0 send 1 0 10\n", f"1 init{rest}\n1 recv 0 0 10\n"])
        assert calls(source, tmp_path / f"trace{size}")[0]["bytes"] == size


def test_an_exchange_is_a_message_to_each_side_by_tag_0(tmp_path: Path) -> None:
    """-333 is what SimGrid writes for any source, -666 is no rank."""
    source = files(
        tmp_path / "ti",
        [
            "0 init\n0 sendRecv 4 1 5 1 1 0\n0 sendRecv 1 1 7 -666 1 1\n0 finalize\n",
            "1 init\n1 sendRecv 5 0 4 -333 0 1\n1 recv 0 0 1 1\n1 finalize\n",
        ],
    )
    columns = ("call", "peer", "tag", "bytes", "receive_peer", "receive_tag", "receive_bytes")
    found = [tuple(each[column] for column in columns) for each in calls(source, tmp_path / "trace")]
    assert found[:2] == [("MPI_Sendrecv", 1, 0, 16, 1, 0, 40), ("MPI_Sendrecv", 1, 0, 4, -2, 0, 28)]
    assert found[3] == ("MPI_Sendrecv", 0, 0, 40, -1, 0, 16)
    assert taken_ps(tmp_path / "trace") > 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0 send 2 0 8", "rank 2 is not from 0 to 1"),
        ("0 send 1 8", "traces of SimGrid before 3.20 have no tag"),
        ("0 send 1 0 x", "'x' is no number"),
        ("0 send 1 0 -8", "-8 is not from 0 to"),
        ("0 send 1 0 nan", "nan is not from 0"),
        ("0 send 1 0 8 99", "datatype '99' is none"),
        ("0 compute 1e300", "is not from 0 to"),
        ("0 compute", "write one number"),
        ("0 bcast 8 5", "root 5 is not from 0 to 1"),
        ("0 gatherv 8 8", r"it has 2 sizes; write SENT 2 SIZES"),
        ("0 comm_split", "have no mark in this format"),
        ("0 put 1 0 8", "the action is unknown"),
        ("0 sendRecv 4 1 4", "it has 3 sizes; write SENT DESTINATION RECEIVED SOURCE"),
        ("0 sendRecv 4 -555 4 1", "rank -555 is not from 0 to 1"),
        ("1 send 0 0 8", "an action of rank 1 in the file of rank 0"),
        ("nonsense", "is no action"),
        ("0 wait 1 0", "write SOURCE DESTINATION TAG"),
    ],
)
def test_what_cannot_be_replayed_is_refused_by_file_and_line(line: str, what: str, tmp_path: Path) -> None:
    source = files(tmp_path / "ti", [f"0 init\n{line}\n0 finalize\n", "1 init\n1 finalize\n"])
    with pytest.raises(InputError, match=rf"0_rank-0\.txt:2:1: error: .*{what}"):
        convert.convert(source, tmp_path / "trace", {})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ti"]


def test_a_missing_file_and_a_rank_without_actions_are_said(tmp_path: Path) -> None:
    source = files(tmp_path / "ti", RANKS)
    (tmp_path / "ti/smpi_simgrid.txt_files/1_rank-1.txt").write_text("")
    with pytest.raises(InputError, match=r"1_rank-1\.txt: rank 1 has no actions"):
        convert.convert(source, tmp_path / "trace", {})
    (tmp_path / "ti/smpi_simgrid.txt_files/1_rank-1.txt").unlink()
    with pytest.raises(InputError, match=r"smpi_simgrid\.txt:2:1: error: no file '.*1_rank-1\.txt' beside the list"):
        convert.convert(source, tmp_path / "trace", {})


def test_each_length_of_a_file_is_read_or_refused(tmp_path: Path) -> None:
    """A file that is cut anywhere is a trace, or is refused in one message."""
    whole = "".join(RANKS)
    one = tmp_path / "all.txt"
    outcomes = set()
    for length in range(len(whole)):
        one.write_text(whole[:length])
        try:
            convert.convert(one, tmp_path / f"trace{length}", {})
            outcomes.add("read")
        except InputError as error:
            assert len(error.messages) == 1
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_what_exanet_wrote_for_simgrid_takes_the_same_time(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 4, {}) as streams:
        for rank, stream in enumerate(streams):
            for _ in range(3):
                stream.message("Irecv", (rank - 1) % 4, 9000, tag=3, request=1, compute_ps=2_000_000)
                stream.message("Isend", (rank + 1) % 4, 9000, tag=3, request=2)
                stream.wait(1, 2)
            stream.end()
    convert.convert(tmp_path / "trace", tmp_path / "out.simgrid", {})
    convert.convert(tmp_path / "out.simgrid", tmp_path / "back", {})
    assert taken_ps(tmp_path / "back") == taken_ps(tmp_path / "trace")
