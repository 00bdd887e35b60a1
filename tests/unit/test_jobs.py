# SPDX-License-Identifier: Apache-2.0
"""`exanet sim --job`: its figures, its files, and what it says of input that cannot be used."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import charts, in_browser, needs_browser
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError
from exanet.sim import jobs
from exanet.sim.jobs import Job, finish


def run(directory: Path, *more: str) -> Any:
    return CliRunner().invoke(cli.app, ["sim", "-m", "fat-tree-64", "-o", str(directory), *more], catch_exceptions=False)


def test_a_job_is_read_from_text() -> None:
    assert Job.parse("stencil-2d") == Job("stencil-2d")
    assert Job.parse("stencil-3d:bytes=4KiB,rounds=10,ranks=27,pause=1.5us") == Job("stencil-3d", 27, 4096, 10, 1_500_000)


def test_what_pages_took_is_reported_where_interfaces_have_them(tmp_path: Path) -> None:
    """Two ranks exchange 64 KiB, 16 pages of each buffer, in five rounds: each is walked to once."""
    alone = finish("exanest-ni", [Job("alltoall", ranks=2, size_bytes=1 << 16, rounds=5)], nic="exanet")
    assert (alone["page_lookups"], alone["page_walks"]) == (0, 0)
    assert "page_walks" not in finish("exanest-ni", [Job("barrier", ranks=2)])
    file = tmp_path / "pages.yaml"
    file.write_text("extends: exanest-ni\nname: pages\nni: {pages: 4 KiB}\n")
    job = "alltoall:ranks=2,bytes=64KiB,rounds=5"
    shown = run(tmp_path / "out", "-m", str(file), "--nic", "exanet", "--job", job)
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    walks, lookups = summary["page_walks"], summary["page_lookups"]
    assert walks == 2 * (16 + 16 + 1)  # of what is read, what is written, and the words of ends
    assert lookups == 5 * 2 * (128 + 128 + 1)  # packets at each end, and an end
    assert f"{walks} walks for {lookups} pages" in shown.stdout
    assert "walks" not in run(tmp_path / "physical", "-m", "exanest-ni", "--nic", "exanet", "--job", job).stdout


def test_a_folder_of_results_the_same_each_time(tmp_path: Path) -> None:
    options = ("--job", "stencil-2d:bytes=1KiB,rounds=3,ranks=16", "--job", "stencil-3d:bytes=64B", "--map", "random")
    shown = run(tmp_path / "a", *options)
    assert shown.exit_code == 0
    assert "2 jobs on fat-tree-64" in shown.stdout
    assert run(tmp_path / "b", *options, "-q").stdout == ""
    for file in ("jobs.parquet", "messages.parquet", "links.parquet", "summary.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    rows = pl.read_parquet(tmp_path / "a/jobs.parquet")
    assert rows["ranks"].to_list() == [16, 48]
    assert rows["messages"].to_list() == [16 * 4 * 3, 48 * 6]
    counted = pl.read_parquet(tmp_path / "a/messages.parquet").group_by("job").agg(pl.col("count").sum()).sort("job")["count"].to_list()
    assert counted == rows["messages"].to_list()
    summary = json.loads((tmp_path / "a/summary.json").read_text())
    assert summary["finished_ns"] == max(rows["finished_ns"].to_list())


def test_queues_are_seen_over_the_whole_time_of_the_jobs(tmp_path: Path) -> None:
    done = jobs.finish("fat-tree-64", [jobs.Job("incast", size_bytes=4096)])
    samples, switches = done["queued"].shape
    assert switches == 48
    assert 200 <= samples <= 400, "of 100 ns each, or twice as long as often as there are too many"
    assert done["watched_ps"] / samples / 100e3 in [2**n for n in range(12)]
    assert done["finished_ns"] <= done["watched_ps"] / 1e3 <= done["finished_ns"] + 2 * done["watched_ps"] / samples / 1e3
    standing = done["queued"].sum(axis=1)
    assert standing[: samples // 10].mean() > 10 * max(standing[-1], 1), "all send at once, to one"
    assert jobs.finish("trenz-2x2", [jobs.Job("barrier")])["queued"].shape[0] < 200


@pytest.mark.slow
@needs_browser
def test_the_page_of_jobs_draws_in_a_browser(tmp_path: Path) -> None:
    assert run(tmp_path / "r", "-m", "trenz-2x2", "--job", "stencil-2d", "--job", "incast:ranks=2").exit_code == 0
    elements = in_browser(tmp_path / "r/report.html")
    assert charts(elements) == 4
    assert "Watts and joules" in elements


def page_data(directory: Path) -> Any:
    return json.loads(re.findall(r'id="data">(.*?)</script>', (directory / "report.html").read_text())[0])


@needs_browser
def test_queues_of_a_network_too_large_to_draw_are_shown_and_a_note(tmp_path: Path) -> None:
    assert run(tmp_path / "r", "-m", "fat-tree-1024", "--job", "incast:ranks=64").exit_code == 0
    data = page_data(tmp_path / "r")
    [network] = data["networks"]
    assert (network["use"], network["over_time"], data["drawings"]) == (None, None, {})
    assert len(network["queues"]["names"]) == len(network["queues"]["rows"]) > 1
    elements = in_browser(tmp_path / "r/report.html")
    assert charts(elements) == 3  # of messages, and two of queues
    assert "Not drawn: the network has more than 4096 links" in elements


def test_runs_on_one_machine_are_distinguished(tmp_path: Path) -> None:
    text = "stencil-2d:bytes=2KiB,ranks=16"
    shown = run(tmp_path / "r", "--job", text, "--map", "random", "--routing", "up-down", "--fail", "links:2:1").stdout
    spec = json.loads((tmp_path / "r/summary.json").read_text())["run"]
    recorded = {"jobs": [text], "mapping": "random", "routing": "up-down", "failed": ["links:2:1"]}
    assert {key: spec[key] for key in recorded} == recorded
    data = page_data(tmp_path / "r")
    assert data["title"] == f"{text} on fat-tree-64, up-down routing, without links:2:1, random mapping"
    assert data["jobs"][0][0] == text
    assert text in shown and "on fat-tree-64, up-down routing, without links:2:1, random mapping" in shown
    for more in ([], ["--level", "flow"]):
        options = ["--routing", "valiant", "--load", "0.1", "--measure", "20 us", *more]
        assert "fat-tree-64, valiant routing" in run(tmp_path / "t", *options).stdout
        assert json.loads((tmp_path / "t/summary.json").read_text())["run"]["routing"] == "valiant"
        assert "on fat-tree-64, valiant routing" in page_data(tmp_path / "t")["title"]
        shutil.rmtree(tmp_path / "t")


def test_a_job_with_priority_is_done_sooner_and_the_other_later() -> None:
    def finished(*priorities: int) -> list[float]:
        """By job, the mean over mappings: in one alone a job may wait for its own messages most of all."""
        both = [jobs.Job("alltoall-pairwise", ranks=64, size_bytes=2048, priority=priority) for priority in priorities]
        done = [jobs.finish("fat-tree-1024-slim", both, mapping="random", seed=seed)["jobs"] for seed in (1, 2, 3, 4)]
        return [sum(rows[job]["finished_ns"] for rows in done) / len(done) for job in range(2)]

    alike, first, second = finished(0, 0), finished(1, 0), finished(0, 1)
    assert first[0] < 0.97 * alike[0] and first[1] > alike[1]
    assert second[1] < 0.97 * alike[1] and second[0] > alike[0]


def test_random_mapping_takes_longer_than_neighbours_beside_each_other() -> None:
    job = Job("stencil-3d", size_bytes=2048, rounds=3)
    near, far = (jobs.finish("torus-512", [job], mapping=mapping) for mapping in ("linear", "random"))
    assert near["mean_hops"] == 1
    assert far["mean_hops"] > 5
    assert far["finished_ns"] > 1.5 * near["finished_ns"]


@pytest.mark.parametrize(
    "text",
    [
        "stencil-3d:bytes=64KiB,rounds=5,pause=10us",
        "allreduce-ring:bytes=1MiB",
        "reduce:bytes=64KiB",
        "barrier:rounds=3",
        "broadcast:bytes=64KiB",
        "allreduce-tree:bytes=64KiB",
        "allreduce-doubling:bytes=64KiB",
        "storage:bytes=16KiB,rounds=5",
    ],
)
def test_jobs_at_flow_level_take_as_long_as_packet_by_packet(text: str) -> None:
    packet, flow = (jobs.finish("fat-tree-64", [Job.parse(text)], level=level) for level in ("packet", "flow"))
    assert flow["finished_ns"] == pytest.approx(packet["finished_ns"], rel=0.05)
    assert flow["jobs"][0]["message_ns"] == pytest.approx(packet["jobs"][0]["message_ns"], rel=0.05)
    for same in ("packets", "packet_hops", "mean_hops"):
        assert flow[same] == packet[same]
    assert flow["links"]["packets"].tolist() == packet["links"]["packets"].tolist()


def test_several_jobs_at_flow_level_disturb_each_other(tmp_path: Path) -> None:
    options = ("--level", "flow", "--map", "random", "--job", "stencil-3d:bytes=64KiB,ranks=32")
    alone = json.loads(run(tmp_path / "a", *options, "--json").stdout)
    both = json.loads(run(tmp_path / "b", *options, "--job", "alltoall:bytes=16KiB,ranks=32", "--json").stdout)
    assert both["jobs"][0]["finished_ns"] > 1.05 * alone["jobs"][0]["finished_ns"]
    assert "links on average" in run(tmp_path / "c", *options).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--job", "stencil"], "use one of stencil-2d"),
        (["--job", "stencil-3d:size=4"], "'size=4' is not understood"),
        (["--job", "stencil-3d:bytes=4"], "bytes: 4 has no unit"),
        (["--job", "web-search:bytes=4KiB"], "web-search has flow sizes of its own; leave bytes out"),
        (["--job", "stencil-3d:rounds=-1"], "not a whole number"),
        (["--job", "stencil-3d:rounds=0"], "rounds 0: give from 1 to 1000000000"),
        (["--job", "stencil-3d:ranks=65"], "65 ranks in total"),
        (["--job", "stencil-3d", "--job", "stencil-3d:ranks=64"], "the others leave 0 of the machine's 64 endpoints"),
        (["--job", "stencil-3d", "--map", "scatter"], "use one of linear"),
        (["--job", "stencil-3d", "--packet-bytes", "0"], "from 1 B to"),
        (["--job", "stencil-3d:pause=99999999s,rounds=5"], "pause 99999999 s: give from 0 ps to 1000 s"),
        (["--job", "stencil-3d:pause=1s,rounds=5000"], "all its pauses together 5000 s"),
        (["--job", "stencil-3d:bytes=99999999999999GiB"], "to 1 TiB"),
        (["--job", "stencil-3d:priority=2"], "priority 2: give from 0 to 1"),
        (["--job", "stencil-3d", "--seed", "-1"], "from 0 to"),
        (["--job", "stencil-3d:priority=1", "--level", "flow"], "leave out the priority"),
        (["--job", "stencil-3d", "--level", "flow", "--sharing", "fifo"], "--sharing belongs to traffic"),
        (["--job", "stencil-3d", "--message", "1 KiB"], "--message belongs to traffic"),
        (["--job", "stencil-3d", "--load", "0.5"], "--load belongs to traffic"),
    ],
)
def test_what_cannot_be_run_is_refused_and_leaves_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        run(tmp_path / "r", *options)
    assert message in refusal.value.messages[0]
    assert list(tmp_path.iterdir()) == []


def test_a_job_takes_the_seeds_that_traffic_takes() -> None:
    assert jobs.finish("trenz-2x2", [Job("barrier")], seed=(1 << 64) - 1)["finished_ns"] > 0
    with pytest.raises(InputError, match="from 0 to 2\\^64 - 1"):
        jobs.finish("trenz-2x2", [Job("barrier")], seed=1 << 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stencil-3d:ranks=0", "ranks: a job takes two or more, not 0; leave ranks out"),
        ("stencil-3d:ranks=1", "ranks: a job takes two or more, not 1"),
        ("stencil-3d:rounds=1,rounds=2", "'rounds' is given twice; keep one"),
        ("barrier:ranks=4,rounds=2,ranks=4", "'ranks' is given twice"),
    ],
)
def test_a_job_that_would_not_be_what_it_says_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--job {text}: {message}"):
        Job.parse(text)
