# SPDX-License-Identifier: Apache-2.0
"""Does a program meet the same machine when its packets cross the Verilated routers and links as when they cross the
model?

All that a run leaves behind must be the same, to the picosecond and the byte, but for what the two fabrics know of
their own work. One machine is the smallest that routes, four nodes in a ring with two ranks each, because its nodes are
built by Verilator here; the other is the ExaNeSt blade, with a rank on each node of its four QFDBs. A round trip of
each size, and steps of LAMMPS, are as good as many: what follows meets the same machine (EXANET_TEST_LONG has many).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from host import LONG, tried

from exanet import results

from .conftest import PROGRAMS, Finished, Runner, Stack
from .test_applications import smaller

pytestmark = pytest.mark.verilated

RING = """
extends: torus-2x2x2
name: ring-4
description: Four nodes in a ring
topology:
  kind: torus
  shape: {value: [4], source: the smallest that routes, kind: chosen}
"""

WITH_INTERFACE = (
    RING.replace("ring-4", "ring-4-ni")
    + """
router: {intra_ports: 4, max_payload: 512 B}
ni: {messages: gateware, transfers: gateware, reductions: gateware, packetizer: 0, mailbox_word: 0, dma_start: 0, dma_completion: 0,
     translation: 0, reduction_trees: 16, reduction: 0, reduction_word: 0}
"""
)

ROUNDS = "20" if LONG else "2"

COMMANDS = {
    "ping-pong": [sys.executable, PROGRAMS / "pingpong.py", "0", "8", "32", "64", "1024", "16384"],
    "allreduce": [sys.executable, PROGRAMS / "allreduce.py", "1", "100", "3000"],
}


@pytest.fixture(autouse=True)
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that is trained takes three times as long: `make test-long` has those."""
    if not LONG:
        monkeypatch.setenv("EXANET_UNTRAINED", "1")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The machine's file; beside it the cache in which the first run builds its nodes."""
    machine = tmp_path_factory.mktemp("gateware") / "ring-4.yaml"
    machine.write_text(RING)
    return machine


ON_THE_BLADE = {
    "ping-pong": [sys.executable, PROGRAMS / "pingpong.py", "0", "64", "1024"],
    "allreduce": [sys.executable, PROGRAMS / "allreduce.py", "1", "100"],
}


def same_run(model: Finished, gateware: Finished, *, hops: int = 100) -> None:
    assert model.summary["run"]["fabric"] == "model" and model.summary["cycles"] == 0
    assert gateware.summary["run"]["fabric"] == "gateware" and gateware.summary["cycles"] > 1000
    assert gateware.summary["packet_hops"] == model.summary["packet_hops"] >= hops
    for name in results.TABLES:
        one, other = (pl.read_parquet(run.folder / f"{name}.parquet") for run in (model, gateware))
        if name == "links":  # how long packets stood at a router cannot be seen from outside it
            one, other = one.drop("waited_ps"), other.drop("waited_ps")
        assert one.equals(other), f"{name}\n{one}\n{other}"


@pytest.mark.parametrize("name", [*tried([*COMMANDS], ["ping-pong"]), pytest.param("lammps", marks=pytest.mark.slow)])
def test_the_same_run(exanet_run: Runner, mpich: Stack, built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(built.parent / "cache"))
    monkeypatch.setenv("PINGPONG_ROUNDS", ROUNDS)
    words = COMMANDS.get(name)
    if words is None:
        melt = smaller("in.lj", tmp_path, steps=100 if LONG else 10, box="0.25")
        words = [Path(sys.prefix) / "bin" / "lmp", "-in", melt, "-log", "none"]
    base = ("--compute", "off", "--map", "round-robin")
    fabrics = [("--fabric", "model"), ("--fabric", "gateware")]
    model, gateware = (exanet_run(mpich, 8, words, machine=str(built), options=(*base, *fabric), timeout=500) for fabric in fabrics)
    if name != "lammps":  # which prints how long it really took
        assert gateware.output == model.output != ""
    same_run(model, gateware)


