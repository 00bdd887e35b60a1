# SPDX-License-Identifier: Apache-2.0
"""Is what a run leaves behind whole, the same for the same run, and documented?"""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from synthetic_run import synthetic_meta, synthetic_run

from exanet import results
from exanet.directory import result_directory
from exanet.errors import InputError
from exanet.quantity import bytes_text, count_text, time_text
from exanet.results import critical_path, gateways, report, summary
from exanet.trace import timed

DOCS = Path(__file__).parents[2] / "docs" / "results.md"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_same_run_same_bytes(tmp_path: Path) -> None:
    later = synthetic_run()
    later["summary"]["wall_s"] = 99.0
    results.write(tmp_path / "a", synthetic_run(), synthetic_meta())
    results.write(tmp_path / "b", later, {**synthetic_meta(), "started": "another day"})
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first.keys() == second.keys() == {"summary.json", "run.json", *(f"{name}.parquet" for name in results.TABLES)}
    assert {name for name in first if first[name] != second[name]} == {"run.json"}


def test_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    shuffled, order = synthetic_run(), np.random.default_rng(7)
    for table in ("pairs", "messages", "ranks"):
        columns = shuffled[table]
        at = order.permutation(len(next(iter(columns.values()))))
        shuffled[table] = {name: np.asarray(values)[at] for name, values in columns.items()}
    results.write(tmp_path / "a", synthetic_run(), synthetic_meta())
    results.write(tmp_path / "b", shuffled, synthetic_meta())
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_another_run_other_bytes(tmp_path: Path) -> None:
    results.write(tmp_path / "a", synthetic_run(seed=1), synthetic_meta())
    results.write(tmp_path / "b", synthetic_run(seed=2), synthetic_meta())
    assert contents(tmp_path / "a")["summary.json"] != contents(tmp_path / "b")["summary.json"]


def test_load_gives_back_what_was_written(tmp_path: Path) -> None:
    given = synthetic_run()
    results.write(tmp_path / "run", given, synthetic_meta())
    run = results.load(tmp_path / "run")
    assert run.summary["virtual_ps"] == given["summary"]["virtual_ps"]
    assert run.summary["complete"] is True
    assert run.run["wall_s"] == given["summary"]["wall_s"]
    assert run.run["slowdown"] == pytest.approx(6.25 / 0.0483)
    assert run.ranks["wait_ps"].to_list() == given["ranks"]["wait_ps"].tolist()
    assert run.timeline["wait_ps"].sum() == int(given["timeline"]["wait_ps"].sum())
    assert run.timeline["end_ps"].max() == run.summary["virtual_ps"]
    assert run.links["use_percent"].max() == pytest.approx(100 * max(given["links"]["busy_ps"]) / given["summary"]["virtual_ps"])
    assert set(run.messages["protocol"]) == {"eager", "rendezvous"}
    assert run.summary["hottest_links"][0]["busy_ps"] == max(given["links"]["busy_ps"])


def test_types_do_not_depend_on_the_simulator_s(tmp_path: Path) -> None:
    given = synthetic_run()
    for table in ("ranks", "links", "pairs", "messages", "message_sizes"):
        given[table] = {name: np.asarray(values).astype(np.uint64) for name, values in given[table].items()}
    given["messages"]["tag"][0] = 2**64 - 1
    frames = results.to_tables(given, {})
    assert frames["messages"].schema["tag"] == pl.UInt64
    assert int(frames["messages"]["tag"].max()) == 2**64 - 1  # type: ignore[arg-type]
    assert (frames["ranks"]["wait_ps"] - frames["ranks"]["virtual_ps"]).max() < 0  # type: ignore[operator]
    empty = results.to_tables(nothing_measured(), {})
    assert {name: frame.schema for name, frame in frames.items() if name != "timeline"} == {
        name: frame.schema for name, frame in empty.items() if name != "timeline"
    }


