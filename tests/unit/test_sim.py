# SPDX-License-Identifier: Apache-2.0
"""`exanet sim`: its figures, its files, and what it says of input that cannot be used."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import charts, in_browser, needs_browser
from typer.testing import CliRunner

from exanet import _core, cli, machine, sim
from exanet.errors import InputError

NETWORKS = (
    "torus-512",
    "fat-tree-64",
    "fat-tree-1024",
    "dragonfly-342",
    "hyperx-512",
    "jellyfish-512",
    "hypercube-512",
    "fat-tree-1024-slim",
    "slim-fly-588",
    "megafly-288",
    "exanest-dragonfly",
)
SHORT = sim.TrafficSpec(warm_up_ps=5_000_000, measure_ps=10_000_000)


def run(directory: Path, *more: str) -> Any:
    options = ["sim", "-m", "fat-tree-64", "--load", "0.2,0.6", "--warm-up", "5 us", "--measure", "20 us", "-o", str(directory), *more]
    return CliRunner().invoke(cli.app, options, catch_exceptions=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_carries_what_it_is_offered_at_low_load(name: str) -> None:
    point = sim.simulate(name, offered=0.1, spec=SHORT)
    assert not point["saturated"]
    assert point["accepted_load"] == pytest.approx(0.1, rel=0.15)
    assert point["created"] == point["measured"] > 0
    assert point["zero_load_ns"] * 0.9 < point["latency_ns"] < point["zero_load_ns"] * 1.3
    assert 0 < max(point["links"]["use"]) < 1


# Machine, shape and pattern, and the load that the links where most packets meet carry: how many senders share one of
# them.
LIMITS = (
    ("torus-2x2x2", "torus:8,8", "complement", 1 / 2),
    ("torus-2x2x2", "torus:5,5", "transpose", 1 / 2),
    ("torus-2x2x2", "mesh:8,8", "complement", 1 / 4),
    ("torus-2x2x2", "mesh:8,8", "transpose", 1 / 7),
    ("fat-tree-64", None, "transpose", 1 / 4),
    ("fat-tree-64", None, "incast:8", 1 / 8),
    ("hyperx-512", "hyperx:4,4", "complement", 1 / 4),
    ("dragonfly-342", "dragonfly:2", "complement", 1 / 8),
    ("exanest-blade", None, "complement", 1 / 4),
)


def test_the_verdict_is_right_on_either_side_of_known_limits() -> None:
    wrong, runs = [], 0
    for name, shape, traffic, limit in LIMITS:
        described = sim.variant(name, shape, None, ())
        for share in (0.5, 0.8, 1.25, 1.6):
            for seed in (11, 12, 13):
                point = sim.simulate(described, offered=share * limit, spec=sim.TrafficSpec(traffic, seed=seed))
                runs += 1
                if point["saturated"] != (share > 1) or point["settled"] == point["saturated"]:
                    wrong.append((name, shape, traffic, share, seed))
    assert len(wrong) <= 0.01 * runs, wrong


def test_the_verdict_at_load_1_does_not_depend_on_the_window() -> None:
    """A sender whose only link has no time to spare has a queue that grows without bound, be the window ever so
    short."""
    switch = sim.variant("fat-tree-64", "fat-tree:8", None, ())
    for window_us in (5, 20, 80, 160):
        for load, verdict in ((0.7, False), (1, True), (1.1, True)):
            for seed in (21, 22):
                spec = sim.TrafficSpec("permutation", measure_ps=window_us * 10**6, seed=seed)
                point = sim.simulate(switch, offered=load, spec=spec)
                assert point["saturated"] is verdict, (window_us, load, seed)
    spec = sim.TrafficSpec("permutation", measure_ps=40 * 10**6, seed=21, arrivals="bernoulli")
    assert not sim.simulate(switch, offered=1, spec=spec)["saturated"], "a packet in each packet time: no queue"


@pytest.mark.parametrize("message", [{}, {"message_bytes": 4096}, {"message_bytes": 4096, "level": "flow"}])
def test_load_1_is_one_of_several_links_of_a_torus_node(message: dict[str, Any]) -> None:
    """Its neighbours are behind a link each, and its port into its router carries about two links."""
    torus = sim.variant("torus-512", "torus:4,4", None, ())
    for load, verdict in ((0.9, False), (1, False), (1.5, False), (2.3, True)):
        spec = sim.TrafficSpec("neighbour", measure_ps=300 * 10**6, **message)
        assert sim.simulate(torus, offered=load, spec=spec)["saturated"] is verdict, load


def test_sources_and_pairs_add_up_and_are_the_same_on_any_number_of_threads() -> None:
    mesh = sim.variant("torus-2x2x2", "mesh:8", None, ())
    spec = sim.TrafficSpec("uniform", measure_ps=40 * 10**6, seed=31, packet_bytes=64)
    point, threaded = (sim.simulate(mesh, offered=0.2, spec=spec, threads=threads) for threads in (1, 2))
    sources, pairs = (pl.DataFrame(point[name]) for name in ("sources", "pairs"))
    assert sources["source"].to_list() == list(range(8)) and len(pairs) == 56
    for column in ("created", "accepted", "measured"):
        assert sources[column].sum() == pairs[column].sum() == point[column]
    summed = pairs.group_by("source").agg(pl.col("created").sum()).sort("source")
    assert summed["created"].to_list() == sources["created"].to_list()
    mean = (pairs["latency_ns"] * pairs["measured"]).sum() / pairs["measured"].sum()
    assert mean == pytest.approx(point["latency_ns"], rel=1e-9)
    assert pairs["latency_most_ns"].max() == pytest.approx(point["latency_most_ns"], rel=1e-12)
    for name in ("sources", "pairs"):
        assert pl.DataFrame(point[name]).equals(pl.DataFrame(threaded[name])), name
    assert "pairs" not in sim.simulate("hyperx-512", offered=0.05, spec=sim.TrafficSpec(measure_ps=10**6))


def test_senders_at_the_ends_of_a_row_are_its_victims_and_are_named(tmp_path: Path) -> None:
    """In complement traffic on a row, packets from its ends pass all links of its middle, and merge at each router."""
    options = ["-m", "torus-2x2x2", "--topology", "mesh:8", "--traffic", "complement", "--measure", "100 us"]
    shown = CliRunner().invoke(cli.app, ["sim", *options, "--load", "0.1,0.3", "-o", str(tmp_path / "r")], catch_exceptions=False)
    assert re.search(r"At load 0\.3, packets of \d of 8 senders take 2 times the mean latency or longer", shown.stdout)
    slow = pl.read_parquet(tmp_path / "r/sources.parquet").filter(pl.col("load") == 0.3).sort("latency_ns", descending=True)
    first = slow["source"][0]
    assert first in (0, 1, 6, 7)
    assert f"node {first}: " in shown.stdout and f"the slowest to node {7 - first}" in shown.stdout
    assert set(pl.read_parquet(tmp_path / "r/pairs.parquet")["load"]) == {0.1, 0.3}
    calm = CliRunner().invoke(cli.app, ["sim", *options, "--load", "0.1", "-o", str(tmp_path / "s")], catch_exceptions=False)
    assert "times the mean latency" not in calm.stdout


def test_an_interval_of_too_few_packets_is_unknown(tmp_path: Path) -> None:
    options = ["-m", "torus-2x2x2", "--load", "0.01,0.5", "--warm-up", "1 us", "--measure", "20 us", "-o", str(tmp_path / "r")]
    shown = CliRunner().invoke(cli.app, ["sim", *options], catch_exceptions=False)
    assert shown.exit_code == 0
    few, many = pl.read_parquet(tmp_path / "r/points.parquet").to_dicts()
    assert 0 < few["measured"] < 10  # so one of the ten batches has none
    assert few["latency_error_ns"] is None
    assert many["latency_error_ns"] > 0
    assert "± ?" in shown.stdout


def test_a_folder_of_results(tmp_path: Path) -> None:
    shown = run(tmp_path / "r")
    assert shown.exit_code == 0
    assert "uniform traffic on fat-tree-64, 64 of 64 endpoints send" in shown.stdout
    points, links = pl.read_parquet(tmp_path / "r/points.parquet"), pl.read_parquet(tmp_path / "r/links.parquet")
    latency = pl.read_parquet(tmp_path / "r/latency.parquet")
    assert points["load"].to_list() == [0.2, 0.6]
    assert len(links) == 2 * 2 * machine_links("fat-tree-64")
    counted = latency.group_by("load").agg(pl.col("count").sum()).sort("load")["count"].to_list()
    assert counted == points["measured"].to_list()
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert summary["run"]["traffic"] == "uniform"
    assert summary["points"] == points.to_dicts()
    page = (tmp_path / "r/report.html").read_text()
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert [point[0] for point in data["points"]] == points["offered_load"].to_list()
    assert "{{" not in page.split("<script>")[0]
    queues = pl.read_parquet(tmp_path / "r/queues.parquet")
    assert len(queues) == 2 * 20 * 48  # loads, samples, switches
    assert queues["node"].min() == 64
    busy = queues.group_by("load").agg(pl.col("packets").mean()).sort("load")["packets"].to_list()
    assert busy[1] > 2 * busy[0] > 0
    used = pl.read_parquet(tmp_path / "r/link_use.parquet")
    assert len(used) == 20 * len(links)
    over_time = used.group_by("load", "node", "port", maintain_order=True).agg(pl.col("use").mean())["use"].to_list()
    packet = 38 * 33 / 32 * 6.4e-3 / 20  # of the window; what a link was granted in its last moment is carried after it
    assert over_time == pytest.approx(links["use"].to_list(), abs=2 * packet), "the parts make up the window"
    assert max(used["use"]) <= 1
    for network, load in zip(data["networks"], (0.2, 0.6), strict=True):
        hottest = network["over_time"]
        assert hottest["links"][0] == links.filter(pl.col("load") == load)["use"].arg_max()
        assert sum(hottest["rows"][0]) / 20000 == pytest.approx(links.filter(pl.col("load") == load)["use"].max(), abs=1e-3)
    shown = [network["queues"] for network in data["networks"]]
    assert [sum(map(sum, q["rows"])) / sum(map(len, q["rows"])) for q in shown] == pytest.approx(busy, rel=0.02)
    assert shown[0]["names"][0] == data["drawings"]["fat-tree-64"]["names"][64]


@pytest.mark.slow
@needs_browser
def test_the_page_draws_in_a_browser(tmp_path: Path) -> None:
    assert run(tmp_path / "r").exit_code == 0
    elements = in_browser(tmp_path / "r/report.html")
    assert charts(elements) == 6


def machine_links(name: str) -> int:
    return int(_core.topology_metrics(machine.load(name).resolve())["links"])


def test_the_same_seed_gives_the_same_files_and_another_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert run(tmp_path / name, "--seed", seed, "-q").exit_code == 0
    for file in ("points.parquet", "links.parquet", "latency.parquet", "summary.json", "report.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    assert (tmp_path / "a/points.parquet").read_bytes() != (tmp_path / "c/points.parquet").read_bytes()


def test_data_instead_of_a_table(tmp_path: Path) -> None:
    rows = json.loads(run(tmp_path / "r", "--json", "--traffic", "incast:8", "--packet-bytes", "64").stdout)
    assert [row["load"] for row in rows] == [0.2, 0.6]
    assert rows[0]["senders"] == 8
    assert rows[1]["saturated"]
    assert rows[1]["accepted_load"] * 8 == pytest.approx(1, rel=0.05)  # eight senders share the last link


def test_priorities_are_distinguished_and_get_through_sooner(tmp_path: Path) -> None:
    shown = run(tmp_path / "r", "--priority", "0.2", "--load", "0.3,0.7", "--measure", "100 us")
    assert shown.stdout.count("priority: accepted") == 2
    classes = pl.read_parquet(tmp_path / "r/classes.parquet")
    points = pl.read_parquet(tmp_path / "r/points.parquet")
    assert classes["class"].to_list() == ["bulk", "priority"] * 2
    for key in ("created", "measured", "offered_load", "accepted_load"):
        assert classes.group_by("load", maintain_order=True).agg(pl.col(key).sum())[key].to_list() == pytest.approx(
            points[key].to_list()
        ), key
    for load, created in zip((0.3, 0.7), points["created"], strict=True):
        bulk, urgent = classes.filter(pl.col("load") == load).to_dicts()
        assert urgent["created"] == pytest.approx(0.2 * created, rel=0.05)
        assert load == 0.3 or urgent["latency_p99_ns"] < bulk["latency_p99_ns"]
    assert json.loads((tmp_path / "r/summary.json").read_text())["classes"] == classes.to_dicts()
    run(tmp_path / "plain")
    assert not (tmp_path / "plain/classes.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--priority", "1.5"], "give from 0 to 1"),
        (["--priority", "0.5", "--message", "1 KiB", "--load", "0.5"], "--priority belongs to exanet sim load"),
        (["--load", "0.1,x"], "--load 0.1,x: give numbers"),
        (["--load", "-1"], "give numbers above 0"),
        (["--load", "30"], "at most 10, by commas, e.g. 0.1,0.2,0.3; 1 fills a link of each sender; did you mean 0.3?"),
        (["--load", "5,10,50"], "did you mean 0.05,0.1,0.5?"),
        (["--message", "1KiB", "--load", "11"], "did you mean 0.11?"),
        (["--load", "500"], "1 fills a link of each sender"),
        (["--routing", "ugal"], 'there is no routing "ugal" (did you mean "ugal-l"?): use one of'),
        (["--traffic", "unifrom"], 'there is no traffic pattern "unifrom" (did you mean "uniform"?): use one of'),
        (["--topology", "tours:4,4"], "did you mean 'torus'?"),
        (["--message", "1KiB", "--nic", "ultraethernet"], 'there is no network interface "ultraethernet" (did you mean "ultra-ethernet"?)'),
        (["--message", "1KiB", "--congestion-control", "dcqn"], "did you mean 'dcqcn'?"),
        (["--load", "nan"], "give numbers above 0"),
        (["--traffic", "unifrom"], "use one of uniform"),
        (["--traffic", "hot-spot:2"], "share"),
        (["--packet-bytes", "300"], "packets of 300 B: give from 0 B to 256 B"),
        (["--packet-bytes", "-1"], "from 0 B to"),
        (["--packet-bytes", "70000"], "from 0 B to"),
        (["--seed", "-1"], "from 0 to 2^64"),
        (["--threads", "0"], "0 threads: give from 1 to 64"),
        (["--threads", "65"], "65 threads: give from 1 to 64"),
        (["-m", "trenz-2x2", "--threads", "5"], "5 threads: give from 1 to 4"),
        (["--warm-up", "5"], "--warm-up: 5 has no unit"),
        (["--measure", "0"], "from 1 ns to 1000 s"),
        (["--measure", "99999999 s"], "a measured window of 99999999 s: give from 1 ns to 1000 s"),
        (["--measure", ""], "is not a time"),
        (["--warm-up", "99999999 s"], "a warm-up of 99999999 s: give from 0 ps to 1000 s"),
        (["--load", ""], "give numbers above 0"),
        (["--load", "1_0"], "give numbers above 0"),
        (["--arrivals", "bursts:"], "e.g. bursts:16"),
        (["--arrivals", "bursts:" + "9" * 5000], "up to 10^6 packets"),
        (["--packet-bytes", "0", "--message", "1 KiB"], "packets of 0 B: give from 1 B"),
        (["--topology", "graph:4"], "name it in a machine file"),
        (["--topology", "torus:" + "9" * 5000], "e.g. torus:16,16,16"),
        (["--arrivals", "storms"], "poisson or bernoulli or bursts"),
        (["--arrivals", "bursts:x"], "e.g. bursts:16"),
        (["--arrivals", "bursts:0"], "e.g. bursts:16"),
        (["--arrivals", "bursts:9", "--load", "1.2"], "length of bursts must be from 1"),
        (["--arrivals", "bernoulli", "--load", "1.2"], "at most 1"),
        (["-m", "fat-tree-6"], "did you mean 'fat-tree-64'"),
    ],
)
def test_what_cannot_be_simulated_is_refused_and_leaves_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        run(tmp_path / "r", *options)
    assert message in refusal.value.messages[0]
    assert list(tmp_path.iterdir()) == []


BAD_SHAPES = [
    ("fat-tree", "[]", "list of 1 to 16"),
    ("fat-tree", "[5000]", "from 1 to 4096 children"),
    ("dragonfly", "[3, 4]", "all three of"),
    ("hyperx", "[3]", "switches in each dimension"),
    ("jellyfish", "[5, 3, 1]", "must be even"),
    ("jellyfish", "[40, 1, 1]", "no connected random graph"),
    ("hypercube", "[23]", "from 1 to 22"),
    ("full-mesh", "[600]", "more inputs than the 1024"),
    ("jellyfish", "[64, 4, 1]", "must be from 5"),
]


@pytest.mark.parametrize(("kind", "shape", "message"), BAD_SHAPES)
def test_a_shape_that_a_topology_does_not_take_is_an_error_in_its_place(tmp_path: Path, kind: str, shape: str, message: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"extends: torus-512\nname: m\ntopology:\n  kind: {kind}\n  shape: {{value: {shape}, source: x, kind: chosen}}\n")
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    assert any(message in line for line in refusal.value.messages), refusal.value.messages


def test_a_run_that_is_interrupted_stops() -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.simulate("torus-512", offered=0.5, spec=sim.TrafficSpec(measure_ps=10**11), progress=interrupt)


BEGUN = """
import signal, sys, exanet.cli, exanet.sim
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from exanet import background
work = background.work
background.work = lambda *run: (print("begun", flush=True), work(*run))
exanet.cli.main()
"""


INTERRUPTED_AT_THE_SECOND = """
import os, signal, exanet.cli, exanet.sim
signal.signal(signal.SIGINT, signal.default_int_handler)
from exanet import background
work, calls = background.work, []
def second_is_interrupted(*run):
    calls.append(run)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    work(*run)
