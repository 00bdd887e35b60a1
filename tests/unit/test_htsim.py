# SPDX-License-Identifier: Apache-2.0
"""Networks from htsim's topology files, Ultra Ethernet's transport on them, and the comparison with htsim."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet import cli, machine, sim
from exanet.errors import InputError
from exanet.machine import htsim

BENCH = Path(__file__).parents[2] / "bench" / "htsim.py"
TOPOLOGY = """# 16 nodes in four pods
Nodes 16
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Bundle 1

Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""
FLOWS = "Nodes 16\nConnections 7\n" + "".join(f"{source}->15 start 0 size 2000000\n" for source in range(7))
EXPERIMENTS = """few.cm
!Experiment Few to one
!Binary ./htsim_uec
!Param -end 1000
!Param {control}
!tailFCT 190
few.cm
!Experiment Connections again
!Param -conn_reuse
"""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("few.topo").write_text(TOPOLOGY)
    Path("few.cm").write_text(FLOWS)
    done = CliRunner().invoke(cli.app, ["machines", "new", "few", "--from", "few.topo"])
    assert done.exit_code == 0, done.output
    return tmp_path / "few.yaml"


def point(network: Path, control: str, **changes: str) -> dict[str, Any]:
    text = re.sub(r"congestion_control: \S+", f"congestion_control: {control}", network.read_text())
    for key, value in changes.items():
        assert f"{key}: " in text
        text = "\n".join(f"{line.partition(key)[0]}{key}: {value}" if f" {key}: " in line else line for line in text.split("\n"))
    network.write_text(text)
    return sim.simulate(machine.load(str(network)), offered=0, spec=sim.TrafficSpec(traffic="flows:few.cm", nic="ultra-ethernet"))


def test_a_topology_file_becomes_a_machine(network: Path) -> None:
    resolved = machine.load(str(network)).resolve()
    assert resolved["topology"]["kind"] == "xgft"
    assert resolved["topology"]["shape"] == [2, 2, 4, 1, 2, 2]
    # Both ways 12 us, six times a packet of 4144 bytes and an acknowledgement of 64: 14.02 us, 42.3 packets.
    assert resolved["router"]["queue_limit_words"] == 43 * 255
    assert [link["latency_ps"] for link in resolved["links"]] == [1_000_000] * 3


@pytest.mark.parametrize("control", ["nscc", "rccc", "nscc-rccc"])
def test_an_incast_keeps_its_last_link_busy(network: Path, control: str) -> None:
    found = point(network, control)
    # 7 x 491 packets of 331.52 ns, and the way; 5 % for what begins and ends.
    assert 1139e3 < found["completion_ns"] < 1139e3 * 1.05 + 8e3
    assert found["measured"] == 7
    assert {row["packets"] for row in found["flows"]} == {491}
    assert point(network, control)["completion_ns"] == found["completion_ns"]


def test_what_is_dropped_is_sent_again(network: Path) -> None:
    trimmed = point(network, "nscc")
    dropped = point(network, "nscc", queue_action="ecn-drop")
    assert dropped["measured"] == 7
    assert dropped["completion_ns"] > trimmed["completion_ns"]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("Tiers 3", "Tiers 2", 1, "Tiers 2, with 3 sections"),
        ("Nodes 16", "Nodes 18", 1, "Nodes 18 is no multiple of Podsize, 4"),
        ("Podsize 4", "", 1, "Podsize is missing"),
        ("Radix_Down 4", "Radix_Down 8", 19, "a switch of tier 2 has 4 switches below it"),
        ("Bundle 1", "Bundle 2", 17, "bundles of links"),
        ("Bundle 1", "Queue_Up 100", 17, "queues of own sizes"),
        ("Bundle 1", "Colour 1", 17, "'Colour' is no key here"),
        ("Bundle 1", "Bundle one", 17, "give a key and a whole number"),
        ("Bundle 1", "Radix_Up 2", 17, "Radix_Up comes twice"),
        ("Tier 1", "Tier 2", 12, "tiers come in order, so give Tier 1"),
        ("Radix_Up 2", "", 6, "this tier has no radix_up"),
        ("Radix_Down 2", "Radix_Down 0", 8, "Radix_Down 0; give at least 1"),
    ],
)
def test_what_is_no_topology_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    (tmp_path / "few.topo").write_text(TOPOLOGY.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        htsim.machine_text(tmp_path / "few.topo", "few")
    assert f"few.topo:{line}:1: error: " in str(refused.value)
    assert what in str(refused.value)


def test_a_topology_is_of_a_new_machine(network: Path) -> None:
    for words in (["few", "--from", "few.topo"], ["new", "few", "--from", "few.topo"], ["new", "other", "--from", "none.topo"]):
        done = CliRunner().invoke(cli.app, ["machines", *words])
        assert isinstance(done.exception, InputError), done.output
    assert not Path("other.yaml").exists()


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCH), *words], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("control", ["-sender_cc_only", "-receiver_cc_only"])
def test_the_comparison_runs_ours_alone_and_names_what_is_left_out(network: Path, control: str) -> None:
    Path("few.txt").write_text(EXPERIMENTS.format(control=control))
    done = bench("few.txt")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[2:]
    assert len(rows) == 2
    assert 1120 < float(rows[0].split("|")[4]) < 1190
    assert "left out: -conn_reuse" in rows[1]


def test_the_comparison_sets_htsim_beside_ours(network: Path) -> None:
    """A stand-in that prints as htsim does."""
    Path("few.txt").write_text(EXPERIMENTS.format(control="-sender_cc_only"))
    Path("stand-in").write_text("#!/bin/sh\necho Flow Uec_0_1 flowId 1 finished at 100.5 total\necho x finished at 250\n")
    Path("stand-in").chmod(0o755)
    done = bench("few.txt", "--htsim", "stand-in", "--only", "Few")
    assert done.returncode == 0, done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[2].split("|")]
    assert cells[3] == "250"
    assert cells[5] == f"{float(cells[4]) / 250 - 1:+.1%}" or abs(float(cells[5].rstrip("%")) / 100 - (float(cells[4]) / 250 - 1)) < 0.004


def test_a_program_that_is_missing_or_fails_is_named(network: Path) -> None:
    Path("few.txt").write_text(EXPERIMENTS.format(control="-sender_cc_only"))
    Path("fails").write_text("#!/bin/sh\necho of no use >&2\nexit 3\n")
    Path("fails").chmod(0o755)
    for words, what in ((["few.txt", "--htsim", "none"], "there is no such program"), (["few.txt", "--htsim", "fails"], "exit 3"),
                        (["none.txt"], "cannot be read")):  # fmt: skip
        done = bench(*words)
        assert done.returncode == 2, done.stdout
        assert what in done.stderr and "Traceback" not in done.stderr
