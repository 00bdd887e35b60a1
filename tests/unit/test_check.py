# SPDX-License-Identifier: Apache-2.0
"""`exanet check`, and other topologies, routings and failures by options of `exanet sim`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet import _core, cli, machine, sim
from exanet.errors import InputError
from exanet.machine import deadlock

SHORT = sim.TrafficSpec(warm_up_ps=5_000_000, measure_ps=20_000_000)


def run(*options: str) -> Any:
    return CliRunner().invoke(cli.app, [*options], catch_exceptions=False)


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_is_free_of_deadlock(name: str) -> None:
    described = machine.load(name)
    if described.nodes > 1024:
        pytest.skip("takes seconds to minutes: `exanet check` by hand")
    assert deadlock.check(described).cycle == []


def test_a_proof_in_words_and_as_data() -> None:
    assert "torus-512: free of deadlock; the routes between 261632 pairs" in run("check", "torus-512").stdout
    data = json.loads(run("check", "dragonfly-342", "--routing", "par", "--json").stdout)
    assert (data["free_of_deadlock"], data["virtual_channels"], data["links"]) == (True, 6, 2 * 798)


def test_a_cycle_is_printed_and_is_one() -> None:
    shown = run("check", "torus-512", "--channels", "1")
    assert shown.exit_code == 1
    assert "can wait for each other in a cycle" in shown.stdout
    cycle = deadlock.check(machine.load("torus-512"), channels=1).cycle
    assert len(cycle) == 8
    assert len({node for node, _, _ in cycle}) == 8
    assert len({port for _, port, _ in cycle}) == 1  # once round a ring


def test_another_topology_routing_and_failures() -> None:
    other = sim.variant("torus-512", "dragonfly:2", "ugal-l", ["links:2:3"])
    resolved = other.resolve()
    assert other.name == "dragonfly-2"
    assert resolved["topology"] == {"kind": "dragonfly", "shape": [2], "routing": "ugal-l", "failed": ["links:2:3"]}
    assert resolved["router"]["virtual_channels"] == 6
    assert [link["name"] for link in resolved["links"]] == ["local", "global"]
    assert deadlock.check(other).cycle == []
    point = sim.simulate(other, offered=0.1, spec=SHORT)
    assert not point["saturated"]


def test_a_dragonfly_of_fewer_groups_in_another_arrangement_with_another_threshold(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    text = "extends: dragonfly-342\nname: m\ntopology: {kind: dragonfly, shape: [2, 4, 2, 5], arrangement: NAME, routing: 'ugal-l:8'}\n"
    file.write_text(text.replace("NAME", "palmtree"))
    assert machine.load(str(file)).resolve()["topology"]["arrangement"] == "palmtree"
    data = json.loads(run("check", str(file), "--json").stdout)
    assert (data["free_of_deadlock"], data["links"]) == (True, 5 * (8 + 4 * 3 // 2) * 2 + 5 * 8)
    file.write_text(text.replace("NAME", "palm"))
    with pytest.raises(InputError, match=r"m.yaml:3:\d+: error: .* use one of absolute, relative, palmtree, circulant"):
        machine.load(str(file))


def test_ugal_carries_what_minimal_routing_cannot() -> None:
    minimal, ugal = (
        sim.simulate(
            sim.variant("dragonfly-342", None, routing, []),
            offered=0.35,
            spec=sim.TrafficSpec("complement", None, "poisson", 1, 20_000_000, 20_000_000),
        )
        for routing in (None, "ugal-l")
    )
    assert ugal["accepted_load"] > 1.7 * minimal["accepted_load"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--routing", "fastest"), "use one of minimal, up-down, valiant"),
        (("--topology", "torus:4,x"), "give a kind and its shape"),
        (("--topology", "ring:4"), "must be one of"),
        (("--topology", "tours:4"), "did you mean 'torus'?"),
        (("--topology", "slim-fly:6"), "prime power"),
        (("--fail", "(9,9,9)"), "neither a node nor a link"),
        (("--fail", "links:1600"), "this machine has 1536"),
        (("--channels", "9"), "from 1 to 8"),
        (("--routing", "valiant", "--channels", "1"), "own routes only"),
        (("--topology", "hypercube:16"), "check a smaller shape"),
    ],
)
def test_what_does_not_fit_is_refused(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        run("check", "torus-512", *options)
    assert any(message in said for said in refusal.value.messages), refusal.value


def test_a_torus_of_any_size_is_looked_at_ring_by_ring() -> None:
    described = sim.variant("torus-512", "torus:64,64,64", None, [])
    assert deadlock.check(described).miniatures == [256, 256, 256]
    assert deadlock.check(described).cycle == []
    assert deadlock.check(described, channels=1).cycle != []


def test_endpoints_that_are_lost() -> None:
    topology = sim.variant("fat-tree-64", None, None, ["switch(1,2,0)", "host5"]).resolve()["topology"]
    assert _core.failed_endpoints(topology) == [5, 8, 9, 10, 11]


def test_routing_in_a_machine_file_is_blamed_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("extends: torus-512\nname: m\ntopology:\n  routing: fastest\n")
    with pytest.raises(InputError, match=r"m\.yaml:4:12: error: there is no routing"):
        machine.load(tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_text("extends: torus-512\nname: m\ntopology:\n  failed: ['(0,0,0) X+', nodes:1]\n")
    assert _core.check(machine.load(tmp_path / "m.yaml").resolve()["topology"])["cycle"] == []


@pytest.mark.parametrize("routing", [None, "ugal-l", "adaptive"])
def test_it_reports_how_far_it_is(routing: str | None) -> None:
    reported: list[float] = []
    deadlock.check(sim.variant("torus-512", "torus:6,5", routing, []), progress=reported.append)
    assert len(reported) > 20
    assert reported == sorted(reported)
    assert reported[-1] == 1


def test_an_interrupt_ends_it() -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deadlock.check(machine.load("torus-512"), progress=interrupt)


@pytest.mark.parametrize(("rate", "slow"), [("10 Gb/s", False), ("128 Gb/s", False), ("800 Gb/s", True)])
def test_a_router_slower_than_its_links_is_warned_of_with_what_it_uses(tmp_path: Path, rate: str, slow: bool) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"extends: torus-2x2x2\nname: own\nrouter: {{clock: 1 GHz}}\nlinks: {{link: {{rate: {rate}}}}}\n")
    for command in ("check", "machines"):
        shown = run(command, str(file), "--json")
        assert json.loads(shown.stdout)
        assert ("slower than its links" in shown.stderr) == slow
    if slow:
        # A packet has 18 words of a nanosecond each, and 38 of 64 bit at 80 ps on the link, which pauses for one in 33.
        share = 38 * 0.080 * 33 / 32 / 18
        assert f"used to {share:.0%} (link, 800 Gb/s) at most" in shown.stderr and "128 Gb/s" in shown.stderr
        assert 0.8 * share < sim.simulate(machine.load(file), offered=0.9, spec=SHORT)["accepted_load"] < 1.01 * share


def test_each_kind_of_link_that_is_faster_than_the_router_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("extends: exanest\nname: own\nrouter: {clock: 40 MHz}\n")
    slow = machine.load(tmp_path / "own.yaml").slow_router()
    assert slow is not None and re.search(r"used to \d+% \(intra-qfdb, 10 Gb/s\), \d+% \(inter-qfdb, 10 Gb/s\) at most", slow)


def test_every_simulation_on_a_router_slower_than_its_links_says_so(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("extends: torus-2x2x2\nname: own\nlinks: {link: {rate: 800 Gb/s}}\n")
    for number, mode in enumerate((["--load", "0.1", "--measure", "5us"], ["--message", "1KiB"], ["--job", "barrier"])):
        out = tmp_path / f"{number}"
        shown = run("sim", "-m", str(tmp_path / "own.yaml"), *mode, "-o", str(out)).stdout
        assert shown.count("note: the router is slower than its links") == 1
        assert "the router is slower" in json.loads((out / "summary.json").read_text())["run"]["notes"][0]
        plain = run("sim", "-m", "torus-2x2x2", *mode, "-o", str(tmp_path / f"plain{number}"))
        assert "slower than its links" not in plain.stdout
    shown = run("replay", "-m", str(tmp_path / "own.yaml"), "--job", "barrier", "-o", str(tmp_path / "r")).stdout
    assert shown.count("note: the router is slower than its links") == 1


@pytest.mark.parametrize("name", machine.names())
def test_no_machine_of_ours_has_a_router_slower_than_its_links(name: str) -> None:
    assert machine.load(name).slow_router() is None
