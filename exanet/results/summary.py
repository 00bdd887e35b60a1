# SPDX-License-Identifier: Apache-2.0
"""Writes the summary of a run for the terminal: how long it took, where the time went, and what the network did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exanet import results as run_results
from exanet.quantity import bytes_text, count_text, counted, many_text, time_text
from exanet.results import energy, gateways, handlers, path_tables, processors, storage
from exanet.results.folder import lasted_ps

EVERY_RANK_UP_TO = 16
"""With more ranks the table shows least, median and most, and names the rank."""

NOTICEABLE_PERCENT = 1.0
"""Share of the time of all ranks, behind their last MPI calls, from which on the summary says so."""

TOP = 5
"""Rows of the link and MPI call tables."""


LONGEST_NAME = 26
"""Characters of a program's name in the table of programs."""


STATES = {
    "state": ("down", "up"),
    "lossy": ("lossy", "lossy no more"),
    "slow": ("slow", "at its rate again"),
    "interface": ("interface stops", "interface works again"),
    "impaired": ("impaired", "impaired no more"),
    "host": ("host dies", ""),
}
"""What a change of each kind begins and ends."""


def fault_text(faults: pl.DataFrame, summary: Mapping[str, Any]) -> str:
    """One line on what failed in a run, and what it cost: `faults` is the table of that name."""
    rows = faults.head(4).to_dicts()
    shown = [f"{escape(row['what'])} {STATES[row['kind']][row['up']]} at {time_text(row['time_ps'])}" for row in rows]
    more = f" and {len(faults) - len(shown)} more" if len(faults) > len(shown) else ""
    cost = f"{many_text(summary['lost_packets'], 'packet')} lost, {many_text(summary['failed_operations'], 'operation')} failed"
    if (again := summary.get("retransmitted_packets")) is not None:
        cost += f", {many_text(again, 'packet')} sent again ({count_text(summary['duplicate_packets'])} came twice)"
    died = f"; died with their hosts: {dead_text(dead)}" if (dead := summary.get("dead_ranks")) else ""
    return f"faults: {', '.join(shown) or 'none before the end'}{more}; {cost}{died}"


def awareness_text(faults: pl.DataFrame) -> str:
    """One line on who came to know of the changes by LO|FA|MO, the slowest of each; nothing without."""
    if "detected_ps" not in faults.columns:
        return ""
    watched = faults.filter(pl.col("kind").is_in(["state", "interface", "host"]))
    said = []
    for who, name in (("the first node", "first_known_ps"), ("the master", "master_known_ps"), ("all nodes", "all_known_ps")):
        known = watched.drop_nulls(name)
        slowest = f" after {time_text(max(known[name] - known['time_ps']))} at most" if len(known) else ""
        said.append(f"{who} knew of {len(known)}{slowest}")
    unaware = watched.drop_nulls("all_known_ps")["unaware_nodes"].sum()
    never = f"; nodes that never knew: {unaware}" if unaware else ""
    return f"LO|FA|MO: of {counted(len(watched), 'change')} {', '.join(said)}{never}"


def dead_text(dead: Sequence[Mapping[str, Any]]) -> str:
    """Ranks that have died, by node, the first few."""
    by_node: dict[int, list[str]] = {}
    for each in dead:
        by_node.setdefault(each["node"], []).append(str(each["rank"]))
    shown = [
        f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks[:4])}{' ...' * (len(ranks) > 4)} on node {node}" for node, ranks in by_node.items()
    ]
    return "; ".join(shown[:4]) + (f"; and those on {len(shown) - 4} more nodes" if len(shown) > 4 else "")


