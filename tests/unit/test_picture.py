# SPDX-License-Identifier: Apache-2.0
"""`exanet machines NAME --topology KIND:SHAPE --svg FILE`: every kind of network is described and drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from exanet import _core, cli, sim
from exanet.errors import InputError
from exanet.machine import schema
from exanet.results import picture

SHAPES = {
    "qfdb-torus": "3,2,2",
    "mesh": "5,3,2",
    "torus": "4,3,5,2",
    "fat-tree": "4,4,2",
    "k-ary-n-tree": "3,3",
    "xgft": "4,4,1,2",
    "dragonfly": "3",
    "qfdb-dragonfly": "3,1",
    "megafly": "2,2,2,1",
    "slim-fly": "5,1",
    "hyperx": "2,3,4",
    "flattened-butterfly": "3,3",
    "jellyfish": "8,5,2",
    "hypercube": "5",
    "full-mesh": "7",
}
SVG = "{http://www.w3.org/2000/svg}"


def test_the_shapes_are_of_every_kind_but_graphs() -> None:
    assert {*SHAPES, "graph"} == set(schema.LINK_KINDS)


@pytest.mark.parametrize(("kind", "shape"), SHAPES.items())
def test_every_kind_is_described_and_drawn(kind: str, shape: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    shown = CliRunner().invoke(
        cli.app, ["machines", "torus-512", "--topology", f"{kind}:{shape}", "--svg", str(file)], catch_exceptions=False
    )
    assert shown.exit_code == 0
    assert f"{kind}, {' x '.join(shape.split(','))}" in shown.stdout
    assert "packaging" not in shown.stdout
    resolved = sim.variant("torus-512", f"{kind}:{shape}", None, []).resolve()
    needs, drawn = _core.topology_needs(resolved["topology"]), _core.topology_drawing(resolved)
    root = ElementTree.fromstring(file.read_text())
    titles = [str(found.text) for found in root.iter(f"{SVG}title")][1:]
    assert titles == list(drawn["node_name"])
    assert len(list(root.iter(f"{SVG}circle"))) == needs["endpoints"]
    assert len(list(root.iter(f"{SVG}path"))) == len({frozenset(map(int, ends)) for ends in drawn["links"]})
    for mark in root.iter(f"{SVG}circle"):
        assert 0 < float(mark.attrib["cx"]) < 900
        assert 0 < float(mark.attrib["cy"]) < 640
    for line in root.iter(f"{SVG}path"):  # a bent one comes half way to the point between its ends
        x, y, *middle, to_x, to_y = (float(figure) for figure in re.findall("[0-9.]+|-[0-9.]+", line.attrib["d"]))
        if middle:
            assert 0 < (x + to_x) / 4 + middle[0] / 2 < 900
            assert 0 < (y + to_y) / 4 + middle[1] / 2 < 620, "above the legend"
    assert file.read_text() == picture.svg(f"{kind}-{shape.replace(',', '-')}", resolved)


def test_two_links_between_two_nodes_are_one_line_twice_as_wide() -> None:
    drawn = picture.svg("mezzanine", sim.variant("exanest-mezzanine", None, None, []).resolve())
    assert drawn.count('stroke-width="1.6"') == 4
    assert drawn.count('stroke-width="0.8"') == 4 * 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("dragonfly-114582", "--svg", "big.svg"), "123396 nodes, too many to draw"),
        (("torus-512", "--topology", "hypercube:11", "--svg", "big.svg"), "11264 links, too many to draw"),
        (("--svg", "one.svg"), "say which"),
        (("torus-512", "--svg", "nowhere/one.svg"), "there is no folder"),
    ],
)
def test_what_cannot_be_drawn(options: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refusal:
        CliRunner().invoke(cli.app, ["machines", *options], catch_exceptions=False)
    assert any(message in said for said in refusal.value.messages), refusal.value
    assert list(tmp_path.iterdir()) == []
