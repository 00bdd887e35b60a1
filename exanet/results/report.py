# SPDX-License-Identifier: Apache-2.0
"""report.html: what a run did, as one page of pictures.

The page carries everything it needs (its style, its script, the chart library and the run's figures), asks nothing of
the network and says so in its content-security policy, so that it can be mailed, archived and opened years later.
Pictures of many ranks are drawn of groups of neighbouring ranks; the full tables stay in the Parquet files beside the
page.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from exanet.files import write_whole
from exanet.results import Run, gateways, in_short, load, storage

if TYPE_CHECKING:
    from exanet.machine import Machine

MOST_ROWS = 128
"""Rows of the timeline and the communication matrix; more ranks than this are drawn in groups."""

MOST_BINS = 160
"""Columns of the timeline."""

_MOST_FAULTS = 500
"""Marks of faults on the timeline: the first ones."""

# In the order in which they are inlined: each uses only what is before it.
SCRIPTS = (
    "format.js", "parts.js", "programs.js", "timeline.js", "matrix.js", "messages.js", "machine.js", "gateways.js", "network.js",
    "energy.js", "page.js",
)  # fmt: skip


def write(directory: Path) -> Path:
    """Make `directory`/report.html from the results in `directory`. Raises InputError when they cannot be read or
    the page not written."""
    page = directory / "report.html"
    write_whole(page, render(load(directory)).encode())
    return page


def render(run: Run) -> str:
    """The page."""
    return fill(run.title(), page_data(run), SCRIPTS)


def fill(title: str, data: dict[str, Any], scripts: Sequence[str], library: bool = True) -> str:
    """A page of `data`, drawn by these scripts of report_page; `library`: with the chart library."""
    folder = files("exanet.results") / "report_page"
    script = "\n".join((folder / name).read_text(encoding="utf-8") for name in scripts)
    parts = {
        "title": html.escape(title),
        "style": (folder / "style.css").read_text(encoding="utf-8"),
        "library": (folder / "vendor" / "echarts.min.js").read_text(encoding="utf-8") if library else "",
        "data": _embed(data),
        "script": script,
    }
    page = (folder / "page.html").read_text(encoding="utf-8")
    before, *rest = page.split("{{")
    pieces = [before]
    for piece in rest:  # not by repeated replacement: what is put in may contain anything
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


MOST_LINKS = 4096
"""Directed links of a network that is drawn with the use of each."""

MOST_ROUTERS = 48
"""Rows of the picture of queues; more routers than this are drawn in groups."""

MOST_SAMPLES = 50
"""Its columns."""


def drawing(machine: dict[str, Any]) -> dict[str, Any]:
    """The picture of a resolved machine's network for report_page/network.js; links in the order of a simulation's
    `links`."""
    from exanet import _core

    drawn = _core.topology_drawing(machine)
    return {
        "names": list(drawn["node_name"]),
        "at": [[round(float(v), 3) for v in place] for place in drawn["position"]],
        "links": [[int(end) for end in link] for link in drawn["links"]],
        "ports": list(drawn["port_name"]),
        "endpoints": int(drawn["endpoints"]),
        "wraps": machine["topology"]["kind"] in ("torus", "qfdb-torus"),
    }


def network(point: dict[str, Any], measure_ps: int) -> dict[str, Any] | None:
    """Data of one simulated point for network.js, beside the drawing; None of a network too large to draw."""
    use = point["links"]["use"]
    if len(use) > MOST_LINKS:
        return None
    return {
        "use": [round(1000 * float(share)) for share in use],
        "queues": _queues(point, measure_ps),
        "over_time": _hottest_over_time(point, measure_ps),
    }


def over_time(samples: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float64], int]:
    """Means over neighbouring samples, MOST_SAMPLES of them at most, and how many samples make one."""
    step = -(-len(samples) // MOST_SAMPLES)
    starts = np.arange(0, len(samples), step)
    counts = np.diff(np.append(starts, len(samples)))
    return np.add.reduceat(samples.astype(np.float64), starts, axis=0) / counts[:, None], step


def _hottest_over_time(point: dict[str, Any], measure_ps: int) -> dict[str, Any] | None:
    """Per mille of the hottest links, over time; the hottest first. They are named by their place among the links."""
    if "link_use" not in point:
        return None
    means, step = over_time(point["link_use"])
    hottest = np.argsort(-np.asarray(point["links"]["use"]), kind="stable")[:MOST_ROUTERS]
    rows = np.rint(1000 * means.T[hottest]).astype(int)
    return {"links": hottest.tolist(), "step_us": measure_ps * step / len(point["link_use"]) / 1e6, "rows": rows.tolist()}


def _queues(point: dict[str, Any], measure_ps: int) -> dict[str, Any] | None:
    queued = point.get("queued")
    if queued is None:
        return None
    counted = np.asarray(queued, dtype=np.int64).T
    routers, samples = counted.shape
    group, step = -(-routers // MOST_ROUTERS), -(-samples // MOST_SAMPLES)
    size = _pool(np.ones_like(counted), group, step)
    rows = np.round(_pool(counted, group, step) / size, 2)
    return {"first": int(point["first_watched"]), "group": group, "step_us": measure_ps * step / samples / 1e6, "rows": rows.tolist()}


def _queues_of(run: Run) -> dict[str, Any] | None:
    if run.queues is None:
        return None
    watched = run.queues["node"].n_unique()
    counted = run.queues["packets"].to_numpy().reshape(-1, watched)
    found = {"queues": _queues({"queued": counted, "first_watched": run.queues["node"][0]}, round(run.queues["time_ns"][-1] * 1e3))}
    queue_names(found, run.nodes["name"].to_list())
    return found["queues"]


def networks(described: Machine, points: Sequence[tuple[str, dict[str, Any], int]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Data of one machine for network.js at labelled points, each with the time in ps that its samples cover; and the
    drawing.

    Of a network too large to draw, the queues alone.
    """
    shown = [
        (label, network(point, sampled_ps) or {"use": None, "queues": _queues(point, sampled_ps), "over_time": None})
        for label, point, sampled_ps in points
    ]
    drawn = any(found["use"] is not None for _, found in shown)
    picture = drawing(described.resolve()) if drawn or any(found["queues"] is not None for _, found in shown) else {"names": []}
    for _, found in shown:
        queue_names(found, picture["names"])
    return [{"label": label, "machine": described.name, **found} for label, found in shown], {described.name: picture} if drawn else {}


