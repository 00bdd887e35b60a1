# SPDX-License-Identifier: Apache-2.0
"""Lists of flows in htsim's form: what they say is carried out, and what is none is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli, sim
from exanet.errors import InputError
from exanet.sim import flow_list

LIST = """# two flows, and two that follow both
Nodes 16
Connections 4
Triggers 2

0->5 id 1 start 0 size 100000 send_done_trigger 1
1->6 id 2 start 40 size 200000 recv_done_trigger 1
5->0 id 3 trigger 1 size 300 recv_done_trigger 2
6->1 id 4 trigger 2 size 1
trigger id 1 barrier count 2
trigger id 2 oneshot
"""


def written(folder: Path, text: str) -> Path:
    (folder / "few.cm").write_text(text)
    return folder / "few.cm"


def test_a_list_is_handed_over_as_it_stands(tmp_path: Path) -> None:
    assert flow_list.in_core_text(written(tmp_path, LIST), 16) == "0 5 100000 0;1 6 200000 40;5 0 300 0 0s 1;6 1 1 0 2;"


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_the_flows_of_a_list_arrive_at_both_levels(tmp_path: Path, level: str) -> None:
    machine = sim.variant("torus-512", "fat-tree:4,4", None, [])
    spec = sim.TrafficSpec(traffic=f"flows:{written(tmp_path, LIST)}", level=level)
    point = sim.simulate(machine, offered=0, spec=spec)
    assert (point["created"], point["measured"], point["senders"]) == (4, 4, 4)
    # A packet of 256 bytes takes 38 words of 6.4 ns, with a pause after 32, so the longest flow takes 196 us alone; two
    # short ones of a few hundred ns follow each other then.
    assert 196e3 < point["completion_ns"] < 203e3


def test_the_command_takes_a_list(tmp_path: Path) -> None:
    words = ["sim", "messages", "-m", "torus-512", "--topology", "fat-tree:4,4", "--traffic", f"flows:{written(tmp_path, LIST)}"]
    done = CliRunner().invoke(cli.app, [*words, "--json", "-q", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["measured"] == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("Connections 4", "Connections 5", 3, "Connections 5, but the file has 4 flows"),
        ("Nodes 16", "Nodes 17", 2, "Nodes 17, but the machine has 16 endpoints"),
        ("Nodes 16", "", 1, "add 'Nodes N'"),
        ("Triggers 2", "Triggers 1", 4, "Triggers 1, but the file has 2 triggers"),
        ("0->5", "0-5", 6, "'0-5' begins no line"),
        ("0->5", "0->x", 6, "'0->x' is no pair"),
        ("0->5", "5->5", 6, "from endpoint 5 to itself"),
        ("0->5", "0->16", 6, "endpoint 16 of 16"),
        ("start 0 ", "", 6, "give one of 'start PS' and 'trigger N'"),
        ("start 0", "start -1", 6, "start -1: give a whole number"),
        ("size 300 ", "", 8, "the flow has no size"),
        ("size 300", "size 0", 8, "size 0: give a whole number from 1 on"),
        ("size 300", "size 1 size 300", 8, "'size' comes twice"),
        ("id 3", "msg id 3", 8, "share a connection"),
        ("id 3", "prio 3", 8, "priorities of pulls are not built"),
        ("id 3", "colour 3", 8, "'colour': no key of a flow"),
        ("size 1\n", "size\n", 9, "'size' has no value"),
        ("count 2", "count 3", 10, "starts flows once 3 are done, but 2 flows name it"),
        ("barrier count 2", "oneshot", 10, "starts flows once 1 are done, but 2 flows name it"),
        ("barrier count 2", "multishot", 10, "is a multishot of 2 flows"),
        ("barrier count 2", "barrier", 10, "a barrier has a count"),
        ("trigger id 2 oneshot", "trigger id 1 oneshot", 11, "trigger 1 is in line 10 already"),
        ("trigger id 2 oneshot", "trigger oneshot", 11, "give 'trigger id N'"),
        ("trigger id 2 oneshot", "failure switch_type TOR switch_id 0 link_id 0", 11, "give --fail or --faults"),
    ],
)
def test_what_is_no_list_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert LIST.count(old) >= 1
    file = written(tmp_path, LIST.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        flow_list.in_core_text(file, 16)
    assert f"few.cm:{line}:1: error: " in str(refused.value)
    assert what in str(refused.value)


def test_a_cycle_of_triggers_is_refused(tmp_path: Path) -> None:
    text = "Nodes 16\nConnections 1\nTriggers 1\n0->1 trigger 1 recv_done_trigger 1 size 5\ntrigger id 1 oneshot\n"
    machine = sim.variant("torus-512", "fat-tree:4,4", None, [])
    with pytest.raises(InputError, match="follows itself"):
        sim.simulate(machine, offered=0, spec=sim.TrafficSpec(traffic=f"flows:{written(tmp_path, text)}"))


@pytest.mark.parametrize("more", [["--message", "64KiB"], ["--rounds", "2"], ["--load", "0.5"], ["--pace", "fair"]])
def test_a_list_has_sizes_and_starts_of_its_own(tmp_path: Path, more: list[str]) -> None:
    words = ["sim", "messages", "-m", "torus-512", "--topology", "fat-tree:4,4", "--traffic", f"flows:{written(tmp_path, LIST)}"]
    done = CliRunner().invoke(cli.app, [*words, *more, "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, InputError) and "list" in str(done.exception), done.output
    assert not (tmp_path / "out").exists()


def test_single_packets_come_from_no_list(tmp_path: Path) -> None:
    words = [
        "sim",
        "load",
        "-m",
        "torus-512",
        "--topology",
        "fat-tree:4,4",
        "--traffic",
        f"flows:{written(tmp_path, LIST)}",
        "--load",
        "0.1",
    ]
    done = CliRunner().invoke(cli.app, [*words, "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, InputError) and "sim messages" in str(done.exception), done.output
