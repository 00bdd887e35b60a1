# SPDX-License-Identifier: Apache-2.0
"""The folder that `exanet sim` leaves behind: tables, page, and what was asked. docs/simulate.md says what each file
holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exanet import level as levels
from exanet.machine import Machine
from exanet.sim import flows, samples
from exanet.sim.points import COSTS, TABLES, figures
from exanet.sim.spec import TrafficSpec, of_messages, written
from exanet.sim.tables import most_accepted, notes


def write(
    directory: Path,
    described: Machine,
    spec: TrafficSpec,
    points: Sequence[dict[str, Any]],
    threads: int,
    wall_s: float,
    stopped: str = "",
    *,
    fresh: bool = False,
) -> Path:
    """Writes the folder; `stopped`: what there is of the points that were asked for, where it is not all."""
    import polars as pl

    from exanet import results
    from exanet.files import json_bytes, parquet
    from exanet.release import version
    from exanet.results import host, report

    rows = [figures(point) for point in points]
    tables = {"points": pl.DataFrame(rows)}
    for name in TABLES:
        if name in points[0] and name != "flow_rates":
            frames = [pl.DataFrame(p[name]).insert_column(0, pl.lit(p["load"]).alias("load")) for p in points]
            tables[name] = pl.concat(frames)
    if "flow_rates" in points[0]:
        tables["flow_rates"] = samples.flow_rates(points)
    watched = [
        report.queue_table(point, samples.sampled_ps(point, spec)).insert_column(0, pl.lit(point["load"]).alias("load"))
        for point in points
        if "queued" in point
    ]
    if watched:
        tables["queues"] = pl.concat(watched)
    failing = [results.fault_table(p["faults"]).insert_column(0, pl.lit(p["load"]).alias("load")) for p in points if "faults" in p]
    if failing:
        tables["faults"] = pl.concat(failing)
    if intervals := [_intervals(point) for point in points if "intervals" in point]:
        tables["intervals"] = pl.concat(intervals)
    used = [_link_use(point, samples.sampled_ps(point, spec)) for point in points if "link_use" in point]
    if used:
        tables["link_use"] = pl.concat(used)
    sampled = {"sample_ps": round(points[0]["asked_sample_ns"] * 1e3)} if "asked_sample_ns" in points[0] else {}
    run = {**described.identity(), **written(spec), **sampled, "exanet_version": version()}
    if said := levels.caveats(spec.level, described, spec.sharing) + notes(points, spec):
        run["notes"] = said
    page = _page(described, spec, points, rows, run)
    files = {f"{name}.parquet": parquet(frame) for name, frame in tables.items()}
    files["report.html"] = report.fill(
        str(page["title"]), page, ("format.js", "parts.js", "machine.js", "network.js", "energy.js", "rates.js", "sim.js")
    ).encode()
    files["run.json"] = json_bytes(
        {
            "wall_s": wall_s,
            "threads": threads,
            **{key: [p[key] for p in points] for key in COSTS if key in points[0]},
            "host_system": host.system(),
        }
    )
    whole = {"complete": not stopped, "reason": stopped}
    files["summary.json"] = json_bytes({**whole, "run": run, "machine": described.resolve(), "points": rows, **_tables(points)})
    return results.publish(directory, files, fresh=fresh)


def _page(
    described: Machine, spec: TrafficSpec, points: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], run: dict[str, Any]
) -> dict[str, Any]:
    """What the page shows: `rows` are the figures of the points, `run` what was asked."""
    networks, drawings = _networks(described, spec, points)
    return {
        "title": f"{spec.traffic} {'messages' if of_messages(spec) else 'traffic'} on {described.name}{described.label}",
        "points": [
            [
                row["offered_load"], row["accepted_load"], row["latency_ns"], row["latency_p50_ns"], row["latency_p99_ns"],
                row["zero_load_ns"], row["saturated"], row["fairness"], row["hottest_link_use"], row["mean_hops"], row["offered_gbps"],
                row["accepted_gbps"],
            ]
            for row in rows
        ],
        "most": most_accepted(rows),
        "classes": [[p["load"], *row.values()] for p in points for row in p.get("classes", ())],
        "energy": [[p["load"], *row.values()] for p in points for row in p.get("energy", ())],
        "rates": [rates for point in points if (rates := samples.for_page(point)) is not None],
        "run": run,
        "networks": networks,
        "drawings": drawings,
    }  # fmt: skip


def _tables(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The short tables, of those points that have them, and what flows come to together."""
    tables = {
        name: [{"load": p["load"], **row} for p in points for row in p[name]]
        for name in ("classes", "sizes", "energy")
        if name in points[0]
    }
    if "flows" in points[0]:
        tables["flow_sums"] = [{"load": p["load"], **flows.sums(p["flows"])} for p in points]
    return tables


def _intervals(point: dict[str, Any]) -> Any:
    """Packets delivered and lost in each hundredth of the warm-up and the window, of a point with faults."""
    import polars as pl

    frame = pl.DataFrame(point["intervals"])
    return frame.insert_column(0, pl.lit(point["load"]).alias("load")).insert_column(
        2, (frame["begin_ns"] + point["interval_ns"]).alias("end_ns")
    )


def _link_use(point: dict[str, Any], measure_ps: int) -> Any:
    """Use of each link in each of MOST_SAMPLES parts of the window at most, or in each interval that was asked for."""
    import numpy as np
    import polars as pl

    from exanet.results import report

    means, step = (point["link_use"], 1) if "sample_ns" in point else report.over_time(point["link_use"])
    parts, links = means.shape
    ends = np.minimum(np.arange(1, parts + 1) * step, len(point["link_use"])) * (measure_ps / len(point["link_use"]) / 1e3)
    return pl.DataFrame(
        {
            "load": [point["load"]] * (parts * links),
            "time_ns": np.repeat(ends, links),
            **{name: np.tile(point["links"][name], parts) for name in ("node", "port")},
            "use": means.ravel(),
        }
    )


def _networks(described: Machine, spec: TrafficSpec, points: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The page's data of the network at each load, and its drawing."""
    from exanet.results import report

    return report.networks(
        described, [(f"load {point['load']:g}" if point["load"] else "burst", point, samples.sampled_ps(point, spec)) for point in points]
    )
