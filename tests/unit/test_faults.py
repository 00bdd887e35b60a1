# SPDX-License-Identifier: Apache-2.0
"""Files of faults: their example, what is refused and where, and what simulations make of them."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import cli, machine
from exanet.errors import InputError
from exanet.faults import read

THREE = "events:\n  - at: 5 us\n    down: links:3:1\n    for: 20 us\n"


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(cli.app, [str(word) for word in words], catch_exceptions=False)


def written(folder: Path, text: str) -> Path:
    file = folder / "faults.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", ["exanest", "torus-512", "fat-tree-64", "dragonfly-342", "trenz-2x2"])
def test_the_example_fits_the_machine_that_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("faults", "new", "cut", "-m", name).exit_code == 0
    done = run("faults", "check", "cut.yaml", "-m", name)
    assert done.exit_code == 0
    assert "14 changes" in done.stdout  # a cut link, five of a flapping one, and a node: down and up each
    with pytest.raises(InputError, match="there already"):
        run("faults", "new", "cut", "-m", name)


WATCHED = "lofamo: {}\nevents:\n  - {{at: 5 us, down: 'links:1:1'}}\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("events:\n  - at: 5\n    down: links:1:1\n", 2, "5 has no unit"),
        ("events:\n  - {at: 5 us, down: 'links:1:1'}\nlofamo:\n", 3, "'lofamo' has nothing below it"),
        ("events:\n  - {at: 5 us, down: 'links:1:1'}\nlofamo: null\n", 3, "'lofamo' has nothing below it"),
        ("events:\n  - at: 5 us\n    dwn: links:1:1\n", 3, "did you mean 'down'?"),
        ("events:\n  - at: 5 us\n", 2, "one of 'down', 'up', 'lossy', 'slow', 'interface', 'host' or 'impaired'"),
        ("events:\n  - down: links:1:1\n", 2, "'at' is missing"),
        ("events:\n  - at: 5 us\n    down: links:1:1\n    period: 3 us\n", 2, "'period' and 'count' belong together"),
        ("events:\n  - at: 5 us\n    down: links:1:1\n    for: 3 us\n    period: 3 us\n    count: 2\n", 2, "less than its period"),
        ("events:\n  - at: 5 us\n    up: links:1:1\n    for: 3 us\n", 2, "'up' does not take 'for'"),
        ("events:\n  - at: 5 us\n    lossy: links:1:1\n", 2, "needs 'lost_packets' or 'bit_errors'"),
        ("events:\n  - at: 5 us\n    lossy: links:1:1\n    lost_packets: 2\n", 4, "less than or equal to 1"),
        ("events:\n  - at: 5 us\n    down: links:1:1\n    seed: 2\n", 2, "'down' does not take 'seed'"),
        ("events:\n  - at: 5 us\n    slow: links:1:1\n", 2, "'slow' needs 'rate', e.g. rate: 0.5"),
        ("events:\n  - at: 5 us\n    slow: links:1:1\n    rate: 1\n", 4, "less than 1"),
        ("events:\n  - at: 5 us\n    slow: links:1:1\n    rate: 1e-9\n", 4, "greater than or equal to 0.001"),
        ("events:\n  - at: 5 us\n    down: links:1:1\n    rate: 0.5\n", 2, "'down' does not take 'rate', as 'slow' does"),
        ("events:\n  - at: 5 us\n    interface: links:1:1\n", 2, "has no interface: name a node"),
        ("events:\n  - at: 5 us\n    host: links:1:1\n", 2, "has no host: name a node"),
        ("events:\n  - at: 5 us\n    host: (0,0,0)\n    for: 1 us\n", 2, "a host that has died stays dead"),
        ("detection: 1 us\nevents:\n  - at: 5 us\n    down: links:1:1\n", 1, "no event has 'host'"),
        ("events:\n  - at: 5 us\n    impaired: all\n    delay: 1 us\n", 2, "'impaired' needs 'corrupted_packets'"),
        ("events:\n  - at: 5 us\n    impaired: all\n    corrupted_packets: 0.6\n    duplicated_packets: 0.6\n", 2, "at most 1 together"),
        ("events:\n  - at: 5 us\n    impaired: all\n    corrupted_packets: 0.6\n    delay: 1 us\n", 2, "'delay' is that of reordered"),
        ("events:\n  - at: -1 us\n    down: links:1:1\n", 2, "is negative"),
        ("events:\n  - at: 5 us\n    down: links:1:1\n  - at: 6 us\n    down: nowhere\n", 4, "neither a node nor a link"),
        ("events:\n  - at: 5 us\n    down: links:99999\n", 2, "this machine has"),
        ("drawn:\n  - what: cables\n    mtbf: 1 ms\n    until: 1 s\n", 2, "'links' or 'nodes'"),
        ("drawn:\n  - what: links\n    mtbf: 0\n    until: 1 s\n", 3, "greater than 0"),
        ("reaction: 1 us\n", 1, "lists no failures"),
        (WATCHED.format("{period: 1 ms}"), 1, "give either 'master'"),
        (WATCHED.format("{period: 1 ms, master: qfdb, service: 1 us}"), 1, "give either 'master'"),
        (WATCHED.format("{period: 10 ns, service: 1 us}"), 1, "from 1 us to 27 s"),
        (WATCHED.format("{period: 1 ms, master: qfdb}"), 1, "is no node of this machine"),
        (WATCHED.format("{period: 1 ms, service: 1 us, polcy: report}"), 1, "did you mean 'policy'"),
        (WATCHED.format("{period: 1 ms, service: 1 us}") + "detection: 1 ms\n", 1, "no event has 'host'"),
        ("reaction: 1 us\n" + WATCHED.format("{period: 1 ms, service: 1 us, policy: report}"), 1, "routes stay as they are"),
        ("- at: 5 us\n", 1, "mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        run("faults", "check", file, "-m", "torus-512")
    assert len(raised.value.messages) == 1
    message = raised.value.messages[0]
    assert message.startswith(f"{file}:{line}:")
    assert said in message


def test_all_problems_are_found_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        run("faults", "check", written(tmp_path, "events:\n  - at: 5\n    down: x\n  - at: 1 us\n    dwn: x\n"), "-m", "torus-512")
    assert [message.split(":")[1] for message in raised.value.messages] == ["2", "5"]


def test_what_flaps_goes_down_once_in_each_period(tmp_path: Path) -> None:
    text = "events:\n  - {at: 5 us, down: 'links:1:1', for: 1 us, period: 4 us, count: 3}\n"
    failing = read.add(machine.load("torus-512"), written(tmp_path, text))
    assert failing.faults is not None
    times = [(change["at_ps"] // 10**6, change["lasts_ps"] // 10**6) for change in failing.faults["events"]]
    assert times == [(5, 1), (9, 1), (13, 1)]


def test_packets_at_a_load_are_counted_when_lost_whatever_the_threads(tmp_path: Path) -> None:
    file = written(tmp_path, THREE)
    options = ("-m", "torus-512", "--load", "0.2", "--warm-up", "2 us", "--measure", "30 us", "--faults", file, "-q")
    for threads in ("1", "2"):
        assert run("sim", "load", *options, "--threads", threads, "-o", tmp_path / threads).exit_code == 0
    for name in ("summary.json", "points.parquet", "faults.parquet"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    point = json.loads((tmp_path / "1/summary.json").read_text())["points"][0]
    assert point["lost_packets"] > 0
    table = pl.read_parquet(tmp_path / "1/faults.parquet")
    assert table["time_ps"].to_list() == [5_000_000] * 3 + [25_000_000] * 3
    assert table["up"].to_list() == [False] * 3 + [True] * 3


LOSSY = "events:\n  - at: 0 s\n    lossy: links:64:1\n    lost_packets: 0.02\n    seed: {seed}\n    for: 20 us\n"
ROUTERS = {  # what is lossy there, and threads that must not matter
    "exanet": ("torus-512", "links:64:1", "2"),
    "cut-through": ("bxi-256", "links:64:1", "1"),  # under pauses it takes one
    "wormhole": ("exanest-tor", "switch(1,0,0)", "2"),
}


@pytest.mark.parametrize("routers", list(ROUTERS))
def test_lossy_links_lose_the_share_that_they_are_to_whatever_the_threads(tmp_path: Path, routers: str) -> None:
    name, links, threads = ROUTERS[routers]
    text = LOSSY.format(seed=7).replace("links:64:1", links)
    found = {}
    for run_of, said, on in (("a", text, "1"), ("b", text, threads), ("c", text.replace("seed: 7", "seed: 8"), "1")):
        (tmp_path / run_of).mkdir()
        file = written(tmp_path / run_of, said)
        options = ("-m", name, "--load", "0.3", "--warm-up", "2 us", "--measure", "30 us", "--faults", file, "-q")
        assert run("sim", "load", *options, "--threads", on, "-o", tmp_path / run_of / "out").exit_code == 0
        found[run_of] = json.loads((tmp_path / run_of / "out/summary.json").read_text())["points"][0]
    assert found["a"] == found["b"]
    assert found["a"]["lost_packets"] > 0
    assert found["a"]["latency_ns"] != found["c"]["latency_ns"], "another seed loses others"


def test_the_flow_level_refuses_lossy_links(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the flow level has no packets that a link could lose"):
        file = written(tmp_path, LOSSY.format(seed=1))
        run("sim", "jobs", "--job", "barrier", "--level", "flow", "-m", "torus-512", "--faults", file, "-o", tmp_path / "out")


@pytest.mark.parametrize("command", [("messages", "--message", "64KiB"), ("jobs", "--job", "stencil-3d:bytes=4KiB")])
@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_message_that_is_lost_ends_the_simulation(tmp_path: Path, command: tuple[str, ...], level: str) -> None:
    file = written(tmp_path, THREE)
    with pytest.raises(InputError, match=r"the simulation cannot go on: at .* failed: "):
        run("sim", *command, "--level", level, "-m", "torus-512", "--faults", file, "-q", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [("messages", "--message", "4KiB"), ("jobs", "--job", "stencil-3d:bytes=4KiB")])
@pytest.mark.parametrize("level", ["packet", "flow"])
def test_jobs_and_messages_take_other_routes_around_what_failed_before(tmp_path: Path, command: tuple[str, ...], level: str) -> None:
    file = written(tmp_path, "events:\n  - at: 0 s\n    down: links:3:1\n")
    assert run("sim", *command, "--level", level, "-m", "torus-512", "--faults", file, "-q", "-o", tmp_path / "out").exit_code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["run"]["faults"] == str(file)
    assert len(pl.read_parquet(tmp_path / "out/faults.parquet")) == 3


def test_failures_from_the_beginning_and_faults_of_a_file_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="remove 'failed' and 'rails'"):
        run("sim", "load", "-m", "torus-512", "--fail", "links:1:1", "--faults", written(tmp_path, THREE), "-o", tmp_path / "out")


def test_a_replay_reports_what_failed_and_ends_where_a_message_is_lost(tmp_path: Path) -> None:
    options = ("replay", "--job", "stencil-2d:ranks=16,bytes=4KiB", "-m", "exanest", "-q", "--no-report")
    late = written(tmp_path, "events:\n  - {at: 0 s, down: links:1:1}\n")
    assert run(*options, "--faults", late, "-o", tmp_path / "out").exit_code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["run"]["faults"] == str(late)
    assert summary["lost_packets"] == 0
    assert len(pl.read_parquet(tmp_path / "out/faults.parquet")) == 1
    cut = written(tmp_path, "events:\n  - {at: 2 us, down: 'qfdb(0,0,0).F1'}\n")
    with pytest.raises(InputError, match=r"the replay ends at .* on node \d+, .* failed: "):
        run(*options, "--faults", cut, "-o", tmp_path / "ended")
    assert not (tmp_path / "ended").exists()


LATE = "events:\n  - {at: 900 ms, down: links:1:1}\n"


@pytest.mark.parametrize("name", ["exanest", "torus-512", "fat-tree-64", "dragonfly-342", "bxi-256"])
@pytest.mark.parametrize(
    "command",
    [
        ("load", "--load", "0.9", "--warm-up", "1 us", "--measure", "4 us"),
        ("jobs", "--job", "alltoall:ranks=24,bytes=1KiB", "--nic", "exanet"),
    ],
    ids=["load", "job"],
)
def test_until_the_first_fault_times_are_those_without(tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
    """Routers have a virtual channel more, which nothing uses before routes change."""
    found = []
    for options in ((), ("--faults", written(tmp_path, LATE))):
        out = tmp_path / f"out-{len(found)}"
        assert run("sim", *command, "-m", name, *options, "-q", "-o", out).exit_code == 0
        summary = json.loads((out / "summary.json").read_text())
        figures = summary.get("points", [summary])[0]
        found.append({key: value for key, value in figures.items() if key not in ("events", "machine", "machine_sha256", "run")})
    lost, failed = found[1].pop("lost_packets"), found[1].pop("failed_operations")
    assert lost == failed == 0
    for name in ("least_throughput_percent", "recovery_ns"):
        assert found[1].pop(name, None) is None
    assert found[0] == found[1]


def test_who_knew_of_a_failure_is_in_the_table_and_in_one_line(tmp_path: Path) -> None:
    from exanet.results import summary

    text = "lofamo: {period: 4 us, master: '(7,7,7)', policy: report}\nevents:\n  - {at: 2 us, down: 'links:2:1'}\n"
    command = ("load", "-m", "torus-512", "--load", "0.02", "--warm-up", "1 us", "--measure", "40 us")
    assert run("sim", *command, "--faults", written(tmp_path, text), "-q", "-o", tmp_path / "out").exit_code == 0
    faults = pl.read_parquet(tmp_path / "out" / "faults.parquet").drop("load")
    times = faults.select("time_ps", "detected_ps", "first_known_ps", "master_known_ps", "all_known_ps")
    for row in times.iter_rows():
        assert list(row) == sorted(row) and row[-1] < 30_000_000
    assert faults["unaware_nodes"].to_list() == [0, 0]
    line = summary.awareness_text(faults)
    assert re.fullmatch(r"LO\|FA\|MO: of 2 changes the first node knew of 2 after [\d.]+ µs at most, .*all nodes knew of 2 after .*", line)
    assert summary.awareness_text(faults.drop("detected_ps")) == ""
    nobody = faults.with_columns(pl.lit(None, pl.Int64).alias("all_known_ps"), pl.lit(512).alias("unaware_nodes"))
    assert summary.awareness_text(nobody).endswith("all nodes knew of 0")


def test_lofamo_is_refused_where_nodes_have_no_router(tmp_path: Path) -> None:
    file = written(tmp_path, WATCHED.format("{period: 1 ms, service: 1 us}"))
    with pytest.raises(InputError, match=r"faults\.yaml:1:\d+: error: .*take 'lofamo' out"):
        read.add(machine.load("fat-tree-64"), file)


@pytest.mark.parametrize(("name", "routing"), [("torus-512", "adaptive"), ("fat-tree-64", "adaptive"), ("fat-tree-64", "spray")])
def test_routings_that_choose_among_ports_avoid_what_is_down(tmp_path: Path, name: str, routing: str) -> None:
    """Also where a packet has one shortest route, which is down. The last packets that are lost were on their way when
    routes changed."""
    file = written(tmp_path, "reaction: 2 us\nevents:\n  - {at: 12 us, down: 'links:8:1'}\n")
    command = ("load", "-m", name, "--routing", routing, "--load", "0.3", "--warm-up", "10 us", "--measure", "20 us")
    assert run("sim", *command, "--faults", file, "-q", "-o", tmp_path / "out").exit_code == 0
    lost = pl.read_parquet(tmp_path / "out" / "intervals.parquet").filter(pl.col("lost_packets") > 0)
    assert len(lost) and lost["begin_ns"].min() >= 11_500 and lost["end_ns"].max() < 20_000


@pytest.mark.parametrize(("name", "states"), [("exanest", 4), ("torus-512", 4), ("fat-tree-64", 4)])
def test_routes_are_proved_in_each_state_of_links(tmp_path: Path, name: str, states: int) -> None:
    """The third event makes a state of the first one's again, and a lossy link makes none."""
    text = (
        "events:\n  - {at: 1 us, down: links:1:1, for: 4 us}\n  - {at: 2 us, down: links:2:5, for: 1 us}\n"
        "  - {at: 8 us, down: links:1:1, for: 1 us}\n  - {at: 9 us, lossy: links:1:1, lost_packets: 0.5}\n"
        "  - {at: 10 us, down: nodes:1:1}\n"
    )
    done = run("check", name, "--faults", written(tmp_path, text), "--json")
    assert done.exit_code == 0, done.output
    verdict = json.loads(done.stdout)
    assert (verdict["states"], verdict["free_of_deadlock"], verdict["follows"]) == (states, True, True)


