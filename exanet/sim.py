# SPDX-License-Identifier: Apache-2.0
"""Synthetic traffic on a machine's network, and what the network makes of it: `exanet sim` from Python.

`simulate` measures one point, `variant` gives a machine another topology, routing or failures. docs/simulate.md says what is measured.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exanet import energy, messages, units
from exanet.bounds import check_seed, time_within, within
from exanet.errors import InputError
from exanet.located import values
from exanet.machine import Machine, load

COSTS = ("cpu_s", "longest_cpu_s", "events", "memory_bytes")
"""What a point took: two repeats of a run, or runs with other numbers of threads, need not agree in these."""

TABLES = ("latency", "links", "classes", "sizes", "energy")
"""Parts of a point that are tables: classes with priorities, sizes where messages' are drawn, energy if the machine says what it draws."""

CLASSES = ("bulk", "priority")

_WATCHED = ("queued", "first_watched", "link_use")
ARRIVALS = ("poisson", "bernoulli", "bursts")


@dataclass(frozen=True)
class Asked:
    """What every point of a run has in common."""

    traffic: str = "uniform"
    packet_bytes: int | None = None  # None: the largest payload of the machine's packets
    arrivals: str = "poisson"
    seed: int = 1
    warm_up_ps: int | None = None  # None: until latency has settled, and twice the measured window at most
    measure_ps: int = 100_000_000
    level: str = "packet"  # one of messages.LEVELS
    message_bytes: int | None = None  # None: single packets; at flow level, messages.DEFAULT_BYTES
    message_sizes: str | None = None  # instead of message_bytes: a distribution of sizes, one of messages.distributions()
    rounds: int = 1  # messages of a sender in a burst, one after the other
    grain_ps: int = 1000  # flow level: events so close are taken together
    sharing: str = "max-min"  # flow level, one of messages.SHARINGS
    pace: str = "free"  # of the senders of a burst at packet level, one of messages.PACES
    priority_share: float = 0.0  # of single packets: those that overtake the others in arbitration


def simulate(
    machine: Machine | str | dict[str, Any], *, offered: float, asked: Asked | None = None, threads: int = 1, progress: Any = None
) -> dict[str, Any]:
    """One point: `offered` of what a link carries from each sender; the columns of points.parquet, and the tables TABLES.

    The machine is a name, a file, a Machine, or what Machine.resolve() gives. Messages are sent all at once if `offered` is 0. What is
    measured is the same for any number of `threads`.
    `progress` is called with the share done while it runs. Raises InputError on what cannot be simulated.
    """
    from exanet import _core

    asked = asked or Asked()
    described = load(machine, packets=asked.level == "packet") if isinstance(machine, str) else machine
    resolved = described.resolve() if isinstance(described, Machine) else described
    of_messages = messages.wanted(asked)
    payload = payload_of(resolved, asked)
    options = packet_options(asked, offered, payload, threads)
    try:
        traffic = messages.running(resolved, payload, offered, asked) if of_messages else _core.Traffic(resolved, options)
    except ValueError as error:
        raise InputError(str(error)) from None
    work(traffic, progress)
    point: dict[str, Any] = {"load": offered, **traffic.results()}
    if not of_messages:
        classes = point.pop("classes")
        if asked.priority_share > 0:
            point["classes"] = [{"class": name, **row} for name, row in zip(CLASSES, classes, strict=True)]
    return _with_energy(point, resolved, payload, asked, of_messages)


def payload_of(resolved: dict[str, Any], asked: Asked) -> int:
    """Bytes of a packet: as asked, or the machine's largest. Raises InputError on what its packets do not carry."""
    largest = int(resolved["router"]["max_payload_bytes"])
    payload = largest if asked.packet_bytes is None else asked.packet_bytes
    within("packets of", payload, int(messages.wanted(asked)), largest, units.format_bytes)
    return payload


