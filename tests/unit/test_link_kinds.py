# SPDX-License-Identifier: Apache-2.0
"""Several kinds of links in one network: of endpoints, by the level of a tree, and by the edge of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import _core, cli, machine, sim
from exanet.errors import InputError
from exanet.machine import located
from exanet.sim.jobs import Job, finish

TREE = """extends: fat-tree-64
name: mine
links:
  link: {rate: 10 Gb/s, latency: 100 ns}
  host: {latency: 10 ns}
  level-3: {rate: 40 Gb/s, latency: 500 ns}
"""


def load(folder: Path, text: str) -> machine.Machine:
    (folder / "mine.yaml").write_text(text)
    return machine.load(folder / "mine.yaml")


def refused(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as refusal:
        load(folder, text).resolve()
    return [message.replace(f"{folder}/", "") for message in refusal.value.messages]


def test_kinds_have_what_they_say_and_the_rest_of_the_usual_one(tmp_path: Path) -> None:
    described = load(tmp_path, TREE)
    resolved = described.resolve()
    assert resolved["topology"]["link_kinds"] == ["host", "level-3"]
    figures = {link["name"]: (link["word_time_ps"], link["latency_ps"], link["framing_words"]) for link in resolved["links"]}
    assert list(figures) == ["host", "link", "level-3"]
    assert figures == {"host": (6400, 10_000, 2), "link": (6400, 100_000, 2), "level-3": (1600, 500_000, 2)}
    drawn = _core.topology_drawing(resolved)
    assert [drawn["link_class"].count(number) for number in range(3)] == [128, 128, 128]


def test_a_machine_that_names_no_further_kind_is_what_it_was() -> None:
    for name in machine.names():
        assert "link_kinds" not in machine.load(name).resolve()["topology"]


def test_latency_is_that_of_the_links_on_the_way(tmp_path: Path) -> None:
    def alone(text: str) -> float:
        # over the top of the tree: up three links, down three
        spec = sim.TrafficSpec(traffic="complement", message_bytes=64)
        return float(sim.simulate(load(tmp_path, text), offered=0.0, spec=spec)["zero_load_ns"])

    usual = alone("extends: fat-tree-64\nname: mine\nlinks: {link: {latency: 100 ns}}\n")
    assert alone("extends: fat-tree-64\nname: mine\nlinks: {link: {latency: 100 ns}, host: {latency: 10 ns}}\n") == pytest.approx(
        usual - 2 * 90
    )
    assert alone("extends: fat-tree-64\nname: mine\nlinks: {link: {latency: 100 ns}, level-3: {latency: 500 ns}}\n") == pytest.approx(
        usual + 2 * 400
    )
    assert alone("extends: fat-tree-64\nname: mine\nlinks: {link: {latency: 100 ns}, level-2: {latency: 150 ns}}\n") == pytest.approx(
        usual + 2 * 50
    )


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_tree_with_thin_uplinks_carries_less(tmp_path: Path, level: str) -> None:
    def accepted(text: str) -> float:
        spec = sim.TrafficSpec(traffic="complement", message_bytes=1 << 16, level=level)
        return float(sim.simulate(load(tmp_path, text), offered=0.0, spec=spec)["completion_ns"])

    full = accepted("extends: fat-tree-64\nname: mine\n")
    thin = accepted("extends: fat-tree-64\nname: mine\nlinks: {level-3: {rate: 2.5 Gb/s}}\n")
    assert thin > 3 * full


def test_a_load_of_1_fills_a_link_of_each_sender(tmp_path: Path) -> None:
    def offered(text: str) -> float:
        spec = sim.TrafficSpec(warm_up_ps=1_000_000, measure_ps=40_000_000)
        return float(sim.simulate(load(tmp_path, text), offered=0.3, spec=spec)["offered_gbps"])

    slow = offered("extends: fat-tree-64\nname: mine\nlinks: {link: {rate: 20 Gb/s}, host: {rate: 5 Gb/s}}\n")
    assert slow == pytest.approx(offered("extends: fat-tree-64\nname: mine\nlinks: {link: {rate: 5 Gb/s}}\n"), rel=0.001)


@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal-l", "adaptive"])
def test_kinds_change_no_route(tmp_path: Path, routing: str) -> None:
    """A kind that is like the usual one changes nothing but its number."""

    def figures(text: str) -> dict[str, object]:
        point = sim.simulate(load(tmp_path, text), offered=0.5, spec=sim.TrafficSpec(warm_up_ps=1_000_000, measure_ps=5_000_000))
        return sim.figures(point)

    same = f"extends: fat-tree-64\nname: mine\ntopology: {{routing: {routing}}}\n"
    assert figures(same) == figures(f"{same}links: {{level-3: {{}}, level-2: {{}}, host: {{}}}}\n")


def test_everything_works_on_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(TREE + "power: {links: {host: {idle: 1 W}, level-3: {idle: 2 W}}}\n")
    assert finish(str(file), [Job("barrier")], nic="exanet")["finished_ns"] > 0
    point = sim.simulate(str(file), offered=0.1, spec=sim.TrafficSpec(measure_ps=2_000_000))
    assert {row["part"]: row["idle_w"] for row in point["energy"]}["links, level-3"] == 2 * 128
    for words in (["machines", str(file)], ["check", str(file)], ["check", str(file), "--fail", "links:2:1"]):
        assert CliRunner().invoke(cli.app, words).exit_code == 0, words
    other = sim.variant(str(file), "torus:4,4", None, [])
    assert list(other.model.links) == ["link"]
    assert list(sim.variant(str(file), "fat-tree:4,4,8", None, []).model.links) == ["link", "host", "level-3"]
    faster = machine.load(file, located.values({"links.level-3.latency": "1 us", "links.link.pause_every": 0}, "here")).resolve()
    assert [(link["latency_ps"], link["pause_every"]) for link in faster["links"]] == [(10_000, 0), (100_000, 0), (1_000_000, 0)]


def test_what_kinds_there_are_not_is_reported(tmp_path: Path) -> None:
    start = "extends: fat-tree-64\nname: mine\nlinks:\n"
    assert refused(tmp_path, start + "  level-4: {rate: 40 Gb/s}\n") == [
        "mine.yaml:4:12: error: this fat-tree has no links of the kind 'level-4': remove it, or set it to null"
    ]
    [message] = refused(tmp_path, start + "  uplink: {rate: 40 Gb/s}\n")
    assert message.startswith(
        "mine.yaml:4:11: error: a fat-tree has no links of the kind 'uplink' (it has link, host, level-2, level-3, ...)"
    )
    [message] = refused(tmp_path, "extends: torus-512\nname: mine\nlinks:\n  host: {rate: 40 Gb/s}\n")
    assert message.startswith("mine.yaml:4:9: error: a torus has no links of the kind 'host' (it has link); take it out")
    [message] = refused(tmp_path, "extends: hypercube-512\nname: mine\nlinks:\n  host: {rate: 40 Gb/s}\n")
    assert message.startswith("mine.yaml:4:9: error: a hypercube has no links of the kind 'host' (it has link); take it out")
    assert "must be above zero" in refused(tmp_path, start + "  level-3: {rate: 0 Gb/s}\n")[0]


GRAPH = """extends: fat-tree-64
name: mine
topology: {kind: graph, shape: [1], file: net.txt}
links:
  long: {latency: 2 us}
