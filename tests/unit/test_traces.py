# SPDX-License-Identifier: Apache-2.0
"""Traces: what is said of bad ones, what is counted of good ones, and that a replay leaves a run's folder."""

from __future__ import annotations

import errno
import importlib.util
import json
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from browser import charts, in_browser, needs_browser
from earlier_trace import without_checksums
from typer.testing import CliRunner

import exanet
from exanet import cli
from exanet.errors import InputError
from exanet.trace import convert, folder, parts, statistics, tables
from exanet.trace.rules import choices
from exanet.trace.write import Writer

SEND, RECV, WAIT, ALLREDUCE, FINALIZE, COMMUNICATOR, UNRECORDED = 1, 13, 22, 52, 100, 101, 102  # spec/trace.yaml
WORLD = 1


def varint(value: int) -> bytes:
    found = b""
    while value >= 128:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def call(code: int, *fields: int, compute_ps: int = 0, took_ps: int = 0) -> bytes:
    body = b"".join(varint(field) for field in (compute_ps, 0, took_ps, *fields))
    return bytes([code]) + varint(len(body)) + body


def message(code: int, peer: int, size: int, tag: int = 5) -> bytes:
    return call(code, WORLD, peer + 2, tag + 1, size, 0, took_ps=1000)


def header(rank: int, ranks: int, version: int = 1) -> bytes:
    return struct.pack("<8sIIIIQ", b"EXNTRACE", version, 1, rank, ranks, 0)


def write(directory: Path, streams: Sequence[bytes], version: int = 1) -> Path:
    """The folder of a trace with these records by rank."""
    directory.mkdir(exist_ok=True)
    for rank, records in enumerate(streams):
        folder.stream(directory, rank).write_bytes(header(rank, len(streams), version) + records)
    return directory


PING = [
    call(ALLREDUCE, WORLD, 0, 0, 3, 8, 8, 0, 0, 0) + message(SEND, 1, 100) + message(RECV, 1, 100) + call(FINALIZE, compute_ps=500),
    call(ALLREDUCE, WORLD, 0, 0, 3, 8, 8, 0, 0, 0) + message(RECV, 0, 100) + message(SEND, 0, 100) + call(FINALIZE),
]


@pytest.fixture
def ping(tmp_path: Path) -> Path:
    trace = write(tmp_path / "ping", PING)
    folder.finish(trace, 2, {"program": ["ping"]})
    return trace


def refused(trace: Path, *more: str) -> str:
    """Words of `exanet replay`."""
    with pytest.raises(InputError) as said:
        CliRunner().invoke(cli.app, ["replay", str(trace), "-m", "exanest", "-q", *more], catch_exceptions=False)
    return str(said.value)


def test_a_replay_leaves_the_folder_of_a_run(ping: Path, tmp_path: Path) -> None:
    words = ["replay", str(ping), "-m", "exanest", "-q", "--map", "round-robin", "-o", str(tmp_path / "result")]
    for _ in range(2):
        assert CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code == 0
    summary = json.loads((tmp_path / "result" / "summary.json").read_text())
    assert summary["messages"] == 2 + 2
    assert summary["run"]["program"] == ["ping"]
    calls = pl.read_parquet(tmp_path / "result" / "mpi_calls.parquet")
    assert set(calls["call"]) == {"MPI_Allreduce", "MPI_Send", "MPI_Recv", "MPI_Finalize"}
    assert (tmp_path / "result" / "report.html").exists()
    first = (tmp_path / "result" / "summary.json").read_bytes()
    CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert (tmp_path / "result" / "summary.json").read_bytes() == first


