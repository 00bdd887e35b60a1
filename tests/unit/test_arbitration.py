# SPDX-License-Identifier: Apache-2.0
"""How an ExaNet router grants its outputs: does what the machine file says of it change what comes through, as it
should?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import cli, machine, sim
from exanet.errors import InputError
from exanet.gateware import fabric
from exanet.machine.located import Located, Mark

WAYS = ("round-robin", "links-first", "fixed-priority")


def ring(folder: Path, router: str = "", extends: str = "torus-512") -> str:
    """A ring of seven nodes, with these keys of its routers."""
    path = folder / "ring.yaml"
    shape = "{value: [7], source: test, kind: chosen}"
    path.write_text(f"extends: {extends}\nname: ring\ntopology: {{kind: torus, shape: {shape}}}\nrouter: {{{router}}}\n")
    return str(path)


def gaps(before: str, after: str) -> str:
    return f"input_gap: {{value: {before}, source: test, kind: chosen}}, output_gap: {{value: {after}, source: test, kind: chosen}}"


def point(name: str, traffic: str, load: float = 1.0) -> dict[str, Any]:
    """100 us of single packets after as much to settle."""
    return sim.simulate(name, offered=load, spec=sim.TrafficSpec(traffic=traffic, warm_up_ps=100_000_000, measure_ps=100_000_000))


def test_links_first_carries_more_of_an_overloaded_ring(tmp_path: Path) -> None:
    """Half-way round, a link has packets of three senders: it is full when a third of the load is accepted."""
    in_turn, links_first, fixed = (point(ring(tmp_path, f"arbitration: {way}"), "tornado")["accepted_load"] for way in WAYS)
    assert in_turn < 0.25
    assert links_first == pytest.approx(1 / 3, rel=0.01)
    assert fixed == pytest.approx(1 / 3, rel=0.01)


def test_who_is_passed_over_when_six_nodes_send_to_one(tmp_path: Path) -> None:
    in_turn, links_first, fixed = (point(ring(tmp_path, f"arbitration: {way}"), "incast:6") for way in WAYS)
    assert in_turn["accepted_load"] == pytest.approx(links_first["accepted_load"], rel=0.01)
    assert fixed["fairness"] == pytest.approx(1 / 3, rel=0.001), "two of the six, those furthest away, have it all"
    assert links_first["fairness"] == pytest.approx(0.427, abs=0.03), "a sixteenth is left to each on the way"
    assert in_turn["fairness"] > 0.8


def test_gaps_cost_latency_and_load(tmp_path: Path) -> None:
    plain, slow = (point(ring(tmp_path, router), "incast:6") for router in ("", gaps("8 cycles", "2 cycles")))
    assert slow["accepted_load"] < 0.99 * plain["accepted_load"]
    assert slow["latency_ns"] > 1.01 * plain["latency_ns"]
    slowest = point(ring(tmp_path, gaps("255 cycles", "255 cycles")), "tornado", 0.1)
    assert slowest["accepted_load"] < 0.03
    before, after = (
        point(ring(tmp_path, gaps(*cycles)), "incast:6")["accepted_load"] for cycles in (("255 cycles", "0"), ("0", "255 cycles"))
    )
    assert before == pytest.approx(2 * after, rel=0.05), "the last router has two inputs and one output"
    resolved = machine.load(ring(tmp_path, gaps("8 cycles", "2 cycles"))).resolve()["router"]
    assert (resolved["input_gap_cycles"], resolved["output_gap_cycles"]) == (8, 2)


def test_idle_links_that_advertise_space_in_bulk(tmp_path: Path) -> None:
    resolved = machine.load(ring(tmp_path, "credit_threshold: 100 words, credit_interval: 256 cycles")).resolve()["router"]
    assert (resolved["credit_threshold_words"], resolved["credit_interval_cycles"]) == (100, 256)


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Words of the command line when it refuses these options."""
    monkeypatch.setattr("sys.argv", ["exanet", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    return capsys.readouterr().err


def results(folder: Path, router: str) -> dict[str, bytes]:
    options = ["sim", "-m", ring(folder, router), "--traffic", "tornado", "--load", "0.3,1", "--warm-up", "20 us", "--measure", "20 us"]
    out = folder / str(len(list(folder.iterdir())))
    done = CliRunner().invoke(cli.app, [*options, "-o", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len(pl.read_parquet(out / "points.parquet")) == 2
    return {path.name: path.read_bytes() for path in sorted(out.glob("*.parquet"))}


def test_nothing_said_is_round_robin_without_gaps(tmp_path: Path) -> None:
    said_nothing = results(tmp_path, "")
    assert len(said_nothing) >= 4
    assert results(tmp_path, f"arbitration: round-robin, {gaps('0', '0')}") == said_nothing
    assert results(tmp_path, "arbitration: links-first") != said_nothing


@pytest.mark.parametrize(
    ("router", "place", "message"),
    [
        ("arbitration: oldest", "4:23", "'arbitration' must be one of 'round-robin', 'links-first', 'fixed-priority'"),
        (gaps("256 cycles", "2 cycles"), "4:21", "must be at most 255 cycles"),
        (gaps("8 cycles", "256 cycles"), "4:80", "must be at most 255 cycles"),
        ("credit_threshold: 4096 words", "4:28", "must be at most 4095 words"),
        ("credit_interval: 65536 cycles", "4:27", "must be at most 65535 cycles"),
        (gaps("8", "2 cycles"), "4:29", "'router.input_gap': 8 has no unit; a number of clock cycles needs one, e.g. 4 cycles"),
        (gaps("-1 cycles", "2 cycles"), "4:29", "'router.input_gap': -1 cycles is negative; a number of clock cycles is zero or more"),
    ],
)
def test_bad_values_are_refused_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], router: str, place: str, message: str
) -> None:
    out = tmp_path / "results"
    said = refused(monkeypatch, capsys, "sim", "-m", ring(tmp_path, router), "--load", "0.1", "-o", str(out))
    assert f"ring.yaml:{place}: error: {message}" in said
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(("key", "advice"), [("arbitration", "set it in 'switch', and take it out"), ("input_gap", "take it out")])
def test_input_queued_switches_have_keys_of_their_own(tmp_path: Path, key: str, advice: str) -> None:
    value = "links-first" if key == "arbitration" else "{value: 0, source: test, kind: chosen}"
    file = tmp_path / "m.yaml"
    file.write_text(f"extends: exanest-tor\nname: m\nrouter: {{{key}: {value}}}\n")
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    [message] = refusal.value.messages
    assert f"m.yaml:3:{10 + len(key) + 2}: error: only an exanet router takes '{key}', and this one is input-queued; {advice}" in message


def test_a_pause_comes_after_2_to_255_words(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    written = "extends: torus-512\nname: m\nlinks: {link: {pause_every: {value: %d words, source: x, kind: chosen}}}\n"
    for words in (2, 255):
        file.write_text(written % words)
        assert point(str(file), "neighbour", 0.1)["accepted_load"] > 0.05
    for words in (1, 256):
        file.write_text(written % words)
        with pytest.raises(InputError) as refusal:
            machine.load(file)
        [message] = refusal.value.messages
        assert message.endswith("m.yaml:3:29: error: must be from 2 to 255 words; 0 for a link that never pauses")


def test_a_router_takes_three_cycles_at_least(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    written = "extends: torus-512\nname: m\nrouter: {latency: {value: %d cycles, source: x, kind: chosen}}\n"
    file.write_text(written % 3)
    assert point(str(file), "neighbour", 0.1)["accepted_load"] > 0.05
    file.write_text(written % 2)
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    [message] = refusal.value.messages
    assert message.endswith("m.yaml:3:19: error: must be at least 3 cycles, one before the grant and two after it")


def test_arbitration_can_be_varied() -> None:
    place = {"router.arbitration": Located("links-first", Mark("test"))}
    assert machine.load("torus-512", place).resolve()["router"]["arbitration"] == "links-first"


def test_fifo_sharing_is_of_routers_that_serve_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for way in WAYS[1:]:
        other = ["-m", ring(tmp_path, f"arbitration: {way}"), "-o", str(tmp_path / "none")]
        said = refused(monkeypatch, capsys, "sim", *other, "--level", "flow", "--sharing", "fifo", "--message", "64 KiB")
        assert (
            "FIFO sharing models routers that serve their FIFOs in turn; this machine's routers serve links or a fixed priority first"
            in said
        )
        assert said.count("\n") == 1
        assert not (tmp_path / "none").exists()


def test_the_gateware_has_every_arbitration_and_no_gaps(tmp_path: Path) -> None:
    for way in WAYS:
        fabric.check(machine.load(ring(tmp_path, f"arbitration: {way}", extends="torus-2x2x2")).resolve(), "ring")
    with pytest.raises(InputError) as refusal:
        fabric.check(machine.load(ring(tmp_path, gaps("8 cycles", "2 cycles"), extends="torus-2x2x2")).resolve(), "ring")
    before, after = refusal.value.messages
    assert "router.input_gap is 8 cycles; the gateware has none" in before
    assert "router.output_gap is 2 cycles" in after
