# SPDX-License-Identifier: Apache-2.0
"""Figures of `exanet reproduce`: for each paper the curves that are ours, beside the points that it gives as numbers.

A new figure is one decorated function here. Curves are in the units of the paper's own picture; where the paper gives
one number without saying where on the axis it is, that is a level across the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exanet import _core
from exanet.errors import InputError
from exanet.karma import experiments as karma
from exanet.karma.awareness import awareness
from exanet.optional import VERILATED
from exanet.validate.experiments import apenet, bare_packets, mpi_bandwidth, mpi_latency, networks, spiking
from exanet.validate.registry import published
from exanet.validate.runner import RunFailed, Runner


@dataclass(frozen=True)
class Curve:
    """Points of a figure: ours are joined, published ones are not, unless they are a level."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    published: bool = False
    level: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure without a picture: axes and curves. `ticks` names the places 0, 1, ... of an axis of names."""

    title: str
    across: str
    up: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """How a figure comes about."""

    paper: str
    name: str
    draw: Callable[[Runner], Drawing]
    needs: tuple[str, ...]


_figures: list[Figure] = []


def figure(paper: str, name: str, needs: tuple[str, ...] = ()) -> Callable[[Callable[[Runner], Drawing]], Callable[[Runner], Drawing]]:
    """Declares that the function makes the paper's figure of that name."""

    def register(draw: Callable[[Runner], Drawing]) -> Callable[[Runner], Drawing]:
        _figures.append(Figure(paper, name, draw, needs))
        return draw

    return register


def figures(paper: str) -> list[Figure]:
    """Those of a paper."""
    return [one for one in _figures if one.paper == paper]


def _fact(row: str) -> float:
    return float(published()[row]["value"])


def _point(row: str, x: float, scale: float = 1) -> Curve:
    """A published figure at its place."""
    return Curve(f"{row}, published", (x,), (_fact(row) * scale,), published=True)


def _level(row: str, x: Sequence[float]) -> Curve:
    """A published figure whose place is not stated."""
    return Curve(f"{row}, published, place not stated", (x[0], x[-1]), (_fact(row),) * 2, published=True, level=True)


def _ours(label: str, points: dict[Any, float]) -> Curve:
    return Curve(label, tuple(float(x) for x in points), tuple(float(y) for y in points.values()))


@figure("prototype", "latency-by-hops", ("mpich",))
def latency_by_hops(runner: Runner) -> Drawing:
    machine = runner.machine(mpi_latency.MACHINE).resolve()
    start = mpi_latency.FIVE_HOPS[0]
    ends = {1: mpi_latency.ONE_HOP, 5: mpi_latency.FIVE_HOPS}
    for node in range(int(runner.machine(mpi_latency.MACHINE).nodes)):
        ends.setdefault(len(_core.route(machine, start, node)) - 1, (start, node))
    ours = {hops: mpi_latency.one_way_us(runner, ends[hops], hops) for hops in sorted(ends) if hops > 0}
    curves = (_ours(f"ours, {mpi_latency.SIZE} B", ours), _point("P03", 1), _point("P05", 5))
    return Drawing("MPI latency by path", "hops", "one way (µs)", curves)


@figure("prototype", "bandwidth-by-size", ("mpich",))
def bandwidth_by_size(runner: Runner) -> Drawing:
    sizes = [1 << bits for bits in range(10, 23, 2)]
    rates = runner.run("bandwidth", mpi_latency.MACHINE, mpi_latency.ONE_HOP, mpi_bandwidth.WINDOW, *sizes)["gbps"]
    capacity = runner.machine(mpi_latency.MACHINE).model.links["intra-qfdb"].rate.value / 1e9
    ours = {size: 100 * rates[str(size)] / capacity for size in sizes}
    return Drawing("Use of a link, one hop", "message (B)", "of the link (%)", (_ours("ours", ours), _level("P06", sizes)), True)


@figure("prototype", "broadcast-by-ranks", ("mpich",))
def broadcast_by_ranks(runner: Runner) -> Drawing:
    nodes = range(runner.machine(mpi_latency.MACHINE).nodes)
    ours = runner.run("broadcast", mpi_latency.MACHINE, nodes, mpi_latency.SIZE)["latency_us"]
    curves = (_ours(f"ours, {mpi_latency.SIZE} B", ours),)
    return Drawing("Broadcast by ranks (P09: no numbers published)", "ranks", "latency (µs)", curves, True)


