# SPDX-License-Identifier: Apache-2.0
"""A run in three lines: how long it took, where the time went, and what limited it. All from figures that the folder
has.

Where the critical path was recorded, its largest share is what limited the run. Elsewhere it is inferred: from a rank
that computes longer than the others, the share of computing, and the use of links, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from exanet.quantity import count_text, counted, time_text
from exanet.results.folder import Run, lasted_ps

LATE = 1.1
"""A rank that computes so many times the median is late, as for the advice on a recorded program."""

_LATE_PERCENT = 10.0
"""What a late rank computes more than the median is named from this share of the run on."""

_MOST_PERCENT = 50.0
"""Computing, or the hottest link, limits a run from this share on."""


def lines(run: Run) -> list[str]:
    """The three lines; fewer where nothing was measured."""
    if not run.summary["virtual_ps"] or run.ranks.is_empty():
        return []
    return [_how_long(run), _where(run), _limited_by(run)]


def ranks_per_node(ranks: pl.DataFrame) -> str:
    """E.g. `4 ranks on each of 16 nodes`."""
    on = ranks.group_by("node").len()["len"]
    least, most = int(on.min() or 0), int(on.max() or 0)  # type: ignore[arg-type]
    if len(on) == 1:
        return f"{counted(most, 'rank')} on one node"
    return f"{least} to {most} ranks on each of {len(on)} nodes" if least < most else f"{counted(most, 'rank')} on each of {len(on)} nodes"


def mean_hops(run: Run) -> float | None:
    """Links that a packet passed; None where there were no packets."""
    return run.summary["packet_hops"] / run.summary["packets"] if run.summary["packets"] else None


def _how_long(run: Run) -> str:
    wall_s = float(run.run.get("wall_s", 0.0))
    simulated = f" Simulating it took {time_text(wall_s * 1e12)}." if wall_s else ""
    until = "" if run.summary["complete"] else " until it was stopped"
    return f"It took {time_text(run.summary['virtual_ps'])} of virtual time{until}, with {ranks_per_node(run.ranks)}.{simulated}"


def _where(run: Run) -> str:
    spent = [(run.summary[f"{key}_percent"], words) for key, words in _SPENT.items() if f"{key}_percent" in run.summary]
    shown = [f"{percent:.1f} % {words}" for percent, words in sorted(spent, reverse=True)]
    by_call = run.mpi_calls.group_by("call").agg(pl.col("time_ps").sum()).sort(["time_ps", "call"], descending=[True, False])
    whole = float(run.ranks.select(lasted_ps(run.ranks).cast(pl.Float64).sum()).item())
    call = f" {by_call['call'][0]} took most of all calls, {100 * by_call['time_ps'][0] / whole:.1f} %." if len(by_call) and whole else ""
    return f"Of the ranks' time, {', '.join(shown)}.{call}"


_SPENT = {
    "compute": "was computing",
    "wait": "was waiting for other ranks or the network",
    "library": "was in the network library",
    "storage": "was waiting for files",
}


def _limited_by(run: Run) -> str:
    if run.critical_path is not None and len(run.critical_path):
        return _by_path(run, run.critical_path)
    return next(_inferred(run))


_ON_THE_PATH = {
    "interface_ps": "interfaces and routers",
    "links_ps": "the latency and the rate of links",
    "queueing_ps": "messages that waited behind others",
}
"""Parts of a message's time."""


def _by_path(run: Run, path: pl.DataFrame) -> str:
    took = path.with_columns(took_ps=pl.col("end_ps") - pl.col("begin_ps"))
    own = took.filter(pl.col("kind").is_in(("compute", "rank"))).group_by("rank").agg(pl.col("took_ps").sum())
    computing = int(own["took_ps"].sum())
    parts = [(int(path[name].sum()), what) for name, what in _ON_THE_PATH.items()]
    parts += [(computing, "computing"), (int(took.filter(pl.col("kind") == "call")["took_ps"].sum()), "calls of MPI")]
    faults = " (with what faults cost)" if run.faults is not None else ""
    parts = [(ps, what + faults * (what == _ON_THE_PATH["queueing_ps"])) for ps, what in parts]
    (most, what), (next_most, then), *_ = sorted(parts, reverse=True)
    whole = max(int(took["took_ps"].sum()), 1)
    text = f"What limited it: {what}, {100 * most / whole:.1f} % of the critical path; then {then}, {100 * next_most / whole:.1f} %."
    rank, longest = own.sort(["took_ps", "rank"], descending=[True, False]).row(0) if computing else (None, 0)
    if what == "computing" and 2 * longest > computing and len(run.ranks) > 1:
        return f"{text} Most of the computing is that of rank {rank}, {100 * longest / whole:.1f} %."
    link = _hottest(run)
    return (
        text
        if what == "computing" or link is None
        else f"{text} The link in use longest: {_name(link)}, {link['use_percent']:.1f} % of the run."
    )


def _hottest(run: Run) -> dict[str, Any] | None:
    return max(run.summary["hottest_links"], key=lambda row: row["use_percent"], default=None)


def _name(link: dict[str, Any]) -> str:
    return f"{link['node_name']} {link['port_name']} → {link['to_node_name']}"


def _inferred(run: Run) -> Iterator[str]:
    virtual_ps = run.summary["virtual_ps"]
    ranks = run.ranks.sort(["compute_ps", "rank"], descending=[True, False])
    rank, computed, usual = ranks["rank"][0], int(ranks["compute_ps"][0]), float(ranks["compute_ps"].cast(pl.Float64).median() or 0)  # type: ignore[arg-type]
    link = _hottest(run)
    if len(ranks) > 1 and computed > LATE * usual and 100 * (computed - usual) >= _LATE_PERCENT * virtual_ps:
        yield (
            f"What limited it: rank {rank}. It computed for {time_text(computed)}, the median rank for {time_text(usual)}, "
            "and the others waited for it."
        )
    if run.summary["compute_percent"] >= _MOST_PERCENT:
        bound = f"No network makes it shorter than the {time_text(computed)} that rank {rank} computed."
        yield f"What limited it: computing, {run.summary['compute_percent']:.1f} % of the ranks' time. {bound}"
    if run.summary.get("storage_percent", 0.0) >= _MOST_PERCENT:
        yield f"What limited it: files, for which ranks waited {run.summary['storage_percent']:.1f} % of their time."
    if link is not None and link["use_percent"] >= _MOST_PERCENT:
        yield (
            f"What limited it: the link {_name(link)}. It was in use {link['use_percent']:.1f} % of the run, and packets waited "
            f"{time_text(link['waited_ps'])} for it, all together."
        )
    if run.summary["message_latency"]["count"]:
        hottest = f"no link was in use for more than {link['use_percent']:.1f} % of the run" if link else "no packet left its node"
        yield (
            f"What limited it: the latency of {count_text(run.summary['messages'])} messages, half of which took "
            f"{time_text(1e3 * run.summary['message_latency']['p50_ns'])} or less; {hottest}."
        )
    yield "What limited it: the program itself. No rank sent a message."
