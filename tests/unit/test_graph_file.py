# SPDX-License-Identifier: Apache-2.0
"""A network of one's own from a file: what is read, what it becomes, and what is said of files that are no graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import machine, sim
from exanet.errors import InputError
from exanet.machine import deadlock, graph_file, located
from exanet.machine import facts as machines

# As networkx.write_graphml writes a graph whose nodes have the attribute `endpoints`, or none.
GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <key id="d1" for="edge" attr.name="weight" attr.type="double" />
  <key id="d0" for="node" attr.name="endpoints" attr.type="long" />
  <graph edgedefault="undirected">
    <edge source="a" target="b"><data key="d1">2.5</data></edge>
    <node id="a"><data key="d0">3</data></node>
    <node id="b" />
    <node id="c"><data key="d0">0</data></node>
    <edge source="b" target="c" />
    <edge source="c" target="a" />
  </graph>
</graphml>
"""


def described(folder: Path, content: str, shape: int = 2) -> machine.Machine:
    (folder / "net.txt").write_text(content)
    file = folder / "m.yaml"
    topology = f"topology:\n  kind: graph\n  shape: {{value: [{shape}], source: x, kind: chosen}}\n  file: net.txt\n"
    file.write_text(f"extends: torus-512\nname: m\ndescription: x\n{topology}")
    return machine.load(file)


def test_graphml(tmp_path: Path) -> None:
    found = described(tmp_path, GRAPHML).resolve()["topology"]["graph"]
    assert found == {"names": ["a", "b", "c"], "hosts": [3, 2, 0], "links": [[0, 1], [1, 2], [2, 0]]}


def test_nodes_that_say_nothing_have_the_default_of_their_key(tmp_path: Path) -> None:
    key = '<key id="d0" for="node" attr.name="endpoints" attr.type="long"'
    assert key + " />" in GRAPHML
    content = GRAPHML.replace(key + " />", key + "><desc>1</desc><default>4</default></key>")
    assert described(tmp_path, content).resolve()["topology"]["graph"]["hosts"] == [3, 4, 0]
    other = GRAPHML.replace('attr.type="double" />', 'attr.type="double"><default>9</default></key>')
    assert described(tmp_path, other).resolve()["topology"]["graph"]["hosts"] == [3, 2, 0]


def test_a_list_of_links(tmp_path: Path) -> None:
    own = described(tmp_path, "# ours\na b\nb,c   # and back\n\nc a\nc endpoints 0\n")
    assert own.resolve()["topology"]["graph"] == {"names": ["a", "b", "c"], "hosts": [2, 2, 0], "links": [[0, 1], [1, 2], [2, 0]]}
    facts = machines.facts(own)
    assert (facts["nodes"], facts["switches"], facts["links"], facts["diameter_hops"]) == (4, 3, 7, 3)