def test_bytes_of_a_collective_are_what_each_rank_gives_and_gets(tmp_path: Path) -> None:
    """A record may also have sizes that mean nothing at its rank."""
    with Writer(tmp_path / "trace", 2, {}) as streams:
        for stream in streams:
            stream.call("Reduce_scatter", WORLD, 0, 0, 3, 4, 0, 0, 0, 2, 12, 20)
            stream.call("Ireduce_scatter_block", WORLD, 0, 1, 3, 4, 0, 16, 0, 0)
            stream.wait(1)
            for name in ("Scatter", "Gather"):
                stream.call(name, WORLD, 1, 0, 0, 4, 40, 48, 0, 0)
            stream.call("Allreduce", WORLD, 0, 0, 3, 4, 8, 0, 0, 0)
            stream.end()
    trace = folder.load(tmp_path / "trace")
    found = trace.calls().filter(pl.col("bytes") + pl.col("receive_bytes") > 0).select("rank", "call", "bytes", "receive_bytes", "root")
    assert found.rows() == [
        (0, "MPI_Reduce_scatter", 32, 12, -1), (0, "MPI_Ireduce_scatter_block", 32, 16, -1),
        (0, "MPI_Scatter", 0, 48, 1), (0, "MPI_Gather", 40, 0, 1), (0, "MPI_Allreduce", 8, 0, -1),
        (1, "MPI_Reduce_scatter", 32, 20, -1), (1, "MPI_Ireduce_scatter_block", 32, 16, -1),
        (1, "MPI_Scatter", 40, 48, 1), (1, "MPI_Gather", 40, 48, 1), (1, "MPI_Allreduce", 8, 0, -1),
    ]  # fmt: skip
    assert next(tables.lines(trace, 1, 1, 1)).endswith("MPI_Reduce_scatter  sends 32 B; receives 20 B")
    by_call = {row["call"]: row["bytes"] for row in statistics.statistics(trace)["by_call"].to_dicts()}
    assert (by_call["MPI_Reduce_scatter"], by_call["MPI_Scatter"]) == (64, 40)


def test_figures_of_a_trace(ping: Path, tmp_path: Path) -> None:
    found = statistics.statistics(folder.load(ping))
    assert found["by_call"].filter(pl.col("call") == "MPI_Send").row(0) == ("MPI_Send", 2, 200, 2000)
    assert found["by_size"].to_dicts() == [{"lower_bytes": 65, "messages": 2, "bytes": 200}]
    assert found["matrix"].rows() == [(0, 1, 1, 100), (1, 0, 1, 100)]
    assert found["by_rank"]["compute_ps"].to_list() == [500, 0]
    # Fifty parts of 50 ps; what begins at the end is in the last one.
    assert found["phases"].rows() == [
        (0, 50, "MPI_Allreduce", 2, 16, 0),
        (0, 50, "MPI_Recv", 1, 0, 1000),
        (0, 50, "MPI_Send", 1, 100, 1000),
        (1000, 1050, "MPI_Recv", 1, 0, 1000),
        (1000, 1050, "MPI_Send", 1, 100, 1000),
        (2000, 2050, "MPI_Finalize", 1, 0, 0),
        (2450, 2500, "MPI_Finalize", 1, 0, 0),
    ]
    done = CliRunner().invoke(cli.app, ["trace", "stats", str(ping), "--json", "-o", str(tmp_path / "tables")], catch_exceptions=False)
    assert json.loads(done.output)["trace"]["calls"] == 8
    assert {file.stem for file in (tmp_path / "tables").iterdir()} == {*statistics.TABLES, "report"}
    assert "MPI_Allreduce" in CliRunner().invoke(cli.app, ["trace", "stats", str(ping)], catch_exceptions=False).output


@pytest.mark.slow
@needs_browser
def test_the_page_of_a_trace_draws(ping: Path, tmp_path: Path) -> None:
    CliRunner().invoke(cli.app, ["trace", "stats", str(ping), "-o", str(tmp_path / "tables")], catch_exceptions=False)
    elements = in_browser(tmp_path / "tables" / "report.html")
    assert charts(elements) == 1
    assert elements.count("<section") == 3
    assert "8 calls of 2 ranks" in elements and "MPI_Allreduce" in elements


def test_a_ranks_calls_as_text(ping: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["trace", "show", str(ping), "--rank", "1", "--first", "2", "--count", "2"], catch_exceptions=False)
    receive, send = shown.output.splitlines()
    assert receive.split()[0] == "2" and receive.endswith("MPI_Recv  from 0, tag 5, 100 B")
    assert send.endswith("MPI_Send  to 0, tag 5, 100 B")
    with pytest.raises(InputError, match="ranks 0 to 1"):
        CliRunner().invoke(cli.app, ["trace", "show", str(ping), "--rank", "2"], catch_exceptions=False)


