# SPDX-License-Identifier: Apache-2.0
"""LO|FA|MO in the bench's table: is awareness dominated by the watchdog's period, as published (A10), and does
everybody learn of it?"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from exanet import _core
from exanet.karma.awareness import FAULTS, KINDS, PERIODS_NS, WHICH, WHO, awareness
from exanet.karma.board import CYCLE_NS
from exanet.karma.experiments import LINE_CYCLES
from exanet.validate import karma

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return awareness((3, 3, 2), line_cycles=LINE_CYCLES, draws=12, seed=5)


def of(rows: list[Row], kind: str, faults: int, period_ns: float) -> Row:
    [row] = [row for row in rows if (row["kind"], row["faults"], row["watchdog_ns"]) == (kind, faults, period_ns)]
    return row


def test_a_row_for_each_kind_number_and_period(rows: list[Row]) -> None:
    keys = [(row["kind"], row["faults"], row["watchdog_ns"]) for row in rows]
    assert keys == [(kind, faults, period) for kind in KINDS for faults in FAULTS for period in PERIODS_NS]


def test_nobody_is_left_unaware_and_no_partition_unknown(rows: list[Row]) -> None:
    assert [row for row in rows if row["unaware"] or row["misjudged"]] == []


def test_hardware_knows_before_neighbours_and_those_before_all(rows: list[Row]) -> None:
    for row in rows:
        assert row["local_least_ns"] <= row["local_mean_ns"] <= row["local_most_ns"]
        for which in WHICH:
            assert row[f"local_{which}_ns"] < row[f"neighbours_{which}_ns"] <= row[f"global_{which}_ns"]


@pytest.mark.parametrize("faults", FAULTS)
def test_the_watchdogs_period_dominates_a_hosts_fault(rows: list[Row], faults: int) -> None:
    # Signs of life come twice a period: the last one half a period before the fault at most, and a neighbour reads
    # within half a period.
    for period in PERIODS_NS[2:]:
        row = of(rows, "host", faults, period)
        beyond = 0.12 * period if period < 1e6 else 0.012 * period
        assert 0.5 * period <= row["local_least_ns"] and row["local_most_ns"] <= period + 10 * CYCLE_NS
        assert 0.5 * period <= row["global_least_ns"] and row["global_most_ns"] <= 1.5 * period + beyond
    # Of the least period it is the cycles that matter, of long ones the period alone: five times it is five times the
    # time.
    assert of(rows, "host", faults, PERIODS_NS[0])["global_mean_ns"] > 3 * PERIODS_NS[0]
    ratio = of(rows, "host", faults, 5e8)["global_mean_ns"] / of(rows, "host", faults, 1e8)["global_mean_ns"]
    assert ratio == pytest.approx(5, rel=0.15)


def test_a_silent_link_is_noticed_without_the_watchdog(rows: list[Row]) -> None:
    times = {row["local_most_ns"] for row in rows if row["kind"] == "node"}
    assert max(times) < 10_000
    assert of(rows, "node", 1, 5e8)["global_mean_ns"] < 0.5 * 5e8  # a neighbour reads within half a period


def test_the_table_has_every_row(rows: list[Row]) -> None:
    console = Console(width=200, record=True, force_terminal=False)
    karma._show_awareness(console, {"torus": [3, 3, 2], "rows": rows})
    text = console.export_text()
    assert "torus 3x3x2" in text
    assert text.count("500 ms") == len(KINDS) * len(FAULTS)
    assert len(WHO) == 3


def test_the_same_seed_gives_the_same_rows() -> None:
    first, second = (awareness((2, 2, 2), line_cycles=0, draws=2, seed=9) for _ in range(2))
    assert first == second


def test_faults_that_cannot_be_are_refused() -> None:
    given = {
        "watchdog_cycles": 1000,
        "beat_cycles": 500,
        "silence_cycles": 900,
        "interval_cycles": 256,
        "line_cycles": 0,
        "response_cycles": 9,
    }
    given |= {"draws": 1, "seed": 1}
    with pytest.raises(_core.ConfigError, match='no fault "cosmic"'):
        _core.awareness({"kind": "torus", "shape": [3]}, kind="cosmic", faults=1, **given)
    with pytest.raises(_core.ConfigError, match="to the number of nodes"):
        _core.awareness({"kind": "torus", "shape": [3]}, kind="host", faults=4, **given)
