# SPDX-License-Identifier: Apache-2.0
"""Looks at includes in core/ and runtime/: no file and no room depends on itself, over however many others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INCLUDE = re.compile(r'^#\s*include "((?:core|runtime)/[^"]+)"', re.MULTILINE)
Graph = dict[str, set[str]]


def includes(root: Path) -> Graph:
    """By source file of core/ and runtime/ except tests: the files that it includes, relative to `root`."""
    files = [p for folder in ("core", "runtime") for p in sorted((root / folder).rglob("*")) if p.suffix in (".hpp", ".cpp", ".h", ".c")]
    return {
        str(path.relative_to(root)): set(INCLUDE.findall(path.read_text()))
        for path in files
        if not path.stem.endswith(("_test", "_harness"))
    }


def rooms(files: Mapping[str, set[str]]) -> Graph:
    """The same by room. Rooms are folders: a model of core/network is a room of its own, and so is the contract above it."""
    made: Graph = {}
    for file, included in files.items():
        here = str(Path(file).parent)
        made.setdefault(here, set()).update({str(Path(other).parent) for other in included} - {here})
    return made


def cycle(graph: Mapping[str, set[str]]) -> str:
    """A cycle as `a -> b -> a`, the one that includes first; "" where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


@pytest.fixture(scope="module")
def files() -> Graph:
    return includes(ROOT)


def test_every_include_names_a_file(files: Graph) -> None:
    assert len(files) > 100
    missing = {f"{file}: {other}" for file, included in files.items() for other in included if not (ROOT / other).exists()}
    assert not missing


def test_no_file_includes_itself_over_others(files: Graph) -> None:
    assert cycle(files) == ""


def test_no_room_depends_on_itself_over_others(files: Graph) -> None:
    assert cycle(rooms(files)) == ""


def test_a_planted_cycle_is_found(tmp_path: Path) -> None:
    for file, included in {
        "core/a/one.hpp": "core/b/two.hpp",
        "core/b/two.hpp": "core/c/three.hpp",
        "core/c/other.hpp": "core/a/more.hpp",
        "core/c/three.hpp": "core/c/own.hpp",
        "core/a/one_test.cpp": "core/a/one.hpp",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f'#include "{included}"\n')
    found = includes(tmp_path)
    assert "core/a/one_test.cpp" not in found
    assert cycle(found) == ""  # each file for itself is in order, the rooms are not
    assert set(cycle(rooms(found)).split(" -> ")) == {"core/a", "core/b", "core/c"}
    (tmp_path / "core/c/own.hpp").write_text('#include "core/a/one.hpp"\n')
    found = includes(tmp_path)
    assert set(cycle(found).split(" -> ")) == {"core/a/one.hpp", "core/b/two.hpp", "core/c/three.hpp", "core/c/own.hpp"}
    assert cycle(found).count(" -> ") == 4