def show(
    results: Mapping[str, Any],
    meta: Mapping[str, Any],
    console: Console,
    *,
    tables: Mapping[str, pl.DataFrame] | None = None,
    reason_shown: bool = False,
) -> None:
    """Print the run's summary; `tables` as of results.write().

    An incomplete run says so in the first line, and why, unless that has been printed (`reason_shown`).
    """
    tables = run_results.to_tables(results, meta.get("machine", {})) if tables is None else tables
    summary = run_results.summarize(results, meta, tables)
    if not summary["complete"]:
        reason = "what follows was measured until then" if reason_shown else summary["reason"] or "the run was stopped"
        console.print(f"[bold red]incomplete: {escape(reason)}[/]", soft_wrap=True)
    console.print(_headline(summary, float(results["summary"].get("wall_s", 0.0))), highlight=False)
    if meta.get("ranks_as") == "packed":
        console.print(f"ranks packed in one address space{_turns_on_workers(meta)}", highlight=False, soft_wrap=True)
    elif reason := meta.get("not_packed"):
        console.print(f"ranks as processes, not packed: {escape(str(reason))}", highlight=False, soft_wrap=True)
    if "faults" in tables:
        console.print(fault_text(tables["faults"], summary), highlight=False, soft_wrap=True)
        if known := awareness_text(tables["faults"]):
            console.print(known, highlight=False, soft_wrap=True)
    if "fault_costs" in tables and (costs := _fault_costs(tables["fault_costs"])).row_count:
        console.print()
        console.print(costs)
    if "storage" in summary:
        console.print(storage.line(summary["storage"]), highlight=False, soft_wrap=True)
    if "handlers" in summary:
        console.print(handlers.line(summary["handlers"]), highlight=False, soft_wrap=True)
    if "processor" in summary:
        console.print(processors.line(str(meta["cpu"]), summary["processor"]), highlight=False, soft_wrap=True)
    for note in meta.get("notes", ()):
        console.print(f"[yellow]note:[/] {escape(str(note))}", highlight=False, soft_wrap=True)
    parts = (
        _programs(tables),
        _ranks(tables["ranks"]),
        _sockets(tables["ranks"]),
        _latency(summary),
        _links(summary),
        _gateways(summary),
    )
    for table in (*parts, _mpi_calls(tables["mpi_calls"]), *_critical_path(tables)):
        if table.row_count:
            console.print()
            console.print(table)
        if table.title == "Ranks" and (note := _clock_reads(summary)):
            console.print(note, highlight=False)
        if table.title == "Ranks" and (note := _after_last_call(summary, tables["ranks"])):
            console.print(note, highlight=False)
    if summary["energy"]:
        console.print(f"\nNetwork: {energy.text(summary['energy'])}", highlight=False)


def _turns_on_workers(meta: Mapping[str, Any]) -> str:
    none = escape(str(meta.get("no_worker_threads", "")))
    if ran := int(meta.get("turns_on_workers", 0)):
        workers = int(meta["worker_threads"])
        by = f"{counted(workers, 'worker thread')}" if workers else "worker threads"
        after = f"; then they were given up: {none}" if none else ""
        return f"; {by} ran {100 * ran / max(int(meta['turns']), ran):.0f} % of {count_text(int(meta['turns']))} turns{after}"
    return f", without worker threads: {none}" if none else ""


def _headline(summary: Mapping[str, Any], wall_s: float) -> str:
    virtual_ps, asked = summary["virtual_ps"], summary["run"]
    slowdown = f", slowdown {_ratio(wall_s * 1e12 / virtual_ps)}" if virtual_ps and wall_s else ""
    ranks = asked.get("ranks", len(summary["ranks"]))
    where = f"{counted(ranks, 'rank')} on {escape(str(asked.get('machine_name', 'the machine')))}"
    how = "".join(f", {key} {escape(str(asked[key]))}" for key in ("map", "compute") if key in asked)
    by = f", {escape(str(asked['mpi']))}" if asked.get("mpi") else ""
    over = f", fabric {escape(str(asked['fabric']))}" if "fabric" in asked else ""
    over += ", at flow level" if asked.get("level") == "flow" else ""
    over += f", {count_text(summary['cycles'])} clock cycles" if summary["cycles"] else ""
    return (
        f"[bold]{time_text(virtual_ps)}[/] of virtual time, {wall_s:.1f} s of wall time{slowdown}\n"
        f"{where}{how}{by}{over}\n"
        f"{count_text(summary['messages'])} messages, {bytes_text(summary['message_bytes'])}, {count_text(summary['packets'])} packets"
        + (f", reductions by interfaces: {count_text(summary['reductions'])}" if summary.get("reductions") else "")
        + (
            f", {count_text(summary['page_walks'])} walks for {count_text(lookups)} pages"
            if (lookups := summary.get("page_lookups"))
            else ""
        )
        + (
            f"\n{count_text(summary['segments'])} segments of sockets, {bytes_text(summary['stream_bytes'])}"
            if summary.get("segments")
            else ""
        )
        + (
            f", {count_text(summary['datagrams'])} datagrams"
            + (f", of which {count_text(lost)} found a full buffer" if (lost := summary["datagrams_dropped"]) else "")
            if summary.get("datagrams")
            else ""
        )
    )


