# SPDX-License-Identifier: Apache-2.0
"""Does a comparison of runs show what differs, where the time went, and nothing where nothing did?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from synthetic_run import synthetic_meta, synthetic_run
from typer.testing import CliRunner

import exanet
from exanet import results
from exanet.cli import app
from exanet.errors import InputError


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, words)])


def slowed(run: dict[str, Any], rank: int, call: str, by_ps: int) -> dict[str, Any]:
    """The run as it would be if one rank waited longer in a call, and all others for it."""
    ranks, calls = run["ranks"], run["mpi_calls"]
    ranks["virtual_ps"] = ranks["virtual_ps"] + by_ps
    ranks["wait_ps"] = ranks["wait_ps"] + by_ps
    ranks["wait_ps"][rank] += by_ps
    calls["time_ps"] = calls["time_ps"].copy()
    calls["time_ps"][calls["call"] == calls["names"].index(call)] += by_ps
    run["summary"]["virtual_ps"] += by_ps
    return run


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return results.write(tmp_path / "before", synthetic_run(), synthetic_meta())


@pytest.fixture
def after(tmp_path: Path) -> Path:
    meta = {**synthetic_meta(), "map": "random"}
    meta["machine"] = {**meta["machine"], "router": {"latency_cycles": 5}, "links": [{"name": "a", "latency_ps": 7}]}
    return results.write(tmp_path / "after", slowed(synthetic_run(), 3, "MPI_Wait", 10**9), meta)


def test_what_differs_is_named_with_its_cause(before: Path, after: Path) -> None:
    found = exanet.compare(before, after)
    assert found.runs["change_percent"].to_list() == [0.0, pytest.approx(100 * 10**9 / found.runs["virtual_ps"][0])]
    settings = {key: rows["value"].to_list() for (key,), rows in found.settings.group_by("key")}
    assert settings == {
        "machine.links.a.latency_ps": [None, "7"],
        "machine.router.latency_cycles": [None, "5"],
        "run.map": ["linear", "random"],
    }
    changed = found.differences.filter(pl.col("change") != 0)
    assert set(changed.filter(pl.col("view") == "call")["item"]) == {"MPI_Wait"}
    waits = changed.filter((pl.col("view") == "rank") & (pl.col("figure") == "wait_ps"))
    assert waits.sort("change", descending=True)["item"][0] == "3" and len(waits) == 64
    assert not len(changed.filter(pl.col("view").is_in(["size"])))
    shown = invoke(before, after)
    assert shown.exit_code == 0, shown.output
    assert "takes 1.00 ms longer than" in shown.output and "in MPI_Wait +1.00 ms" in shown.output


def test_what_was_not_chosen_has_no_row(tmp_path: Path) -> None:
    chosen = [{}, {"allreduce": "ring"}]
    folders = [results.write(tmp_path / str(i), synthetic_run(), synthetic_meta() | {"collectives": one}) for i, one in enumerate(chosen)]
    found = exanet.compare(*folders)
    assert found.settings.rows() == [("run.collectives.allreduce", 0, None), ("run.collectives.allreduce", 1, "ring")]


def test_equal_runs_are_said_to_be_equal(tmp_path: Path, before: Path) -> None:
    same = results.write(tmp_path / "same", synthetic_run(), synthetic_meta())
    found = exanet.compare(before, same)
    assert found.settings.is_empty() and found.differences["change"].abs().sum() == 0
    shown = invoke(before, same, "--fail-over", "0")
    assert shown.exit_code == 0 and "takes as long as" in shown.output and "Ranks whose" not in shown.output


def test_runs_of_other_sizes_and_networks_are_compared_by_means(tmp_path: Path, before: Path) -> None:
    small = results.write(tmp_path / "small", synthetic_run(side=2, shape=(2, 2, 1)), synthetic_meta(8))
    found = exanet.compare(before, small, before)
    assert found.runs["ranks"].to_list() == [64, 8, 64]
    assert found.differences.filter(pl.col("view") == "rank").is_empty()
    third = found.differences.filter(pl.col("run") == 2)
    assert third["change"].abs().sum() == 0 and len(third) == len(found.differences.filter(pl.col("run") == 1))
    assert invoke(before, small, before).exit_code == 0


def test_sizes_are_those_of_the_other_tables(tmp_path: Path) -> None:
    run = synthetic_run()
    count = len(run["messages"]["bytes"])
    sizes = [0, 1, 2, 3, *(2**k for k in range(3, 53)), *(2**k - 1 for k in range(3, 53))]
    run["messages"]["bytes"][:] = (sizes * (count // len(sizes) + 1))[:count]
    folder = results.write(tmp_path / "a", run, synthetic_meta())
    rows = exanet.compare(folder, folder).differences.filter((pl.col("view") == "size") & (pl.col("figure") == "messages"))
    assert rows["item"].to_list() == ["0", "2", *(str(2 ** (k - 1) + 1) for k in range(2, 53))]
    counts = dict(zip(rows["item"], rows["value"], strict=True))
    assert counts["0"] > counts["2"] and counts["3"] < counts["5"] == counts["9"]  # 0 and 1; 2; 3 and 4 (here 4 is not); 7 and 8


def test_a_size_that_a_run_does_not_have_has_no_median(tmp_path: Path, before: Path) -> None:
    run = synthetic_run()
    run["messages"]["bytes"][:] = 100
    same = results.write(tmp_path / "same", run, synthetic_meta())
    rows = exanet.compare(before, same).differences.filter((pl.col("view") == "size") & (pl.col("item") != "65"))
    medians, counts = (rows.filter(pl.col("figure") == figure) for figure in ("median_ps", "messages"))
    assert len(medians) and medians["value"].is_null().all() and medians["change"].is_null().all() and medians["first"].is_not_null().all()
    assert (counts["value"] == 0).all() and (counts["change"] < 0).all()
    shown = invoke(before, same, "-o", tmp_path / "page")
    assert shown.exit_code == 0 and "0 s (" not in shown.output.partition("Messages by size, median time")[2].partition("Network")[0]


def test_a_run_that_takes_longer_than_allowed_ends_with_1(before: Path, after: Path) -> None:
    percent = 100 * 10**9 / json.loads((before / "summary.json").read_text())["virtual_ps"]
    assert invoke(before, after, "--fail-over", f"{percent + 0.1:.3f}%").exit_code == 0
    assert invoke(after, before, "--fail-over", "0 %").exit_code == 0  # it is faster
    over = invoke(before, after, "--fail-over", f"{percent - 0.1:.3f}")
    assert over.exit_code == 1 and "% longer, more than" in over.output


def test_tables_are_written_whole(tmp_path: Path, before: Path, after: Path) -> None:
    found = exanet.compare(before, after)
    for _ in range(2):  # the second replaces the first
        assert invoke(before, after, "-o", tmp_path / "c").exit_code == 0
    assert {file.name for file in (tmp_path / "c").iterdir()} == {
        *("compared.parquet", "settings.parquet", "differences.parquet", "report.html", "summary.json")
    }
    assert pl.read_parquet(tmp_path / "c" / "differences.parquet").equals(found.differences)
    assert exanet.load(tmp_path / "c").command == "compare"
    printed = json.loads(invoke(before, after, "--json").output)
    assert printed["runs"] == found.runs.to_dicts() and len(printed["differences"]) == len(found.differences)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["before"], "give the folders of two runs or more"),
        (["before", "nothing"], "not a result folder"),
        (["before", "stopped"], "the run was stopped before its end (by hand)"),
        (["before", "before", "--fail-over", "much"], "is not a percentage; write a number with its unit, e.g. 150 %"),
        (["before", "before", "-o", "before"], "the folder holds results of exanet run"),
    ],
)
def test_refusals(tmp_path: Path, before: Path, words: list[str], said: str) -> None:
    run = synthetic_run()
    run["summary"] |= {"complete": False, "reason": "by hand"}
    results.write(tmp_path / "stopped", run, synthetic_meta())
    done = invoke(*(tmp_path / word if (tmp_path / word).exists() or word == "nothing" else word for word in words))
    assert isinstance(done.exception, InputError) and said in str(done.exception)
    assert {file.name for file in before.iterdir()} >= {"summary.json", "ranks.parquet"}