@figure("micpro18", "packet-latency")
def packet_latency(runner: Runner) -> Drawing:
    near, far = (bare_packets.one_way_ns(runner, nodes) for nodes in (bare_packets.ONE_HOP, bare_packets.TWO_HOPS))
    curves = (
        _ours("ours, one hop", {size: ns / 1000 for size, ns in near.items()}),
        _ours("ours, two hops", {size: ns / 1000 for size, ns in far.items()}),
        _point("E01", 8),
        _point("E02", 256),
        _point("E03", 8),
    )
    return Drawing("Bare packets on the Trenz boards (figures 7 and 8)", "payload (B)", "one way (µs)", curves)


@figure("micpro18", "topologies")
def topologies(runner: Runner) -> Drawing:
    found = networks.neighbours(runner)
    least = found["torus"]["finished_ns"]
    names = tuple(found)
    theirs = tuple(float(part) for part in str(published()["E33"]["value"]).split(" : "))
    places = tuple(float(place) for place in range(len(names)))
    ours = Curve("ours, 64 ranks", places, tuple(done["finished_ns"] / least for done in found.values()))
    curves = (ours, Curve("E33, published", places, theirs, published=True))
    return Drawing("Time among neighbours (table 3)", "", "torus = 1", curves, ticks=names)


def _efficiency(rows: Sequence[karma.Row], flows: str, pause: int | None = None) -> dict[int, float]:
    chosen = [row for row in rows if row["flows"] == flows and (pause is None or row["pause_words"] == pause)]
    return {row["payload_bytes"]: float(row["efficiency_percent"]) for row in chosen}


def _verilated(measure: Callable[[], list[karma.Row]]) -> list[karma.Row]:
    try:
        return measure()
    except InputError as error:
        raise RunFailed(str(error)) from None


@figure("karma17", "router-efficiency", VERILATED)
def router_efficiency(runner: Runner) -> Drawing:
    rows = _verilated(karma.router_bandwidth)
    curves = [_ours(f"ours, {flows}", _efficiency(rows, flows)) for flows in ("1 sender", "2 senders to one port")]
    curves += [_point("K10", 512), _point("K12", 512)]
    return Drawing("Router (figure 9)", "payload (B)", "payload of 20 Gb/s (%)", tuple(curves))


@figure("karma17", "link-efficiency", VERILATED)
def link_efficiency(runner: Runner) -> Drawing:
    rows = _verilated(karma.link_bandwidth)
    curves = [
        _ours("ours", _efficiency(rows, "one way", 0)),
        _ours("ours, with a gearbox's pauses", _efficiency(rows, "one way", karma.PAUSE_WORDS)),
        _point("K14", 512),
    ]
    return Drawing("Link (figure 10)", "payload (B)", "payload of 10 Gb/s (%)", tuple(curves))


@figure("karma17", "round-trips", VERILATED)
def round_trips(runner: Runner) -> Drawing:
    rows = _verilated(lambda: karma.latency(line_cycles=karma.LINE_CYCLES))
    by_hops = {hops: {row["payload_bytes"]: row["round_trip_ns"] for row in rows if row["hops"] == hops} for hops in (1, 2)}
    curves = [_ours(f"ours, {hops} hop{'s' if hops > 1 else ''}, without processors", points) for hops, points in by_hops.items()]
    curves.append(_point("K08", 16))
    return Drawing("Round trips (figures 7 and 8; K08 is an upper bound, with processors)", "payload (B)", "round trip (ns)", tuple(curves))


@figure("red-sea", "spiking-speed-up")
def spiking_speed_up(runner: Runner) -> Drawing:
    ours = spiking.speed_ups(runner)
    theirs = tuple(float(value) for value in published()["R41"]["value"])
    curves = (
        _ours("ours, a written network of neurons", ours),
        Curve("R41, published, NEST on Dibona", tuple(ours), theirs, published=True),
    )
    return Drawing("Speed-up of spiking networks (table 1; inputs not published)", "cores", "speed-up", curves, True)


@figure("apenet13", "link-bandwidth")
def link_bandwidth(runner: Runner) -> Drawing:
    sizes = (64, 128, 256, 384, 512)
    ours = {size: float(apenet.loaded_link(runner, size)["payload_gbytes_per_s"]) for size in sizes}
    return Drawing("A full link by packets", "payload (B)", "payload (GB/s)", (_ours("ours", ours), _level("A05", sizes)))


@figure("apenet13", "awareness")
def awareness_by_period(runner: Runner) -> Drawing:
    rows = [row for row in awareness(line_cycles=karma.LINE_CYCLES) if row["kind"] == "host" and row["faults"] == 1]
    ours = {row["watchdog_ns"] / 1e6: row["global_mean_ns"] / row["watchdog_ns"] for row in rows}
    curves = (_ours("ours, a host's fault, 64 nodes", ours),)
    return Drawing("Until all know of a fault (A10: numbers not legible)", "watchdog's period (ms)", "periods", curves, True)