def _ratio(slowdown: float) -> str:
    return f"{slowdown:.0f}x" if slowdown >= 10 else f"{slowdown:.2g}x"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True, overflow="ellipsis")
    return table


def _fault_costs(rows: pl.DataFrame) -> Table:
    """The intervals from the first change on that cost most: packets lost, sent again, and what ranks waited, which is
    often longest after the last change; empty where nothing was lost in any of them."""
    table = _table("What faults cost, between one change and the next", "from", "until", "lost", "sent again", "failed", "ranks waited", "")
    if not (rows["lost_packets"] + rows["retransmitted_packets"] + rows["failed_operations"]).sum():
        return table
    worst = rows.filter(pl.col("changes") > 0)
    for row in (
        worst.sort("waited_ps", "lost_packets", descending=True, maintain_order=True).head(TOP).sort("from_ps").iter_rows(named=True)
    ):
        more = f" and {row['changes'] - 1} more" if row["changes"] > 1 else ""
        counts = (count_text(row[name]) for name in ("lost_packets", "retransmitted_packets", "failed_operations"))
        table.add_row(
            time_text(row["from_ps"]), time_text(row["to_ps"]), *counts, time_text(row["waited_ps"]), f"{escape(row['what'])}{more}"
        )
    return table


def _programs(tables: Mapping[str, pl.DataFrame]) -> Table:
    """Of several programs that a replay ran together; empty of one."""
    rows = tables.get("programs", pl.DataFrame())
    alone = ("alone", "slow-down") if "slowdown" in rows.columns else ()
    table = _table("Programs", "program", "ranks", "start", "run time", *alone)
    for row in rows.iter_rows(named=True):
        compared = (time_text(row["alone_ps"]), f"{row['slowdown']:.3f}") if alone else ()
        times = time_text(row["start_ps"]), time_text(row["took_ps"])
        name = row["name"] if len(row["name"]) <= LONGEST_NAME else row["name"][: LONGEST_NAME - 1] + "…"
        table.add_row(escape(name), str(row["ranks"]), *times, *compared)
    return table


def _ranks(ranks: pl.DataFrame) -> Table:
    stored = ("storage",) if storage.has(ranks) else ()
    share = {name: (pl.col(f"{name}_ps") * 100.0 / lasted_ps(ranks)).fill_nan(0.0) for name in ("compute", "wait", "library", *stored)}
    rows = ranks.with_columns(**share)
    shown: dict[str, Callable[[Any], str]] = {
        "compute": _percent, "wait": _percent, "library": _percent, **dict.fromkeys(stored, _percent),
        "messages_sent": count_text, "bytes_sent": bytes_text, "messages_received": count_text, "bytes_received": bytes_text,
    }  # fmt: skip
    table = _table("Ranks", "rank", "compute", "wait", "library", *stored, "msg sent", "sent", "msg rcvd", "received")
    return _fill(table, rows, shown)


def _sockets(ranks: pl.DataFrame) -> Table:
    """What each rank sent by sockets over the network; empty where none did."""
    table = _table("Sockets", "rank", "segments", "sent")
    if "segments_sent" not in ranks.columns:
        return table
    shown: dict[str, Callable[[Any], str]] = {"segments_sent": count_text, "stream_bytes_sent": bytes_text}
    if "datagrams_sent" in ranks.columns:
        table = _table("Sockets", "rank", "segments", "sent", "datagrams", "dropped")
        shown |= {"datagrams_sent": count_text, "datagrams_dropped": count_text}
    return _fill(table, ranks, shown)


def _fill(table: Table, rows: pl.DataFrame, shown: Mapping[str, Callable[[Any], str]]) -> Table:
    """A row for each rank, or for what is typical of many."""
    if len(rows) <= EVERY_RANK_UP_TO:
        for row in rows.iter_rows(named=True):
            table.add_row(str(row["rank"]), *(text(row[name]) for name, text in shown.items()))
        return table
    pick = {"min": min, "max": max}
    table.add_row("min", *(text(rows[name].min()) for name, text in shown.items()))
    table.add_row("median", *(text(rows[name].median()) for name, text in shown.items()))
    table.add_row("max", *(text(rows[name].max()) for name, text in shown.items()))
    for which, choose in pick.items():
        table.add_row(f"{which}: rank", *(f"[dim]{_extreme_rank(rows, name, choose)}[/]" for name in shown))
    return table


