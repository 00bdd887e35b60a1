# SPDX-License-Identifier: Apache-2.0
"""Traces of more ranks than have run: written programs on few ranks become, byte by byte, the same programs written
for many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli, replay
from exanet.errors import InputError
from exanet.trace import folder
from exanet.trace.extrapolate import extrapolate
from exanet.trace.grids import Grid, grids, larger
from exanet.trace.write import Stream, Writer

Program = Callable[[Stream, int, Grid], None]

IN_PLACE, BUILT_IN = 4, 3


def written(place: Path, program: Program, *shape: int) -> Path:
    grid = Grid(shape)
    with Writer(place, grid.ranks, {"program": ["written"]}) as streams:
        for rank, stream in enumerate(streams):
            program(stream, rank, grid)
            stream.end(700)
    return place


def streams(trace: Path) -> list[bytes]:
    return [stream.read_bytes() for stream in folder.load(trace).streams]


def neighbours(rank: int, grid: Grid, *, round_trip: bool) -> list[int | None]:
    """In each direction the one before and the one behind; None beyond the end of a grid that does not close."""
    found: list[int | None] = []
    for direction, size in enumerate(grid.shape):
        for step in (-1, 1):
            offset = tuple(step if d == direction else 0 for d in range(len(grid.shape)))
            beyond = not 0 <= grid.point(rank)[direction] + step < size
            found.append(None if beyond and not round_trip else grid.moved(rank, offset))
    return found


def halo(round_trip: bool) -> Program:
    def program(stream: Stream, rank: int, grid: Grid) -> None:
        for turn in range(3):
            requests = 0
            for side, peer in enumerate(neighbours(rank, grid, round_trip=round_trip)):
                for name, tag in (("Irecv", side ^ 1), ("Isend", side)):
                    if peer is not None:
                        requests += 1
                        stream.message(name, peer, 800 + turn, tag=tag, request=requests, compute_ps=50)
            stream.wait(*range(1, requests + 1), compute_ps=9000)
            stream.collective("Allreduce", 8, 8, element=8)

    return program


def rows_and_columns(stream: Stream, rank: int, grid: Grid) -> None:
    """A transpose in each row of a grid, a sum down each column, sizes by place, persistent and combined messages
    along the row."""
    for made, fixed in ((3, (0,)), (4, (1,))):
        members = grid.row(rank, fixed)
        stream.call("Comm_split", 1, made, 0, len(members), *members, 0)
        blocks = [40 * (1 + max(grid.place(member))) for member in members]
        stream.call("Allgatherv", made, 0, 0, 0, 8, blocks[members.index(rank)], 0, 0, len(members), *blocks)
        stream.call("Reduce", made, 0, 0, BUILT_IN, 8, 64, 0, 0, 0)
    behind, before = grid.moved(rank, (0, 1)), grid.moved(rank, (0, -1))
    stream.call("Recv_init", 1, before + 2, 6, 40, 7)
    stream.call("Send_init", 1, behind + 2, 6, 40, 8)
    stream.call("Startall", 7, 8)
    stream.wait(7, 8)
    stream.call("Sendrecv", 1, behind + 2, 1, 16, before + 2, 1, 16)
    to = {behind: 24, before: 48}
    sent = [to.get(member, 0) for member in range(grid.ranks)]
    received = [{before: 24, behind: 48}.get(member, 0) for member in range(grid.ranks)]
    stream.call("Alltoallv", 1, 0, 0, 0, 8, 0, 0, len(sent), *sent, len(received), *received)
    stream.call("Neighbor_alltoall", 1, 0, 2, before + 2, behind + 2, 2, 8, 8, 2, before + 2, behind + 2, 2, 8, 8)
    stream.call("Win_create", 1, 1, 4096)
    stream.call("Put", 1, behind + 2, 0, 1, 256, 0)
    stream.call("Win_fence", 1, 0, 0, 0)


def to_the_first(stream: Stream, rank: int, grid: Grid) -> None:
    """All send to rank 0, which receives from whom it will: as many receives as there are others."""
    if rank == 0:
        for _ in range(1, grid.ranks):
            stream.message("Recv", -1, 8)
    else:
        stream.message("Send", 0, 8)


def doubling(stream: Stream, rank: int, grid: Grid) -> None:
    step = 1
    while step < grid.ranks:
        other = rank ^ step
        stream.call("Sendrecv", 1, other + 2, 1, 8, other + 2, 1, 8)
        step *= 2


def around(stream: Stream, rank: int, grid: Grid) -> None:
    """As many steps as there are ranks."""
    for _ in range(grid.ranks):
        stream.call("Sendrecv", 1, (rank + 1) % grid.ranks + 2, 1, 8, (rank - 1) % grid.ranks + 2, 1, 8)


def transpose(stream: Stream, rank: int, grid: Grid) -> None:
    """A cube of so many points that is the same on any number of ranks."""
    block = (1 << 24) // grid.ranks**2
    stream.collective("Alltoall", block, block, element=16, compute_ps=(1 << 30) // grid.ranks)
    stream.collective("Allreduce", 8, 8, element=8)


@pytest.mark.parametrize(
    ("program", "few", "many"),
    [
        (halo(True), (5,), (17,)),
        (halo(False), (4,), (9,)),
        (halo(True), (4, 4), (8, 8)),
        (halo(False), (3, 4), (6, 8)),
        (halo(True), (3, 3, 4), (6, 6, 8)),
        (halo(False), (3, 3, 3), (4, 4, 4)),
        (halo(False), (2, 4), (2, 9)),
        (rows_and_columns, (4, 5), (8, 10)),
    ],
)
def test_a_regular_program_is_what_it_would_be(tmp_path: Path, program: Program, few: tuple[int, ...], many: tuple[int, ...]) -> None:
    source = written(tmp_path / "few", program, *few)
    wanted = written(tmp_path / "many", program, *many)
    about, said, _ = extrapolate([source], tmp_path / "made", Grid(many).ranks, "x".join(map(str, many)))
    assert said == f"{Grid(few)} as {Grid(many)}"
    assert streams(tmp_path / "made") == streams(wanted)
    assert about.run["extrapolated"]["grid"] == list(many)


def test_sizes_and_computing_follow_two_runs(tmp_path: Path) -> None:
    sources = [written(tmp_path / str(ranks), transpose, ranks) for ranks in (16, 4)]
    _, _, granted = extrapolate(sources, tmp_path / "made", 64)
    assert streams(tmp_path / "made") == streams(written(tmp_path / "64", transpose, 64))
    assert [what.partition(",")[0] for what in granted] == ["sizes follow N^-2", "computing follow N^-1"]


def groups_of_four(stream: Stream, rank: int, grid: Grid) -> None:
    """Each sends round its group, whose ranks follow each other."""
    first = rank - rank % 4
    stream.call("Sendrecv", 1, first + (rank + 1) % 4 + 2, 1, 8, first + (rank - 1) % 4 + 2, 1, 8)


def test_directions_in_which_two_runs_are_alike_stay_as_they_are(tmp_path: Path) -> None:
    sources = [written(tmp_path / str(ranks), groups_of_four, ranks // 4, 4) for ranks in (16, 12)]
    _, said, _ = extrapolate(sources, tmp_path / "made", 64)
    assert said == "4 x 4 and 3 x 4 as 16 x 4"
    assert streams(tmp_path / "made") == streams(written(tmp_path / "64", groups_of_four, 16, 4))
    with pytest.raises(InputError, match="nothing shows what becomes of a direction in which they are alike; give other ranks, or --grid"):
        extrapolate(sources, tmp_path / "none", 25)


def test_what_no_second_rank_has_borne_out_is_said(tmp_path: Path) -> None:
    _, _, granted = extrapolate([written(tmp_path / "three", halo(True), 3, 3)], tmp_path / "made", 36)
    assert "in 5 of 9 places of the grid there was one rank alone" in granted[1]
    _, _, granted = extrapolate([written(tmp_path / "four", halo(True), 4, 4)], tmp_path / "larger", 64)
    assert len(granted) == 1


@pytest.mark.parametrize(
    ("program", "ranks", "what"),
    [
        (to_the_first, 8, "as 16 ranks: 8 messages are sent to rank 0 whose other end lies outside; its pattern is not regular"),
        (doubling, 16, "its ranks are no grid on which those of one place make the same calls"),
    ],
)
def test_what_is_not_regular_is_refused_and_leaves_nothing(tmp_path: Path, program: Program, ranks: int, what: str) -> None:
    source = written(tmp_path / "few", program, ranks)
    with pytest.raises(InputError, match=what):
        extrapolate([source], tmp_path / "made", 2 * ranks)
    assert [file.name for file in tmp_path.iterdir()] == ["few"]


def test_what_grows_with_the_ranks_is_seen_by_a_second_run(tmp_path: Path) -> None:
    sources = [written(tmp_path / str(ranks), around, ranks) for ranks in (4, 8)]
    with pytest.raises(
        InputError, match="call 5 of the ranks that correspond to rank 0 is MPI_Sendrecv and MPI_Finalize: what a rank calls depends"
    ):
        extrapolate(sources, tmp_path / "made", 32)


def test_sizes_by_rank_that_go_to_others_in_a_second_run_are_refused(tmp_path: Path) -> None:
    """In the smaller run each sends to its neighbours alone, in the larger one to all."""

    def program(stream: Stream, rank: int, grid: Grid) -> None:
        near = {grid.moved(rank, (step,)) for step in (-1, 1)}
        sizes = [8 if grid.ranks > 8 or other in near else 0 for other in range(grid.ranks)]
        stream.call("Alltoallv", 1, 0, 0, 0, 8, 0, 0, len(sizes), *sizes, len(sizes), *sizes)

    sources = [written(tmp_path / str(ranks), program, ranks) for ranks in (8, 16)]
    with pytest.raises(InputError, match="call 1 of the ranks that correspond to rank 0 is MPI_Alltoallv with sent to or from others"):
        extrapolate(sources, tmp_path / "made", 32)


def test_wrong_options_are_one_message(tmp_path: Path) -> None:
    source = written(tmp_path / "few", halo(True), 4, 4)
    for ranks, shape, what in (
        (16, None, "few has 16; give more, up to 4194304"),
        (1 << 23, None, "few has 16; give more, up to 4194304"),
        (17, None, "of a grid 4 x 4 only directions of three ranks and more become longer"),
        (64, "4x4x4", "give one of 2 directions and 64 ranks"),
        (64, "8x9", "give one of 2 directions and 64 ranks"),
        (64, "2x32", "becomes none of 2 x 32"),
        (64, "8 x 8", "give numbers of ranks, as 8x8"),
    ):
        with pytest.raises(InputError, match=what):
            extrapolate([source], tmp_path / "made", ranks, shape)
    with pytest.raises(InputError, match="give runs of different numbers of ranks"):
        extrapolate([source, source], tmp_path / "made", 64)
    with pytest.raises(InputError, match="that is a trace to read"):
        extrapolate([source], source, 64)
    with pytest.raises(InputError, match=r"inside .*few, a trace to read"):
        extrapolate([source], source / "more", 64)


def test_the_command_and_the_replay_say_what_it_is(tmp_path: Path) -> None:
    written(tmp_path / "few", halo(True), 4, 4)
    done = CliRunner().invoke(cli.app, ["trace", "extrapolate", str(tmp_path / "few"), "-n", "64", "-o", str(tmp_path / "many")])
    assert done.exit_code == 0
    assert "of 64 ranks" in done.output and "extrapolated, a grid of 4 x 4 as 8 x 8" in done.output and "Taken for granted" in done.output
    found, meta = replay.replay(replay.Options((tmp_path / "many",), "torus-512", mapping="round-robin"))
    assert found["summary"]["messages"] >= 64 * 4 * 3
    assert meta["notes"] == [f"{tmp_path / 'many'}: its 64 ranks are extrapolated from runs of 16; no program of so many has run"]


def test_grids() -> None:
    assert [grid.shape for grid in grids(12)][:3] == [(12,), (2, 6), (3, 4)]
    assert larger(Grid((4, 4)), 32) == Grid((8, 4))
    assert larger(Grid((4, 2)), 16) == Grid((8, 2))
    assert larger(Grid((4, 4)), 17) is None
    grid = Grid((3, 4))
    assert [grid.rank(grid.point(rank)) for rank in range(12)] == list(range(12))
    assert all(grid.moved(one, grid.offset(one, other)) == other for one in range(12) for other in range(12))