def test_a_cycle_of_a_state_is_found_and_dated(tmp_path: Path) -> None:
    """With two channels a torus is free of deadlock, but not with its detours in the same ones."""
    file = written(tmp_path, "events:\n  - {at: 3 us, down: links:3:1}\n")
    assert run("check", "torus-512", "--channels", "2").exit_code == 0
    done = run("check", "torus-512", "--faults", file, "--channels", "2")
    assert done.exit_code == 1
    assert re.search(r"torus-512: packets can wait for each other in a cycle from 3\.00 µs on, on ", done.stdout), done.stdout
    assert "free of deadlock in 2 states of links, with new routes in each" in run("check", "torus-512", "--faults", file).stdout


def test_faults_are_an_axis_of_sweeps(tmp_path: Path) -> None:
    written(tmp_path, THREE)
    plan = tmp_path / "plan.yaml"
    plan.write_text("machine: torus-512\nfaults: [none, faults.yaml]\nload: 0.2\nwarm_up: 1 us\nmeasure: 10 us\n")
    assert run("sweep", plan, "-o", tmp_path / "out", "--workers", "1", "-q").exit_code == 0
    table = pl.read_parquet(tmp_path / "out/runs.parquet").sort("faults")
    assert table["faults"].to_list() == ["faults.yaml", "none"]
    assert table["lost_packets"].to_list()[0] > 0
    assert table["lost_packets"].to_list()[1] is None
    plan.write_text("machine: torus-512\nfaults: [nowhere.yaml]\n")
    with pytest.raises(InputError, match=r"plan.yaml:2:\d+: error: .*nowhere.yaml"):
        run("sweep", plan, "-o", tmp_path / "out-2", "-q")