def test_a_ring_of_routers_carries_traffic(tmp_path: Path) -> None:
    ring = described(tmp_path, "\n".join(f"r{i} r{(i + 1) % 5}" for i in range(5)), 1)
    point = sim.simulate(ring, offered=0.1, spec=sim.TrafficSpec(warm_up_ps=5_000_000, measure_ps=20_000_000))
    assert not point["saturated"]
    assert 3.3 < point["mean_hops"] < 3.7  # two to and from routers, and the mean of 1 and 2


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a b\nb\n", 2, "'b' is no link"),
        ("a b c d\n", 1, "is no link"),
        ("a b\n\nb b\n", 3, "'b' is linked to itself"),
        ("a endpoints x\n", 1, "'x' is no number of endpoints"),
        ("a endpoints 2000\n", 1, "from 0 to 1024"),
        ("a b\na endpoints 2\na endpoints 2\na endpoints 3\n", 4, "router 'a' has 2 endpoints already"),
        ("a endpoints " + "9" * 5000 + "\n", 1, "from 0 to 1024"),
        ("# nothing\n", None, "there is no router in it"),
        ("<graphml>\n<graph>\n</graphml>", 3, "no well-formed XML: mismatched tag"),
        ("<svg/>", 1, "there is no <graph> in it"),
        ("<graphml><graph>\n<node/></graph></graphml>", 2, "this element has no id"),
        ("<graphml><graph>\n<node id='a'/>\n<edge source='a' target='b'/></graph></graphml>", 3, "there is no node 'b'"),
        ("<graphml><graph><node id='a'/>\n<node id='a'/></graph></graphml>", 2, "a second node 'a'"),
        ("<graphml><graph>\n<hyperedge/></graph></graphml>", 2, "a hyperedge"),
        ("<graphml>\n<key id='r' for='edge' attr.name='rate'/><graph/></graphml>", 2, "links have no rate of their own here"),
        ("<graphml>\n<key id='r' attr.name='Latency'/><graph/></graphml>", 2, "links have no Latency of their own here"),
        (
            "<graphml><graph edgedefault='directed'><node id='a'/><node id='b'/><node id='c'/>\n<edge source='a' target='b'/>"
            "<edge source='b' target='c'/><edge source='c' target='a'/></graph></graphml>",
            2,
            "directed edges lead round one way only",
        ),
        ("<!DOCTYPE x [\n<!ENTITY a 'b'>]><graphml/>", 2, "needs no entities"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_line(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        described(tmp_path, content)
    (said,) = refusal.value.messages
    assert said.startswith(f"{tmp_path / 'net.txt'}:{line}: error: " if line else f"{tmp_path / 'net.txt'}: error: ")
    assert message in said


@pytest.mark.parametrize("routing", ["adaptive", "random", "spray"])
def test_routings_that_choose_are_proved_on_wide_graphs(tmp_path: Path, routing: str) -> None:
    ring = "\n".join(f"r{i} r{(i + 1) % 8}" for i in range(8))  # wider than two links, so up*/down*
    described(tmp_path, ring)
    chosen = machine.load(tmp_path / "m.yaml", located.values({"topology.routing": routing}, "command line"))
    assert deadlock.check(chosen).cycle == []


_GRAPHML = "<graphml><graph edgedefault='{0}'>{1}</graph></graphml>"
_ABC = "".join(f"<node id='{name}'/>" for name in "abc")


def _edges(*pairs: str, more: str = "") -> str:
    return "".join(f"<edge source='{pair[0]}' target='{pair[1]}'{more}/>" for pair in pairs)


def test_data_of_the_whole_graph_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "named").write_text(_GRAPHML.format("undirected", "<data key='d0'>x</data>" + _ABC + _edges("ab", "bc")))
    assert graph_file.read(tmp_path / "named").links == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("edges", "links"),
    [
        (_edges("ab", "ba", "bc"), [(0, 1), (1, 2)]),
        (_edges("ab", "ab", "ba", "ba", "bc"), [(0, 1), (0, 1), (1, 2)]),
        (_edges("ab", "bc", "cb", "ba"), [(0, 1), (1, 2)]),
        (_edges("ab", "bc", "ca", more=" directed='false'"), [(0, 1), (1, 2), (2, 0)]),
        (_edges("ab", "ac", "bc"), [(0, 1), (0, 2), (1, 2)]),  # no ring that leads round
    ],
)
def test_a_directed_edge_each_way_is_one_duplex_link(tmp_path: Path, edges: str, links: list[tuple[int, int]]) -> None:
    (tmp_path / "directed").write_text(_GRAPHML.format("directed", _ABC + edges))
    assert graph_file.read(tmp_path / "directed").links == links


def test_a_machine_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    described(tmp_path, "a b\n")
    (tmp_path / "net.txt").unlink()
    with pytest.raises(InputError) as refused:
        machine.load(tmp_path / "m.yaml")
    assert len(refused.value.messages) == 1
    assert refused.value.messages[0].startswith(f"{tmp_path}/m.yaml:")
    assert "cannot be read: No such file or directory; give a file of links, or GraphML" in refused.value.messages[0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        graph_file.read(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"a b\n\xff\xfe")
    with pytest.raises(InputError, match=":2: error: not UTF-8"):
        graph_file.read(tmp_path / "binary")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("kind: graph", 5, "needs 'file'"),
        ("kind: torus\n  file: x", 6, "only a graph takes 'file'; take it out"),
        ("order: [0, 0, 1]", 5, "order of dimensions must name each"),
        ("kind: hyperx\n  order: [0, 1]", 6, "has no order of dimensions"),
        ('order: "0,1,2"', 5, "expected a list, e.g. order: [0, 1, 2]"),
        ("failed: links:2:1", 5, "expected a list, e.g. failed: [links:2:1]"),
        ("order: [-1]", 5, "greater than or equal to 0"),
    ],
)
def test_keys_of_a_topology_that_do_not_fit_are_errors_in_their_place(tmp_path: Path, text: str, place: int, message: str) -> None:
    (tmp_path / "m.yaml").write_text(f"extends: torus-512\nname: m\ndescription: x\ntopology:\n  {text}\n")
    with pytest.raises(InputError) as refusal:
        machine.load(tmp_path / "m.yaml")
    assert any(said.startswith(f"{tmp_path / 'm.yaml'}:{place}:") and message in said for said in refusal.value.messages), refusal.value


def test_a_graph_whose_parts_are_not_linked_is_an_error_at_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"m\.yaml:7:9: error: the graph consists of parts that no link connects"):
        described(tmp_path, "a b\nc d\n")


def test_the_order_of_dimensions_reaches_the_simulator(tmp_path: Path) -> None:
    from exanet import _core

    (tmp_path / "m.yaml").write_text("extends: torus-512\nname: m\ntopology:\n  order: [0, 1, 2]\n")
    machines_own = machine.load(tmp_path / "m.yaml").resolve()
    assert _core.route(machines_own, 0, 1 + 8)[1] == 1
    assert _core.route(machine.load("torus-512").resolve(), 0, 1 + 8)[1] == 8


def test_what_has_no_end_is_refused_before_memory_is_full() -> None:
    with pytest.raises(InputError, match="/dev/zero: error: larger than 64 MiB"):
        graph_file.read(Path("/dev/zero"))
