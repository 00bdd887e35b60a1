# SPDX-License-Identifier: Apache-2.0
"""Archives of Score-P are read, and bad ones are reported in a line."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import _otf2
import otf2
import pytest
from otf2_archives import UNKNOWN, calls, scorep, solver, streams, summary
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError
from exanet.trace import convert, folder
from exanet.trace.otf2 import ends
from exanet.trace.otf2.archive import Archive


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
        ("MPI_Reduce_scatter", 0, 10 * ns, -2, 100, -2, 30, 0),
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
    assert "Incomplete: the streams of 1 rank, first of rank 1, end before the program" in ended.output


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