@pytest.mark.long  # its nodes have twelve ports, which take a minute to build
@pytest.mark.parametrize("name", ON_THE_BLADE)
def test_the_same_run_on_a_blade(exanet_run: Runner, mpich: Stack, built: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(built.parent / "cache"))
    monkeypatch.setenv("PINGPONG_ROUNDS", ROUNDS)
    words, options = ON_THE_BLADE[name], ("--compute", "off", "--map", "round-robin")
    model, gateware = (
        exanet_run(mpich, 16, words, machine="exanest-blade", options=(*options, "--fabric", *fabric), timeout=600)
        for fabric in (("model",), ("gateware", "--fabric-threads", "2"))
    )
    assert gateware.output == model.output != ""
    same_run(model, gateware)
    links = pl.read_parquet(gateware.folder / "links.parquet").filter(pl.col("packets") > 0)
    assert set(links["link_class"]) == {0, 1}, "inside QFDBs and between them"


@pytest.mark.parametrize(
    ("stack", "program"),
    [
        *([] if LONG else [("openmpi5", "allreduce")]),
        ("openmpi4", "flushes"),
        ("mpich", "one_sided"),
        *(
            [("mpich", "lammps"), ("mpich", "offload")]
            + [(name, program) for name in ("mpich", "openmpi4", "openmpi5") for program in ("allreduce", "pingpong")]
            if LONG
            else []
        ),
    ],
    indirect=["stack"],
)
def test_the_same_run_by_whole_interfaces(
    exanet_run: Runner, stack: Stack, built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    """Messages, transfers and reductions of the gateware's interfaces, Verilated with their routers, and of their
    models."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(built.parent / "cache"))
    machine = built.with_name("ring-4-ni.yaml")
    machine.write_text(WITH_INTERFACE)
    words = [stack.python, PROGRAMS / f"{program}.py"]
    if program == "allreduce":
        words += ["1", "32", "3000" if LONG else "600"]
    if program == "pingpong":
        words += ["0", "8", "64", "1024", "16384"]
    if program == "offload":  # without its threads, which Python hands its lock to when the host lets it
        words = [stack.python, "-c", f"import mpi4py, runpy; mpi4py.rc.thread_level = 'single'; runpy.run_path({str(words[1])!r})"]
    if program == "lammps":
        words = [Path(sys.prefix) / "bin" / "lmp", "-in", smaller("in.lj", tmp_path, steps=100 if LONG else 3, box="0.25"), "-log", "none"]
    # where the simulator of the model has said how far it is long before the gateware's
    one_node = program == "flushes"
    ranks, base = 4 if one_node else 8, ("--compute", "off", "--map", "linear" if one_node else "round-robin", "--offload", "all")
    fabrics = [("--fabric", "model"), ("--fabric", "gateware")]
    model, gateware = (exanet_run(stack, ranks, words, machine=str(machine), options=(*base, *fabric), timeout=500) for fabric in fabrics)
    assert model.summary["virtual_ps"] == gateware.summary["virtual_ps"]
    same_run(model, gateware, hops=0 if one_node else 100)
    assert [folder.name for folder in (built.parent / "cache" / "exanet").glob("nodes-ni-*")], "interfaces were Verilated"


def test_the_same_run_by_models_of_interfaces_beside_the_gateware(
    exanet_run: Runner, mpich: Stack, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with messages alone in the gateware's cycles has its interfaces modelled, and its routers Verilated."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(built.parent / "cache"))
    machine = built.with_name("ring-4-messages.yaml")
    machine.write_text(RING.replace("ring-4", "ring-4-messages") + "ni: {messages: gateware, packetizer: 0, mailbox_word: 0}\n")
    words, base = COMMANDS["allreduce"], ("--compute", "off", "--map", "round-robin")
    fabrics = [("--fabric", "model"), ("--fabric", "gateware")]
    model, gateware = (exanet_run(mpich, 8, words, machine=str(machine), options=(*base, *fabric), timeout=500) for fabric in fabrics)
    assert model.summary["virtual_ps"] == gateware.summary["virtual_ps"]
    same_run(model, gateware)