def test_percentiles_of_a_known_histogram() -> None:
    histogram = pl.DataFrame({"kind": "packet", "lower_ns": [0.0, 100.0], "upper_ns": [100.0, 300.0], "count": [50, 50]})
    assert results.latency_statistics(histogram, "packet") == {
        "count": 100,
        "p50_ns": 100.0,
        "p90_ns": 260.0,
        "p99_ns": 296.0,
        "max_ns": 300.0,
    }
    assert results.latency_statistics(histogram, "message") == {"count": 0}


def test_incomplete_run_says_so(tmp_path: Path) -> None:
    given = synthetic_run()
    given["summary"].update(complete=False, reason="rank 3 was killed by SIGKILL")
    results.write(tmp_path / "run", given, synthetic_meta())
    written = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert written["complete"] is False
    assert written["reason"] == "rank 3 was killed by SIGKILL"
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(given, synthetic_meta(), console)
    assert console.export_text().splitlines()[0] == "incomplete: rank 3 was killed by SIGKILL"
    summary.show(given, synthetic_meta(), console, reason_shown=True)
    again = console.export_text()
    assert again.splitlines()[0].startswith("incomplete: ") and "SIGKILL" not in again


def nothing_measured() -> dict[str, Any]:
    """A run that ended before virtual time began."""
    given = synthetic_run(side=1, shape=(2, 2, 1))
    given["summary"].update(virtual_ps=0, messages=0, packets=0, bytes=0, complete=False, reason="rank 0 exited early")
    for table in ("pairs", "messages", "message_sizes", "packet_latency", "message_latency", "mpi_calls", "ranks"):
        given[table] = {name: [] for name in given[table]}
    given["timeline"] = {"bin_ps": 1000, "wait_ps": np.zeros((0, 0), np.uint64), "sent_bytes": np.zeros((0, 0), np.uint64)}
    return given


def test_nothing_measured_is_still_written(tmp_path: Path) -> None:
    results.write(tmp_path / "run", nothing_measured(), synthetic_meta())
    run = results.load(tmp_path / "run")
    assert run.ranks.is_empty() and run.timeline.is_empty()
    assert run.run["slowdown"] is None


@pytest.mark.parametrize("longer", [2, 3, 1000, 40_000, 10_000_000])
def test_timeline_reaches_the_end_of_a_run_that_computes_on(longer: int) -> None:
    given = synthetic_run(side=2)
    given["summary"]["virtual_ps"] = virtual_ps = given["summary"]["virtual_ps"] * longer
    timeline = results.to_tables(given, {})["timeline"]
    assert timeline["end_ps"].max() == virtual_ps
    assert int((timeline["end_ps"] - timeline["start_ps"]).sum()) == virtual_ps * 8
    assert len(timeline) <= 8 * results.MOST_BINS
    for name in ("wait_ps", "sent_bytes"):
        by_rank = timeline.group_by("rank", maintain_order=True).agg(pl.col(name).sum())[name]
        assert by_rank.to_list() == given["timeline"][name].sum(axis=1).tolist()


@pytest.mark.parametrize("already_there", [False, True])
@pytest.mark.parametrize("fails_at", [1, 5, 11])
def test_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, already_there: bool, fails_at: int) -> None:
    target = tmp_path / "run"
    if already_there:
        results.write(target, synthetic_run(seed=1), synthetic_meta())
    before = contents(target) if already_there else {}
    write_bytes, calls = Path.write_bytes, [0]

    def full(path: Path, content: bytes) -> int:
        calls[0] += 1
        if calls[0] == fails_at:
            write_bytes(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"cannot write the results to .*/run: No space left on device; free some space"):
        results.write(target, synthetic_run(seed=2), synthetic_meta())
    assert calls[0] == fails_at
    assert [path.name for path in tmp_path.iterdir()] == (["run"] if already_there else [])
    if already_there:
        assert contents(target) == before


