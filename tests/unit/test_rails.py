# SPDX-License-Identifier: Apache-2.0
"""Several links an endpoint, from a machine file to results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet.cli import app
from exanet.errors import InputError
from exanet.machine import load
from exanet.machine.deadlock import check
from exanet.machine.facts import topology_metrics
from exanet.machine.variant import variant
from exanet.sim import TrafficSpec, simulate
from exanet.sim.jobs import Job, finish


def _file(folder: Path, *, rails: Any = 2, base: str = "fat-tree-64", more: str = "") -> Path:
    file = folder / "rails.yaml"
    file.write_text(f"extends: {base}\nname: rails\ndescription: rails\ntopology:\n  rails: {rails}\n{more}")
    return file


def _refusal(file: Path) -> str:
    with pytest.raises(InputError) as refused:
        load(file)
    assert len(refused.value.messages) == 1
    return refused.value.messages[0]


def test_machine_with_rails(tmp_path: Path) -> None:
    one, two = topology_metrics(load("fat-tree-64")), topology_metrics(load(_file(tmp_path)))
    assert two == one | {
        "switches": 2 * one["switches"], "links": 2 * one["links"], "bisection_links": 2 * one["bisection_links"],
    }  # fmt: skip
    found = check(load(_file(tmp_path)))
    assert found.cycle == []
    assert found.links == 2 * check(load("fat-tree-64")).links


def test_their_number_may_have_a_source(tmp_path: Path) -> None:
    alone = load(_file(tmp_path))
    sourced = load(_file(tmp_path, rails="{value: 2, source: two cables, kind: published}"))
    assert sourced.resolve() == alone.resolve() and sourced.resolve()["topology"]["rails"] == 2
    assert next(constant.source for name, constant in sourced.constants() if name == "topology.rails") == "two cables"


def test_kinds_of_links_are_those_of_each_plane(tmp_path: Path) -> None:
    more = "links:\n  host: {latency: 10 ns}\n  level-3: {latency: 150 ns}\n"
    shared = {"spec": TrafficSpec(seed=3, measure_ps=20_000_000), "offered": 0.2}
    one = simulate(load(_file(tmp_path, rails=1, more=more)).resolve(), **shared)
    two = simulate(load(_file(tmp_path, more=more)).resolve(), **shared)
    assert two["zero_load_ns"] == pytest.approx(one["zero_load_ns"], rel=0.02)
    for kind in range(3):
        assert (two["links"]["link_class"] == kind).sum() == 2 * (one["links"]["link_class"] == kind).sum()


def test_refusals_say_what_to_do(tmp_path: Path) -> None:
    place = f"{_file(tmp_path)}:5:10: error: "
    assert _refusal(_file(tmp_path, base="torus-512")).startswith(
        f"{place}this topology links endpoints to each other and has no switches to repeat"
    )
    assert _refusal(_file(tmp_path, rails=0)).startswith(f"{place}rails is 0: give a whole number from 1 to 8")
    assert _refusal(_file(tmp_path, rails=9)).startswith(f"{place}rails is 9: give a whole number from 1 to 8")
    assert _refusal(_file(tmp_path, rails="two")).startswith(f"{place}'topology.rails': expected a whole number")
    sourced = _refusal(_file(tmp_path, rails="{value: 9, source: two cables, kind: published}"))
    assert sourced == f"{tmp_path}/rails.yaml:5:18: error: rails is 9: give a whole number from 1 to 8"
    assert "'source' is missing in 'topology.rails'" in _refusal(_file(tmp_path, rails="{value: 2, kind: published}"))
    failed = _refusal(_file(tmp_path, more="  failed: [links:1:1]\n"))
    assert ":6:" in failed and "remove 'failed' or 'rails'" in failed


ROUTINGS = ["minimal", "up-down", "valiant", "ugal-l", "ugal-g", "par", "adaptive", "random", "spray"]
OWN = ["minimal", "up-down"]  # routes of the topology, which are tables


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize(("base", "switch"), [("fat-tree-64", "switch(1,1,0) up 2"), ("fat-tree-64", "switch(3,0,0) down 1")])
def test_each_routing_goes_round_what_fails_or_refuses_by_its_name(tmp_path: Path, base: str, switch: str, routing: str) -> None:
    faults = tmp_path / "cut.yaml"
    faults.write_text(f"events:\n  - {{at: 0 s, down: 'rail1.{switch}'}}\n  - {{at: 2 us, up: 'rail1.{switch}'}}\n")
    with pytest.raises(
        InputError, match="failures from the beginning are not supported on machines with several rails: remove 'failed' or 'rails'"
    ):
        variant(base, None, routing, ["links:1:1"], rails=2)
    words = ["-m", base, "--rails", "2", "--routing", routing, "--load", "0.2", "--measure", "4us", "--faults", str(faults)]
    ended = CliRunner().invoke(app, ["sim", "load", *words, "-o", str(tmp_path / "out")])
    if routing in OWN:
        assert isinstance(ended.exception, InputError)
        assert f"cut.yaml:1:1: error: {routing} routes around links that fail" in ended.exception.messages[0]
        return
    assert ended.exit_code == 0, ended.output
    assert f"2 rails, {routing} routing" in ended.output
    (point,) = json.loads((tmp_path / "out" / "summary.json").read_text())["points"]
    assert point["accepted_load"] > 0.9 * 0.2 and point["lost_packets"] < 0.01 * point["packets"]


def test_shortest_routes_are_of_graphs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shortest routes are for topologies of kind graph: here use one of minimal, "):
        variant("fat-tree-64", None, "shortest", [])


def test_load_of_one_fills_both_links(tmp_path: Path) -> None:
    """Uniform traffic on a fat tree: the same share of twice the rate."""
    shared = {"spec": TrafficSpec(seed=1, measure_ps=30_000_000), "offered": 1.0}
    one, two = simulate("fat-tree-64", **shared), simulate(load(_file(tmp_path)).resolve(), **shared)
    assert two["accepted_load"] == pytest.approx(one["accepted_load"], rel=0.05)
    assert two["accepted_gbps"] == pytest.approx(2 * one["accepted_gbps"], rel=0.05)
    assert two["overtaken"] == 0 or load(_file(tmp_path)).model.router.vc_allocation != "routing"


def test_threads_give_the_same(tmp_path: Path) -> None:
    described = load(_file(tmp_path)).resolve()
    shared = {"spec": TrafficSpec(traffic="permutation", seed=1, measure_ps=10_000_000), "offered": 0.9}
    one, three = (simulate(described, **shared, threads=threads) for threads in (1, 3))
    same = ("accepted", "packets", "packet_hops", "latency_ns", "accepted_load", "zero_load_ns", "fairness")
    assert {key: one[key] for key in same} == {key: three[key] for key in same}


@pytest.mark.parametrize("sharing", ["max-min", "fifo"])
def test_flow_level_has_a_port_a_rail(tmp_path: Path, sharing: str) -> None:
    """Each endpoint has something for all others: a rail has half of it, and all of it takes half the time."""
    spec = TrafficSpec(traffic="all-to-all", level="flow", sharing=sharing, message_bytes=65_536, rounds=1, seed=1)
    described = load(_file(tmp_path)).resolve()
    one, two = simulate("fat-tree-64", offered=0.0, spec=spec), simulate(described, offered=0.0, spec=spec)
    assert two["completion_ns"] <= one["completion_ns"] * 1.001
    load_of = TrafficSpec(traffic="uniform", level="flow", sharing=sharing, message_bytes=16_384, seed=1, measure_ps=100_000_000)
    one, two = simulate("fat-tree-64", offered=0.4, spec=load_of), simulate(described, offered=0.4, spec=load_of)
    assert two["accepted_gbps"] == pytest.approx(2 * one["accepted_gbps"], rel=0.1)


@pytest.mark.parametrize(("nic", "size", "share"), [("ideal", "16KiB", 0.56), ("exanet", "64KiB", 0.65)])
def test_jobs(nic: str, size: str, share: float) -> None:
    """All at once from each to each, on ExaNet's routers in a tree: two rails take little more than half the time of
    one.

    With `exanet` ranks begin to send to one after the other, and of shorter messages more meet at a receiver by one
    rail than by the other.
    """
    job = Job.parse(f"alltoall:bytes={size}")
    exanest = load("exanest").resolve()
    one = exanest | {"topology": {"kind": "fat-tree", "shape": [4, 4]}, "links": exanest["links"][:1]}
    two = one | {"topology": one["topology"] | {"rails": 2}}
    took = [finish(machine, [job], nic=nic)["finished_ns"] for machine in (one, two)]
    assert took[0] / 2 <= took[1] < took[0] * share


@pytest.mark.parametrize(
    "mode", [["--load", "0.2", "--measure", "5us"], ["--message", "1KiB", "--rounds", "1"], ["--job", "barrier:rounds=1"]]
)
@pytest.mark.parametrize("option", [True, False])
def test_results_say_how_many_rails(tmp_path: Path, mode: list[str], option: bool) -> None:
    out = tmp_path / "results"
    machine = ["fat-tree-64", "--rails", "2"] if option else [str(_file(tmp_path))]
    ended = CliRunner().invoke(app, ["sim", "-m", *machine, *mode, "-o", str(out)])
    assert ended.exit_code == 0, ended.output
    assert "2 rails" in ended.output
    assert json.loads((out / "summary.json").read_text())["machine"]["topology"]["rails"] == 2


@pytest.mark.parametrize(
    ("rails", "level", "note"),
    [
        (1, "packet", ["'rail_policy: round-robin' has no effect: this network has one rail"]),
        (1, "flow", ["'rail_policy: round-robin' has no effect: this network has one rail"]),
        (2, "packet", []),
        (2, "flow", ["at flow level each pair of nodes keeps to one rail: 'rail_policy: round-robin' is left out"]),
    ],
)
def test_a_policy_that_does_nothing_is_noted(tmp_path: Path, rails: int, level: str, note: list[str]) -> None:
    file = str(_file(tmp_path, rails=rails, more="ni: {rail_policy: round-robin}\n"))
    words = ["sim", "messages", "-m", file, "--traffic", "permutation", "--message", "4KiB", "--level", level, "-o", str(tmp_path / "out")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert json.loads((tmp_path / "out/summary.json").read_text())["run"].get("notes", []) == note
    assert all(text in " ".join(found.output.split()) for text in note)
