# SPDX-License-Identifier: Apache-2.0
"""Does a comparison of simulations and sweeps set the same loads, jobs and points side by side, and refuse what does
not go together?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import exanet
from exanet.cli import app
from exanet.compare.sentences import sentences
from exanet.errors import InputError
from exanet.files import json_bytes, parquet


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small results of each kind."""
    place = tmp_path_factory.mktemp("compared")
    for name, machine in (("mesh", "trenz-2x2"), ("qfdb", "exanest-qfdb")):
        exanet.simulate(machine, [0.2, 0.6], measure_ps=20_000_000, output=place / name)
    exanet.simulate("trenz-2x2", [0.6, 0.9], measure_ps=20_000_000, output=place / "higher")
    exanet.simulate("trenz-2x2", 0, message_bytes=4096, output=place / "once")
    for name, size in (("jobs", "4KiB"), ("larger", "8KiB")):
        jobs = [f"--job=stencil-3d:bytes={size},rounds=3,ranks=2", "--job=barrier:rounds=3,ranks=2"]
        done = invoke("sim", "jobs", "-m", "exanest-qfdb", *jobs, "-o", place / name, "-q")
        assert done.exit_code == 0, done.output
    return place


def swept(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A sweep's results with these runs."""
    folder.mkdir()
    given = [
        {"machine": "m", "traffic": "uniform", "seed": 1, "at_saturation": False, "load": 0.5, "accepted_load": 0.5, "error": None, **row}
        for row in rows
    ]
    (folder / "runs.parquet").write_bytes(parquet(pl.DataFrame(given, infer_schema_length=None)))
    (folder / "summary.json").write_bytes(json_bytes({"name": "s", "axes": {}, "exanet_version": "0.1.0", "runs": given}))
    return folder


def test_loads_are_set_side_by_side(folders: Path) -> None:
    found = exanet.compare(folders / "mesh", folders / "qfdb")
    assert found.kind == "load" and not found.notes
    points = [exanet.load(folders / name).points for name in ("mesh", "qfdb")]
    rows = found.differences.filter((pl.col("view") == "load") & (pl.col("figure") == "latency_ns"))
    assert rows["item"].to_list() == ["0.2", "0.6"]
    assert rows["first"].to_list() == points[0]["latency_ns"].to_list() and rows["value"].to_list() == points[1]["latency_ns"].to_list()
    assert "machine.topology.kind" in found.settings["key"].to_list()
    said = sentences(found)[-1]
    assert said.startswith(f"{folders / 'qfdb'} was asked for differently: ") and "topology.kind qfdb-torus instead of mesh" in said
    links = found.differences.filter(pl.col("view") == "link")
    assert "(0,0) X+ → (1,0)" in links["item"].to_list(), "with the machine's names"
    assert found.runs["virtual_ps"].to_list() == [None, None]


def test_a_load_below_saturation_is_worse_in_its_latency(folders: Path) -> None:
    found = exanet.compare(folders / "qfdb", folders / "mesh", folders / "qfdb")
    one, other = (exanet.load(folders / name).points for name in ("qfdb", "mesh"))
    latency = 100 * (other["latency_ns"] / one["latency_ns"] - 1)
    worst = max(latency)
    assert found.runs["change_percent"].to_list() == [0, pytest.approx(worst), 0]
    assert found.runs["by"][1] == "mean latency at load 0.6"
    assert invoke("compare", folders / "qfdb", folders / "mesh", "--fail-over", f"{worst + 0.01:.3f}").exit_code == 0
    over = invoke("compare", folders / "qfdb", folders / "mesh", "--fail-over", f"{worst - 0.01:.3f}")
    assert over.exit_code == 1 and f"{found.runs['by'][1]} is {worst:.2f} %" in over.output
    said = invoke("compare", folders / "qfdb", folders / "qfdb")
    assert "measures the same as" in said.output and said.exit_code == 0


def test_a_latency_beyond_saturation_decides_nothing(tmp_path: Path) -> None:
    full = {"accepted_load": 0.4, "latency_ns": 900.0, "saturated": True}
    first = swept(tmp_path / "a", [{**full, "load": 0.9}, {"load": 0.5, "latency_ns": 500.0, "saturated": False}])
    second = swept(
        tmp_path / "b",
        [{**full, "load": 0.9, "latency_ns": 9000.0, "accepted_load": 0.39}, {"load": 0.5, "latency_ns": 505.0, "saturated": False}],
    )
    found = exanet.compare(first, second)
    assert found.runs["by"][1] == "accepted load at load 0.9" and found.runs["change_percent"][1] == pytest.approx(2.5)
    assert exanet.compare(second, first).runs["change_percent"][1] == pytest.approx(-0.990099)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (False, False, (1.0, "mean latency at all")),
        (False, True, (10.0, "accepted load at all")),
        (True, True, (10.0, "accepted load at all")),
        (True, False, (10.0, "accepted load at all")),
        (None, None, (10.0, "accepted load at all")),
    ],
)
def test_what_is_accepted_counts_from_saturation_on(
    tmp_path: Path, before: bool | None, after: bool | None, said: tuple[float, str]
) -> None:
    first = swept(tmp_path / "a", [{"latency_ns": 500.0, "saturated": before}])
    second = swept(tmp_path / "b", [{"latency_ns": 505.0, "saturated": after, "accepted_load": 0.45}])
    found = exanet.compare(first, second)
    assert (pytest.approx(found.runs["change_percent"][1]), found.runs["by"][1]) == said


