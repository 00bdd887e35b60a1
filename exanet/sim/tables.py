# SPDX-License-Identifier: Apache-2.0
"""The tables that the modes of `exanet sim` print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from exanet import level as levels
from exanet import terminal, units
from exanet.machine import Machine
from exanet.quantity import count_text, counted, many_text, time_text
from exanet.results import energy
from exanet.sim import congestion, flows, samples
from exanet.sim.matrix import lists_flows
from exanet.sim.spec import TrafficSpec, size_of
from exanet.units import format_bytes


def most_accepted(rows: Sequence[dict[str, Any]]) -> str:
    """Highest accepted load, and the load from which on the network was saturated, for terminal and page; nothing of
    a single point."""
    loads = [row for row in rows if row["load"]]
    if len(loads) < 2:
        return ""
    best = max(loads, key=lambda row: float(row["accepted_load"]))
    beyond = [row["load"] for row in loads if row["saturated"]]
    unknown = [f"{row['load']:g}" for row in loads if row["saturated"] is None]
    if beyond:
        where = f"saturated from load {min(beyond):g} on"
    else:
        where = f"not saturated at any of these loads{' with a verdict' if unknown else ''}"
    if unknown:
        where += f"; the window is too short for a verdict at load {', '.join(unknown)}"
    return f"The most accepted is {best['accepted_load']:.3f}, {best['accepted_gbps']:.1f} Gb/s, at load {best['load']:g}; {where}."


_VICTIM = 2
"""A sender is a victim if its packets take so many times the mean latency of all, or longer."""

_SHOWN_VICTIMS = 3


def victims(point: dict[str, Any]) -> tuple[int, list[str]]:
    """How many senders have packets that take twice the mean latency of all or longer, and a line about each of the
    three that have the longest.

    Of networks with a table of pairs, the line names the sender's slowest destination.
    """
    sources, mean = point.get("sources"), point["latency_ns"]
    if not sources or not mean:
        return 0, []
    import numpy as np

    slow = np.flatnonzero(np.nan_to_num(sources["latency_ns"]) >= _VICTIM * mean)
    first = slow[np.argsort(-sources["latency_ns"][slow], kind="stable")][:_SHOWN_VICTIMS]
    lines = []
    for index in first:
        node, took = int(sources["source"][index]), float(sources["latency_ns"][index])
        text = f"node {node}: {time_text(took * 1e3)} on average, {took / mean:.1f} times the mean of all"
        if "pairs" in point:
            own = np.flatnonzero(point["pairs"]["source"] == node)
            worst = own[int(np.argmax(np.nan_to_num(point["pairs"]["latency_ns"][own])))]
            text += f"; the slowest to node {int(point['pairs']['destination'][worst])}"
        lines.append(text)
    return len(slow), lines


def _show_victims(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Of the highest load at which there are any."""
    for row in sorted(rows, key=lambda row: -float(row["load"])):
        number, lines = victims(row)
        if number:
            some = f"{number} of {counted(row['senders'], 'sender')}"
            console.print(f"\nAt load {row['load']:g}, packets of {some} take {_VICTIM} times the mean latency or longer:")
            for text in lines:
                console.print(f"  {text}")
            return


def show_packets(described: Machine, spec: TrafficSpec, rows: Sequence[dict[str, Any]], cpu_s: float, directory: Path) -> None:
    """A line for each load; `rows` as in points.parquet."""
    table = terminal.table(
        "offered", "accepted", "Gb/s", "mean latency", "", "median", "99 %", "empty", "hops", "hottest link", "fairness", "", left=0
    )
    for row in rows:
        ns = _times(row)
        table.add_row(
            f"{row['offered_load']:.3f}", f"{row['accepted_load']:.3f}", f"{row['accepted_gbps']:.1f}", _biased(row) + ns["latency_ns"],
            f"± {ns['latency_error_ns']}", ns["latency_p50_ns"], ns["latency_p99_ns"], ns["zero_load_ns"], f"{row['mean_hops']:.2f}",
            f"{row['hottest_link_use']:.0%}", f"{row['fairness']:.3f}", _verdict(row),
        )  # fmt: skip
    hops = sum(row["packet_hops"] for row in rows)
    console = terminal.console()
    senders = f"{rows[0]['senders']} of {counted(described.nodes, 'endpoint')} send"
    console.print(f"[bold]{escape(spec.traffic)}[/] traffic on [bold]{described.name}[/]{escape(described.label)}, {senders}\n")
    console.print(table)
    _show_most(console, rows)
    _show_victims(console, rows)
    if any(row["overtaken"] for row in rows):
        worst = max(rows, key=lambda row: float(row["overtaken"]))
        console.print(
            f"\nPackets overtake each other: at load {worst['load']:g}, {worst['overtaken']:.1%} came after a later one between the same "
            f"endpoints, by up to {time_text(worst['overtaken_ns'] * 1e3)}."
        )
    _warn(console, spec.level, described)
    console.print(
        f"\n{hops / max(cpu_s, 1e-9) / 1e6:.1f} M packet-hops a second of processor time. Results: {escape(str(directory))}", style="dim"
    )


