# SPDX-License-Identifier: Apache-2.0
"""Does background traffic send what it says, and meet the programs beside it as other traffic does?"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import exanet
from exanet import background_traffic
from exanet import replay as replays
from exanet.errors import InputError

JOB = "stencil-2d:ranks=16,bytes=4KiB,rounds=20"


def replayed(background: str | None, *, machine: str = "exanest", job: str = JOB, level: str = "packet") -> exanet.Run:
    return exanet.replay([], machine, jobs=[job], mapping="round-robin", background=background, level=level)


def test_a_pattern_sends_its_load_in_a_poisson_process() -> None:
    """The bytes of all endpoints in the time of the run, within four standard deviations, and what was sent once more
    before somebody asked."""
    for load in (0.05, 0.2):
        sent, virtual_s = (run := replayed(f"uniform,load={load},bytes=4KiB")).summary["background"], run.summary["virtual_ps"] * 1e-12
        offered = exanet.simulate("exanest", load, message_bytes=4096, nic="exanet", measure_ps=10**8).points
        expected = offered["offered_gbps"][0] / offered["offered_load"][0] * load * 1e9 / 8 / 4096 * virtual_s
        assert sent["messages"] == pytest.approx(expected, abs=4 * expected**0.5 + 64)
        assert sent["bytes"] == 4096 * sent["messages"]
        assert 0.9 * sent["messages"] < sent["arrived"] <= sent["messages"] and sent["failed"] == 0


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_program_waits_for_what_others_send_and_the_same_seed_gives_the_same(level: str) -> None:
    took = [
        replayed(text, level=level).summary["virtual_ps"] for text in (None, "uniform,load=0.05,bytes=4KiB", "uniform,load=0.2,bytes=4KiB")
    ]
    assert took == sorted(took) and took[0] < took[1] < took[2]
    assert replayed("uniform,load=0.2,bytes=4KiB", level=level).summary["virtual_ps"] == took[2]
    assert replayed("uniform,load=0.2,bytes=4KiB,seed=2", level=level).summary["virtual_ps"] != took[2]


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_closed_loop_keeps_its_messages_under_way(level: str) -> None:
    """Five senders to one share its link, so they bring all of it, and no more wait than are to be outstanding."""
    where = {"machine": "fat-tree-64", "job": f"barrier:ranks=2,rounds={3000 if level == 'packet' else 12000}", "level": level}
    runs = [replayed(f"incast:5,outstanding={count},bytes=64KiB", **where).summary for count in (1, 4)]
    offered = exanet.simulate("fat-tree-64", 0.5, message_bytes=1 << 16, nic="exanet", measure_ps=10**8).points
    link_gbps = offered["offered_gbps"][0] / offered["offered_load"][0] / offered["senders"][0]
    for run, count in zip(runs, (1, 4), strict=True):
        sent = run["background"]
        assert sent["messages"] - sent["arrived"] <= 5 * count and sent["failed"] == 0
        assert sent["arrived_bytes"] * 8e3 / run["virtual_ps"] == pytest.approx(link_gbps, rel=0.12)
    assert runs[1]["background"]["latency_ns"] == pytest.approx(4 * runs[0]["background"]["latency_ns"], rel=0.2)
    again = replayed("incast:5,outstanding=4,bytes=64KiB", **where).summary
    assert again["background"] == runs[1]["background"] and again["virtual_ps"] == runs[1]["virtual_ps"]


def test_a_closed_loop_begins_at_once_and_goes_on_after_failures(tmp_path: Path) -> None:
    """On a network of eight nodes, of which one goes down; its senders' messages fail, and others go on."""
    faults = tmp_path / "faults.yaml"
    faults.write_text('events:\n- {at: 200 us, down: "(1,1,1)"}\n')
    options = replays.Options([], "torus-2x2x2", "round-robin", jobs=["barrier:ranks=2,rounds=1500"], background="uniform,outstanding=1")
    whole, broken = (replays.replay(dataclasses.replace(options, faults=file))[0]["background"] for file in (None, str(faults)))
    assert whole["failed"] == 0 and broken["failed"] > 1
    assert broken["arrived"] > whole["arrived"] / 2
    brief = exanet.replay(
        [], "torus-2x2x2", background="uniform,outstanding=1,bytes=1GiB", jobs=["barrier:ranks=2,rounds=20"], mapping="round-robin"
    )
    assert brief.summary["background"]["messages"] == 8


