# SPDX-License-Identifier: Apache-2.0
"""Has an endpoint of several links as many interfaces under MPI programs, so that who talks to several others at
once uses all links?"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import PROGRAMS, Runner, Stack

# Links carry a word of the router's a cycle, so that an interface's port is hardly quicker than one of them.
MACHINE = """\
extends: {base}
name: rails
description: a small tree whose links are as quick as the interfaces' ports
topology: {{kind: fat-tree, shape: [4, 4], rails: {rails}}}
links:
  intra-qfdb: null
  inter-qfdb: null
  link: {{rate: 20 Gb/s, word: 128 bit, latency: 243.2 ns, framing: 2 words, pause_every: 32 words}}
"""
# Rank 0 has two of these by each of two rails, to and fro (core/topology/rails.hpp).
NODES = "0\n4\n5\n6\n7\n"
LENGTH = 1 << 18
SHARE = 0.55  # of one link's time: half, and a tenth of that for what does not go by links


def _took(run: Runner, stack: Stack, folder: Path, base: str, rails: int, *options: str) -> dict[str, float]:
    file, nodes = folder / f"{base}-{rails}.yaml", folder / "nodes"
    file.write_text(MACHINE.format(base=base, rails=rails))
    nodes.write_text(NODES)
    words = [stack.python, PROGRAMS / "fan.py", str(LENGTH)]
    done = run(stack, 5, words, machine=str(file), options=("--compute", "off", "--map", str(nodes), *options))
    return {way: float(ns) for way, ns in (line.split() for line in done.output.splitlines() if line)}


@pytest.mark.parametrize("base", ["exanest", "exanest-ni"])
def test_several_at_once_go_by_all_rails(exanet_run: Runner, stack: Stack, tmp_path: Path, base: str) -> None:
    one, two = (_took(exanet_run, stack, tmp_path, base, rails) for rails in (1, 2))
    for way in ("to", "from"):
        assert one[way] / 2 <= two[way] < SHARE * one[way], way


@pytest.mark.parametrize(
    ("program", "options", "says"), [("two_sided", (), "ok 4"), ("one_sided", (), "ok 4"), ("offload", ("--offload", "all"), "checked ")]
)
def test_programs_get_right_answers(
    exanet_run: Runner, mpich: Stack, tmp_path: Path, program: str, options: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "rails.yaml"
    file.write_text(MACHINE.format(base="exanest-ni", rails=3))
    words = [mpich.python, PROGRAMS / f"{program}.py"]
    done = exanet_run(mpich, 4, words, machine=str(file), options=("--compute", "off", "--map", "round-robin", *options))
    assert done.output.startswith(says)


@pytest.mark.parametrize("policy", ["round-robin", "least-loaded"])
@pytest.mark.parametrize(("program", "says"), [("two_sided", "ok 4"), ("one_sided", "ok 4")])
def test_programs_get_right_answers_where_a_pair_takes_all_rails(
    exanet_run: Runner, stack: Stack, tmp_path: Path, policy: str, program: str, says: str
) -> None:
    file = tmp_path / "rails.yaml"
    file.write_text(MACHINE.format(base="exanest", rails=3) + f"ni: {{rail_policy: {policy}, rail_stripe: 4 KiB}}\n")
    words = [stack.python, PROGRAMS / f"{program}.py"]
    done = exanet_run(stack, 4, words, machine=str(file), options=("--compute", "off", "--map", "round-robin"))
    assert done.output.startswith(says)


def test_messages_of_many_senders_overtake_each_other(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """Over random routers: what a rank sends after its answer would come before the first message of another one."""
    file = tmp_path / "valiant.yaml"
    file.write_text(MACHINE.format(base="exanest-ni", rails=3).replace("rails: 3", "rails: 3, routing: valiant"))
    words = [mpich.python, PROGRAMS / "two_sided.py"]
    done = exanet_run(mpich, 16, words, machine=str(file), options=("--compute", "off", "--map", "round-robin"))
    assert done.output.startswith("ok 16")


def test_several_at_once_go_by_all_rails_as_flows(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    one, two = (_took(exanet_run, mpich, tmp_path, "exanest", rails, "--level", "flow") for rails in (1, 2))
    for way in ("to", "from"):
        assert one[way] / 2 <= two[way] < SHARE * one[way], way
