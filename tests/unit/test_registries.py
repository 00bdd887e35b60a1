# SPDX-License-Identifier: Apache-2.0
"""The core's registries are complete, and Python agrees with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
from pydantic import ValidationError

from exanet import _core
from exanet.cli import app
from exanet.machine.schema import LINK_KINDS, SWITCHES, Topology

DOCS = Path(__file__).parents[2] / "docs"
REGISTRIES = _core.registries()


@pytest.mark.parametrize("registry", ["topologies", "routings", "patterns", "programs", "networks", "queue_actions"])
def test_every_entry_has_a_name_of_its_own_and_a_help(registry: str) -> None:
    names = [entry["name"] for entry in REGISTRIES[registry]]
    assert len(names) == len(set(names)) > 2
    for entry in REGISTRIES[registry]:
        assert entry["help"] and not entry["help"].endswith("."), entry["name"]


def test_topologies_say_their_shape_and_links() -> None:
    for entry in REGISTRIES["topologies"]:
        assert entry["shape"].startswith("["), entry["name"]
        assert entry["links"] and len(set(entry["links"])) == len(entry["links"])


def test_the_machine_schema_knows_all_topologies_and_switches() -> None:
    shape = {"value": [4], "source": "x", "kind": "chosen"}
    for entry in REGISTRIES["topologies"]:
        assert Topology.model_validate({"kind": entry["name"], "shape": shape}).kind == entry["name"]
        assert list(LINK_KINDS[entry["name"]]) == entry["links"]
    with pytest.raises(ValidationError, match="'graph'"):
        Topology.model_validate({"kind": "ring", "shape": shape})
    assert ["exanet", *SWITCHES] == [entry["name"] for entry in REGISTRIES["networks"]]


def test_names_are_those_of_the_functions_that_list_them() -> None:
    assert [entry["name"] for entry in REGISTRIES["routings"] if not entry["own"]] == _core.routing_names()
    assert [entry["name"] for entry in REGISTRIES["patterns"]] == _core.traffic_patterns()
    assert [entry["name"] for entry in REGISTRIES["programs"]] == _core.program_names()


def rows(page: str, title: str) -> set[str]:
    """The names in the first column of the table under this title of a page of docs."""
    section = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found: set[str] = set()
    for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        first, *others = (name.partition(":")[0] for name in re.findall("`(.*?)`", cell))
        found |= {first, *(first.partition("-")[0] + other if other.startswith("-") else other for other in others)}
    return found


@pytest.mark.parametrize(
    ("page", "title", "registry"),
    [
        ("topologies.md", "Topologies", "topologies"),
        ("simulate.md", "Traffic", "patterns"),
        ("simulate.md", "Jobs that run to their end", "programs"),
    ],
)
def test_a_page_has_a_row_for_each(page: str, title: str, registry: str) -> None:
    assert rows(page, title) == {entry["name"] for entry in REGISTRIES[registry]}


@pytest.mark.parametrize(
    ("command", "option", "registry"),
    [
        ("load", "--traffic", "patterns"),
        ("messages", "--traffic", "patterns"),
        ("load", "--topology", "topologies"),
        ("jobs", "--routing", "routings"),
        ("jobs", "--job", "programs"),
    ],
)
def test_help_names_all_that_there_is(command: str, option: str, registry: str) -> None:
    modes = typer.main.get_command(app).commands["sim"].commands  # type: ignore[attr-defined]
    [text] = [parameter.help for parameter in modes[command].params if option in parameter.opts]
    elsewhere = {"flows"} if command == "load" else set()  # whole messages alone are listed in a file
    for entry in REGISTRIES[registry]:
        if entry["name"] in elsewhere:
            continue
        assert re.search(rf"(?<![\w-]){re.escape(entry['name'])}(?![\w-])", text), entry["name"]
