# SPDX-License-Identifier: Apache-2.0
"""Everything that `exanet machines` says of a machine, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from exanet import _core, units
from exanet.machine.constant import Constant, dimension_of
from exanet.machine.machine import Machine


@dataclass(frozen=True)
class Level:
    """Contents of one level of packaging, all smaller ones included."""

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
    """The table of packaging: one row a level, smallest first; none of a machine that has been given another shape
    than they make up."""
    hardware = described.model.hardware
    if hardware is None or math.prod(package.holds.value for package in described.model.packaging) != described.nodes:
        return []
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
    return dict(_core.topology_metrics(described.resolve()))


def facts(described: Machine) -> dict[str, Any]:
    """The line of a machine in the list, as data."""
    metrics = topology_metrics(described)
    links = described.links()
    rates = {name: float(rate) / 1e9 for name, (_, rate) in links.items()}
    across = ["gateway"] if described.other is not None else [name for name in links if name != "host" or len(rates) == 1]
    slowest = min(links[name][1] for name in across)
    return {
        "name": described.name,
        "description": described.description,
        "topology": described.model.topology.kind,
        "shape": described.model.topology.shape.value,
        "nodes": described.nodes,
        "cores": described.cores,
        "memory_bytes": described.memory_bytes,
        "link_gbps": {name: rate / 1e9 for name, (rate, _) in links.items()},
        "link_after_pauses_gbps": rates,
        "switches": metrics["switches"],
        "links": metrics["links"],
        "diameter_hops": metrics["diameter"],
        "average_hops": metrics["average_hops"],
        "bisection_links": metrics["bisection_links"],
        "bisection_gbps": metrics["bisection_links"] * float(slowest) / 1e9,
        **_joined(described),
    }


def _joined(described: Machine) -> dict[str, Any]:
    """Of two networks that gateways join: the other machine, and how many there are."""
    gateway = described.model.gateway
    return {} if described.other is None or gateway is None else {"other": described.other.name, "gateways": len(gateway.nodes)}


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