def test_old_results_are_replaced_and_other_files_kept(tmp_path: Path) -> None:
    target = tmp_path / "run"
    target.mkdir()
    (target / "rank0.log").write_text("kept")
    results.write(target, synthetic_run(seed=1), synthetic_meta())
    results.write(target, synthetic_run(seed=2), synthetic_meta())
    results.write(tmp_path / "fresh", synthetic_run(seed=2), synthetic_meta())
    assert contents(target) == {**contents(tmp_path / "fresh"), "rank0.log": b"kept"}


def test_interrupted_replacement_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "run"
    results.write(target, synthetic_run(seed=1), synthetic_meta())
    replace, calls = Path.replace, [0]

    def stops(path: Path, to: Path) -> Path:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(errno.EIO, "Input/output error")
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", stops)
    with pytest.raises(InputError, match="Input/output error"):
        results.write(target, synthetic_run(seed=2), synthetic_meta())
    with pytest.raises(InputError, match=r"summary\.json is missing"):
        results.load(target)


def test_what_an_earlier_run_left_goes_and_the_folder_is_whole_at_each_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "run"
    results.write(target, synthetic_run(seed=1), synthetic_meta())
    (target / "report.html").write_text("of seed 1")
    (target / "queues.parquet").write_text("of another command")
    (target / "mine.parquet").write_text("kept")
    whole: list[bool] = []
    for name in ("replace", "unlink"):
        change = getattr(Path, name)

        def watched(path: Path, *arguments: Any, change: Any = change, **options: Any) -> Any:
            whole.append((target / "summary.json").exists())
            return change(path, *arguments, **options)

        monkeypatch.setattr(Path, name, watched)
    results.write(target, synthetic_run(seed=2), synthetic_meta())
    monkeypatch.undo()
    assert whole.index(False) == 1, "only summary.json goes while it is there"
    assert not any(whole[1:])
    results.write(tmp_path / "fresh", synthetic_run(seed=2), synthetic_meta())
    assert contents(target) == {**contents(tmp_path / "fresh"), "mine.parquet": b"kept"}


def test_every_file_that_a_command_publishes_is_known() -> None:
    from exanet import sim

    names = {*results.TABLES, *sim.TABLES, "points", "queues", "link_use", "jobs", "messages", "links", "energy", "runs"}
    names |= {"faults", "fault_costs", "intervals", "programs", "throughput", "compared", "settings", "differences"}
    names |= {"reproduced", "curves", "calls", "critical_path", "gateways", "interfaces", "frame_flows", "frames"}
    assert {f"{name}.parquet" for name in names} | {"report.html", "timeline.html", "run.json", "summary.json"} == results.FILES


@pytest.mark.parametrize("late", [False, True])
def test_a_fresh_folder_is_never_one_that_another_run_has_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """Also when it comes at the last moment."""

    def others() -> None:
        for number in (7, 8):
            (tmp_path / f"r-{number}").mkdir()
            (tmp_path / f"r-{number}" / "summary.json").write_text(f"of {number}")

    rename = Path.rename

    def overtaken(path: Path, to: Path) -> Path:
        monkeypatch.undo()
        others()
        return rename(path, to)

    if late:
        monkeypatch.setattr(Path, "rename", overtaken)
    else:
        others()
    assert results.write(tmp_path / "r-7", synthetic_run(seed=1), synthetic_meta(), fresh=True) == tmp_path / "r-9"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r-7", "r-8", "r-9"]
    assert contents(tmp_path / "r-7") == {"summary.json": b"of 7"}


HELD = {
    "run": ("summary.json", "run.json", "ranks.parquet", "messages.parquet"),
    "sim": ("summary.json", "run.json", "jobs.parquet", "messages.parquet"),
    "sweep": ("journal.jsonl",),
    "karma": ("summary.json", "report.html"),
}


