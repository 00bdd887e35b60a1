# SPDX-License-Identifier: Apache-2.0
"""Measures with the bench on the Verilated IP, and shows it beside what was published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from exanet import terminal
from exanet.files import json_bytes
from exanet.karma.awareness import TORUS, WHICH, WHO, awareness
from exanet.karma.board import CYCLE_NS
from exanet.karma.experiments import LATENCY_BYTES, LINE_CYCLES, LINE_PARTS, Row, hop, latency, link_bandwidth, router_bandwidth
from exanet.quantity import counted
from exanet.validate.registry import published

_WIDE = 160  # columns when the output is no terminal
_PUBLISHED_BYTES = 512  # the payload that K10, K12 and K14 are stated for
_FACTS = ("K05", "K08", "K10", "K12", "K14", "E04")


def measure(line_cycles: int = LINE_CYCLES, torus: Sequence[int] = TORUS) -> dict[str, Any]:
    """Everything that the command shows. Raises InputError when the model cannot be built."""
    facts = {row: {key: published()[row][key] for key in ("quantity", "value", "unit", "source")} for row in _FACTS}
    return {
        "cycle_ns": CYCLE_NS,
        "line_cycles": line_cycles,
        "hop": {"alone": hop(line_cycles=0), "with_line": hop(line_cycles=line_cycles)},
        "latency": latency(line_cycles=0) + (latency(line_cycles=line_cycles) if line_cycles else []),
        "router": router_bandwidth(),
        "link": link_bandwidth(line_cycles=line_cycles),
        "awareness": {"torus": list(torus), "rows": awareness(torus, line_cycles=line_cycles)},
        "published": facts,
    }


def write(directory: Path, found: dict[str, Any]) -> None:
    """report.html and summary.json. Raises InputError when they cannot be written."""
    from exanet import results
    from exanet.results import report

    title = "KARMA: the network IP, measured"
    page = report.fill(title, {"title": title, "sizes": list(LATENCY_BYTES)} | found, ("format.js", "parts.js", "karma.js"))
    results.publish(directory, {"report.html": page.encode(), "summary.json": json_bytes(found)})


# -- tables ------------------------------------------------------------------------------------------------------------


def show(found: dict[str, Any], directory: Path | None) -> None:
    """All tables, each with what was published below, and where the report is."""
    console = terminal.console(_WIDE)
    _show_hop(console, found)
    _show_latency(console, found)
    console.print("[bold]Router, payload from port to port, % of 20 Gb/s[/] (figure 9)\n")
    _show_bandwidth(console, found, "router", 32, {"1 sender": "K10", "2 senders to one port": "K12"})
    console.print("[bold]Link, payload, % of 10 Gb/s[/] (figure 10)\n")
    _show_bandwidth(console, found, "link", 48, {"one way": "K14"})
    _show_awareness(console, found["awareness"])
    if directory is not None:
        console.print(f"\nReport: {directory / 'report.html'}", style="dim")


def _show_hop(console: Console, found: dict[str, Any]) -> None:
    console.print("[bold]Two hops less one hop: where every nanosecond goes[/]\n")
    table = terminal.table("a further hop", "cycles, IP alone", "ns", "cycles, with transceivers", "ns")
    for alone, lined in zip(found["hop"]["alone"], found["hop"]["with_line"], strict=True):
        style = "bold" if alone is found["hop"]["alone"][-1] else None
        table.add_row(alone["part"], str(alone["cycles"]), f"{alone['ns']:.1f}", str(lined["cycles"]), f"{lined['ns']:.1f}", style=style)
        if alone["part"].startswith("transceiver") and found["line_cycles"] == LINE_CYCLES:
            for part, cycles in LINE_PARTS.items():
                table.add_row(
                    f"  {part} of an Aurora 64B/66B core (AMD PG074)", "", "", str(cycles), f"{cycles * CYCLE_NS:.1f}", style="dim"
                )
    console.print(table)
    alone = found["hop"]["alone"][-1]["cycles"]
    facts = found["published"]
    for row, note in (("E04", "one way"), ("K05", "from round trips; taken as one way")):
        value = facts[row]["value"]
        console.print(f"published: {value} ns ({row}, {note}); the line for exactly that: {value / CYCLE_NS - alone:.1f} cycles")
    differences = [f"{_by_ping_pong(found, line):g}" for line in dict.fromkeys((0, found["line_cycles"]))]
    console.print(f"the same from ping-pongs, half of the difference of round trips: {' and '.join(differences)} cycles\n")


def _by_ping_pong(found: dict[str, Any], line_cycles: int) -> float:
    trips = {(row["hops"], row["payload_bytes"]): row["round_trip_cycles"] for row in found["latency"] if row["line_cycles"] == line_cycles}
    return float(trips[2, 16] - trips[1, 16]) / 2


def _show_latency(console: Console, found: dict[str, Any]) -> None:
    console.print("[bold]Round trip, ns[/] (figures 7 and 8)\n")
    lines = list(dict.fromkeys((0, found["line_cycles"])))
    columns = [(line, hops) for line in lines for hops in (1, 2)]
    names = [f"{counted(hops, 'hop')}{', transceivers' if line else ', IP alone'}" for line, hops in columns]
    table = terminal.table("payload", *names)
    trips = {(row["line_cycles"], row["hops"], row["payload_bytes"]): row["round_trip_ns"] for row in found["latency"]}
    for size in LATENCY_BYTES:
        table.add_row(f"{size} B", *(f"{trips[line, hops, size]:.0f}" for line, hops in columns))
    console.print(table)
    console.print(
        "published: one hop below 1000 ns for a small packet (K08). Theirs has stores and loads of both processors in it, 922 ns by "
        "KARMA'17, section 4.2; ours has none, because the far board's generator answers.\n"
    )


def _show_bandwidth(console: Console, found: dict[str, Any], part: str, overhead: int, theirs: dict[str, str]) -> None:
    """Ours for each set of flows, and theirs where there are any; `overhead` is what a packet has beside its
    payload, in bytes."""
    rows: list[Row] = found[part]
    kinds = list(dict.fromkeys((row["flows"], row.get("pause_words", 0)) for row in rows))
    names = [f"{flows}{f', pause every {pause} words' if pause else ''}" for flows, pause in kinds]
    table = terminal.table("payload", "limit", *names, *(f"published {flows} ({row})" for flows, row in theirs.items()))
    by = {(row["flows"], row.get("pause_words", 0), row["payload_bytes"]): row["efficiency_percent"] for row in rows}
    for size in dict.fromkeys(row["payload_bytes"] for row in rows):
        published_ones = [f"{found['published'][row]['value']:g}" if size == _PUBLISHED_BYTES else "" for row in theirs.values()]
        ours = [f"{by[*kind, size]:.2f}" for kind in kinds]
        table.add_row(f"{size} B", f"{100 * size / (size + overhead):.2f}", *ours, *published_ones)
    console.print(table)
    console.print()


_FAULTS = {"host": "hosts that stop", "node": "nodes that die altogether"}


def _show_awareness(console: Console, found: dict[str, Any]) -> None:
    """From a fault to those who know, least, mean and most of what was drawn."""
    console.print(
        f"[bold]LO|FA|MO: from a fault to those who know of it[/], torus {'x'.join(map(str, found['torus']))}, least / mean / most\n"
    )
    for kind, text in _FAULTS.items():
        table = terminal.table("watchdog", f"{text}", "local", "first neighbour", "all", "local, of all", "unaware", "misjudged")
        for row in (row for row in found["rows"] if row["kind"] == kind):
            spreads = [" / ".join(_time(row[f"{who}_{which}_ns"]) for which in WHICH) for who in WHO]
            share = f"{100 * row['local_mean_ns'] / row['global_mean_ns']:.1f} %"
            table.add_row(_time(row["watchdog_ns"]), str(row["faults"]), *spreads, share, str(row["unaware"]), str(row["misjudged"]))
        console.print(table)
        console.print()
    console.print("published of APEnet+: dominated by the watchdog period; its figures are not in the text that we have.")


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
