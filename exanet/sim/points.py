# SPDX-License-Identifier: Apache-2.0
"""Synthetic traffic on a machine's network, and what the network makes of it: `exanet sim` from Python.

`simulate` measures one point. docs/simulate.md says what is measured.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from exanet import _core, background, units
from exanet.bounds import check_seed, time_within, within
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.sim import congestion, matrix, messages
from exanet.sim.spec import ARRIVALS, TrafficSpec, of_messages

COSTS = ("cpu_s", "longest_cpu_s", "events", "memory_bytes")
"""Cost of a point: two repeats of a run, or runs with other numbers of threads, need not agree in these."""

TABLES = ("latency", "links", "sources", "pairs", "classes", "sizes", "flows", "flow_rates", "energy")
"""Parts of a point that are tables: sources and pairs of packets (pairs of up to 256 endpoints), classes with
priorities, sizes where messages' are drawn, flows through interfaces with costs, their rates over time where they are
sampled, energy if the machine says what it draws."""

CLASSES = ("bulk", "priority")

_WATCHED = ("queued", "first_watched", "link_use", "faults", "intervals", "interval_ns", "sample_ns", "asked_sample_ns", "wanted_window_ns")

RECOVERED = 0.9
"""Share of the throughput before the first fault from which on a network has recovered."""


def simulate(
    machine: Machine | str | dict[str, Any],
    *,
    offered: float,
    spec: TrafficSpec | None = None,
    threads: int = 1,
    sample_ps: int | None = None,
    progress: Any = None,
) -> dict[str, Any]:
    """One point: `offered` of what a link carries from each sender; the columns of points.parquet, which are what
    `--json` prints, and the tables TABLES.

    The machine is a name, a file, a Machine, or what Machine.resolve() gives. Messages are sent all at once if
    `offered` is 0. What is measured is the same for any number of `threads`. With `sample_ps`, messages at packet level
    also have rates of flows, use of links and queues in intervals of that time.
    `progress` is called with the share done while it runs. Raises InputError on what cannot be simulated.
    """
    spec = spec or TrafficSpec()
    described = load(machine, packets=spec.level == "packet") if isinstance(machine, str) else machine
    resolved = described.resolve() if isinstance(described, Machine) else described
    whole = of_messages(spec)
    payload = payload_of(resolved, spec)
    full = replace(spec, traffic=matrix.in_full(spec.traffic, resolved))
    options = packet_options(full, offered, payload, threads)
    if not whole:
        if sample_ps is not None:
            raise InputError("samples over time are of whole messages: give the packets a size of messages, or leave out the interval")
        congestion.refuse(resolved, "single packets have no flows that could be slowed down", "take sim messages")
    try:
        traffic = messages.running(resolved, payload, offered, full, sample_ps) if whole else _core.Traffic(resolved, options)
    except ValueError as error:
        raise InputError(str(error)) from None
    background.work(traffic, progress, resolved, {"load": offered, **vars(spec), "threads": threads})
    point: dict[str, Any] = {"load": offered, **_reported(traffic.results())}
    if sample_ps is not None:
        point["asked_sample_ns"] = sample_ps / 1e3
    if "intervals" in point:
        point |= recovery(point, float(point["warm_up_ns"]))
    if not whole:
        classes = point.pop("classes")
        if spec.priority_share > 0:
            point["classes"] = [{"class": name, **_reported(row)} for name, row in zip(CLASSES, classes, strict=True)]
    elif "sizes" in point:
        point["sizes"] = [_reported(row) for row in point["sizes"]]
    return _with_use(_with_energy(point, resolved, payload, spec, whole))


def _reported(row: dict[str, Any]) -> dict[str, Any]:
    """Figures of what arrived and of what was created, None where nothing was."""
    unknown = [] if row["measured"] else ["latency", "network_latency", "slowdown"]
    unknown += [] if row["measured" if "slowdown" in row else "created"] else ["zero_load"]
    return {key: None if key.startswith(tuple(unknown)) and not isinstance(value, dict) else value for key, value in row.items()}


def payload_of(resolved: dict[str, Any], spec: TrafficSpec) -> int:
    """Bytes of a packet: as asked, or the machine's largest. Raises InputError on what its packets do not carry."""
    largest = int(resolved["router"]["max_payload_bytes"])
    payload = largest if spec.packet_bytes is None else spec.packet_bytes
    within("packets of", payload, int(of_messages(spec)), largest, units.format_bytes)
    return payload