def test_jobs_survive_a_cut_where_interfaces_retransmit_end_to_end(tmp_path: Path) -> None:
    machine_file = tmp_path / "machine.yaml"
    machine_file.write_text("extends: exanest\nname: e2e\ndescription: x\nni: {reliability: end-to-end}\n")
    file = written(tmp_path, "reaction: 1 s\nevents:\n  - {at: 2 us, down: links:8:1, for: 100 us}\n")
    options = ("--job", "stencil-2d:ranks=64,bytes=4KiB", "-m", machine_file, "-q")
    times = {}
    for name, more in (("whole", ()), ("cut", ("--faults", file))):
        assert run("sim", "jobs", *options, "--nic", "exanet", *more, "-o", tmp_path / name).exit_code == 0
        times[name] = json.loads((tmp_path / name / "summary.json").read_text())
        assert run("replay", *options, "--no-report", *more, "-o", tmp_path / f"replay-{name}").exit_code == 0
    assert times["cut"]["lost_packets"] > 0
    assert times["cut"]["given_up_packets"] == 0
    assert times["cut"]["finished_ns"] > times["whole"]["finished_ns"] + 100_000, "a timeout, at least"
    assert json.loads((tmp_path / "replay-cut/summary.json").read_text())["retransmitted_packets"] > 0
    with pytest.raises(InputError, match="the flow level sends no packet again"):
        run("replay", *options, "--level", "flow", "-o", tmp_path / "flow")


