# SPDX-License-Identifier: Apache-2.0
"""timeline.html: a run from the whole of it down to one message, as a page.

Problem: a hundred ranks make a million messages, and a reader wants to go from all of them to the one that was late.
Model: the page holds all calls and messages as packed columns, and draws what is in view at the detail that the pixels
allow (report_page/timeline_*.js). Routes are those that the topology gives for each pair of nodes. Limits: MOST_CALLS
and MOST_ROUTES; of packets the results hold only what links have counted over the whole run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from exanet.files import write_whole
from exanet.results import Run, load, path_tables
from exanet.results.folder import PROTOCOLS
from exanet.results.packed_columns import pack
from exanet.results.report import fill

FILE = "timeline.html"

MOST_CALLS = 3_000_000
"""Calls in the page: of a longer run those of its beginning."""

MOST_ROUTES = 20_000
"""Pairs of nodes whose route the page has."""

KINDS = ("send", "receive", "wait", "collective", "one-sided", "other")
"""Of calls, in the order of their colours."""

SCRIPTS = (
    "format.js", "parts.js", "packed.js", "timeline_store.js", "timeline_levels.js", "timeline_view.js", "timeline_draw.js",
    "timeline_path.js", "timeline_detail.js", "timeline_search.js", "timeline_page.js",
)  # fmt: skip


def write(directory: Path) -> Path:
    """Make `directory`/timeline.html from the results in `directory`. Raises InputError when they cannot be read or
    the page not written."""
    page = directory / FILE
    write_whole(page, render(load(directory)).encode())
    return page


def render(run: Run) -> str:
    """The page."""
    return fill(run.title(), page_data(run), SCRIPTS, library=False)


def page_data(run: Run) -> dict[str, Any]:
    """What the page's scripts read."""
    calls, until_ps = _first_calls(run.calls)
    names = calls["call"].unique().sort().to_list()
    kinds = dict(calls.select("call", "kind").unique().iter_rows())
    node = run.ranks.sort("rank")["node"].to_numpy()
    routes, route_columns = _routes(run, node)
    columns = _message_columns(run.messages) | _call_columns(calls, names, len(run.ranks)) | route_columns
    return {
        "title": run.title(),
        "reason": "" if run.summary["complete"] else run.summary["reason"] or "the run was stopped",
        "end_ps": run.summary["virtual_ps"],
        "left_out": {"messages": run.summary["messages_dropped"], "calls_after_ps": until_ps},
        "notes": run.summary["run"].get("notes", []),
        "node": node.tolist(),
        "nodes": run.nodes["name"].to_list(),
        "calls": [[name, KINDS.index(kinds[name])] for name in names],
        "kinds": KINDS,
        "protocols": PROTOCOLS,
        **routes,
        "path": _path_text(run.critical_path, faults=run.faults is not None and len(run.faults) > 0),
        "packed": pack(columns | _path_columns(run.critical_path)),
    }


def _first_calls(calls: pl.DataFrame | None) -> tuple[pl.DataFrame, int | None]:
    """The calls that the page has, and the time from which on it has none."""
    if calls is None:
        schema = {"rank": pl.Int64, "call": pl.String, "kind": pl.String}
        return pl.DataFrame(schema=schema | dict.fromkeys(("begin_ps", "took_ps", "bytes"), pl.Int64)), None
    if len(calls) <= MOST_CALLS:
        return calls, None
    until = int(np.partition(calls["begin_ps"].to_numpy(), MOST_CALLS)[MOST_CALLS])
    return calls.filter(pl.col("begin_ps") < until), until