def test_a_list_of_flows_takes_the_time_that_it_takes_alone(tmp_path: Path) -> None:
    """Beside a program on other nodes whose messages cross none of their links; also flows that follow others, as they
    arrive and as their sources know it."""
    flows = tmp_path / "flows.cm"
    flows.write_text(
        "Nodes 128\nConnections 4\nTriggers 2\n"
        "100->101 id 1 start 0 size 1000000 recv_done_trigger 1\n"
        "101->102 id 2 trigger 1 size 300000 send_done_trigger 2\n"
        "102->103 id 3 trigger 2 size 4096\n"
        "100->102 id 4 start 5000000 size 200000\n"
        "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
    )
    alone = exanet.simulate("exanest", 0, traffic=f"flows:{flows}", nic="exanet").points
    sent = replayed(f"flows:{flows},start=3us", job="barrier:ranks=2,rounds=2000").summary["background"]
    assert sent["messages"] == sent["arrived"] == 4
    assert sent["bytes"] == 1504096
    assert sent["latency_ns"] == pytest.approx(alone["latency_ns"][0], rel=1e-6)


@pytest.mark.parametrize(
    "text, said",
    [
        ("uniform", "say how much each endpoint sends"),
        ("uniform,lod=0.1", "'lod=0.1' is not understood"),
        ("uniform,load=0.1,load=0.2", "'load' is given twice"),
        ("uniform,load=none", "load: 'none' is no load"),
        ("uniform,load=0", "load: '0' is no load"),
        ("uniform,load=0.1,bytes=4", "bytes: 4 has no unit"),
        ("uniform,load=0.1,bytes=4KiB,sizes=hadoop", "leave one of them out"),
        ("uniform,load=0.1,start=-1us", "start:"),
        ("uniform,load=0.1,seed=-1", "seed: '-1' is not a whole number"),
        ("uniform,x,load=0.1", "'x' is not understood"),
        ("uniform,load=0.1,outstanding=1", "one of the two"),
        ("uniform,outstanding=0", "outstanding: '0' is not a whole number from 1 to 1024"),
        ("uniform,outstanding=1025", "outstanding: '1025' is not a whole number from 1 to 1024"),
        ("uniform,load=0.1,start=2us,end=1us", "it ends before it begins"),
        ("uniform,load=0.1,end=0s", "it ends before it begins"),
        ("", "there is no traffic in front"),
        ("flows:list.cm,outstanding=2", "leave out outstanding"),
        (",load=0.1", "there is no traffic in front"),
        ("flows:list.cm,load=0.1", "a list of flows says when each begins and how long it is"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        background_traffic.parse(text)
    assert said in str(refused.value) and str(refused.value).startswith(f"--background {text}: ")


def test_files_may_have_commas_in_their_names(tmp_path: Path) -> None:
    parsed = background_traffic.parse(f"flows:{tmp_path}/a,b.cm,start=1ms")
    assert parsed["pattern"] == f"flows:{tmp_path}/a,b.cm" and parsed["start_ps"] == 10**9


def test_what_the_machine_does_not_have_is_refused(tmp_path: Path) -> None:
    for text, said in (("unifrom,load=0.1", 'did you mean "uniform"'), ("uniform,load=0.1,sizes=web", "web-search")):
        with pytest.raises(InputError, match=said):
            replayed(text)
    missing = tmp_path / "none.cm"
    with pytest.raises(InputError, match=f"^{missing}:1"):
        replayed(f"flows:{missing}")


def test_traffic_ends_when_it_says() -> None:
    until = replayed("uniform,load=0.2,bytes=4KiB,start=20us,end=60us")
    whole = replayed("uniform,load=0.2,bytes=4KiB")
    assert 0 < until.summary["background"]["messages"] < whole.summary["background"]["messages"]
    assert until.summary["virtual_ps"] < whole.summary["virtual_ps"]


def test_a_comparison_names_the_traffic() -> None:
    from exanet.compare import causes

    slow, fast = replayed("uniform,load=0.2,bytes=4KiB"), replayed(None)
    assert "background uniform,load=0.2,bytes=4KiB instead of none" in causes.causes(slow, fast)[0]