def test_messages_all_at_once_are_compared_by_the_time_of_all(folders: Path, tmp_path: Path) -> None:
    exanet.simulate("trenz-2x2", [0, 0.3], message_bytes=8192, measure_ps=20_000_000, output=tmp_path / "larger")
    exanet.simulate("trenz-2x2", [0, 0.3], message_bytes=4096, measure_ps=20_000_000, output=tmp_path / "smaller")
    found = exanet.compare(folders / "once", tmp_path / "larger")
    assert found.kind == "messages" and found.notes == [f"Only {tmp_path / 'larger'} has load 0.3."]
    ends = found.differences.filter(pl.col("figure") == "completion_ns")
    assert ends["item"].to_list() == ["0"] and ends["change"][0] > 0
    both = exanet.compare(tmp_path / "smaller", tmp_path / "larger").differences
    assert both.filter(pl.col("figure") == "completion_ns")["item"].to_list() == ["0"], "at a load it says how long was measured"


def test_only_common_loads_are_compared_and_the_others_named(folders: Path) -> None:
    found = exanet.compare(folders / "mesh", folders / "higher")
    loads = found.differences.filter(pl.col("view") == "load")
    assert set(loads["item"]) == {"0.6"}
    assert [note.partition(" has ")[2] for note in found.notes] == ["load 0.2.", "load 0.9."]


def test_jobs_are_compared_by_their_end(folders: Path) -> None:
    found = exanet.compare(folders / "jobs", folders / "larger")
    assert found.kind == "jobs"
    ends = [exanet.load(folders / name).summary["finished_ns"] for name in ("jobs", "larger")]
    assert [end / 1e3 for end in found.runs["virtual_ps"]] == pytest.approx(ends) and found.runs["by"][1] == "virtual time"
    jobs = found.differences.filter((pl.col("view") == "job") & (pl.col("figure") == "finished_ns"))
    assert jobs["item"].to_list() == ["0: stencil-3d", "1: barrier"]
    said = invoke("compare", folders / "jobs", folders / "larger", "--fail-over", "1%")
    assert said.exit_code == 1 and "longer than" in said.output and "Job 0: stencil-3d changes most" in said.output


def test_points_of_a_sweep_are_matched_by_their_parameters(tmp_path: Path) -> None:
    grid = [{"load": load, "traffic": traffic} for traffic in ("uniform", "tornado") for load in (0.1, 0.3)]
    first = swept(tmp_path / "a", [{**row, "latency_ns": 500.0} for row in grid])
    other = [{**row, "machine": "n", "latency_ns": 500.0 if row["load"] == 0.1 else 600.0} for row in reversed(grid)]
    found = exanet.compare(first, swept(tmp_path / "b", [*other, {"load": 0.5, "machine": "n", "latency_ns": 1.0}]))
    rows = found.differences.filter(pl.col("figure") == "latency_ns")
    assert dict(rows.select("item", "change").iter_rows()) == {
        **{"uniform, load 0.1": 0.0, "uniform, load 0.3": 100.0, "tornado, load 0.1": 0.0, "tornado, load 0.3": 100.0}
    }
    assert found.settings.filter(pl.col("key") == "sweep.machine")["value"].to_list() == ["m", "n"]
    assert found.notes == [f"Only {tmp_path / 'b'} has point uniform, load 0.5."]
    assert found.runs["change_percent"][1] == pytest.approx(20) and found.runs["by"][1] == "mean latency at uniform, load 0.3"
    said = invoke("compare", tmp_path / "a", tmp_path / "b")
    assert "worse at 2 of 4 points" in said.output and "600 ns instead of 500 ns (+20.00 %)" in said.output