@pytest.mark.parametrize("command", ["run", "sim", "karma"])
@pytest.mark.parametrize("held", HELD)
def test_only_results_of_the_same_command_are_replaced(tmp_path: Path, command: str, held: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And not without a word."""
    assert result_directory(command, tmp_path) == tmp_path
    for name in HELD[held]:
        (tmp_path / name).write_text("")
    if command == held:
        assert result_directory(command, tmp_path, quiet=True) == tmp_path
        assert capsys.readouterr().err == ""
        assert result_directory(command, tmp_path) == tmp_path
        assert "its earlier results are replaced when the new ones are whole" in capsys.readouterr().err
        return
    with pytest.raises(InputError, match=f"the folder holds results of exanet {held}; name a new one, or one .* of exanet {command}"):
        result_directory(command, tmp_path)


def test_a_folder_that_an_earlier_version_mixed_is_not_replaced(tmp_path: Path) -> None:
    for name in (*HELD["run"], *HELD["sweep"]):
        (tmp_path / name).write_text("")
    with pytest.raises(InputError, match="results of exanet run and sweep"):
        result_directory("run", tmp_path)


def test_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="File name too long; choose another place with -o"):
        result_directory("run", Path("x" * 300))
    for chosen in (result_directory("sim", None, "ü" * 300), result_directory("run", Path("x" * 255))):
        assert results.publish(chosen, {"summary.json": b"{}"}) == chosen


@pytest.mark.parametrize(("held", "read"), [("sim", "jobs.parquet"), ("sweep", "journal.jsonl"), ("karma", "summary.json")])
def test_results_of_other_commands_are_called_by_their_name(tmp_path: Path, held: str, read: str) -> None:
    for name in HELD[held]:
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=rf"results of exanet {held}, not of exanet run; .*{read}"):
        results.load(tmp_path)


@pytest.mark.parametrize(("name", "content"), [("summary.json", b"{"), ("ranks.parquet", b"PAR1"), ("summary.json", b'{"format": 99}')])
def test_damaged_folder_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    results.write(tmp_path / "run", synthetic_run(), synthetic_meta())
    (tmp_path / "run" / name).write_bytes(content)
    with pytest.raises(InputError, match=str(tmp_path)):
        results.load(tmp_path / "run")


GATEWAYS = {
    "first_node": [0], "second_node": [1], "messages_from_first": [3], "messages_from_second": [1], "bytes_from_first": [96],
    "bytes_from_second": [32], "busy_ps": [5], "waited_ps": [8], "longest_wait_ps": [7], "most_queue": [2], "most_queue_bytes": [64],
}  # fmt: skip


def test_gateways_are_in_the_summary_on_the_terminal_and_on_the_page(tmp_path: Path) -> None:
    given = synthetic_run() | {"gateways": GATEWAYS}
    results.write(tmp_path / "run", given, synthetic_meta())
    run = results.load(tmp_path / "run")
    assert run.gateways is not None and run.summary["gateways"] == run.gateways.to_dicts()
    [row] = run.summary["gateways"]
    assert row["gateway"] == 0 and row["first_node_name"] == run.nodes["name"][0] and row["second_node_name"] == run.nodes["name"][1]
    assert row["use_percent"] == pytest.approx(100 * 5 / run.summary["virtual_ps"])
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(given, synthetic_meta(), console)
    text = console.export_text()
    [line] = [line for line in text.splitlines() if line.startswith("0 at ")]
    assert line.split()[-6:] == ["ps", "7.00", "ps", "2,", "64", "B"]  # 8 ps waited, by 4 messages
    assert report.page_data(run)["gateways"][0][2:] == [4, 128, 0.0, 2, 7, 2, 64]
    assert "gatewaysSection" in report.render(run)


def documented() -> dict[str, list[str]]:
    """{file: columns} of docs/results.md; sections that are not of a file are left out."""
    sections = [s for s in re.split(r"^## ", DOCS.read_text(), flags=re.MULTILINE)[1:] if "." in s.split("\n", 1)[0]]
    return {s.split("\n", 1)[0]: re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", s, re.MULTILINE))) for s in sections}


def test_every_column_and_key_is_documented(tmp_path: Path) -> None:
    given = synthetic_run()
    given["timeline"]["library_ps"] = given["timeline"]["wait_ps"] // 8
    results.write(tmp_path / "run", given, {**synthetic_meta(), "seed": 1})
    run, docs = results.load(tmp_path / "run"), documented()
    for name in results.TABLES:
        assert sorted(docs[f"{name}.parquet"]) == sorted(getattr(run, name).columns), name
    assert sorted(docs["summary.json"]) == sorted(run.summary)
    queues = report.queue_table({"queued": np.zeros((1, 1)), "first_watched": 0}, 1)
    assert sorted(docs["queues.parquet"]) == sorted(queues.columns)
    assert docs["calls.parquet"] == list(timed.SCHEMA)
    assert docs["critical_path.parquet"] == list(critical_path.SCHEMA)
    assert sorted(docs["gateways.parquet"]) == sorted(gateways.table(GATEWAYS, ["a", "b"], 10).columns)
    others = ("summary.json", "run.json", "queues.parquet", "calls.parquet", "critical_path.parquet", "gateways.parquet")
    assert set(docs) == {*others, *(f"{name}.parquet" for name in results.TABLES)}


@pytest.mark.parametrize("side", [2, 4])
def test_terminal_summary_fits_80_columns(side: int) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(synthetic_run(side), synthetic_meta(side**3), console)
    lines = console.export_text().splitlines()
    assert lines[0].startswith("48.3 ms of virtual time, 6.2 s of wall time, slowdown 129x")
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    shown = [line.split()[0] for line in lines if re.match(r"(\d+|min|median|max)\b", line) and "%" in line]
    assert shown == ([str(rank) for rank in range(8)] if side == 2 else ["min", "median", "max"])


def test_terminal_summary_names_the_extreme_ranks() -> None:
    given = synthetic_run()
    given["ranks"]["wait_ps"][41] = given["summary"]["virtual_ps"]
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(given, synthetic_meta(), console)
    line = next(line for line in console.export_text().splitlines() if line.startswith("max: rank"))
    assert line.split()[3] == "41"


@pytest.mark.parametrize("share", [0, 0.009, 0.011, 0.5])
def test_time_after_the_last_call_is_said_where_it_is_noticeable(share: float) -> None:
    given = synthetic_run()
    given["ranks"]["last_call_ps"] = (given["ranks"]["virtual_ps"] * (1 - share)).astype(np.int64)
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(given, synthetic_meta(), console)
    text = console.export_text()
    assert (f"After their last MPI call and before MPI_Finalize: {100 * share:.1f} % of all ranks' time" in text) == (share > 0.01)


@pytest.mark.parametrize("share", [0, 0.009, 0.011, 0.5])
def test_what_clock_reads_added_is_said_where_it_is_noticeable(share: float) -> None:
    given = synthetic_run()
    given["ranks"]["clock_reads_ps"] = (given["ranks"]["virtual_ps"] * share).astype(np.int64)
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(given, synthetic_meta(), console)
    assert (f"in loops without MPI calls, added {100 * share:.1f} % of all ranks' time" in console.export_text()) == (share > 0.01)


def test_terminal_summary_of_nothing() -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    summary.show(nothing_measured(), synthetic_meta(1), console)
    assert "0 messages, 0 B, 0 packets" in console.export_text()


def test_quantities_for_people() -> None:
    assert [time_text(ps) for ps in (0, 999, 1_300_000, 999_900_000, 2.5e12)] == ["0 s", "999 ps", "1.30 µs", "1.00 ms", "2.50 s"]
    assert [bytes_text(b) for b in (0, 1023, 1024, 3 * 2**30)] == ["0 B", "1023 B", "1.00 KiB", "3.00 GiB"]
    assert [count_text(n) for n in (7, 99_999, 100_000, 5_250_000)] == ["7", "99999", "100 k", "5.25 M"]
