# SPDX-License-Identifier: Apache-2.0
"""`exanet machines`: which machines there are, and everything about one of them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exanet import machine, units
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.machine.constant import Constant, dimension_of

_WIDE = 10_000  # columns; a table is never cut, the terminal wraps it


@dataclass(frozen=True)
class Level:
    """What one level of packaging holds, all smaller ones included."""

    name: str
    nodes: int
    cores: int
    fpgas: int
    memory_bytes: int
    height_u: int | None

    def per_unit(self) -> dict[str, float] | None:
        """Density: cores, FPGAs and GB of memory per rack unit; None where the height is not known."""
        if not self.height_u:
            return None
        return {
            "cores": self.cores / self.height_u,
            "fpgas": self.fpgas / self.height_u,
            "memory_gb": self.memory_bytes / 10**9 / self.height_u,
        }


def levels(described: Machine) -> list[Level]:
    """The table of packaging: one row a level, smallest first; none of a machine that has been given another shape than they make up."""
    if math.prod(package.holds.value for package in described.model.packaging) != described.nodes:
        return []
    hardware = described.model.hardware
    rows: list[Level] = []
    nodes = 1
    for package in described.model.packaging:
        nodes *= package.holds.value
        rows.append(
            Level(
                name=package.level,
                nodes=nodes,
                cores=nodes * hardware.cores_per_node.value,
                fpgas=nodes * hardware.fpgas_per_node.value,
                memory_bytes=nodes * hardware.memory_per_node.value,
                height_u=package.height.value if package.height else None,
            )
        )
    return rows


def topology_metrics(described: Machine) -> dict[str, Any]:
    """nodes, links, diameter, average_hops and bisection_links, as the simulator's own topology counts them."""
    from exanet import _core as core  # late: only this needs the simulator

    return dict(core.topology_metrics(described.resolve()))


def facts(described: Machine) -> dict[str, Any]:
    """The line of a machine in the list, as data."""
    metrics = topology_metrics(described)
    rates = {name: float(described.link_rate(name)) / 1e9 for name in described.model.links}
    slowest = min(described.link_rate(name) for name in described.model.links)
    return {
        "name": described.name,
        "description": described.description,
        "topology": described.model.topology.kind,
        "shape": described.model.topology.shape.value,
        "nodes": described.nodes,
        "cores": described.cores,
        "memory_bytes": described.nodes * described.memory_per_node_bytes,
        "link_gbps": {name: link.rate.value / 1e9 for name, link in described.model.links.items()},
        "link_after_pauses_gbps": rates,
        "switches": metrics["switches"],
        "links": metrics["links"],
        "diameter_hops": metrics["diameter"],
        "average_hops": metrics["average_hops"],
        "bisection_links": metrics["bisection_links"],
        "bisection_gbps": metrics["bisection_links"] * float(slowest) / 1e9,
    }


def details(described: Machine) -> dict[str, Any]:
    """All of one machine, as data."""
    return {
        **facts(described),
        "extends": list(described.bases),
        "file": str(described.file),
        "packaging": [{**vars(level), "per_u": level.per_unit()} for level in levels(described)],
        "constants": [
            {"name": name, "value": _value(constant), "kind": constant.kind, "source": constant.source}
            for name, constant in described.constants()
        ],
    }


def _value(constant: Constant[Any]) -> str:
    """A constant's value as a machine file writes it."""
    dimension, value = dimension_of(type(constant)), constant.value
    if dimension is units.TIME:
        return units.format_time(value)
    if dimension is units.FREQUENCY:
        return units.format_frequency(value)
    if dimension is units.RATE:
        return units.format_rate(value)
    if dimension is units.BYTES:
        return units.format_bytes(value)
    if dimension is units.POWER:
        return units.format_power(value)
    if dimension in (units.ENERGY, units.ENERGY_PER_BIT):
        return units.format_energy(value) + ("/bit" if dimension is units.ENERGY_PER_BIT else "")
    if dimension is None:
        return str(value)
    unit = {"bits": "bit", "u": "U"}.get(dimension.base, dimension.base)
    return f"{value} {unit[:-1] if value == 1 and unit.endswith('s') else unit}"