def _message_columns(messages: pl.DataFrame) -> dict[str, npt.ArrayLike]:
    """In the order of posting; times as what is added to the message before."""
    ordered = messages.sort("posted_ps", maintain_order=True)
    posted = ordered["posted_ps"].to_numpy()
    return {
        "message_src": ordered["src"],
        "message_dst": ordered["dst"],
        "message_bytes": ordered["bytes"],
        "message_protocol": ordered["protocol"].replace_strict({name: i for i, name in enumerate(PROTOCOLS)}, return_dtype=pl.Int64),
        "message_posted": np.diff(posted, prepend=0),
        "message_took": ordered["delivered_ps"].to_numpy() - posted,
    }


def _call_columns(calls: pl.DataFrame, names: list[str], ranks: int) -> dict[str, npt.ArrayLike]:
    """By rank and in order; a beginning as the time since the rank's call before has ended."""
    rank, begin = calls["rank"].to_numpy(), calls["begin_ps"].to_numpy()
    end = begin + calls["took_ps"].to_numpy()
    before = np.concatenate(([0], end[:-1])) if len(end) else end
    starts = np.concatenate(([True], rank[1:] != rank[:-1])) if len(rank) else np.zeros(0, dtype=bool)
    return {
        "call_count": np.bincount(rank, minlength=ranks),
        "call_name": calls["call"].replace_strict({name: i for i, name in enumerate(names)}, return_dtype=pl.Int64),
        "call_gap": np.where(starts, begin, begin - before),
        "call_took": calls["took_ps"],
        "call_bytes": calls["bytes"],
    }


def _path_columns(path: pl.DataFrame | None) -> dict[str, npt.ArrayLike]:
    """The parts of the critical path, which has no gap: how long each is, and the rank at which it begins."""
    if path is None:
        return {"path_took": [], "path_at": []}
    return {"path_took": path["end_ps"] - path["begin_ps"], "path_at": path["begins_at"]}


def _path_text(path: pl.DataFrame | None, *, faults: bool) -> dict[str, Any] | None:
    """What the page says of it in words."""
    if path is None:
        return None
    return {
        "shares": [[share.what, share.took_ps, share.percent] for share in path_tables.shares(path, faults=faults)],
        "longest": [[text, begin, share.took_ps, share.percent] for text, begin, share in path_tables.longest(path)],
        "last": int(path["ends_at"][-1]) if len(path) else 0,
    }


def _routes(run: Run, node: npt.NDArray[np.int64]) -> tuple[dict[str, Any], dict[str, npt.ArrayLike]]:
    """The routes between nodes whose ranks sent messages, as numbers of links; the links that are on some; and what is
    to be said of them."""
    from exanet import _core

    pairs = run.messages.select(src=pl.col("src").replace_strict(dict(enumerate(node.tolist())), return_dtype=pl.Int64), dst=pl.col("dst"))
    pairs = pairs.with_columns(pl.col("dst").replace_strict(dict(enumerate(node.tolist())), return_dtype=pl.Int64))
    ends = [pair for pair in pairs.unique().sort("src", "dst").iter_rows() if pair[0] != pair[1]]
    machine = run.summary["machine"]
    empty: dict[str, npt.ArrayLike] = {"route_src": [], "route_dst": [], "route_links": [], "route_link": []}
    if len(ends) > MOST_ROUTES or "topology" not in machine:
        return {"links": [], "routing": "none"}, empty
    found = _core.routes(machine, ends)
    row = {(int(a), int(port)): i for i, (a, port) in enumerate(run.links.select("node", "port").iter_rows())}
    used = sorted({row[hop] for route in found for hop in route})
    number = {link: i for i, link in enumerate(used)}
    links = run.links[used].select("node", "to_node", "port_name", "use_percent", "waited_ps", "packets", "payload_bytes")
    own = machine["topology"].get("routing") in (None, "minimal")
    return {"links": [list(link) for link in links.iter_rows()], "routing": "fixed" if own else machine["topology"]["routing"]}, {
        "route_src": [a for a, _ in ends],
        "route_dst": [b for _, b in ends],
        "route_links": [len(route) for route in found],
        "route_link": [number[row[hop]] for route in found for hop in route],
    }
