# SPDX-License-Identifier: Apache-2.0
"""The tables that `exanet machines` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from exanet import terminal, units
from exanet.machine.facts import levels
from exanet.machine.located import printable
from exanet.machine.machine import Machine
from exanet.machine.schema import rails_of

_WIDE = 10_000  # columns; a table is never cut, the terminal wraps it


def show_all(rows: Sequence[dict[str, Any]]) -> None:
    """A line for each machine; `rows` as facts() gives them."""
    table = terminal.table("machine", "nodes", "cores", "memory", "links", "diameter", "mean", "bisection")
    table.add_column("what it is", overflow="fold")
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['nodes']}",
            "" if row["cores"] is None else f"{row['cores']}",
            "" if row["memory_bytes"] is None else _memory(row["memory_bytes"]),
            f"{row['links']} x {_rates(row)}",
            f"{row['diameter_hops']}",
            f"{row['average_hops']:.2f}",
            f"{row['bisection_links']} links",
            escape(printable(row["description"])),
        )
    console = terminal.console(_WIDE)
    console.print(table)
    console.print("\nDiameter and mean distance are in hops. `exanet machines NAME` describes one machine.", style="dim")


def show(described: Machine, data: dict[str, Any]) -> None:
    """All of one machine; `data` as details() gives it."""
    console = terminal.console(_WIDE)
    console.print(f"[bold]{described.name}[/bold]: {escape(printable(described.description))}")
    console.print(escape(str(described.file)) + (f" (extends {', '.join(described.bases)})" if described.bases else ""), style="dim")
    console.print()
    console.print(_summary_table(described, data))
    if data["packaging"]:
        console.print()
        console.print(_packaging_table(described))
    console.print()
    table = terminal.table("constant", "value", "kind", "source", left=4)
    table.columns[3].overflow = "fold"
    for row in data["constants"]:
        table.add_row(row["name"], escape(row["value"]), row["kind"], escape(row["source"]))
    console.print(table)


def _summary_table(described: Machine, data: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    hardware = described.model.hardware
    shape = " x ".join(str(n) for n in data["shape"])
    several = rails_of(described.model)
    rails = f", {several} rails" if several > 1 else ""
    table.add_row("topology", f"{data['topology']}, {shape}{' QFDBs' if data['topology'] == 'qfdb-torus' else ''}{rails}")
    if "other" in data:
        table.add_row("joined to", f"{data['other']} by {data['gateways']} gateway{'s' * (data['gateways'] > 1)} (docs/gateway.md)")
    switches = f"; {data['switches']} switches" if data["switches"] else ""
    each = "" if hardware is None else f", each {escape(hardware.node)}"
    table.add_row("nodes", f"{data['nodes']}{each}{switches}")
    if hardware is not None:
        clock = units.format_frequency(hardware.core_clock.value)
        table.add_row("cores", f"{data['cores']} at {clock}, {hardware.cores_per_node.value} a node")
        table.add_row("memory", f"{_memory(data['memory_bytes'])}, {_memory(hardware.memory_per_node.value)} a node")
    table.add_row("links", f"{data['links']} in each direction, {_rates(data)}")
    table.add_row("diameter", f"{data['diameter_hops']} hops; mean {data['average_hops']:.3f}")
    table.add_row("bisection", f"{data['bisection_links']} links, {data['bisection_gbps']:.1f} Gb/s after pauses, in each direction")
    return table


def _packaging_table(described: Machine) -> Table:
    table = terminal.table("packaging", "FPGAs", "cores", "memory", "height", "FPGAs/U", "cores/U", "memory/U")
    for level in levels(described):
        density = level.per_unit()
        dense = (f"{density['fpgas']:.1f}", f"{density['cores']:.1f}", f"{density['memory_gb']:.0f} GB") if density else ("", "", "")
        height = f"{level.height_u} U" if level.height_u else ""
        table.add_row(level.name, str(level.fpgas), str(level.cores), _memory(level.memory_bytes), height, *dense)
    return table


def _memory(count: int) -> str:
    return f"{count / 10**9:g} GB"


def _rates(row: dict[str, Any]) -> str:
    rates = row["link_gbps"]
    if len(set(rates.values())) == 1:
        return f"{next(iter(rates.values())):g} Gb/s"
    return ", ".join(f"{name} {rate:g} Gb/s" for name, rate in rates.items())