ALL_LINKS = "events:\n  - {at: 0 s, slow: 'links:1536:1', rate: 0.5}\n"


@pytest.mark.parametrize("options", [("--nic", "exanet"), ("--nic", "ideal"), ("--level", "flow")], ids=["exanet", "ideal", "flow"])
def test_at_half_the_rate_long_messages_take_twice_the_time(tmp_path: Path, options: tuple[str, ...]) -> None:
    took = {}
    for name, more in (("whole", ()), ("slow", ("--faults", written(tmp_path, ALL_LINKS)))):
        command = ("sim", "jobs", "--job", "alltoall:ranks=8,bytes=256KiB", "-m", "torus-512", *options, *more, "-q", "-o", tmp_path / name)
        assert run(*command).exit_code == 0
        took[name] = json.loads((tmp_path / name / "summary.json").read_text())["finished_ns"]
    assert 1.85 < took["slow"] / took["whole"] < 2.05
    table = pl.read_parquet(tmp_path / "slow/faults.parquet")
    assert set(table["kind"]) == {"slow"}
    assert not table["up"].any()


def test_what_shares_in_turn_refuses_slow_links(tmp_path: Path) -> None:
    options = ("--message", "64KiB", "--level", "flow", "--sharing", "fifo", "-m", "torus-512", "-q")
    with pytest.raises(InputError, match="say --sharing max-min"):
        run("sim", "messages", *options, "--faults", written(tmp_path, ALL_LINKS), "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_rates_of_slow_links_than_there_are_numbers_are_refused(tmp_path: Path) -> None:
    text = "events:\n" + "".join(f"  - {{at: 0 s, slow: 'links:1:1', rate: 0.{100 + i}}}\n" for i in range(80))
    with pytest.raises(InputError, match="slow links have 80 different rates"):
        run("sim", "load", "-m", "torus-512", "--load", "0.1", "--faults", written(tmp_path, text), "-q", "-o", tmp_path / "out")


@pytest.mark.parametrize("options", [("--nic", "exanet"), ("--level", "flow")], ids=["packet", "flow"])
def test_a_message_to_an_interface_that_has_stopped_is_lost(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Its router forwards: a job on the other nodes ends as it does without."""
    job = ("sim", "jobs", "--job", "barrier:ranks=9", "-m", "torus-512", *options, "-q")
    text = "events:\n  - {{at: 0 s, interface: '{0}'}}\n"
    times = []
    for name, more in (("whole", ()), ("beside", ("--faults", written(tmp_path, text.format("(3,3,3)"))))):
        out = tmp_path / name
        assert run(*job, *more, "-o", out).exit_code == 0
        times.append(json.loads((out / "summary.json").read_text())["finished_ns"])
    assert times[0] == times[1]
    with pytest.raises(InputError, match=r"the simulation cannot go on: at .* failed: "):
        run(*job, "--faults", written(tmp_path, text.format("(1,0,0)")), "-o", tmp_path / "lost")


IMPAIRED = (
    "events:\n  - {at: 0 s, impaired: all, corrupted_packets: 0.01, duplicated_packets: 0.01, reordered_packets: 0.01, delay: 2 us}\n"
)


def test_end_to_end_reliability_hides_packets_that_come_wrong_twice_or_late(tmp_path: Path) -> None:
    machine_file = tmp_path / "machine.yaml"
    machine_file.write_text("extends: exanest\nname: e2e\ndescription: x\nni: {reliability: end-to-end}\n")
    job = ("sim", "jobs", "--job", "alltoall:ranks=16,bytes=4KiB", "--nic", "exanet", "-q", "--faults", written(tmp_path, IMPAIRED))
    assert run(*job, "-m", machine_file, "-o", tmp_path / "out").exit_code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["corrupted_packets"] > 0
    assert summary["duplicate_packets"] > 0
    assert summary["given_up_packets"] == summary["lost_packets"] == 0
    with pytest.raises(InputError, match="these interfaces take each packet for a new one"):
        run(*job, "-m", "exanest", "-o", tmp_path / "refused")


@pytest.mark.parametrize(
    "command", [("load", "--load", "0.1"), ("jobs", "--job", "barrier", "--level", "flow"), ("jobs", "--job", "barrier")]
)
def test_packets_are_impaired_between_interfaces_alone(tmp_path: Path, command: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="between interfaces alone, at packet level"):
        run("sim", *command, "-m", "torus-512", "--faults", written(tmp_path, IMPAIRED), "-q", "-o", tmp_path / "out")


def test_throughput_through_a_failure_and_the_time_until_it_is_as_before(tmp_path: Path) -> None:
    """A tenth of the links is cut for 10 us, in a window of 60 us behind a warm-up of 20 us."""
    file = written(tmp_path, "reaction: 1 s\nevents:\n  - {at: 40 us, down: 'links:154:1', for: 10 us}\n")
    options = ("-m", "torus-512", "--load", "0.2", "--warm-up", "20 us", "--measure", "60 us", "--faults", file, "-q")
    assert run("sim", "load", *options, "-o", tmp_path / "out").exit_code == 0
    point = json.loads((tmp_path / "out/summary.json").read_text())["points"][0]
    table = pl.read_parquet(tmp_path / "out/intervals.parquet")
    assert len(table) == 100
    assert table["lost_packets"].sum() == point["lost_packets"] > 0
    cut = (table["begin_ns"] >= 40_000) & (table["begin_ns"] < 50_000)
    assert table.filter(~cut & (table["begin_ns"] < 40_000))["lost_packets"].sum() == 0
    assert point["least_throughput_percent"] < 90
    assert 9_000 < point["recovery_ns"] < 14_000


def test_the_intervals_that_cost_most_are_shown() -> None:
    from exanet.results import summary

    counts = {
        "lost_packets": [0, 5, 2, 0, 0, 0, 0],
        "retransmitted_packets": [0, 4, 3, 0, 0, 0, 0],
        "failed_operations": [0, 0, 1, 0, 0, 0, 0],
        "waited_ps": [1, 2_000_000, 3, 0, 1, 2, 7_000_000],  # what waits after the last change waits longest
    }
    rows = {"from_ps": range(0, 70, 10), "to_ps": range(10, 80, 10), "what": ["", "(1) X+", *"abcde"], "changes": [0, 3, 1, 1, 1, 1, 1]}
    table = summary._fault_costs(pl.DataFrame(rows | counts))
    cells = [list(column.cells) for column in table.columns]
    assert cells[2:5] == [["5", "2", "0", "0", "0"], ["4", "3", "0", "0", "0"], ["0", "1", "0", "0", "0"]]
    assert cells[5:] == [["2.00 µs", "3.00 ps", "1.00 ps", "2.00 ps", "7.00 µs"], ["(1) X+ and 2 more", "a", "c", "d", "e"]]
    assert summary._fault_costs(pl.DataFrame(rows | counts)[3:]).row_count == 0  # nothing was lost


def test_recovery_is_none_where_nothing_is_known_and_zero_without_a_dip() -> None:
    import numpy as np

    from exanet.sim.points import recovery

    def of(packets: list[int], at_ns: float) -> dict[str, Any]:
        intervals = {"begin_ns": np.arange(len(packets)) * 10.0, "delivered_packets": np.array(packets)}
        return recovery({"intervals": intervals, "interval_ns": 10.0, "faults": {"time_ps": [at_ns * 1e3]}}, 0.0)

    assert of([100, 100, 100, 100], 15) == {"least_throughput_percent": 100, "recovery_ns": 0}
    assert of([100, 100, 40, 80, 100], 20) == {"least_throughput_percent": 40, "recovery_ns": 20}
    assert of([100, 100, 40, 80], 20) == {"least_throughput_percent": 40, "recovery_ns": None}
    assert of([0, 0, 40, 80], 20) == of([100, 100], 5) == {"least_throughput_percent": None, "recovery_ns": None}


def test_a_table_of_faults_is_read_back(tmp_path: Path) -> None:
    from exanet.results import fault_table

    table = fault_table({"time_ps": [3], "node": [1], "port": [-1], "up": [0], "kind": ["slow"], "what": ["(1)"]})
    assert table.rows() == [(3, 1, -1, False, "slow", "(1)")]


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs/faults.md"
    lines = [line.strip() for line in page.read_text().splitlines() if re.match(" {4}exanet (?!run|compare)", line)]
    assert [line.split()[1] for line in lines] == ["faults", "faults", "sim", "faults", "check"]
    said = []
    for line in lines:
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
        said.append(done.stdout)
    assert re.search(r"load 0.2: Faults: [0-9]+ packets? lost; what failed when is in faults.parquet", said[2])
    assert "free of deadlock in 4 states" in said[4]


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/faults.md").read_text()
    file = written(tmp_path, textwrap.dedent(page.split("## The file\n\n")[1].split("\n\nTimes have units")[0]))
    done = run("faults", "check", file, "-m", "torus-512")
    assert done.exit_code == 0


@pytest.mark.parametrize("mode", ["load", "messages", "jobs"])
def test_hosts_die_under_ranks_alone(tmp_path: Path, mode: str) -> None:
    file = written(tmp_path, "events:\n  - at: 5 us\n    host: (0,0,0)\n")
    assert run("faults", "check", file, "-m", "torus-512").exit_code == 0
    words = {"load": ["--load", "0.1"], "messages": ["--load", "0.1"], "jobs": ["--job", "barrier"]}[mode]
    with pytest.raises(InputError, match=r"faults.yaml:3:.*hosts die under ranks alone, in exanet run and replay"):
        run("sim", mode, "-m", "torus-512", *words, "--faults", file)