"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="link_kind" attr.type="string"/>
<key id="d1" for="node" attr.name="endpoints" attr.type="int"/>
<graph edgedefault="undirected">
<node id="a"><data key="d1">2</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b"/>
<edge source="b" target="c"><data key="d0">long</data></edge>
<edge source="a" target="c"><data key="d0">link</data></edge>
</graph></graphml>
"""


def test_edges_of_a_graph_name_their_kind(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text("a b\nb c long  # under the street\na, c, link\na endpoints 2\n")
    listed = load(tmp_path, GRAPH).resolve()
    assert listed["topology"]["graph"]["kinds"] == [0, 1, 0]
    (tmp_path / "net.txt").write_text(GRAPHML)
    assert load(tmp_path, GRAPH).resolve() == listed
    (tmp_path / "net.txt").write_text(
        GRAPHML.replace('attr.name="link_kind" attr.type="string"/>', 'attr.name="link_kind"><default>long</default></key>')
    )
    assert load(tmp_path, GRAPH).resolve()["topology"]["graph"]["kinds"] == [1, 1, 0]
    point = sim.simulate(load(tmp_path, GRAPH), offered=0.1, spec=sim.TrafficSpec(measure_ps=20_000_000))
    assert point["latency_most_ns"] > 2000 > point["latency_least_ns"]


def test_a_kind_that_only_one_of_both_files_names_is_reported(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text("a b\nb c fibre\nb a long\n")
    [message] = refused(tmp_path, GRAPH)
    assert message == ("net.txt:2: error: a link of the kind 'fibre', which the machine file does not describe: add it to 'links' there")
    (tmp_path / "net.txt").write_text("a b\nb c\n")
    assert refused(tmp_path, GRAPH) == ["mine.yaml:5:9: error: this graph has no links of the kind 'long': remove it, or set it to null"]
