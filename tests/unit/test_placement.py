# SPDX-License-Identifier: Apache-2.0
"""Puts ranks on nodes, as asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from host import unhurried
from hypothesis import given
from hypothesis import strategies as st

from exanet.errors import InputError
from exanet.run.placement import place


def test_linear_fills_node_by_node() -> None:
    assert place("linear", ranks=6, nodes=3, cores_per_node=4) == [0, 0, 0, 0, 1, 1]


def test_round_robin_takes_turns() -> None:
    assert place("round-robin", ranks=7, nodes=3, cores_per_node=4) == [0, 1, 2, 0, 1, 2, 0]


def test_random_repeats_with_its_seed() -> None:
    one = place("random:1", ranks=64, nodes=32, cores_per_node=4)
    assert one == place("random:1", ranks=64, nodes=32, cores_per_node=4)
    assert one != place("random:2", ranks=64, nodes=32, cores_per_node=4)


def test_random_without_a_seed_of_its_own_is_drawn_by_that_of_the_run() -> None:
    machine = {"ranks": 64, "nodes": 32, "cores_per_node": 4}
    assert place("random", **machine, seed=1) == place("random:1", **machine)
    assert place("random", **machine, seed=2) == place("random:2", **machine)
    assert place("random:1", **machine, seed=2) == place("random:1", **machine)


@unhurried
@given(st.sampled_from(["linear", "round-robin", "random:3"]), st.integers(1, 40), st.integers(1, 8), st.data())
def test_no_core_twice(kind: str, nodes: int, cores: int, data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, nodes * cores))
    placed = place(kind, ranks=ranks, nodes=nodes, cores_per_node=cores)
    assert len(placed) == ranks
    assert set(placed) <= set(range(nodes))
    assert max(Counter(placed).values()) <= cores


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("# my own\n2\n\n0 # first\n2\n1\n")
    assert place(str(path), ranks=3, nodes=3, cores_per_node=2) == [2, 0, 2]


def test_all_faults_of_a_file_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("0\nx\n0\n0\n9\n")
    with pytest.raises(InputError) as caught:
        place(str(path), ranks=5, nodes=3, cores_per_node=2)
    assert [message.split(": error: ")[0] for message in caught.value.messages] == [f"{path}:{line}:1" for line in (2, 4, 5)]


def test_too_short_a_file(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("0\n")
    with pytest.raises(InputError, match="1 rank is placed, the run has 2"):
        place(str(path), ranks=2, nodes=3, cores_per_node=2)
    path.write_text("")
    with pytest.raises(InputError, match="map:1:1: error: the file is empty, the run has 2 ranks; add a line for each rank"):
        place(str(path), ranks=2, nodes=3, cores_per_node=2)


def test_more_ranks_than_cores() -> None:
    assert len(place("linear", ranks=8, nodes=2, cores_per_node=4)) == 8
    with pytest.raises(InputError, match="8 cores"):
        place("linear", ranks=9, nodes=2, cores_per_node=4)