def command(
    name: Annotated[str | None, typer.Argument(help="A machine's name or file; without it, all machines are listed.")] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="KIND:SHAPE", help="Another shape for the machine, e.g. mesh:8,4,2.")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw its network, as a picture in this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of tables.")] = False,
) -> None:
    """List the machines, or describe one: size, memory, links, diameter, bisection, and every constant with its source; or draw it."""
    if name is None:
        if topology is not None or svg is not None:
            raise InputError("--topology and --svg are of one machine: say which, e.g. exanet machines torus-512 --svg torus.svg")
        return _list(as_json)
    from exanet import results, sim
    from exanet.results import picture  # late: they take their time

    described = sim.variant(name, topology, None, [], packets=False)
    if svg is not None:
        if not svg.parent.is_dir():
            raise InputError(f"{svg}: there is no folder {svg.parent}; make it first")
        results.write_whole(svg, picture.svg(described.name, described.resolve()).encode())
    _describe(described, as_json)


def _list(as_json: bool) -> None:
    rows = [facts(machine.load(name)) for name in machine.names()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("machine")
    for heading in ("nodes", "cores", "memory", "links", "diameter", "mean", "bisection"):
        table.add_column(heading, justify="right")
    table.add_column("what it is", overflow="fold")
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['nodes']}",
            f"{row['cores']}",
            _memory(row["memory_bytes"]),
            f"{row['links']} x {_rates(row)}",
            f"{row['diameter_hops']}",
            f"{row['average_hops']:.2f}",
            f"{row['bisection_links']} links",
            escape(row["description"]),
        )
    console = _console()
    console.print(table)
    console.print("\nDiameter and mean distance are in hops. `exanet machines NAME` describes one machine.", style="dim")


def _describe(described: Machine, as_json: bool) -> None:
    data = details(described)
    if as_json:
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    console = _console()
    console.print(f"[bold]{described.name}[/bold]: {escape(described.description)}")
    console.print(escape(str(described.file)) + (f" (extends {', '.join(described.bases)})" if described.bases else ""), style="dim")
    console.print()
    console.print(_summary_table(described, data))
    if data["packaging"]:
        console.print()
        console.print(_packaging_table(described))
    console.print()
    table = Table("constant", "value", "kind", "source", box=None, pad_edge=False, header_style="bold")
    table.columns[3].overflow = "fold"
    for row in data["constants"]:
        table.add_row(row["name"], escape(row["value"]), row["kind"], escape(row["source"]))
    console.print(table)


def _summary_table(described: Machine, data: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    hardware = described.model.hardware
    shape = " x ".join(str(n) for n in data["shape"])
    table.add_row("topology", f"{data['topology']}, {shape}{' QFDBs' if data['topology'] == 'qfdb-torus' else ''}")
    switches = f"; {data['switches']} switches" if data["switches"] else ""
    table.add_row("nodes", f"{data['nodes']}, each {escape(hardware.node)}{switches}")
    table.add_row("cores", f"{data['cores']} at {units.format_frequency(hardware.core_clock.value)}, {described.cores_per_node} a node")
    table.add_row("memory", f"{_memory(data['memory_bytes'])}, {_memory(described.memory_per_node_bytes)} a node")
    table.add_row("links", f"{data['links']} in each direction, {_rates(data)}")
    table.add_row("diameter", f"{data['diameter_hops']} hops; mean {data['average_hops']:.3f}")
    table.add_row("bisection", f"{data['bisection_links']} links, {data['bisection_gbps']:.1f} Gb/s after pauses, in each direction")
    return table


def _packaging_table(described: Machine) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("packaging")
    for heading in ("FPGAs", "cores", "memory", "height", "FPGAs/U", "cores/U", "memory/U"):
        table.add_column(heading, justify="right")
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


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)