def _after_last_call(summary: Mapping[str, Any], ranks: pl.DataFrame) -> str:
    """How long ranks ran on after their last MPI call, where that is a noticeable part of a whole run."""
    if not summary["complete"] or summary["after_last_call_percent"] < NOTICEABLE_PERCENT:
        return ""
    longest = int((ranks["virtual_ps"] - ranks["last_call_ps"]).max())  # type: ignore[arg-type]
    return (
        f"After their last MPI call and before MPI_Finalize: {_percent(summary['after_last_call_percent'])} of all ranks' time, at most "
        f"{time_text(longest)} of one. That is a program's end, such as an interpreter's, and part of the virtual time above; a program "
        "that calls MPI_Finalize itself (in Python, MPI.Finalize()) leaves it out."
    )


def _clock_reads(summary: Mapping[str, Any]) -> str:
    """What reading clocks in loops added, where that is a noticeable part of a run."""
    if summary["clock_reads_percent"] < NOTICEABLE_PERCENT:
        return ""
    return (
        f"Reading the clock {count_text(summary['clock_reads'])} times, in loops without MPI calls, added "
        f"{_percent(summary['clock_reads_percent'])} of all ranks' time. It counts as computing. A program that measures what is "
        "fastest before it computes does so (docs/virtual-time.md has remedies)."
    )


def _extreme_rank(rows: pl.DataFrame, name: str, choose: Callable[..., Any]) -> str:
    """The first rank with the least or most of something; a dash when all have the same."""
    extreme = choose(rows[name])
    return str(rows.filter(pl.col(name) == extreme)["rank"][0]) if rows[name].n_unique() > 1 else "-"


def _percent(share: float) -> str:
    return f"{share:.1f} %"


def _latency(summary: Mapping[str, Any]) -> Table:
    table = _table("Latency", "", "count", "median", "90 %", "99 %", "longest")
    for kind in ("packet", "message"):
        figures = summary[f"{kind}_latency"]
        if figures["count"]:
            times = (time_text(figures[key] * 1e3) for key in ("p50_ns", "p90_ns", "p99_ns", "max_ns"))
            table.add_row(kind, count_text(figures["count"]), *times)
    return table


def _links(summary: Mapping[str, Any]) -> Table:
    table = _table("Hottest links", "link", "use", "carried", "packets", "heads waited")
    for link in summary["hottest_links"][:TOP]:
        name = f"{link['node_name']} {link['port_name']} → {link['to_node_name']}"
        carried = bytes_text(link["payload_bytes"]), count_text(link["packets"])
        table.add_row(escape(name), _percent(link["use_percent"]), *carried, time_text(link["waited_ps"]))
    return table


def _gateways(summary: Mapping[str, Any]) -> Table:
    table = _table("Gateways", "gateway", "passed", "bytes", "use", "waited", "longest", "most queued")
    for which, *figures in gateways.rows(summary):
        table.add_row(escape(which), *figures)
    return table


def _mpi_calls(calls: pl.DataFrame) -> Table:
    table = _table("MPI calls, all ranks", "call", "calls", "time", "share")
    total = calls.group_by("call").agg(pl.col("calls").sum(), pl.col("time_ps").sum()).sort(["time_ps", "call"], descending=[True, False])
    whole = int(total["time_ps"].sum())
    for row in total.head(TOP).iter_rows(named=True):
        percent = _percent(100.0 * row["time_ps"] / whole if whole else 0.0)
        table.add_row(escape(row["call"]), count_text(row["calls"]), time_text(row["time_ps"]), percent)
    return table


def _critical_path(tables: Mapping[str, pl.DataFrame]) -> list[Table]:
    """What the run's end waited for, and the longest parts of that."""
    path = tables.get("critical_path")
    if path is None:
        return []
    whole = _table("Critical path", "what the end of the run waited for", "time", "share")
    for share in path_tables.shares(path, faults=len(tables.get("faults", ())) > 0):
        whole.add_row(escape(share.what), time_text(share.took_ps), _percent(share.percent))
    parts = _table("Its longest parts", "part", "begins", "took", "share")
    for text, begin, share in path_tables.longest(path):
        parts.add_row(escape(text), time_text(begin), time_text(share.took_ps), _percent(share.percent))
    return [whole, parts]
