# SPDX-License-Identifier: Apache-2.0
"""Machines whose routers are input-queued switches: what of them is refused, and that they run what others run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet import cli, machine, sim
from exanet.errors import InputError
from exanet.machine.located import Located, Mark

SHORT = sim.TrafficSpec(warm_up_ps=5_000_000, measure_ps=20_000_000)
HERE = Mark("test")
PAUSING = {"flow_control": "pause", "pause": "80 words", "resume": "40 words", "pause_frame": "8 words"}

WORMHOLE = {"switching": "wormhole"}


def text(switch: dict[str, Any], router: str = "", topology: str = "torus", shape: str = "[4, 4]") -> str:
    """A machine file of a torus of switches, or another shape."""
    keys = {"queues": "virtual-output", "arbitration": "round-robin", "flow_control": "credits", "speed_up": "100 %", "classes": 1} | switch
    lines = []
    for key, value in keys.items():
        plain = key in ("switching", "queues", "arbitration", "flow_control", "buffer")
        lines.append(f"    {key}: {value}" if plain else f"    {key}: {{value: {value}, source: test, kind: chosen}}")
    return "\n".join(
        [
            "extends: torus-512",
            "name: m",
            f"topology:\n  kind: {topology}\n  shape: {{value: {shape}, source: test, kind: chosen}}",
            f"router:\n  kind: input-queued\n{router}  switch:",
            *lines,
            "",
        ]
    )


def refused(tmp_path: Path, written: str) -> list[str]:
    file = tmp_path / "m.yaml"
    file.write_text(written)
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    return [message.replace(f"{tmp_path}/", "") for message in refusal.value.messages]


@pytest.mark.parametrize(
    ("switch", "line", "message"),
    [
        ({"classes": 5}, 13, "classes are 5, with 2 virtual channels each, more than 8 lanes: use fewer"),
        ({"speed_up": "50 %"}, 12, "speed_up is 50: give a whole number from 100 to 1000"),
        ({"weights": "[1, 2]"}, 14, "weights are 2 for 1 classes: give one for each, or none"),
        ({"output_fifo": "2 words"}, 14, "output_fifo has 2 words: it must hold a packet of 18 words"),
        ({"arbitration": "islip", "iterations": "0"}, 14, "iterations is 0: give a whole number from 1 to 64"),
        ({"arbitration": "round-robin", "iterations": "2"}, 14, "only 'arbitration: islip' takes 'iterations'; set that, or take it out"),
        ({"queues": "voq"}, 9, "'queues' must be one of 'fifo', 'virtual-output'"),
        ({"flow_control": "pause"}, 11, "'flow_control: pause' needs 'pause' in 'router.switch'; add it"),
        (PAUSING | {"buffer": "shared"}, 17, "buffer: a shared buffer needs credits; with pause frames each lane has its own"),
        (
            PAUSING | {"pause": "460 words"}, 14,
            "pause is at 460 words of a lane of 512, but 102 more may arrive before the pause takes effect: "
            "pause earlier, or make inter_fifo at least "
            "1124 words",
        ),
        (PAUSING | {"resume": "80 words"}, 14, "pause is at 80 words and resume at 80: pause at a packet (18 words) or more"),
        (PAUSING | {"flow_control": "credits"}, 14, "only 'flow_control: pause' takes 'pause'; set that, or take it out"),
        ({"switching": "store"}, 14, "'switching' must be one of 'cut-through', 'wormhole'"),
        (WORMHOLE | {"slot": "4 cycles"}, 15, "slot is 4 cycles: a wormhole switch forwards a word in any cycle; remove 'slot'"),
        (WORMHOLE | PAUSING, 11, "flow_control is pause: a wormhole switch has a credit for each word; use credits"),
        ({"speed_up": "100"}, 12, "'router.switch.speed_up': 100 has no unit; a percentage needs one, e.g. 150 %"),
    ],
)  # fmt: skip
def test_switches_that_cannot_be_built_are_refused_with_one_message(
    tmp_path: Path, switch: dict[str, Any], line: int, message: str
) -> None:
    found = refused(tmp_path, text(switch))
    assert found[0].startswith(f"m.yaml:{line}:")
    assert message in found[0]
    if "'pause'" not in message:
        assert len(found) == 1


def test_the_flow_control_of_a_switch_that_pauses_can_be_varied(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text(PAUSING))
    found = machine.load(file, {"router.switch.flow_control": Located("credits", HERE)})
    assert found.resolve()["router"]["switch"]["flow_control"] == "credits"


def test_the_example_of_the_page_is_a_switch(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/switches.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    (tmp_path / "m.yaml").write_text(f"extends: torus-512\nname: m\n{example}")
    assert machine.load(tmp_path / "m.yaml").resolve()["router"]["switch"]["pause_words"] == 120


def test_kind_and_switch_belong_together(tmp_path: Path) -> None:
    [message] = refused(tmp_path, text({}).replace("  kind: input-queued\n", ""))
    assert "set 'kind: input-queued', or take it out" in message
    [message] = refused(tmp_path, "extends: torus-512\nname: m\nrouter:\n  kind: input-queued\n")
    assert message.startswith("m.yaml:4:9: error: an input-queued router needs 'switch'; add it")
    [message] = refused(tmp_path, text({}, topology="fat-tree", shape="[65]"))
    assert "a switch at switch(1,0,0) would have more than 128 inputs: use fewer ports or virtual channels" in message
    [message] = refused(tmp_path, text({}, "  inter_fifo: {value: 34 words, source: test, kind: chosen}\n"))
    assert "inter_fifo has 34 words: it must hold a packet of 18 words in each of 2 lanes" in message


def test_pauses_on_a_torus_need_the_channels_that_routing_asks_for(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text(PAUSING))
    run = CliRunner().invoke(cli.app, ["check", str(file)])
    assert (run.exit_code, "free of deadlock" in run.output) == (0, True)
    run = CliRunner().invoke(cli.app, ["check", str(file), "--channels", "1"])
    assert run.exit_code == 1
    assert "held by a packet that waits at" in run.output
    [message] = refused(tmp_path, text(PAUSING, "  virtual_channels: {value: 1, source: test, kind: chosen}\n"))
    assert "must be from 2 to 8: with fewer, routing on this torus is not free of deadlock" in message


@pytest.mark.parametrize("name", ["exanest-tor", "bxi-256"])
def test_shipped_switches_carry_traffic_and_jobs(name: str, tmp_path: Path) -> None:
    point = sim.simulate(name, offered=0.4, spec=SHORT)
    assert point["accepted_load"] == pytest.approx(0.4, abs=0.03)
    assert not point["saturated"]
    job = ["sim", "-m", name, "--job", "allreduce-ring:bytes=4KiB", "-o", str(tmp_path / "job"), "--json"]
    assert CliRunner().invoke(cli.app, job, catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize("machine_of", ["exanest-tor", "whole packets"])
def test_threads_change_nothing_and_are_refused_with_pauses(machine_of: str, tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text({}, topology="fat-tree", shape="[4, 4]") if machine_of != "exanest-tor" else "extends: exanest-tor\nname: m\n")
    one, two = (sim.simulate(str(file), offered=0.7, spec=SHORT, threads=threads) for threads in (1, 2))
    assert (one["latency_ns"], one["accepted_load"]) == (two["latency_ns"], two["accepted_load"])
    with pytest.raises(InputError, match="pauses at one time depend on their order; take --threads 1"):
        sim.simulate("bxi-256", offered=0.4, spec=SHORT, threads=2)


def test_wormhole_takes_buffers_of_less_than_a_packet_and_the_ways_of_a_check(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    short = "  inter_fifo: {value: 8 words, source: test, kind: chosen}\n"
    file.write_text(text(WORMHOLE, short))
    run = CliRunner().invoke(cli.app, ["check", str(file)])
    assert (run.exit_code, "free of deadlock" in run.output) == (0, True)
    shallow = sim.simulate(str(file), offered=1.0, spec=SHORT)
    file.write_text(text(WORMHOLE, short.replace("8 words", "512 words")))
    deep = sim.simulate(str(file), offered=1.0, spec=SHORT)
    assert shallow["accepted_load"] < 0.5 * deep["accepted_load"]
    file.write_text(
        text(WORMHOLE, short + "  virtual_channels: {value: 3, source: test, kind: chosen}\n").replace(
            "  kind: torus\n", "  kind: torus\n  routing: adaptive\n"
        )
    )
    with pytest.raises(InputError, match="cannot turn to an escape channel"):
        machine.load(file)


def test_switches_can_be_varied_and_are_no_gateware() -> None:
    place = {"router.switch.queues": Located("fifo", HERE), "router.switch.speed_up": Located("200 %", HERE)}
    fifo = machine.load("exanest-tor", place)
    assert fifo.resolve()["router"]["switch"]["queues"] == "fifo"
    assert fifo.resolve()["router"]["switch"]["speed_up_percent"] == 200
    one_queue = machine.load("exanest-tor", {"router.switch.queues": Located("fifo", HERE)})
    blocked = sim.simulate(one_queue, offered=1.0, spec=SHORT)["accepted_load"]
    free = sim.simulate("exanest-tor", offered=1.0, spec=SHORT)["accepted_load"]
    assert blocked < 0.75 < 0.85 < free
    from exanet.gateware.fabric import _problems

    assert any("not input-queued switches" in problem for problem in _problems(machine.load("exanest-tor").resolve()))
    assert json.dumps(fifo.resolve())


def test_spraying_long_packets_is_limited_by_heads_of_queues(tmp_path: Path) -> None:
    """Heads that draw the same link block what is behind them in one FIFO an input; a queue for each output helps, a
    shorter round trip of credits does not."""

    def accepted(queues: str, latency: str) -> float:
        file = tmp_path / "m.yaml"
        arbitration = "islip, iterations: 2" if queues == "virtual-output" else "round-robin"
        switch = f"queues: {queues}, arbitration: {arbitration}, flow_control: credits, classes: 1, speed_up: 100 %, output_fifo: 520 words"
        router = f"kind: input-queued, max_payload: 4096 B, inter_fifo: 4096 words, virtual_channels: 1, switch: {{{switch}}}"
        shape = f"topology: {{shape: [8, 8]}}\nlinks: {{link: {{latency: {latency}}}}}\n"
        file.write_text(f"extends: fat-tree-1024\nname: m\n{shape}router: {{{router}}}\n")
        spec = sim.TrafficSpec("permutation", message_bytes=1_000_000, packet_bytes=4096, seed=5)
        return float(sim.simulate(sim.variant(str(file), None, "spray", []), offered=0, spec=spec)["accepted_load"])

    fifo = accepted("fifo", "242.1 ns")
    assert accepted("fifo", "0 ns") == pytest.approx(fifo, rel=0.1)
    assert accepted("virtual-output", "242.1 ns") > 1.3 * fifo