def test_every_column_is_documented(ping: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "traces" / "files.md").read_text()
    found = statistics.statistics(folder.load(ping))
    columns = {*folder.load(ping).calls().columns, *(name for frame in found.values() for name in frame.columns)}
    keys = set(json.loads((ping / "trace.json").read_text()))
    assert [name for name in sorted(columns | keys) if f"`{name}`" not in page] == []


def test_a_cut_recording_can_be_looked_at_but_not_replayed(tmp_path: Path) -> None:
    trace = write(tmp_path / "cut", [PING[0][:-6], PING[1]])
    about = folder.finish(trace, 2, {})
    assert not about.complete
    assert about.calls == 7
    assert "the streams of 1 rank, first of rank 0, end before the program" in refused(trace)
    assert len(folder.load(trace).calls()) == 7


@pytest.mark.parametrize(
    ("streams", "what"),
    [
        (
            [message(RECV, 1, 8) + call(FINALIZE), call(FINALIZE)],
            "1 of 2 ranks wait for messages that nobody sends: rank 0 in call 1, MPI_Recv",
        ),
        ([call(WAIT, 3) + call(FINALIZE), call(FINALIZE)], "MPI_Wait of request 3, which no call has begun"),
        ([call(UNRECORDED, *b"MPI_Put") + call(FINALIZE), call(FINALIZE)], "calls MPI_Put, which is not recorded"),
        ([message(SEND, 1, 1 << 20) + message(RECV, 1, 8) + call(FINALIZE)] * 2, "wait for messages that nobody sends"),
    ],
)
def test_what_cannot_be_replayed_is_reported(tmp_path: Path, streams: list[bytes], what: str) -> None:
    trace = write(tmp_path / "bad", streams)
    folder.finish(trace, 2, {})
    assert what in refused(trace)
    assert not list(tmp_path.glob("exanet-replay*"))


def test_calls_on_files_are_named_and_left_out(tmp_path: Path, ping: Path) -> None:
    names = [b"MPI_File_open", b"MPI_File_write_all"]
    with_files = write(tmp_path / "files", [call(UNRECORDED, *name) + records for name, records in zip(names, PING, strict=True)])
    about = folder.finish(with_files, 2, {"program": ["ping"]})
    assert about.file_calls == about.unrecorded == ["MPI_File_open", "MPI_File_write_all"] and not about.missing
    left, without = (exanet.replay(each, "exanest").summary for each in (with_files, ping))
    (note,) = left["run"]["notes"]
    assert note.startswith(f"{with_files}: the program calls MPI_File_open, MPI_File_write_all, of which a trace has the names alone")
    assert left["virtual_ps"] == without["virtual_ps"] and "notes" not in without["run"]
    for suffix in ("goal", "txt", "json", "paje", "simgrid"):
        convert.convert(with_files, tmp_path / f"files.{suffix}", {})
    convert.convert(tmp_path / "files.txt", tmp_path / "back", {})
    assert folder.load(tmp_path / "back").about.file_calls == about.file_calls


def test_messages_that_are_longer_than_their_receives_are_named(tmp_path: Path) -> None:
    records = [message(SEND, 1, 4096) + call(FINALIZE), message(RECV, 0, 64) + call(FINALIZE)]
    folder.finish(write(tmp_path / "long", records), 2, {})
    (note,) = exanet.replay(tmp_path / "long", "exanest").summary["run"]["notes"]
    assert note == (
        "1 message is longer than its receive, which is an error of the call (MPI_ERR_TRUNCATE); the first is in rank 1 in call 1, "
        "MPI_Recv from rank 0 with tag 5: a message of 4096 B of rank 0 comes to a receive of 64 B"
    )


def test_what_is_no_trace_is_reported(tmp_path: Path, ping: Path) -> None:
    assert "not a trace, trace.json is missing" in refused(tmp_path)
    (ping / "trace.json").write_text('{"format": 7}')
    assert "a trace of format 7; this exanet reads format 1" in refused(ping)
    (ping / "trace.json").write_text("[]")
    assert "not a trace's description" in refused(ping)
    with pytest.raises(InputError, match="version 9, and this exanet reads versions 1 to 3"):
        folder.finish(write(tmp_path / "other", PING, version=9), 2, {})
    with pytest.raises(InputError, match="rank 2 recorded nothing"):
        folder.finish(tmp_path / "other", 3, {})