def show_messages(described: Machine, spec: TrafficSpec, rows: Sequence[dict[str, Any]], cpu_s: float, directory: Path) -> None:
    """A line for each point; `rows` as in points.parquet."""
    table = terminal.table(
        "offered", "accepted", "Gb/s", "all done", "mean message", "median", "99 %", "empty", "slowdown", "99 %", "hops", "hottest link",
        "fairness", "", left=0,
    )  # fmt: skip
    for row in rows:
        ns = _times(row)
        slowdown, slowdown99 = ("?" if row[key] is None else f"{row[key]:.2f}" for key in ("slowdown", "slowdown_p99"))
        table.add_row(
            f"{row['offered_load']:.3f}" if row["load"] else "burst", f"{row['accepted_load']:.3f}", f"{row['accepted_gbps']:.1f}",
            ns["completion_ns"] if not row["load"] else "", _biased(row) + ns["latency_ns"], ns["latency_p50_ns"], ns["latency_p99_ns"],
            ns["zero_load_ns"],
            slowdown, slowdown99, f"{row['mean_hops']:.2f}", f"{row['hottest_link_use']:.0%}",
            f"{row['fairness']:.3f}", _verdict(row),
        )  # fmt: skip
    console = terminal.console()
    size = (
        "sizes of their own"
        if lists_flows(spec.traffic)
        else f"{spec.message_sizes} sizes"
        if spec.message_sizes
        else format_bytes(size_of(spec))
    )
    shared = " with FIFO sharing" if spec.sharing == "fifo" else ""
    console.print(
        f"Messages of {size}, [bold]{escape(spec.traffic)}[/], on [bold]{described.name}[/]{escape(described.label)} "
        f"at {spec.level} level{shared}, "
        f"{rows[0]['senders']} of {counted(described.nodes, 'endpoint')} send\n"
    )
    console.print(table)
    _show_most(console, rows)
    _warn(console, spec.level, described, spec.sharing)
    if (control := congestion.control_of(described.resolve())) != "none" or spec.nic not in (None, "ideal"):
        nic = spec.nic or congestion.serving(control)
        console.print(f"\nMessages are RDMA transfers of {nic} interfaces, congestion control: [bold]{control}[/]", style="dim")
    count = sum(row["created"] for row in rows)
    console.print(f"\n{counted(count, 'message')} in {cpu_s:.2f} s of processor time. Results: {escape(str(directory))}", style="dim")


def _verdict(row: dict[str, Any]) -> str:
    return "?" if row["saturated"] is None else "saturated" if row["saturated"] else ""