def test_a_search_for_saturation_is_matched_without_its_load(tmp_path: Path) -> None:
    loads = {"a": 0.6, "b": 0.57}
    folders = [
        swept(tmp_path / name, [{"at_saturation": True, "load": load, "accepted_load": load, "saturated": False}])
        for name, load in loads.items()
    ]
    found = exanet.compare(*folders)
    assert found.runs["by"][1] == "accepted load at saturation" and found.runs["change_percent"][1] == pytest.approx(5)


def test_points_that_fail_only_later_are_worse_than_any_limit(tmp_path: Path) -> None:
    first = swept(tmp_path / "a", [{"load": 0.1}, {"load": 0.2}])
    second = swept(tmp_path / "b", [{"load": 0.1}, {"load": 0.2, "accepted_load": None, "error": "no memory"}])
    found = exanet.compare(first, second)
    assert found.runs["failed"].to_list() == [0, 1] and found.notes == [f"{second}: 1 point failed that did not in {first}: load 0.2."]
    assert invoke("compare", first, second, "--fail-over", "50%").exit_code == 1
    assert invoke("compare", second, first, "--fail-over", "50%").exit_code == 0


def test_sweeps_of_jobs_are_compared_by_their_times(tmp_path: Path) -> None:
    folders = []
    for name, times in (("a", (10.0, 20.0)), ("b", (10.0, 30.0))):
        folder = tmp_path / name
        folder.mkdir()
        columns = {"machine": "m", "job": ["x", "y"], "finished_ns": times, "error": [None, None]}
        frame = pl.DataFrame(columns, schema_overrides={"error": pl.String})
        (folder / "runs.parquet").write_bytes(parquet(frame))
        (folder / "summary.json").write_bytes(json_bytes({"name": name, "axes": {}, "exanet_version": "0.1.0"}))
        folders.append(folder)
    found = exanet.compare(*folders)
    assert found.kind == "sweep of jobs" and found.runs["by"][1] == "time to the end at y" and found.runs["change_percent"][1] == 50


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("mesh", "jobs"), "results of exanet sim jobs, and mesh has those of exanet sim load: compare one kind"),
        (("mesh", "once"), "results of exanet sim messages, and"),
        (("mesh", "sweep"), "results of a sweep of loads, and"),
        (("other", "sweep"), "it has no point in common with other: load 0.1; load 0.2 and load 0.7; load 0.8"),
        (("sweep", "unsaid"), "it has no load, which varies in another of the sweeps"),
        (("sweep", "journal"), "the sweep was stopped before its end: go on with it"),
        (("mesh", "part"), "the run was stopped before its end (by hand)"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], said: str
) -> None:
    for name in ("mesh", "jobs", "once"):
        shutil.copytree(folders / name, tmp_path / name)
    swept(tmp_path / "sweep", [{"load": 0.7}, {"load": 0.8}])
    swept(tmp_path / "other", [{"load": 0.1}, {"load": 0.2}])
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal/journal.jsonl").write_text("")
    shutil.copytree(tmp_path / "mesh", tmp_path / "part")
    summary = json.loads((tmp_path / "part/summary.json").read_text())
    (tmp_path / "part/summary.json").write_text(json.dumps({**summary, "complete": False, "reason": "by hand"}))
    shutil.copytree(tmp_path / "sweep", tmp_path / "unsaid")
    frame = pl.read_parquet(tmp_path / "sweep/runs.parquet").drop("load")
    (tmp_path / "unsaid/runs.parquet").write_bytes(parquet(frame))
    monkeypatch.chdir(tmp_path)
    done = invoke("compare", *names)
    assert isinstance(done.exception, InputError) and said in str(done.exception) and "\n" not in str(done.exception)