def packet_options(spec: TrafficSpec, offered: float, payload: int, threads: int) -> dict[str, Any]:
    """The core's arguments for single packets. Raises InputError."""
    check_seed(spec.seed)
    time_within("a measured window of", spec.measure_ps, 1000)
    time_within("a warm-up of", 0 if spec.warm_up_ps is None else spec.warm_up_ps)
    if not hasattr(threads, "__index__") or not 1 <= threads <= 64:
        raise InputError(f"{threads} threads: give from 1 to 64, and no more than the machine has endpoints")
    if not isinstance(spec.priority_share, int | float) or not 0 <= spec.priority_share <= 1:
        raise InputError(f"a share of {spec.priority_share} with priority: give from 0 to 1")
    arrivals, colon, burst = str(spec.arrivals).partition(":")
    long = re.fullmatch("0*[1-9][0-9]{0,5}|1000000", burst) is not None
    if arrivals not in ARRIVALS or (colon and not (arrivals == "bursts" and long)):
        raise InputError(
            f"arrivals {str(spec.arrivals)[:40]}: give {' or '.join(ARRIVALS)}, these of up to 10^6 packets on average, e.g. bursts:16"
        )
    return {
        "pattern": spec.traffic,
        "load": offered,
        "packet_bytes": payload,
        "bernoulli": arrivals == "bernoulli",
        "burst": float(burst or 16) if arrivals == "bursts" else 0.0,
        "priority_share": spec.priority_share,
        "seed": spec.seed,
        "warm_up_ps": 2 * spec.measure_ps if spec.warm_up_ps is None else spec.warm_up_ps,
        "settle": spec.warm_up_ps is None,
        "measure_ps": spec.measure_ps,
        "threads": threads,
    }


def _with_energy(point: dict[str, Any], resolved: dict[str, Any], payload: int, spec: TrafficSpec, whole: bool) -> dict[str, Any]:
    """The point with the table `energy` and its sums, if the machine says what it draws."""
    window_ps = point["completion_ns"] * 1e3 if whole and point["load"] == 0 else float(spec.measure_ps)
    if whole:
        sent_bytes = round(point["accepted_gbps"] * window_ps / 8e3)
        packets = sent_bytes / point["mean_message_bytes"] * point["mean_message_packets"]
    else:
        packets = point["accepted"]
        sent_bytes = packets * payload
    from exanet.results import energy

    rows = energy.table(resolved, point["links"], time_ps=window_ps, packets=packets, payload_bytes=sent_bytes)
    return {**point, **energy.totals(rows, sent_bytes), **({"energy": rows} if rows else {})}


def recovery(point: dict[str, Any], settled_ns: float) -> dict[str, Any]:
    """How far throughput falls in a fault, and how long it takes to be as before.

    The mean of the intervals from `settled_ns` to the first fault is what it was. An interval is low where it has less
    than RECOVERED of that, and is below it by more than three standard deviations of those intervals. The network has
    recovered with the end of the last low interval. None: throughput was not known before, or the last one is low.
    """
    import numpy as np

    begin, packets = point["intervals"]["begin_ns"], point["intervals"]["delivered_packets"].astype(float)
    times = [time / 1e3 for time in point["faults"]["time_ps"]]
    unknown: dict[str, Any] = {"least_throughput_percent": None, "recovery_ns": None}
    first = min(times, default=float(begin[-1]) + point["interval_ns"])
    before = packets[(begin >= settled_ns) & (begin + point["interval_ns"] <= first)]
    if not len(before) or before.mean() == 0:
        return unknown
    share = packets[begin + point["interval_ns"] > first] / before.mean()
    if not len(share):
        return unknown
    low = np.flatnonzero(share < min(RECOVERED, 1 - 3 * before.std() / before.mean()))
    after = int(low[-1]) + 1 if len(low) else 0
    ends = begin[begin + point["interval_ns"] > first] + point["interval_ns"]
    recovered = None if after == len(share) else 0.0 if after == 0 else float(ends[after - 1]) - first
    return {"least_throughput_percent": 100 * float(share.min()), "recovery_ns": recovered}


def _with_use(point: dict[str, Any]) -> dict[str, Any]:
    """The point with the greatest and the mean use of its links."""
    use = point["links"]["use"]
    return point | {"hottest_link_use": float(use.max()), "mean_link_use": float(use.mean())}


def figures(point: dict[str, Any]) -> dict[str, Any]:
    """The row of a point: all its single figures that the simulation alone determines."""
    return {key: value for key, value in point.items() if key not in (*TABLES, *_WATCHED, *COSTS)}


def senders(point: dict[str, Any]) -> dict[str, Any]:
    """The tables of a point that say who sent: of sources, and of pairs where there is one."""
    return {name: point[name] for name in ("sources", "pairs") if name in point}