def test_a_trace_that_the_run_could_not_finish_is_finished_when_it_is_read(tmp_path: Path) -> None:
    trace = write(tmp_path / "left", PING)
    assert folder.load(trace).about.calls == 8
    assert "the run ended before it was finished" in refused(trace)


def test_more_ranks_than_cores_are_refused(tmp_path: Path) -> None:
    trace = write(tmp_path / "many", [call(FINALIZE)] * 200)
    folder.finish(trace, 200, {})
    with pytest.raises(InputError, match="ask for at most"):
        CliRunner().invoke(cli.app, ["replay", str(trace), "-m", "torus-2x2x2", "-q"], catch_exceptions=False)


def test_a_missing_stream_is_reported(ping: Path) -> None:
    folder.stream(ping, 1).unlink()
    assert "rank-000001.calls is missing" in refused(ping)


def test_collectives_are_read_from_text() -> None:
    assert choices("bcast=binomial,allreduce=ring") == {"bcast": "binomial", "allreduce": "ring"}
    for text, what in (
        ("bcast", "bcast has no algorithm"),
        ("", "the collective or its algorithm is missing"),
        ("sum=ring", "no collective 'sum'"),
        ("bcast=ring", "scatter-ring"),
        ("bcast=binomial,bcast=binomial", "twice"),
    ):
        with pytest.raises(InputError, match=what):
            choices(text)