def queue_table(point: Mapping[str, Any], sampled_ps: int) -> pl.DataFrame:
    """Packets standing in each router, sample by sample."""
    samples, routers = point["queued"].shape
    first = point["first_watched"]
    return pl.DataFrame(
        {
            "time_ns": np.repeat(np.arange(1, samples + 1) * (sampled_ps / samples / 1e3), routers),
            "node": np.tile(np.arange(first, first + routers), samples),
            "packets": point["queued"].ravel(),
        }
    )


def queue_names(network: dict[str, Any] | None, names: Sequence[str]) -> None:
    """Gives the rows of a network's queues the names of their routers, of which `names` is the list."""
    queues = network["queues"] if network else None
    if queues is None:
        return
    first, group = queues["first"], queues["group"]
    starts = range(first, first + len(queues["rows"]) * group, group)
    queues["names"] = [names[i] if group == 1 else f"{names[i]} …" for i in starts]


def _embed(data: dict[str, Any]) -> str:
    """JSON that no byte of can end the script element around it."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def page_data(run: Run) -> dict[str, Any]:
    """Data that the page's script reads. Rows are arrays; `columns` beside them in the script says what is where."""
    without = ("ranks", "hottest_links")
    group = -(-max(len(run.ranks), 1) // MOST_ROWS)
    return {
        "title": run.title(),
        "short": in_short.lines(run),
        "placed": in_short.ranks_per_node(run.ranks) if len(run.ranks) else None,
        "mean_hops": in_short.mean_hops(run),
        "summary": {key: value for key, value in run.summary.items() if key not in without},
        "run": run.run,
        "group": group,
        "ranks": _rows(
            run.ranks,
            "rank", "node_name", "virtual_ps", "compute_ps", "wait_ps", "library_ps", "messages_sent", "bytes_sent", "messages_received",
            "bytes_received", "rma_ops", "rma_bytes", *(("storage_ps",) if storage.has(run.ranks) else ()),
        ),
        "timeline": _timeline(run.timeline, group),
        **({} if run.faults is None else {"faults": _fault_marks(run.faults.head(_MOST_FAULTS))}),
        "matrix": _matrix(run.pairs, group),
        "sizes": _rows(run.message_sizes, "lower_bytes", "upper_bytes", "messages", "bytes"),
        "calls": _calls(run.mpi_calls),
        "energy": _rows(run.energy, *run.energy.columns),
        "queues": _queues_of(run),
        "programs": _programs(run),
        "gateways": None if run.gateways is None else gateways.page_rows(run.gateways),
        "latency": {
            kind: _rows(run.latency.filter(pl.col("kind") == kind), "lower_ns", "upper_ns", "count") for kind in ("packet", "message")
        },
        "nodes": _rows(run.nodes.join(_ranks_at(run.ranks), on="node", how="left", maintain_order="left"), "name", "x", "y", "z", "ranks"),
        "links": _rows(
            run.links.with_columns(pl.col("use_percent").round(3)),
            "node", "to_node", "port_name", "link_class", "use_percent", "payload_bytes", "packets", "waited_ps",
        ),
    }  # fmt: skip


def _programs(run: Run) -> dict[str, Any] | None:
    """Of several programs that ran together, for programs.js."""
    if run.programs is None or run.throughput is None:
        return None
    compared = ("alone_ps", "slowdown") if "slowdown" in run.programs.columns else ()
    sent = run.throughput.partition_by("program", maintain_order=True)
    return {
        "rows": _rows(run.programs, "name", "ranks", "start_ps", "took_ps", *compared),
        "sent": [own["bytes"].to_list() for own in sent],
        "alone": [own["alone_bytes"].to_list() for own in sent] if compared else None,
        "part_ps": run.throughput["end_ps"][0],
    }


def _rows(frame: pl.DataFrame, *columns: str) -> list[list[Any]]:
    return [list(row) for row in frame.select(columns).iter_rows()]


def _ranks_at(ranks: pl.DataFrame) -> pl.DataFrame:
    """The ranks of each node, as text."""
    return ranks.group_by("node").agg(pl.col("rank").sort().cast(pl.String).str.join(", ").alias("ranks"))


def _calls(calls: pl.DataFrame) -> list[list[Any]]:
    by_call = calls.group_by("call").agg(
        pl.col("calls").sum(), pl.col("time_ps").sum(), pl.col("time_ps").min().alias("least_ps"), pl.col("time_ps").max().alias("most_ps")
    )
    return _rows(by_call.sort(["time_ps", "call"], descending=[True, False]), "call", "calls", "time_ps", "least_ps", "most_ps")


def _matrix(pairs: pl.DataFrame, group: int) -> list[list[Any]]:
    grouped = pairs.group_by(pl.col("src") // group, pl.col("dst") // group).agg(pl.col("messages").sum(), pl.col("bytes").sum())
    return _rows(grouped.sort("src", "dst"), "src", "dst", "messages", "bytes")


def _fault_marks(faults: pl.DataFrame) -> list[list[Any]]:
    """When, what, whether up again, and the kind: changes, and when the master and all nodes knew of them."""
    marks = _rows(faults, "time_ps", "what", "up", "kind")
    for name in ("master_known_ps", "all_known_ps"):
        if name in faults.columns:
            known = faults.drop_nulls(name).with_columns(pl.lit(name.removesuffix("_ps")).alias("kind"))
            marks += _rows(known, name, "what", "up", "kind")
    return marks


def _timeline(timeline: pl.DataFrame, group: int) -> dict[str, Any]:
    """Shares of each bin in per mille and bytes sent, a row for each group of ranks."""
    if timeline.is_empty():
        return {"start_ps": [], "end_ps": [], "wait": [], "library": None, "sent_bytes": []}
    first = timeline.filter(pl.col("rank") == timeline["rank"][0])
    bins = len(first)
    step = -(-bins // MOST_BINS)
    length = (timeline["end_ps"] - timeline["start_ps"]).to_numpy().reshape(-1, bins)
    whole = _pool(length, group, step)

    def share(column: str) -> list[list[int]]:
        pooled = _pool(timeline[column].to_numpy().reshape(-1, bins), group, step)
        permille: list[list[int]] = np.rint(np.clip(pooled / np.maximum(whole, 1), 0, 1) * 1000).astype(int).tolist()
        return permille

    return {
        "start_ps": first["start_ps"].to_list()[::step],
        "end_ps": first["end_ps"].to_list()[step - 1 :: step] + ([first["end_ps"][-1]] if bins % step else []),
        "wait": share("wait_ps"),
        "library": share("library_ps") if "library_ps" in timeline.columns else None,
        "sent_bytes": _pool(timeline["sent_bytes"].to_numpy().reshape(-1, bins), group, step).tolist(),
    }


def _pool(values: npt.NDArray[np.int64], rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Sums of blocks of rows x columns."""
    down: npt.NDArray[np.int64] = np.add.reduceat(values, np.arange(0, values.shape[0], rows), axis=0)
    across: npt.NDArray[np.int64] = np.add.reduceat(down, np.arange(0, values.shape[1], columns), axis=1)
    return across
