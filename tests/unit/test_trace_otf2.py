# SPDX-License-Identifier: Apache-2.0
"""Traces in OTF2: what is written comes back and replays as it did, and what cannot be held is reported."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from otf2_archives import UNKNOWN, calls, streams, summary
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError
from exanet.trace import convert, folder
from exanet.trace.otf2 import sizes
from exanet.trace.write import Stream, Writer

LARGEST_TAG = 2**31 - 1
"""MPI_TAG_UB of Open MPI."""


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
    stream.message("Isend", after, 8, tag=LARGEST_TAG)  # over at once
    stream.call("Probe", 1, before + 2, LARGEST_TAG + 1, 1)
    stream.message("Recv", before, 8, tag=LARGEST_TAG)
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


def test_names_of_calls_on_files_come_back(tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 2, {}) as both:
        for stream in both:
            stream.call("unrecorded", *b"MPI_File_open")
            stream.end(compute_ps=500)
    convert.convert(tmp_path / "trace", tmp_path / "there.otf2", {})
    assert convert.convert(tmp_path / "there.otf2", tmp_path / "back", {}) == {}
    assert folder.load(tmp_path / "back").about.file_calls == ["MPI_File_open"]
    assert calls(tmp_path / "back", 0, "compute_ps") == [("unrecorded", 0), ("MPI_Finalize", 500)]


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
    for option in ([], ["--overwrite"]):
        assert CliRunner().invoke(cli.app, words + option, catch_exceptions=False).exit_code == 0
    (tmp_path / "mine.otf2").mkdir()
    (tmp_path / "mine.otf2" / "notes").touch()
    with pytest.raises(InputError, match="the folder holds other files"):
        convert.convert(tmp_path / "trace", tmp_path / "mine.otf2", {}, overwrite=True)
    with pytest.raises(InputError, match="becomes a trace, which is a folder"):
        convert.convert(tmp_path / "x.otf2", tmp_path / "x.json", {})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").touch()
    with pytest.raises(InputError, match="holds other files"):
        convert.convert(tmp_path / "x.otf2", tmp_path / "other", {}, overwrite=True)


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


def test_without_the_package_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path / "trace", 1, {}) as (stream,):
        stream.end()
    monkeypatch.setitem(sys.modules, "otf2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"otf2 is not installed: .*pip install '.\[otf2\]'"):
        convert.convert(tmp_path / "trace", tmp_path / "x.otf2", {})
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]