def no_verdict(point: dict[str, Any], window_ps: int) -> str:
    """That the window is too short to judge whether the load is saturated; "" where it is not."""
    if point["saturated"] is not None:
        return ""
    wanted_ps = math.ceil(point["wanted_window_ns"] * 1e3)
    step = 10 ** max(len(str(wanted_ps)) - 2, 0)
    wanted = units.format_time(-(-wanted_ps // step) * step).replace(" ", "")
    why = "what began in it had no time to arrive" if point["created"] else "nothing began in it"
    return (
        f"the window of {time_text(window_ps)} is too short to judge whether load {point['load']:g} is saturated ({why}): "
        f"give --measure {wanted} or more"
    )


def _show_most(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    if text := most_accepted(rows):
        console.print(f"\n{text}")


def _warn(console: Console, level: str, described: Machine, sharing: str = "max-min") -> None:
    for text in levels.caveats(level, described, sharing):
        console.print(f"\n[yellow]note[/]: {escape(text)}")


def show_jobs(what: str, figures: dict[str, Any], rows: list[dict[str, Any]], directory: Path, level: str, described: Machine) -> None:
    """A line for each job; `what` is what they ran on, `figures` those of all of them together."""
    table = terminal.table("job", "ranks", "rounds", "finished", "first rank", "messages", "mean message", "median", "99 %", "fairness")
    for row in rows:
        ns = {key: time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}
        table.add_row(
            escape(row["text"]), f"{row['ranks']}", f"{row['rounds']}", ns["finished_ns"], ns["first_finished_ns"],
            f"{row['messages']}", ns["message_ns"], ns["message_p50_ns"], ns["message_p99_ns"], f"{row['fairness']:.3f}",
        )  # fmt: skip
    console = terminal.console()
    took = (
        f" in {time_text(figures['packet_latency_ns'] * 1e3)}" if figures["packet_latency_ns"] else ""
    )  # at flow level, nothing is known of it
    console.print(f"[bold]{counted(len(rows), 'job')}[/] on {escape(what)}\n")
    console.print(table)
    _warn(console, level, described)
    console.print(
        f"\nFinished after {time_text(figures['finished_ns'] * 1e3)}; a packet passed {figures['mean_hops']:.2f} links{took} on average"
        f"{_walks(figures)}. "
        f"Results: {escape(str(directory))}",
        style="dim",
    )
    if "power_w" in figures:
        console.print(f"Network: {energy.text(figures)}")
    if "lost_packets" in figures:
        console.print(_lost(figures))


def _lost(figures: dict[str, Any]) -> str:
    """Of a simulation with --faults."""
    again = f", {count_text(figures['retransmitted_packets'])} sent again" if "retransmitted_packets" in figures else ""
    text = f"Faults: {many_text(figures['lost_packets'], 'packet')} lost{again}; what failed when is in faults.parquet"
    if (least := figures.get("least_throughput_percent")) is None:
        return text
    took = figures["recovery_ns"]
    known = "not recovered by the end" if took is None else "no lasting dip" if took == 0 else f"recovered after {time_text(took * 1e3)}"
    return f"{text}; throughput fell to {least:.0f} %, {known} (intervals.parquet)"


def _walks(figures: dict[str, Any]) -> str:
    """Of jobs on a machine with `ni.pages`."""
    lookups = figures.get("page_lookups", 0)
    return f"; {count_text(figures['page_walks'])} walks for {count_text(lookups)} pages" if lookups else ""


def notes(points: Sequence[dict[str, Any]], spec: TrafficSpec) -> list[str]:
    """Of points whose window was too short for a verdict, and of samples that are further apart than was asked for."""
    return [text for point in points for text in (no_verdict(point, spec.measure_ps), samples.note(point)) if text]


def show_parts(points: Sequence[dict[str, Any]], spec: TrafficSpec) -> None:
    """Notes, then figures of priorities, sizes, flows and energy where there are any, a line each."""
    console = terminal.console()
    for text in notes(points, spec):
        console.print(f"\n[yellow]note[/]: {escape(text)}")
    for point in points:
        where = f"load {point['load']:g}" if point["load"] else "burst"
        if "lost_packets" in point:
            console.print(f"{where}: {_lost(point)}")
        for row in point.get("classes", ()):
            ns = _times(row)
            console.print(
                f"{where}, {row['class']}: accepted {row['accepted_load']:.3f} of {row['offered_load']:.3f}, mean latency "
                f"{ns['latency_ns']}, median {ns['latency_p50_ns']}, 99 % {ns['latency_p99_ns']}"
            )
        for row in point.get("sizes", ()):
            if row["measured"] == 0:
                continue
            ns = _times(row)
            longest = "longer" if row["most_bytes"] is None else f"up to {row['most_bytes'] // 1000} kB"
            console.print(
                f"{where}, {longest}: {row['measured']} of {row['created']} messages, mean {ns['latency_ns']}, 99 % {ns['latency_p99_ns']};"
                f" slowdown {row['slowdown']:.2f}, median {row['slowdown_p50']:.2f}, 99 % {row['slowdown_p99']:.2f}"
            )
        if "flows" in point:
            flows.show(console, where, point["flows"])
        if "energy" in point:
            console.print(f"{where}, network: {energy.text(point)}")


def _biased(row: dict[str, Any]) -> str:
    """Before a mean latency: what has not arrived would make it longer."""
    return "> " if 0 < row["measured"] < row["created"] else ""


def _times(row: dict[str, Any]) -> dict[str, str]:
    """The times of a row as they are shown."""
    return {key: "?" if row[key] is None else time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}
