# SPDX-License-Identifier: Apache-2.0
"""Watts and joules of a network, from a machine file's `power` and from what a simulation counted.

Problem: compare networks by what they draw. Model: each part draws its idle power for the whole time, but a link that
sleeps draws that of sleep, and each part spends a fixed energy on each packet and each bit that passes it. Parts are
routers (switches where there are any, otherwise that of each node), links by kind and direction, and interfaces (of
each endpoint, one for each rail; a packet passes one at the sender and one at the receiver). A link's bits are those of
the line while it carries packets, framing and pauses included; a router's and an interface's are payload, header and
footer. Limits: nothing else is ever switched off, nothing depends on what the bits are, and what a figure leaves out
(processors, memory, cooling) is not in the sums.
Source of every figure: the machine file, which names where it comes from. docs/simulate.md describes the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def table(
    machine: Mapping[str, Any], links: Mapping[str, Any], *, time_ps: float, packets: float, payload_bytes: float
) -> list[dict[str, Any]]:
    """A row for each part of a resolved machine: what it drew and spent in `time_ps`; no rows if the machine says
    nothing of power.

    `links` has the columns of a result's links (`to_node`, `link_class`, `packets`, `payload_bytes`, `busy_ps` or
    `use`, and where links sleep `asleep_ps` or `asleep`) of that time; `packets` and `payload_bytes` are what was
    delivered in it.
    """
    if "power" not in machine or time_ps <= 0:
        return []
    import numpy as np

    from exanet import _core

    power, router = machine["power"], machine["router"]
    needs = _core.topology_needs(machine["topology"])
    endpoints, nodes = needs["endpoints"], needs["nodes"]
    switched = nodes > endpoints
    around_bits = (router["header_words"] + router["footer_words"]) * router["word_bits"]
    to_node, kind = np.asarray(links["to_node"]), np.asarray(links["link_class"])
    on_links, payload = np.asarray(links["packets"], np.float64), np.asarray(links["payload_bytes"], np.float64)
    busy_ps = np.asarray(links["busy_ps"] if "busy_ps" in links else np.asarray(links["use"]) * time_ps, np.float64)
    asleep_ps = np.asarray(links.get("asleep_ps", np.asarray(links.get("asleep", 0.0)) * time_ps), np.float64) * np.ones(len(kind))
    at_router = to_node >= endpoints if switched else np.ones(len(to_node), bool)
    passed = float(on_links[at_router].sum()) + (0 if switched else packets)
    carried = float(payload[at_router].sum()) + (0 if switched else payload_bytes)
    rows = [_row("routers", nodes - endpoints if switched else nodes, power["router"], passed, 8 * carried + passed * around_bits, time_ps)]
    for number, link in enumerate(machine["links"]):
        chosen = kind == number
        bits = float(busy_ps[chosen].sum()) / link["word_time_ps"] * link["word_bits"]
        count = int(chosen.sum())
        rows.append(
            _row(
                f"links, {link['name']}",
                count,
                power["links"][number],
                float(on_links[chosen].sum()),
                bits,
                time_ps,
                float(asleep_ps[chosen].sum()),
            )
        )
    interfaces = endpoints * needs["rails"]
    rows.append(_row("interfaces", interfaces, power["ni"], 2 * packets, 2 * (8 * payload_bytes + packets * around_bits), time_ps))
    return rows


def _row(
    part: str, count: int, figures: Mapping[str, int], packets: float, bits: float, time_ps: float, asleep_ps: float = 0
) -> dict[str, Any]:
    time_s = time_ps * 1e-12
    saved_uw = figures["idle_uw"] - figures.get("asleep_uw", figures["idle_uw"])
    idle_w = (count * figures["idle_uw"] - saved_uw * asleep_ps / time_ps) * 1e-6
    moving_j = (packets * figures["packet_fj"] + bits * figures["bit_fj_per_bit"]) * 1e-15
    return {
        "part": part,
        "count": count,
        "packets": packets,
        "bits": bits,
        "idle_w": idle_w,
        "idle_j": idle_w * time_s,
        "moving_j": moving_j,
        "energy_j": idle_w * time_s + moving_j,
        "power_w": idle_w + moving_j / time_s,
    }


def frame(rows: list[dict[str, Any]]) -> Any:
    """The rows as a polars frame, with its columns even if there are none."""
    import polars as pl

    figures = ("packets", "bits", "idle_w", "idle_j", "moving_j", "energy_j", "power_w")
    return pl.DataFrame(rows, schema={"part": pl.String, "count": pl.Int64, **dict.fromkeys(figures, pl.Float64)})


def totals(rows: list[dict[str, Any]], payload_bytes: float) -> dict[str, float | None]:
    """The sums over all parts, and what a delivered bit of payload cost (None if none was delivered). Empty if there
    are no rows."""
    if not rows:
        return {}
    energy_j = sum(row["energy_j"] for row in rows)
    return {
        "idle_w": sum(row["idle_w"] for row in rows),
        "power_w": sum(row["power_w"] for row in rows),
        "energy_j": energy_j,
        "energy_pj_per_bit": energy_j * 1e12 / (8 * payload_bytes) if payload_bytes > 0 else None,
    }


def text(sums: Mapping[str, Any]) -> str:
    """The totals as a sentence for the terminal."""
    from exanet.quantity import si_text

    bit = "" if sums["energy_pj_per_bit"] is None else f", {si_text(sums['energy_pj_per_bit'] * 1e-12, 'J')} a bit of payload"
    return f"{si_text(sums['power_w'], 'W')}, {si_text(sums['idle_w'], 'W')} of it idle; {si_text(sums['energy_j'], 'J')}{bit}"
