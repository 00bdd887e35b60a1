# SPDX-License-Identifier: Apache-2.0
"""Machines of two networks that gateways join: what their files say, where ranks go, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import _core, machine
from exanet.errors import InputError
from exanet.machine import facts
from exanet.machine.deadlock import check
from exanet.run.placement import place
from exanet.sim import TrafficSpec, simulate

EXAMPLE = Path(__file__).parents[2] / "examples/machines/two-networks.yaml"
COSTS = "message: 1 us, rate: 20 Gb/s, fragment: 64 KiB"


def written(folder: Path, gateway: str, more: str = "extends: exanest-qfdb\n") -> Path:
    file = folder / "m.yaml"
    file.write_text(f"{more}name: two\ndescription: Two networks\ngateway: {{{gateway}}}\n")
    return file


def test_both_networks_are_one_machine() -> None:
    both = machine.load(EXAMPLE)
    first, second = machine.load("exanest-mezzanine"), machine.load(EXAMPLE.with_name("bxi-100.yaml"))
    assert both.nodes == first.nodes + second.nodes == 16 + 256
    resolved = both.resolve()
    needs = _core.topology_needs(resolved["topology"])
    assert (needs["endpoints"], needs["nodes"]) == (272, 272 + 32)
    assert resolved["networks"] == [{key: own.resolve()[key] for key in ("router", "links")} for own in (first, second)]
    assert resolved["ni"]["networks"] == [first.resolve()["ni"], second.resolve()["ni"]]
    assert [link["name"] for link in resolved["links"]] == ["exanest:intra-qfdb", "exanest:inter-qfdb", "bxi:link", "gateway"]
    drawn = _core.topology_drawing(resolved)
    ends = [
        (drawn["node_name"][a], drawn["node_name"][b])
        for (a, b), port in zip(drawn["links"], drawn["port_name"], strict=True)
        if port == "gateway"
    ]
    assert sorted(ends) == sorted(
        [*(pair := [("exanest:qfdb(0,0,0).F1", "bxi:host0"), ("exanest:qfdb(1,0,0).F1", "bxi:host16")]), *((b, a) for a, b in pair)]
    )
    data = facts.facts(both)
    assert (data["other"], data["gateways"], data["bisection_links"], data["bisection_gbps"]) == ("bxi-100", 2, 2, 20)


def test_no_rank_is_on_a_gateway() -> None:
    both = machine.load(EXAMPLE)
    assert both.gateway_nodes == {0, 4, 16, 32}
    where = {"nodes": both.nodes, "cores_per_node": 4, "networks": both.halves()}
    assert place("round-robin", ranks=5, **where) == [1, 2, 3, 5, 6]
    assert place("linear", ranks=13, **where) == [1] * 4 + [2] * 4 + [3] * 4 + [5]
    assert place("networks", ranks=5, **where) == [1, 2, 3, 17, 18]
    for kind in ("linear", "round-robin", "random:1", "networks"):
        assert not both.gateway_nodes & set(place(kind, ranks=80, **where)), kind


def test_placements_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    both = machine.load(EXAMPLE)
    where = {"nodes": both.nodes, "cores_per_node": 4, "networks": both.halves()}
    with pytest.raises(InputError, match="the first network has 56 cores on nodes that are no gateway's, and 57 ranks"):
        place("networks", ranks=114, **where)
    with pytest.raises(InputError, match=r"1072 cores \(268 nodes of 4\)"):
        place("linear", ranks=1073, **where)
    (tmp_path / "map").write_text("1\n16\n")
    with pytest.raises(InputError, match="rank 1 is on node 16, a gateway's, on which no rank runs; put it elsewhere"):
        place(str(tmp_path / "map"), ranks=2, **where)
    with pytest.raises(InputError, match="--map networks: this machine is one network"):
        place("networks", ranks=2, nodes=4, cores_per_node=4)


@pytest.mark.parametrize(
    ("gateway", "problem"),
    [
        (f"network: exanest-qfdb, nodes: [[4, 0]], {COSTS}", "m.yaml:4:43: error: this machine has no node 4; give a number from 0 to 3"),
        (f"network: exanest-qfdb, nodes: [[0, 9]], {COSTS}", "the other machine has no node 9"),
        (f"network: exanest-qfdb, nodes: [[0, 0], [1, 0]], {COSTS}", "node 0 of the other machine is in another gateway"),
        (f"network: exanest-qfdb, nodes: [], {COSTS}", "m.yaml:4:"),
        (f"network: exanest-qfdb, nodes: [[0]], {COSTS}", "m.yaml:4:"),
        (f"network: exanest-qfbd, nodes: [[0, 0]], {COSTS}", "m.yaml:4:20: error: cannot join 'exanest-qfbd'"),
        ("network: exanest-qfdb, nodes: [[0, 0]], message: 1 us, rate: 0 Gb/s, fragment: 64 KiB", "must be above zero, e.g. 80 Gb/s"),
        ("network: exanest-qfdb, nodes: [[0, 0]], message: 1 us, rate: 8 Gb/s, fragment: 0", "must be from 1 B to 2 GiB"),
        ("network: exanest-qfdb, nodes: [[0, 0]], message: 1 us, rate: 8 Gb/s", "'fragment'"),
        (f"network: torus-512, nodes: [[0, 0]], choice: nearest, {COSTS}", "least-busy"),
        (f"network: bxi-256-portals, nodes: [[0, 0]], {COSTS}", "its 'ni' differs in packet_max, eager_max, on which both ends"),
        (f"network: torus-512, nodes: [[0, 0]], names: [a, a], {COSTS}", "give two different names"),
        (f"network: torus-512, nodes: [[0, 0]], names: [a, 'b c'], {COSTS}", "give two different names"),
        (f"network: torus-512, nodes: [[0, 0]], window: 0, {COSTS}", "give at least 1, or leave the key out"),
        (f"network: {EXAMPLE}, nodes: [[0, 0]], {COSTS}", "this machine has gateways itself; name one of a single network"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_said_at_its_place(tmp_path: Path, gateway: str, problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        machine.load(written(tmp_path, gateway))
    assert any(problem in message for message in refusal.value.messages), refusal.value.messages


def test_networks_with_rails_or_failures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing of networks that gateways join may have failed"):
        machine.load(
            written(tmp_path, f"network: exanest-qfdb, nodes: [[0, 0]], {COSTS}", "extends: torus-512\ntopology: {failed: [links:1:1]}\n")
        )
    with pytest.raises(InputError, match="gateways join networks of one rail"):
        machine.load(written(tmp_path, f"network: exanest-qfdb, nodes: [[0, 0]], {COSTS}", "extends: fat-tree-64\ntopology: {rails: 2}\n"))


def test_simulations_of_one_network_are_refused() -> None:
    both = machine.load(EXAMPLE)
    for spec in (TrafficSpec(), TrafficSpec(message_bytes=4096), TrafficSpec(message_bytes=4096, level="flow")):
        with pytest.raises(InputError, match="two networks that gateways join"):
            simulate(both, offered=0.1, spec=spec)
    with pytest.raises(InputError, match="exanet check: 'two-networks' is two networks that gateways join"):
        check(both)