def packet_options(asked: Asked, offered: float, payload: int, threads: int) -> dict[str, Any]:
    """What the core takes for single packets. Raises InputError."""
    check_seed(asked.seed)
    time_within("a measured window of", asked.measure_ps, 1000)
    time_within("a warm-up of", 0 if asked.warm_up_ps is None else asked.warm_up_ps)
    if not 1 <= threads <= 64:
        raise InputError(f"{threads} threads: give from 1 to 64, and no more than the machine has endpoints")
    if not 0 <= asked.priority_share <= 1:
        raise InputError(f"a share of {asked.priority_share} with priority: give from 0 to 1")
    arrivals, colon, burst = asked.arrivals.partition(":")
    long = re.fullmatch("0*[1-9][0-9]{0,5}|1000000", burst) is not None
    if arrivals not in ARRIVALS or (colon and not (arrivals == "bursts" and long)):
        raise InputError(
            f"arrivals {asked.arrivals[:40]}: give {' or '.join(ARRIVALS)}, these with a mean length up to 10^6 packets, e.g. bursts:16"
        )
    return {
        "pattern": asked.traffic,
        "load": offered,
        "packet_bytes": payload,
        "bernoulli": arrivals == "bernoulli",
        "burst": float(burst or 16) if arrivals == "bursts" else 0.0,
        "priority_share": asked.priority_share,
        "seed": asked.seed,
        "warm_up_ps": 2 * asked.measure_ps if asked.warm_up_ps is None else asked.warm_up_ps,
        "settle": asked.warm_up_ps is None,
        "measure_ps": asked.measure_ps,
        "threads": threads,
    }


def _with_energy(point: dict[str, Any], resolved: dict[str, Any], payload: int, asked: Asked, of_messages: bool) -> dict[str, Any]:
    """The point with the table `energy` and its sums, if the machine says what it draws."""
    window_ps = point["completion_ns"] * 1e3 if of_messages and point["load"] == 0 else float(asked.measure_ps)
    if of_messages:
        sent_bytes = round(point["accepted_gbps"] * window_ps / 8e3)
        packets = sent_bytes / point["mean_message_bytes"] * point["mean_message_packets"]
    else:
        packets = point["accepted"]
        sent_bytes = packets * payload
    rows = energy.table(resolved, point["links"], time_ps=window_ps, packets=packets, payload_bytes=sent_bytes)
    return {**point, **energy.totals(rows, sent_bytes), **({"energy": rows} if rows else {})}


def work(traffic: Any, progress: Any) -> None:
    """Runs it in a thread, so that an interrupt is heard; `progress` is called with the share done.

    What interrupts it, once or several times, stops it and is raised when it has ended. The end is told by an event and not by join(),
    which takes a thread for ended when it is interrupted itself (CPython 3.11).
    """
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            traffic.run()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, name="exanet-sim").start()
    interrupts: list[BaseException] = []
    while True:
        try:
            if ended.wait(0.2):
                break
            if progress is not None and not interrupts:
                progress(traffic.progress())
        except BaseException as error:
            interrupts.append(error)
            traffic.stop()
    if interrupts or failures:
        raise (interrupts or failures)[0]


def figures(point: dict[str, Any]) -> dict[str, Any]:
    """The row of a point: all its single figures that the simulation alone determines."""
    row = {key: value for key, value in point.items() if key not in (*TABLES, *_WATCHED, *COSTS)}
    return row | {"hottest_link_use": float(point["links"]["use"].max()), "mean_link_use": float(point["links"]["use"].mean())}


def variant(machine: str, topology: str | None, routing: str | None, failed: Sequence[str], *, packets: bool = True) -> Machine:
    """The machine with another topology, routing, or failures. Raises InputError on what does not fit."""
    changes: dict[str, Any] = {}
    if topology is not None:
        kind, _, shape = topology.partition(":")
        sides = re.split(r"[,x]", shape)
        if kind == "graph":
            raise InputError(
                f"--topology {topology}: a graph is described by a file: name it in a machine file, with 'kind: graph' (docs/simulate.md)"
            )
        if not all(re.fullmatch("[0-9]{1,18}", side) for side in sides):
            raise InputError(f"--topology {topology}: give a kind and its figures, e.g. torus:16,16,16")
        name = re.sub("[^a-z0-9]+", "-", topology.lower()).strip("-")
        changes = {
            "topology.kind": kind,
            "topology.shape": [int(side) for side in sides],
            "name": name,
            "description": f"{topology} of {machine}",
        }
    if routing is not None:
        changes["topology.routing"] = routing
    if failed:
        changes["topology.failed"] = list(failed)
    return load(machine, values(changes, "command line"), packets=packets)
