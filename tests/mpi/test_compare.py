# SPDX-License-Identifier: Apache-2.0
"""Slowdowns that are planted in real runs: does a comparison name the cause in its first sentences?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import exanet
from exanet.cli import app
from exanet.compare import page
from exanet.compare.sentences import sentences

from .conftest import PROGRAMS, Runner, Stack

RANKS = 8
OFF = ("--compute", "off", "--map", "round-robin")


@pytest.fixture(scope="module")
def program(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("late") / "late"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", made, PROGRAMS / "late.c"], check=True)
    return made


@pytest.fixture(scope="module")
def usual(program: Path) -> Path:
    exanet.run([str(program)], "exanest", ranks=RANKS, mapping=OFF[3], compute=OFF[1], output=program.parent / "usual")
    return program.parent / "usual"


def said(usual: Path, planted: Path) -> list[str]:
    """The first two sentences, which are the same on the terminal and on the page; the cause does not depend on which
    run is the first, but that the first one is marked as the slower one."""
    found = exanet.compare(usual, planted)
    first = sentences(found)[:2]
    shown = CliRunner().invoke(app, ["compare", str(usual), str(planted)])
    assert shown.exit_code == 0 and all(sentence in shown.output for sentence in first)
    assert page.page_data(found)["sentences"][:2] == first
    assert sentences(exanet.compare(planted, usual))[1] == first[1].replace(f"in {planted}, ", f"in {planted}, the slower one, ", 1)
    assert f"{planted} takes " in first[0] and " longer than " in first[0]
    return first


def test_a_late_rank(mpich: Stack, exanet_run: Runner, program: Path, usual: Path) -> None:
    planted = exanet_run(mpich, RANKS, [program, "5"], options=OFF).folder
    assert said(usual, planted)[1] == f"Likely cause: in {planted}, rank 5 is late: it computes 400 µs longer, and the others wait."


def test_a_slow_link(mpich: Stack, exanet_run: Runner, program: Path, usual: Path, tmp_path: Path) -> None:
    link = "qfdb(0,0,0).F1 X+"
    (tmp_path / "slow.yaml").write_text(f'events:\n  - {{at: 0 us, slow: "{link}", rate: 0.1}}\n')
    planted = exanet_run(mpich, RANKS, [program], options=(*OFF, "--faults", str(tmp_path / "slow.yaml"))).folder
    cause = said(usual, planted)[1]
    assert cause.startswith(f"Likely cause: in {planted}, links {link} → qfdb(1,0,0).F1 and qfdb(1,0,0).F1 X- → qfdb(0,0,0).F1 are slow: ")
    assert "the first takes 10 times as long for each byte" in cause
    assert cause.endswith("(--faults makes it slow at 0 s).")


def test_a_slow_kind_of_links(mpich: Stack, exanet_run: Runner, program: Path, usual: Path, tmp_path: Path) -> None:
    machine = tmp_path / "slow.yaml"
    machine.write_text("name: slow\nextends: exanest\nlinks:\n  inter-qfdb: {rate: 2 Gb/s}\n")
    planted = exanet_run(mpich, RANKS, [program], machine=str(machine), options=OFF).folder
    assert "are slow: the first takes 5 times as long for each byte" in said(usual, planted)[1]
    assert "the machine differs: links.inter-qfdb.word_time_ps 32000 instead of 6400" in sentences(exanet.compare(usual, planted))[2]


def test_a_bad_placement(mpich: Stack, exanet_run: Runner, program: Path, usual: Path) -> None:
    options = (*OFF[:2], "--map", "random:1")
    planted = exanet_run(mpich, RANKS, [program], options=options).folder
    cause = said(usual, planted)[1]
    assert cause.startswith(f"Likely cause: in {planted}, 8 of 8 ranks are placed on other nodes (--map random:1 instead of round-robin): ")
    hops = [run.summary["packet_hops"] / run.summary["packets"] for run in exanet.compare(planted, usual).results]
    assert f"packets take {hops[0]:.2f} hops each instead of {hops[1]:.2f}" in cause and hops[0] > 2 * hops[1]


def test_collectives_in_the_interfaces(mpich: Stack, exanet_run: Runner, program: Path, usual: Path) -> None:
    faster = exanet_run(mpich, RANKS, [program], options=(*OFF, "--offload", "allreduce=on")).folder
    cause = sentences(exanet.compare(usual, faster))[1]
    assert cause == f"Likely cause: in {usual}, the slower one, the run was asked for differently: offload none instead of allreduce."
