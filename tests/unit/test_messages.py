# SPDX-License-Identifier: Apache-2.0
"""Messages at packet level and at flow level: `exanet sim --message`, `--level flow`, and flows from Python."""

from __future__ import annotations

import json
import pickle
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import _core, cli, machine, sim
from exanet.errors import InputError, InternalError
from exanet.level import LEVELS
from exanet.machine import variant
from exanet.sim import messages
from exanet.sim.messages import Flow
from exanet.sim.spec import SHARINGS


def run(directory: Path, *more: str) -> Any:
    return CliRunner().invoke(cli.app, ["sim", "-m", "fat-tree-64", "-o", str(directory), *more], catch_exceptions=False)


def test_both_levels_agree_on_a_burst() -> None:
    spec = {"traffic": "complement", "message_bytes": 1 << 17}
    packet = sim.simulate("fat-tree-64", offered=0, spec=sim.TrafficSpec(level="packet", **spec))
    flow = sim.simulate("fat-tree-64", offered=0, spec=sim.TrafficSpec(level="flow", **spec))
    assert flow["completion_ns"] == pytest.approx(packet["completion_ns"], rel=0.02)
    assert flow["mean_hops"] == packet["mean_hops"] == 6
    assert flow["created"] == flow["measured"] == 64


def test_a_folder_of_results_and_the_same_bytes_again(tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        options = ("--level", "flow", "--traffic", "permutation", "--load", "0.2,0.5", "--measure", "1 ms", "--seed", seed)
        shown = run(tmp_path / name, *options)
        assert "at flow level, 64 of 64 endpoints send" in shown.stdout
    points = pl.read_parquet(tmp_path / "a/points.parquet")
    assert points["load"].to_list() == [0.2, 0.5]
    assert points["accepted_load"].to_list() == pytest.approx(points["offered_load"].to_list(), rel=0.2)
    counted = pl.read_parquet(tmp_path / "a/latency.parquet").group_by("load").agg(pl.col("count").sum()).sort("load")["count"]
    assert counted.to_list() == points["measured"].to_list()
    for file in ("points.parquet", "links.parquet", "latency.parquet", "summary.json", "report.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    assert (tmp_path / "a/points.parquet").read_bytes() != (tmp_path / "c/points.parquet").read_bytes()


def test_rounds_of_a_burst_follow_each_other(tmp_path: Path) -> None:
    once, thrice = (
        json.loads(run(tmp_path / rounds, "--level", "flow", "--traffic", "complement", "--rounds", rounds, "--json").stdout)[0]
        for rounds in ("1", "3")
    )
    assert thrice["created"] == 3 * once["created"]
    assert thrice["completion_ns"] == pytest.approx(3 * once["completion_ns"], abs=3)  # each begins up to a grain late


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "flux"], "give packet or flow"),
        (["--level", "flow", "--message", "0"], "from 1 B to"),
        (["--message", "12"], "has no unit"),
        (["--rounds", "2"], "--message"),
        (["--level", "flow", "--rounds", "0"], "rounds 0"),
        (["--level", "flow", "--rounds", "2", "--load", "0.5"], "leave out --load"),
        (["--level", "flow", "--grain", "0"], "a grain of 0 ps"),
        (["--level", "flow", "--sharing", "fairly"], "give max-min or fifo"),
        (["--message", "1 KiB", "--sharing", "fifo"], "--level flow"),
        (["--message", "1 KiB", "--pace", "fare"], "give free or fair"),
        (["--message", "1 KiB", "--pace", "fair", "--rounds", "2"], "one round"),
        (["--level", "flow", "--arrivals", "bernoulli"], "--arrivals belongs to exanet sim load"),
        (["--level", "flow", "--packet-bytes", "0"], "from 1 B to"),
        (["--level", "flow", "--load", "0.1", "--measure", "2 ns", "--warm-up", "0"], "no message begins"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_and_leaves_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        run(tmp_path / "r", *options)
    assert message in refusal.value.messages[0]
    assert list(tmp_path.iterdir()) == []


def test_flows_one_by_one_share_a_link_and_wait_for_each_other() -> None:
    alone = messages.run_flows("torus-512", [Flow(0, 1, 1 << 20)])
    took = int(alone["finished_ps"][0])
    found = messages.run_flows("torus-512", [Flow(0, 1, 1 << 20), Flow(0, 1, 1 << 20), Flow(1, 0, 1 << 20, after=(0, 1)), Flow(5, 6, 1, 7)])
    assert found["finished_ps"][0] == found["finished_ps"][1] == pytest.approx(2 * took, rel=0.01)
    assert found["begun_ps"].tolist() == [0, 0, int(found["finished_ps"][1]), 7]
    assert int(found["finished_ps"][2] - found["begun_ps"][2]) == pytest.approx(took, abs=1000)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ([Flow(0, 0, 8)], "two different endpoints"),
        ([Flow(0, 512, 8)], "below 512"),
        ([Flow(0, 1, 0)], "flow 0 of 0 B: give from 1 B to 1 TiB"),
        ([Flow(0, 1, 1.5)], "flow 0 of 1.5: give a whole number"),  # type: ignore[arg-type]
        ([Flow(-1, 1, 1)], "flow 0, from endpoint -1"),
        ([Flow(0, 1, 1, 1 << 64)], "to 1000 s"),
        ([Flow(0, 1, 8, after=(0,))], "before it in the list"),
    ],
)
def test_flows_that_make_no_sense_are_refused(flows: list[Flow], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        messages.run_flows("torus-512", flows)
    assert message in refusal.value.messages[0]


def test_the_flow_level_takes_routers_larger_than_the_packet_level_does(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("extends: torus-512\nname: m\ntopology:\n  kind: full-mesh\n  shape: {value: [600], source: x, kind: chosen}\n")
    with pytest.raises(InputError):
        machine.load(file)
    point = sim.simulate(str(file), offered=0, spec=sim.TrafficSpec(traffic="complement", level="flow"))
    assert point["slowdown"] == pytest.approx(1, abs=1e-3)


def example(name: str, *options: str) -> list[list[str]]:
    """Rows of the table that an example prints."""
    command = [sys.executable, str(Path(__file__).parents[2] / "examples" / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]


def test_the_example_of_topologies_finds_the_published_order() -> None:
    slowdown = {row[0].split()[0]: float(row[4]) for row in example("topologies_at_scale.py", "--most", "6000")}
    assert slowdown["fat-tree"] < slowdown["jellyfish"] < slowdown["torus"]
    assert slowdown["dragonfly"] == pytest.approx(slowdown["fat-tree"], rel=0.2)


def test_the_example_of_both_levels_agrees_with_paced_and_with_free_senders() -> None:
    *rows, _, verdict = example("levels_agree.py", "--machines", "hypercube-512", "--message", "8192")
    assert len(rows) == 7  # all permutations but transpose
    assert all(abs(float(cell.strip("%"))) < 5 for row in rows for cell in (*row[3:5], *row[6:8]))
    assert verdict[0].count("7 of 7") == 2


@pytest.mark.parametrize("sizes", ["ali-storage", "hadoop"])
def test_flows_of_data_centres_take_as_long_at_flow_level_at_low_load(sizes: str) -> None:
    spec = {"message_sizes": sizes, "measure_ps": 10**10}
    packet, flow = (sim.simulate("fat-tree-64", offered=0.1, spec=sim.TrafficSpec(level=level, **spec)) for level in LEVELS)
    assert flow["created"] == flow["measured"] == packet["measured"] > 500
    assert flow["latency_ns"] == pytest.approx(packet["latency_ns"], rel=0.05)
    assert flow["slowdown"] == pytest.approx(packet["slowdown"], rel=0.25)
    assert flow["slowdown_p50"] == pytest.approx(packet["slowdown_p50"], rel=0.05)
    for ours, theirs in zip(flow["sizes"], packet["sizes"], strict=True):
        assert ours["created"] == theirs["created"]
        # Short messages wait behind packets of long ones at packet level alone: 20 % of the shortest class.
        assert ours["latency_ns"] == pytest.approx(theirs["latency_ns"], rel=0.25)


def test_flow_sizes_have_a_table_of_their_own(tmp_path: Path) -> None:
    shown = run(tmp_path / "r", "--message", "web-search", "--load", "0.1", "--measure", "5 ms").stdout
    assert "Messages of web-search sizes, " in shown and "longer: " in shown
    sizes = pl.read_parquet(tmp_path / "r/sizes.parquet")
    assert sizes["most_bytes"].to_list() == [10_000, 100_000, 1_000_000, None]
    [point] = json.loads((tmp_path / "r/summary.json").read_text())["points"]
    assert sizes["created"].sum() == point["created"]
    with pytest.raises(InputError, match="max-min"):
        sim.simulate("torus-512", offered=0.1, spec=sim.TrafficSpec(level="flow", sharing="fifo", message_sizes="hadoop"))


def test_fifo_sharing_takes_free_senders_as_the_packet_level_does() -> None:
    spec = {"traffic": "tornado", "message_bytes": 1 << 16}
    packet = sim.simulate("torus-512", offered=0, spec=sim.TrafficSpec(**spec))
    fair, fifo = (sim.simulate("torus-512", offered=0, spec=sim.TrafficSpec(level="flow", sharing=way, **spec)) for way in SHARINGS)
    assert fifo["completion_ns"] == pytest.approx(packet["completion_ns"], rel=0.1)
    assert fair["completion_ns"] < packet["completion_ns"] / 4  # what fair rates would make of it


def test_flows_one_by_one_under_round_robin() -> None:
    """A sender nearer by one router gets half of the link, the two behind it a quarter each: it ends first, they at
    the same time."""
    ring = [Flow(src, 3, 1 << 20) for src in range(3)]
    alone = int(messages.run_flows("torus-512", ring[:1], sharing="fifo")["finished_ps"][0])
    found = messages.run_flows("torus-512", ring, sharing="fifo")["finished_ps"]
    assert found[2] == pytest.approx(2 * alone, rel=0.02)
    assert found[0] == pytest.approx(3 * alone, rel=0.02)
    assert found[1] == pytest.approx(3 * alone, rel=0.02)


def test_the_example_of_a_ring_allreduce_takes_the_time_of_its_steps() -> None:
    flows = runpy.run_path(str(Path(__file__).parents[2] / "examples/allreduce_flows.py"))["ring_allreduce"](64, 1 << 20)
    found = messages.run_flows("fat-tree-64", flows)
    assert len(flows) == 126 * 64
    for flow, begun in zip(flows, found["begun_ps"], strict=True):
        assert begun == (found["finished_ps"][flow.after[0]] if flow.after else 0)
    near, far = (int(messages.run_flows("fat-tree-64", [Flow(0, to, 1 << 14)])["finished_ps"][0]) for to in (1, 63))
    assert 126 * near <= found["finished_ps"].max() <= 126 * (far + 1000)  # a grain for each step


def test_figures_from_python_that_no_integer_of_the_simulator_holds_are_refused() -> None:
    with pytest.raises(InputError, match="a measured window of 100000000 s"):
        sim.simulate("trenz-2x2", offered=0.1, spec=sim.TrafficSpec(measure_ps=10**20))
    with pytest.raises(InputError, match="packets of -1 B"):
        messages.run_flows("trenz-2x2", [], packet_bytes=-1)
    with pytest.raises(InputError, match="not both"):
        sim.simulate("trenz-2x2", offered=0.1, spec=sim.TrafficSpec(message_bytes=1, message_sizes="hadoop"))
    with pytest.raises(InputError, match="leave out the load, or the rounds"):
        sim.simulate("trenz-2x2", offered=0.1, spec=sim.TrafficSpec(message_bytes=1, rounds=2))


def test_the_flow_level_takes_the_routes_that_do_not_look_at_queues(tmp_path: Path) -> None:
    [point] = json.loads(run(tmp_path / "v", "--level", "flow", "--routing", "valiant", "--traffic", "complement", "--json").stdout)
    assert point["mean_hops"] > 6  # which is what it is by the tree's own routes
    for more in ([], ["--job", "barrier"]):
        with pytest.raises(InputError, match="looks at queues"):
            run(tmp_path / "a", "--level", "flow", "--routing", "ugal-l", *more)


@pytest.mark.parametrize(
    ("described", "traffic", "seed"),
    [
        ("fat-tree-64", "uniform", 9),
        ("fat-tree-64", "uniform", 112),
        ("fat-tree-64", "hot-region:0.5", 81),
        ("fat-tree-64", "hot-region:0.5", 255),
        ("dragonfly:2", "hot-region:0.5", 5),
        ("dragonfly:2 valiant", "uniform", 11),
        ("torus:9,9", "hot-region:0.5", 12),
    ],
)
def test_fifo_sharing_ends_whenever_messages_leave_their_senders(described: str, traffic: str, seed: int) -> None:
    """In these some message has left its sender, and its place there is empty and stays so, while others fill FIFOs."""
    topology, _, routing = described.partition(" ")
    own = topology == "fat-tree-64"
    network = variant.variant(topology if own else "torus-512", None if own else topology, routing or None, [], packets=False)
    found = sim.simulate(network, offered=0, spec=sim.TrafficSpec(traffic=traffic, seed=seed, level="flow", sharing="fifo"))
    assert found["measured"] == found["created"] > 0


def test_a_check_that_fails_is_an_exception_with_what_was_run_and_python_goes_on() -> None:
    flows = _core.Flows(machine.load("trenz-2x2").resolve(), 256, 1000)
    flows.add(0, 1, 1000, 0, [])
    assert flows.run()
    with pytest.raises(RuntimeError, match=r"a flow cannot start \(simulated time \d+ ps, values 0 and 1, core/flow/flows.cpp:\d+\)"):
        flows.add(0, 1, 1000, 0, [])  # before what is now


BROKEN = """
import exanet.cli, exanet.sim.messages as messages
class Broken:
    def run(self): raise RuntimeError("flows wait for each other")
messages.running = lambda *_: Broken()
exanet.cli.main()
"""


def test_an_internal_error_is_one_message_with_what_was_run_and_a_status_of_its_own(tmp_path: Path) -> None:
    options = ["sim", "-m", "torus-512", "--topology", "torus:4,4", "--routing", "valiant", "--level", "flow", "--seed", "7", "-o", "r"]
    done = subprocess.run([sys.executable, "-c", BROKEN, *options], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (70, "", 1), done.stderr
    assert done.stderr.startswith("exanet: internal error: flows wait for each other; this is a defect of exanet. What was run: machine ")
    for said in (
        "machine torus-4-4",
        "topology torus:4,4",
        "routing valiant",
        "load 0.0",
        "traffic uniform",
        "seed 7",
        "level flow",
        "sharing max-min",
    ):
        assert f"{said}," in done.stderr, said
    assert list(tmp_path.iterdir()) == []
    again = pickle.loads(pickle.dumps(InternalError("what", {"seed": 7})))
    assert (again.what, again.parameters) == ("what", {"seed": 7})


def test_valiant_at_flow_level_says_that_its_messages_keep_one_route(tmp_path: Path) -> None:
    for routing, level, noted in (("valiant", "flow", True), ("minimal", "flow", False), ("valiant", "packet", False)):
        out = tmp_path / f"{routing}-{level}"
        done = run(out, "--topology", "torus:4,4", "--routing", routing, "--level", level, "--message", "1 KiB")
        assert ("note: at flow level a message keeps one of the routes that valiant draws" in done.stdout) == noted
        assert ("notes" in json.loads((out / "summary.json").read_text())["run"]) == noted
    done = run(tmp_path / "j", "--topology", "torus:4,4", "--routing", "valiant", "--level", "flow", "--job", "barrier")
    assert "note: at flow level" in done.stdout


def test_there_are_no_figures_of_what_has_not_arrived(tmp_path: Path) -> None:
    spec = sim.TrafficSpec(message_bytes=1 << 20, measure_ps=2_000_000, warm_up_ps=0, seed=3)
    point = sim.simulate(machine.load("torus-2x2x2"), offered=100, spec=spec)
    assert point["created"] > point["measured"] == 0
    nulls = {key for key, value in point.items() if value is None}
    assert nulls >= {"latency_ns", "latency_p50_ns", "latency_p99_ns", "latency_least_ns", "latency_most_ns", "slowdown", "slowdown_p99"}
    options = [
        "-m",
        "torus-2x2x2",
        "--message",
        "1 MiB",
        "--load",
        "10",
        "--measure",
        "20 us",
        "--warm-up",
        "0 s",
        "-o",
        str(tmp_path / "r"),
    ]
    done = CliRunner().invoke(cli.app, ["sim", *options], catch_exceptions=False)
    assert done.exit_code == 0
    assert " 0 s " not in done.stdout
    assert pl.read_parquet(tmp_path / "r/points.parquet")["latency_ns"].to_list() == [None]


def test_a_mean_of_survivors_is_marked(tmp_path: Path) -> None:
    loads = ["--load", "0.05,1", "--measure", "40 us", "--warm-up", "0 s"]
    options = ["-m", "torus-512", "--topology", "torus:4,4", "--traffic", "incast:8", *loads]
    done = CliRunner().invoke(cli.app, ["sim", *options, "-o", str(tmp_path / "r")], catch_exceptions=False)
    low, high = (line for line in done.stdout.splitlines() if re.match(r"\s*[01]\.\d{3} ", line))
    assert "> " not in low
    assert "> " in high
    assert high.rstrip().endswith("saturated")