background.work = second_is_interrupted
exanet.cli.main()
"""


@pytest.mark.parametrize("again", [0, 1, 20])
@pytest.mark.parametrize(
    "options",
    [
        ("--load", "0.5", "--measure", "1 s"),
        ("--message", "1 GiB"),
        ("-m", "torus-512", "--level", "flow", "--rounds", "1000"),
        ("--job", "stencil-3d:rounds=1000000000"),
    ],
)
def test_a_command_that_is_interrupted_ends_with_130_and_a_line(tmp_path: Path, options: tuple[str, ...], again: int) -> None:
    command = [sys.executable, "-c", BEGUN, "sim", "-m", "trenz-2x2", "-q", "-o", str(tmp_path / "r"), *options]
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **piped) as running:
        assert running.stdout and running.stdout.readline() == "begun\n"
        for wait_s in (0.3, *[0.0] * again):
            time.sleep(wait_s)
            os.killpg(running.pid, signal.SIGINT)
        rest = running.communicate(timeout=300)
    line = "exanet: stopped by Ctrl-C"
    if options[0] != "--job":
        line += ": 0 of 1 load was measured, and no results were written"
    # the second may come late
    assert (*rest, running.returncode) in (("", line + "\n", 130), *[("", line + "\n", -signal.SIGINT)] * again)


def test_loads_that_were_measured_before_an_interrupt_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "r"
    command = [sys.executable, "-c", INTERRUPTED_AT_THE_SECOND, "sim", "-m", "trenz-2x2", "-o", str(out), "--load", "0.1,0.5"]
    done = subprocess.run([*command, "--measure", "100 us"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stderr == f"exanet: stopped by Ctrl-C: 1 of 2 loads were measured, and are in {out}\n"
    assert (done.stdout, done.returncode) == ("", 130)
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["complete"], summary["reason"], len(summary["points"])) == (False, "1 of 2 loads were measured", 1)


def test_files_are_the_same_for_any_number_of_threads(tmp_path: Path) -> None:
    for threads in (1, 2, 3):
        assert run(tmp_path / str(threads), "--threads", str(threads), "--warm-up", "auto").exit_code == 0
    names = sorted(path.name for path in (tmp_path / "1").iterdir() if path.name != "run.json")
    assert len(names) == 9
    for threads in (2, 3):
        for name in names:
            assert (tmp_path / str(threads) / name).read_bytes() == (tmp_path / "1" / name).read_bytes(), name
        assert json.loads((tmp_path / str(threads) / "run.json").read_text())["threads"] == threads


@pytest.mark.parametrize("offered", ["0.1", None, [], 1j, -1, 10**400, float("nan"), float("inf")])
@pytest.mark.parametrize("more", [{}, {"level": "flow"}, {"message_bytes": 1000}])
def test_a_load_that_is_none_is_refused_on_either_level(offered: Any, more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sim.simulate("trenz-2x2", offered=offered, spec=sim.TrafficSpec(measure_ps=10**6, **more))


@pytest.mark.parametrize(
    "more",
    [{"priority_share": "x"}, {"arrivals": 5}, {"traffic": 5}, {"seed": 1.5}, {"measure_ps": "1"}, {"packet_bytes": 1.5}, {"level": 7}],
)
def test_figures_of_another_type_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sim.simulate("trenz-2x2", offered=0.1, spec=sim.TrafficSpec(**{"measure_ps": 10**6, **more}))
    with pytest.raises(InputError):
        sim.simulate("trenz-2x2", offered=0.1, spec=sim.TrafficSpec(measure_ps=10**6), threads="two")  # type: ignore[arg-type]


def test_adaptive_routing_in_overload_costs_what_its_hops_cost() -> None:
    """What stands behind the front of an input is counted as it comes and goes. Counted anew at each decision it cost
    120 times a hop of minimal routing here, and more the longer the queues."""
    spec = sim.TrafficSpec(traffic="complement", warm_up_ps=10**6, measure_ps=24 * 10**6)

    def a_hop(routing: str) -> float:
        begun = time.process_time()
        point = sim.simulate(sim.variant("hyperx-512", None, routing, [], rails=None), offered=0.5, spec=spec)
        return (time.process_time() - begun) / point["packet_hops"]

    a_hop("minimal")
    assert a_hop("adaptive") < 30 * a_hop("minimal")


@pytest.mark.parametrize("window_us", [6, 96])
@pytest.mark.parametrize("router", ["exanet", "input-queued"])
def test_blocked_fronts_cost_events_only_when_a_port_changes(tmp_path: Path, router: str, window_us: int) -> None:
    """Fronts that looked at their ports again and again cost 31 events a hop in ExaNet's routers in a window of 6 us,
    and 145 in one of 96 us, and 19 and 62 in input-queued switches: the more stood still, and the longer, the more."""
    switch = "{queues: virtual-output, arbitration: round-robin, classes: 2, flow_control: credits, speed_up: 100 %}"
    machine = tmp_path / "m.yaml"
    machine.write_text(
        "extends: fat-tree-64\nname: m\n" + (f"router:\n  kind: input-queued\n  switch: {switch}\n" if router == "input-queued" else "")
    )
    spec = sim.TrafficSpec(traffic="incast:32", warm_up_ps=10**6, measure_ps=window_us * 10**6)
    point = sim.simulate(sim.variant(str(machine), None, "adaptive", [], rails=None), offered=0.9, spec=spec)
    assert point["packet_hops"] > 8000
    assert point["events"] < 13 * point["packet_hops"]


def test_an_overload_of_one_byte_packets_ends() -> None:
    """A second or two; with fronts that looked again and again it took more than ten minutes."""
    machine = sim.variant("torus-512", "fat-tree:6,2,3", "adaptive", [], rails=None)
    spec = sim.TrafficSpec(traffic="next-group", packet_bytes=1, warm_up_ps=0, measure_ps=2 * 10**6, seed=46000329)
    point = sim.simulate(machine, offered=100.0, spec=spec)
    assert point["events"] < 12 * point["packet_hops"]
