# SPDX-License-Identifier: Apache-2.0
"""Watts and joules: what a machine's table makes of what was counted, in every command that counts, and what it says
of a bad table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from synthetic_run import synthetic_meta, synthetic_run
from typer.testing import CliRunner

from exanet import cli, machine, results, sim
from exanet.errors import InputError
from exanet.results import energy
from exanet.sim import jobs

BOARD_W = 0.136 + 0.337  # of KARMA'17 section 4.1: the network IP, and the transceivers of its two links
BY_TRAFFIC = Path(__file__).parents[2] / "examples/machines/energy-by-traffic.yaml"


def powered(tmp_path: Path, base: str, text: str) -> Path:
    file = tmp_path / "m.yaml"
    file.write_text(f"extends: {base}\nname: m\npower:\n{text}")
    return file


def constant(value: str) -> str:
    return f"{{value: {value}, source: a test, kind: chosen}}"


def parts(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["part"]: row for row in rows}


@pytest.mark.parametrize("offered", [0.1, 0.8])
def test_idle_boards_draw_the_published_power_whatever_they_carry(offered: float) -> None:
    point = sim.simulate("trenz-2x2", offered=offered)
    assert point["power_w"] == point["idle_w"] == pytest.approx(4 * BOARD_W)
    assert point["energy_j"] == pytest.approx(4 * BOARD_W * 100e-6)
    assert point["energy_pj_per_bit"] == pytest.approx(point["energy_j"] * 1e12 / (point["accepted"] * 256 * 8))


def test_a_burst_costs_what_its_packets_and_bits_do_at_each_hop() -> None:
    """One sender, 64 packets of 256 B and two words around them, over `hops` links."""
    spec = {"traffic": "complement", "message_bytes": 64 * 256}
    point = sim.simulate(str(BY_TRAFFIC), offered=0, spec=sim.TrafficSpec(**spec))
    packets, hops = 4 * 64, point["mean_hops"]
    packet_bits = 8 * 256 + 2 * 128
    rows = parts(point["energy"])
    assert rows["routers"]["packets"] == packets * (hops + 1)
    assert rows["routers"]["bits"] == packets * (hops + 1) * packet_bits
    assert rows["routers"]["moving_j"] == pytest.approx(rows["routers"]["bits"] * 0.88e-12)
    link_bits = packets * hops * (packet_bits + 2 * 64)  # Magic and Start
    assert link_bits < rows["links, link"]["bits"] < link_bits * 33 / 32 + 8 * 64  # and the pauses
    assert rows["links, link"]["moving_j"] == pytest.approx(rows["links, link"]["bits"] * 17.75e-12)
    assert point["energy_j"] == pytest.approx(sum(row["energy_j"] for row in rows.values()))
    flow = sim.simulate(str(BY_TRAFFIC), offered=0, spec=sim.TrafficSpec(level="flow", **spec))
    assert flow["energy_pj_per_bit"] == pytest.approx(point["energy_pj_per_bit"], rel=0.05)


def test_behind_switches_it_is_these_that_are_routers(tmp_path: Path) -> None:
    file = powered(
        tmp_path, "fat-tree-64", f"  router: {{idle: {constant('2 W')}, packet: {constant('1 nJ')}}}\n  ni: {{idle: {constant('1 W')}}}\n"
    )
    point = sim.simulate(str(file), offered=0, spec=sim.TrafficSpec(traffic="complement", message_bytes=256))
    rows = parts(point["energy"])
    assert (rows["routers"]["count"], rows["interfaces"]["count"]) == (48, 64)
    assert point["idle_w"] == 48 * 2 + 64
    assert rows["routers"]["packets"] == 64 * (point["mean_hops"] - 1)  # of six links, five end at a switch
    assert rows["routers"]["moving_j"] == pytest.approx(64 * 5 * 1e-9)
    assert rows["interfaces"]["packets"] == 2 * 64


def test_an_endpoint_has_an_interface_for_each_rail(tmp_path: Path) -> None:
    file = powered(tmp_path, "fat-tree-64", f"  ni: {{idle: {constant('1 W')}}}\ntopology: {{rails: 3}}\n")
    point = sim.simulate(str(file), offered=0, spec=sim.TrafficSpec(traffic="complement", message_bytes=256))
    assert parts(point["energy"])["interfaces"]["count"] == point["idle_w"] == 3 * 64


def test_jobs_and_folders_have_the_table(tmp_path: Path) -> None:
    done = jobs.finish(str(BY_TRAFFIC), [jobs.Job("stencil-2d", size_bytes=1024)])
    assert done["energy_j"] == pytest.approx(sum(row["energy_j"] for row in done["energy"]))
    for name, options in (("load", ["--load", "0.2,0.4"]), ("job", ["--job", "stencil-2d:bytes=1KiB"])):
        out = tmp_path / name
        shown = CliRunner().invoke(cli.app, ["sim", "-m", "trenz-2x2", "-o", str(out), *options], catch_exceptions=False)
        assert "1.89 W, 1.89 W of it idle" in shown.stdout
        frame = pl.read_parquet(out / "energy.parquet")
        assert frame["part"].unique().sort().to_list() == ["interfaces", "links, link", "routers"]
        assert json.loads((out / "summary.json").read_text())["energy"] == frame.to_dicts()


def test_a_run_of_a_program_has_it_too(tmp_path: Path) -> None:
    links = f"  links: {{intra-qfdb: {{idle: {constant('1 mW')}}}, inter-qfdb: {{bit: {constant('10 pJ/bit')}}}}}\n"
    resolved = machine.load(powered(tmp_path, "exanest", links)).resolve()
    given = synthetic_run()
    results.write(tmp_path / "run", given, {**synthetic_meta(), "machine": resolved})
    run = results.load(tmp_path / "run")
    rows = parts(run.energy.to_dicts())
    between = run.links.filter(pl.col("link_class") == 1)
    assert rows["links, inter-qfdb"]["bits"] == pytest.approx(between["busy_ps"].sum() / 6400 * 64)
    assert rows["links, inter-qfdb"]["moving_j"] == pytest.approx(rows["links, inter-qfdb"]["bits"] * 10e-12)
    assert rows["links, intra-qfdb"]["energy_j"] == pytest.approx(32 * 12 * 1e-3 * given["summary"]["virtual_ps"] * 1e-12)
    assert run.summary["energy"]["energy_j"] == pytest.approx(run.energy["energy_j"].sum())
    results.write(tmp_path / "plain", given, synthetic_meta())
    plain = results.load(tmp_path / "plain")
    assert plain.summary["energy"] == {}
    assert plain.energy.is_empty()


def test_another_topology_keeps_the_table() -> None:
    resolved = sim.variant("trenz-2x2", "dragonfly:2", None, []).resolve()
    assert [row["idle_uw"] for row in resolved["power"]["links"]] == [177_500, 177_500]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"  router: {{idle: {constant('5')}}}\n", "5 has no unit"),
        (f"  router: {{idle: {constant('5 pJ')}}}\n", "not a unit of power"),
        (f"  router: {{idel: {constant('5 W')}}}\n", "did you mean 'idle'"),
        (f"  links: {{local: {{idle: {constant('5 W')}}}}}\n", "no links of the kind 'local' (it has link)"),
        (f"  ni: {{idle: {constant('5000 kW')}}}\n", "more than 1 MW"),
        (f"  ni: {{bit: {constant('5000 uJ/bit')}}}\n", "more than 1 mJ"),
    ],
)
def test_a_bad_table_is_reported_in_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        machine.load(powered(tmp_path, "torus-512", text))
    assert any("m.yaml:4:" in line and message in line for line in refusal.value.messages), refusal.value.messages


def test_a_machine_without_a_table_has_no_rows() -> None:
    resolved = machine.load("torus-512").resolve()
    assert energy.table(resolved, {}, time_ps=1, packets=1, payload_bytes=1) == []
    assert energy.totals([], 1) == {}