def test_wrong_bytes_are_read_or_refused(tmp_path: Path) -> None:
    """Streams of drawn bytes are refused by one message, or replayed."""
    generator = random.Random(11)
    trace = write(tmp_path / "fuzz", PING)
    folder.finish(trace, 2, {})
    file = folder.stream(without_checksums(trace), 0)
    whole = file.read_bytes()
    outcomes = set()
    for number in range(150):
        content = bytearray(whole)
        for _ in range(generator.randint(1, 3)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        file.write_bytes(content[: generator.randint(8, len(content))] if generator.random() < 0.2 else content)
        words = ["replay", str(trace), "-m", "torus-2x2x2", "-q", "--no-report", "-o", str(tmp_path / "out")]
        try:
            outcomes.add(CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code)
        except InputError as error:
            assert str(error), number
            outcomes.add(2)
    assert outcomes == {0, 2}


def test_damaged_files_of_every_format_are_read_or_refused(tmp_path: Path) -> None:
    """A few cases of tools/fuzz_traces.py, which goes on for as long as it is let."""
    spec = importlib.util.spec_from_file_location("fuzz_traces", Path(__file__).parents[2] / "tools" / "fuzz_traces.py")
    assert spec is not None and spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    cases = fuzz.Cases(tmp_path, ["streams", "text", "goal", "goal-binary", "about"])
    assert {cases.run(number) for number in range(30)} == {True, False}


def test_the_fuzzer_leaves_nothing_of_a_case_behind() -> None:
    """An hour of cases is thousands of a process: what refusals held would stay in memory, and nanobind would report
    it at the end."""
    tool = Path(__file__).parents[2] / "tools" / "fuzz_traces.py"
    done = subprocess.run([sys.executable, tool, "--count", "20"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "20 cases" in done.stdout and done.stderr == ""


def test_a_folder_with_other_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="holds other files"):
        folder.prepare(tmp_path)


def test_an_earlier_trace_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", PING)
    folder.finish(trace, 2, {"program": ["old"]})
    held = {file.name: file.read_bytes() for file in trace.iterdir()}

    def there() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in trace.iterdir() if file.is_file()}

    place = folder.prepare(trace)
    assert there() == held
    folder.release(place)  # nothing was recorded
    assert {file.name: file.read_bytes() for file in trace.iterdir()} == held
    place = folder.prepare(trace)
    with pytest.raises(InputError, match="rank 0 recorded nothing"):
        folder.finish(place, 2, {})
    assert {file.name: file.read_bytes() for file in trace.iterdir()} == held

    write(folder.prepare(trace), [PING[0], message(SEND, 0, 100)])  # its second rank dies
    cut = folder.finish_recording(place, 2, {}, "it was stopped")
    assert not cut.about.complete and cut.folder == tmp_path / "trace-incomplete-1" == folder.load(cut.folder).folder
    assert {file.name: file.read_bytes() for file in trace.iterdir()} == held

    write(folder.prepare(trace), [call(FINALIZE)] * 3)
    folder.finish(place, 3, {"program": ["new"]})
    assert (folder.load(trace).about.ranks, folder.load(trace).about.run) == (3, {"program": ["new"]})
    assert sorted(file.name for file in trace.iterdir()) == [
        "calls.parquet", "rank-000000.calls", "rank-000001.calls", "rank-000002.calls", "trace.json",
    ]  # fmt: skip


@pytest.mark.parametrize("moves", range(8))
def test_a_replacement_that_was_killed_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """Killed before any of its moves, the folder has the new trace, whole, when it is next read."""
    trace = write(tmp_path / "trace", PING)
    folder.finish(trace, 2, {"program": ["old"]})
    place = write(folder.prepare(trace), [call(FINALIZE)] * 2)
    rename, left = Path.rename, iter(range(moves))

    def killed(source: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.finish(place, 2, {"program": ["new"]})
    monkeypatch.undo()
    read = folder.load(trace)
    assert (read.about.run, read.about.calls, len(read.calls())) == ({"program": ["new"]}, 2, 2)
    assert not [file for file in trace.iterdir() if file.name.startswith(".")]


def test_a_communicator_that_no_call_has_made_is_shown_as_one(tmp_path: Path) -> None:
    """A call on a communicator that is not known has the number -1."""
    made = call(COMMUNICATOR, 0, 3, 2, 0, 0)
    trace = write(tmp_path / "made", [made + call(FINALIZE)] * 2)
    folder.finish(trace, 2, {})
    assert folder.load(trace).calls()["call"].to_list() == ["communicator", "MPI_Finalize"] * 2
    trace = write(tmp_path / "unknown", [call(SEND, 9, 3, 6, 8, 0) + call(FINALIZE), call(FINALIZE)])
    folder.finish(trace, 2, {})
    assert folder.load(trace).calls()["communicator"].to_list() == [-1, -1, -1]


def test_small_mistakes_are_reported(ping: Path, tmp_path: Path) -> None:
    for words, what in (
        (["trace", "show", str(ping), "--first", "5"], "rank 0 has 4 calls; give a number up to that"),
        (
            ["run", "-m", "exanest", "-n", "2", "--mpi", "mpich", "--record", str(tmp_path / "a"), "-o", str(tmp_path / "a"), "--", "true"],
            "name another",
        ),
        (["run", "-m", "exanest", "-n", "2", "--map", "", "--", "true"], "--map '': it is empty"),
    ):
        with pytest.raises(InputError, match=what):
            CliRunner().invoke(cli.app, words, catch_exceptions=False)
    about = json.loads((ping / "trace.json").read_text())
    (ping / "trace.json").write_text(json.dumps(about | {"calls": -1}))
    assert "not a trace's description" in refused(ping)


def test_a_full_disk_is_reported_by_the_option_that_names_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write(tmp_path / "full", PING)

    def full(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="choose another place with --record"):
        folder.finish(trace, 2, {})


def test_a_long_table_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write(tmp_path / "whole", PING)
    folder.finish(whole, 2, {})
    monkeypatch.setattr("exanet.files.PART_ROWS", 3)
    parts = write(tmp_path / "parts", PING)
    assert folder.finish(parts, 2, {}).calls == 8
    assert folder.load(parts).calls().equals(folder.load(whole).calls())
    assert not list(parts.glob(".*"))
    write(tmp_path / "bad", [PING[0], call(99)])
    with pytest.raises(InputError, match="unknown code 99"):
        folder.finish(tmp_path / "bad", 2, {})
    assert not list((tmp_path / "bad").glob(".*")) and not (tmp_path / "bad" / "calls.parquet").exists()


def test_a_stream_of_a_rank_that_there_is_not_is_reported(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", PING)
    for file, reported in (
        (header(900_000, 1_000_000), "of rank 900000 of 1000000, and there are 2"),
        (header(0, 2), "it belongs to rank 0 of 2"),
    ):
        folder.stream(trace, 1).write_bytes(file + PING[1])
        with pytest.raises(InputError, match=reported):
            folder.finish(trace, 2, {})


def test_calls_are_written_again(tmp_path: Path) -> None:
    for directory, times in ((tmp_path / "again", 4), (tmp_path / "each", 0)):
        with Writer(directory, 1, {}) as (stream,):
            stream.message("Send", 0, 8)
            since = stream.position
            for _ in range(1 if times else 5):
                stream.message("Send", 0, 9, compute_ps=7)
                stream.message("Recv", 0, 9)
            stream.again(since, times)
            stream.end()
    assert folder.stream(tmp_path / "again", 0).read_bytes() == folder.stream(tmp_path / "each", 0).read_bytes()


def test_persistent_sends_count_each_time_they_are_started(tmp_path: Path) -> None:
    """Two at once to one rank, three times; a receive and a send to no process beside them count for nothing."""
    start, startall, waitall, send_init, recv_init = 20, 21, 25, 9, 15
    mine = [message(send_init, 1, size, tag=size)[:-1] + varint(number) for number, size in enumerate((100, 3000), 1)]
    mine.append(call(send_init, WORLD, 0, 1, 77, 3))  # to no process
    stream = b"".join(mine) + 3 * (call(startall, 1, 2, 3) + call(waitall, 1, 2, 3)) + call(start, 1) + call(FINALIZE)
    other = call(recv_init, WORLD, 2, 101, 100, 1) + call(recv_init, WORLD, 2, 3001, 3000, 2)
    other += 3 * (call(startall, 1, 2) + call(waitall, 1, 2)) + call(start, 1) + call(FINALIZE)
    trace = write(tmp_path / "trace", [stream, other])
    folder.finish(trace, 2, {})
    found = statistics.statistics(folder.load(trace))
    assert found["matrix"].rows() == [(0, 1, 7, 4 * 100 + 3 * 3000)]
    assert found["by_size"].rows() == [(65, 4, 400), (2049, 3, 9000)]
    by_call = {row[0]: row[1:3] for row in found["by_call"].iter_rows()}
    assert by_call["MPI_Startall"] == (6, 9300) and by_call["MPI_Start"] == (2, 100)
    assert {row[0]: row[2] for row in found["by_rank"].iter_rows()} == {0: 9400, 1: 0}


@pytest.mark.parametrize("damage", ["flipped", "last block missing", "bytes behind the end", "another rank's"])
def test_a_damaged_stream_is_refused_by_whoever_reads_the_calls(damage: str, tmp_path: Path) -> None:
    """A flipped bit of a size, and an end that is cut off between two calls, were replayed as they stood."""
    place = tmp_path / "trace"
    with Writer(place, 2, {}) as streams:
        for rank, stream in enumerate(streams):
            for _ in range(150_000):
                stream.message("Send" if rank == 0 else "Recv", 1 - rank, 1000, tag=3)
            stream.end()
    file = folder.stream(place, 1)
    assert file.stat().st_size > folder.BLOCK_BYTES
    exanet.replay(place, "torus-2x2x2", mapping="round-robin")
    data = bytearray(file.read_bytes())
    if damage == "flipped":
        data[folder.BLOCK_BYTES + 100] ^= 1
    elif damage == "last block missing":
        data = data[: folder.BLOCK_BYTES]
    elif damage == "bytes behind the end":
        data += b"\0more"
    else:
        data = bytearray(folder.stream(place, 0).read_bytes())
    file.write_bytes(data)
    at = 0 if damage == "another rank's" else folder.BLOCK_BYTES
    what = rf"rank-000001\.calls: from byte {at} on it is not as it was recorded: the file is damaged; copy the trace again"
    with pytest.raises(InputError, match=what):
        convert.convert(place, tmp_path / "out.goal", {})
    with pytest.raises(InputError, match=what):
        exanet.replay(place, "torus-2x2x2", mapping="round-robin")
    with pytest.raises(InputError, match=what):
        parts.cut(place, tmp_path / "part", after=1, until=3)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["trace"]


def test_checksums_of_fewer_ranks_than_the_trace_has_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "trace"
    with Writer(place, 2, {}) as streams:
        for rank, stream in enumerate(streams):
            stream.message("Send" if rank == 0 else "Recv", 1 - rank, 1000, tag=3)
            stream.end()
    said = json.loads((place / "trace.json").read_text())
    said["checksums"].pop()
    (place / "trace.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"trace\.json: checksums are not of 2 ranks"):
        exanet.replay(place, "torus-2x2x2")
