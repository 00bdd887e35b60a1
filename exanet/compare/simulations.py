# SPDX-License-Identifier: Apache-2.0
"""The figures of `exanet sim`: of synthetic traffic load by load, of jobs job by job, and of links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from exanet.compare import sides
from exanet.compare.sides import Row, Side
from exanet.results.loaded import Results

FIGURES = (
    "finished_ns", "completion_ns", "accepted_load", "accepted_gbps", "latency_ns", "latency_p50_ns", "latency_p99_ns", "slowdown",
    "saturated", "mean_hops", "fairness", "hottest_link_use", "packet_latency_ns", "compute_ns", "energy_pj_per_bit",
)  # fmt: skip
"""Figures of a point that are compared, where it has them."""

_OF_JOBS = ("finished_ns", "first_finished_ns", "accepted_gbps", "message_ns", "message_p50_ns", "message_p99_ns", "fairness")
_OF_ALL_JOBS = ("finished_ns", "packets", "packet_hops", "mean_hops", "packet_latency_ns", "energy_pj_per_bit")


def read_points(folders: Sequence[str], read: Sequence[Results]) -> list[Side]:
    """Of synthetic traffic; links at the highest load that all have."""
    common = set.intersection(*({float(load) for load in found.points["load"]} for found in read))
    return [_points(folder, found, max(common, default=None)) for folder, found in zip(folders, read, strict=True)]


def _points(folder: str, found: Results, at: float | None) -> Side:
    rows: list[Row] = [("total", "", "most_accepted_load", float(found.points["accepted_load"].max()))]  # type: ignore[arg-type]
    for point in found.points.iter_rows(named=True):
        rows += point_rows("load", f"{point['load']:g}", point)
    rows += _links(found.links.filter(pl.col("load") == at), found.summary["machine"])
    request = found.summary["run"]
    what = f"{request['traffic']} {'traffic' if request['message_bytes'] is None and request['message_sizes'] is None else 'messages'}"
    senders = int(found.points["senders"][0])
    return Side(folder, what, request["machine_name"], senders, None, sides.asked(found.summary), sides.frame(rows), found)


def read_jobs(folders: Sequence[str], read: Sequence[Results]) -> list[Side]:
    return [_jobs(folder, found) for folder, found in zip(folders, read, strict=True)]


def _jobs(folder: str, found: Results) -> Side:
    rows: list[Row] = [
        ("total", "", figure, float(found.summary[figure])) for figure in _OF_ALL_JOBS if found.summary.get(figure) is not None
    ]
    for job in found.jobs.iter_rows(named=True):
        name = f"{job['job']}: {job['program']}"
        rows += [("job", name, figure, float(job[figure])) for figure in _OF_JOBS if job[figure] is not None]
    rows += _links(found.links, found.summary["machine"])
    request = found.summary["run"]
    end_ps = round(found.summary["finished_ns"] * 1e3)
    ranks = int(found.jobs["ranks"].sum())
    return Side(
        folder, " + ".join(request["jobs"]), request["machine_name"], ranks, end_ps, sides.asked(found.summary), sides.frame(rows), found
    )


def point_rows(view: str, item: str, point: Mapping[str, Any]) -> Iterator[Row]:
    """The figures of a point; those that it does not have, such as a latency where nothing arrived, are left out. The
    time until all have arrived says something of messages that are sent all at once, which is a load of 0."""
    figures = [figure for figure in FIGURES if figure != "completion_ns" or point.get("load") == 0]
    yield from ((view, item, figure, float(point[figure])) for figure in figures if point.get(figure) is not None)


def _links(links: pl.DataFrame, machine: dict[str, Any]) -> Iterator[Row]:
    from exanet import _core

    used = links.with_row_index("link").filter(pl.col("packets") > 0)
    if used.is_empty():
        return
    drawn = _core.topology_drawing(machine)
    names, ports = drawn["node_name"], drawn["port_name"]
    for link in used.iter_rows(named=True):
        name = f"{names[link['node']]} {ports[link['link']]} → {names[link['to_node']]}"
        yield "link", name, "use_percent", 100.0 * link["use"]
        yield "link", name, "payload_bytes", float(link["payload_bytes"])
