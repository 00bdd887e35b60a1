# SPDX-License-Identifier: Apache-2.0
"""`exanet sim`: synthetic traffic on a machine's network, and what the network makes of it.

`simulate` is the same from Python: one point, as a dict. docs/simulate.md says what is measured.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import jobs, messages, units
from exanet.errors import InputError
from exanet.located import Located, Mark
from exanet.machine import Machine, load
from exanet.units import UnitError

_COSTS = ("cpu_s", "longest_cpu_s", "events", "memory_bytes")
"""What a point took: two repeats of a run, or runs with other numbers of threads, need not agree in these."""

_TABLES = ("latency", "links")
_WATCHED = ("queued", "first_watched")
ARRIVALS = ("poisson", "bernoulli", "bursts")
_DEFAULT_LOADS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"


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
    rounds: int = 1  # messages of a sender in a burst, one after the other
    grain_ps: int = 1000  # flow level: events so close are taken together
    pace: str = "free"  # of the senders of a burst at packet level, one of messages.PACES


def simulate(
    machine: Machine | str | dict[str, Any], *, offered: float, asked: Asked | None = None, threads: int = 1, progress: Any = None
) -> dict[str, Any]:
    """One point: `offered` of what a link carries from each sender; the columns of points.parquet, and the tables `latency` and `links`.

    The machine is a name, a file, a Machine, or what Machine.resolve() gives. Messages are sent all at once if `offered` is 0. What is
    measured is the same for any number of `threads`.
    `progress` is called with the share done while it runs. Raises InputError on what cannot be simulated.
    """
    from exanet import _core

    asked = asked or Asked()
    described = load(machine, packets=asked.level == "packet") if isinstance(machine, str) else machine
    resolved = described.resolve() if isinstance(described, Machine) else described
    largest = resolved["router"]["max_payload_bytes"]
    payload = largest if asked.packet_bytes is None else asked.packet_bytes
    if not 0 <= payload <= 65535:
        raise InputError(f"packets of {payload} bytes: give from 0 to the machine's largest payload, {largest}")
    if not 0 <= asked.seed < 1 << 64:
        raise InputError(f"seed {asked.seed}: give a whole number from 0 to 2^64 - 1")
    if not 1 <= threads <= 64:
        raise InputError(f"{threads} threads: give from 1 to 64, and no more than the machine has endpoints")
    arrivals, _, burst = asked.arrivals.partition(":")
    if arrivals not in ARRIVALS or (burst and (arrivals != "bursts" or not burst.isdecimal() or int(burst) == 0)):
        raise InputError(f"arrivals {asked.arrivals}: give {' or '.join(ARRIVALS)}, the last with a mean length in packets, e.g. bursts:16")
    options = {
        "pattern": asked.traffic,
        "load": offered,
        "packet_bytes": payload,
        "bernoulli": arrivals == "bernoulli",
        "burst": float(burst or 16) if arrivals == "bursts" else 0.0,
        "seed": asked.seed,
        "warm_up_ps": 2 * asked.measure_ps if asked.warm_up_ps is None else asked.warm_up_ps,
        "settle": asked.warm_up_ps is None,
        "measure_ps": asked.measure_ps,
        "threads": threads,
    }
    try:
        of_messages = messages.wanted(asked)
        traffic = messages.running(resolved, payload, offered, asked) if of_messages else _core.Traffic(resolved, options)
    except ValueError as error:
        raise InputError(str(error)) from None
    work(traffic, progress)
    point: dict[str, Any] = {"load": offered, **traffic.results()}
    return point


def work(traffic: Any, progress: Any) -> None:
    """Runs it in a thread, so that an interrupt is heard; `progress` is called with the share done."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            traffic.run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="exanet-sim")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
            if progress is not None:
                progress(traffic.progress())
    except BaseException:
        traffic.stop()
        thread.join()
        raise
    if failures:
        raise failures[0]


# -- the command -----------------------------------------------------------------------------------------------------------------------


def command(
    machine: Annotated[str, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")],
    traffic: Annotated[
        str,
        typer.Option(
            "--traffic",
            help="Who sends to whom: uniform, transpose, complement, reversal, shuffle, butterfly, tornado, neighbour, permutation, "
            "hot-spot[:SHARE], hot-region[:SHARE], incast[:SENDERS], all-to-all.",
        ),
    ] = "uniform",
    loads: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="LOAD,...",
            help="Offered loads, each measured for itself; 1 fills a link of each sender. By default 0.1 to 0.9; messages all at once.",
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            "--level", help="packet: every packet and hop; flow: messages at the rates of fair sharing, up to millions of endpoints."
        ),
    ] = "packet",
    message: Annotated[
        str | None,
        typer.Option(
            "--message", metavar="SIZE", help="Send messages of this size, e.g. 1 MiB, and tell when they arrive. Flow level: 64 KiB."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", help="Messages of each sender, each sent when the one before has arrived.")] = 1,
    grain: Annotated[str, typer.Option("--grain", help="Flow level: events within this time are taken together.")] = "1 ns",
    pace: Annotated[
        str,
        typer.Option("--pace", help="Packet level, messages: free, as fast as the network takes them; fair, at the flow level's rates."),
    ] = "free",
    packet_bytes: Annotated[
        int | None, typer.Option("--packet-bytes", help="Payload of a packet; by default the machine's largest.")
    ] = None,
    arrivals: Annotated[
        str, typer.Option("--arrivals", help="How packets are created: poisson, bernoulli, or bursts[:PACKETS].")
    ] = "poisson",
    warm_up: Annotated[
        str,
        typer.Option(
            "--warm-up",
            help="Simulated time before anything is measured; auto: until latency has settled, for messages a quarter of --measure.",
        ),
    ] = "auto",
    measure: Annotated[
        str | None, typer.Option("--measure", help="Simulated time of the measured window; by default 100 us, for messages 4 ms.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn; the same seed gives the same files.")] = 1,
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology",
            metavar="KIND:SHAPE",
            help="Another shape for the machine, e.g. torus:16,16,16 or dragonfly:13; docs/simulate.md has the kinds.",
        ),
    ] = None,
    routing: Annotated[
        str | None, typer.Option("--routing", help="Other ways: minimal, up-down, valiant, ugal-l, ugal-g, par, adaptive.")
    ] = None,
    failed: Annotated[
        list[str] | None,
        typer.Option("--fail", metavar="WHAT", help="A node or link that has failed, or how many at random: links:3:SEED, nodes:1:SEED."),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(
            "--job",
            metavar="NAME:KEY=VALUE,...",
            help="Instead of traffic at a load, a program that runs to its end, e.g. stencil-3d:bytes=4KiB,rounds=10; keys: ranks, bytes, "
            "rounds, pause. Several run together.",
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", help="Processors to use for each load, not for jobs; the results are the same for any number.")
    ] = 1,
    mapping: Annotated[str, typer.Option("--map", help="Endpoints of the jobs: linear, switch, node, random.")] = "linear",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the results; by default a new one here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Simulate a machine's network under synthetic traffic: accepted load, latency, link use, fairness by load; or messages or jobs."""
    described = variant(machine, topology, routing, failed or [], packets=level == "packet")
    if level == "flow" and described.model.topology.routing not in (None, "minimal", "up-down", "shortest"):
        raise InputError(f"routing {described.model.topology.routing} steers packets; take --level packet, or the machine's own ways")
    if job:
        if level != "packet" or message is not None or loads is not None:
            raise InputError("--job runs to its end at packet level, with its own messages: leave out --level, --message and --load")
        folder = _directory(output, described, job[0].partition(":")[0] + "-job")
        jobs.command(described, job, mapping, packet_bytes, seed, folder, as_json, quiet)
        return
    size = None if message is None else _size("--message", message)
    of_messages = level == "flow" or size is not None
    window = _time("--measure", measure or ("4 ms" if of_messages else "100 us"))
    asked = Asked(
        traffic, packet_bytes, arrivals, seed, None if warm_up == "auto" else _time("--warm-up", warm_up), window,
        level, size, rounds, _time("--grain", grain), pace,
    )  # fmt: skip
    wanted = [0.0] if messages.wanted(asked) and loads is None else _loads(loads or _DEFAULT_LOADS)
    if asked.rounds != 1 and wanted != [0.0]:
        raise InputError("--rounds is of messages that are sent all at once: leave out --load")
    directory = _directory(output, described, traffic)
    began = time.monotonic()
    points = list(_points(described, wanted, asked, threads, quiet))
    _write(directory, described, asked, points, threads, time.monotonic() - began)
    if as_json:
        typer.echo(json.dumps([figures(point) for point in points], indent=2))
    elif not quiet:
        show = messages.show if of_messages else _show
        show(described, asked, [figures(point) for point in points], sum(point["cpu_s"] for point in points), directory)


def _size(option: str, text: str) -> int:
    try:
        return units.parse(text, units.BYTES)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def variant(machine: str, topology: str | None, routing: str | None, failed: Sequence[str], *, packets: bool = True) -> Machine:
    """The machine with another topology, routing, or failures. Raises InputError on what does not fit."""
    place = Mark("command line")
    changes: dict[str, Any] = {}
    if topology is not None:
        kind, _, shape = topology.partition(":")
        sides = re.split(r"[,x]", shape)
        if not all(side.isdecimal() for side in sides):
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
    return load(machine, {name: _located(value, place) for name, value in changes.items()}, packets=packets)


def _located(value: Any, place: Mark) -> Located:
    return Located([_located(part, place) for part in value] if isinstance(value, list) else value, place)


def _loads(text: str) -> list[float]:
    try:
        wanted = [float(part) for part in text.split(",")]
    except ValueError:
        wanted = []
    if not wanted or not all(0 < value <= 1000 for value in wanted):
        raise InputError(f"--load {text}: give numbers above 0 with commas between them, e.g. 0.1,0.2,0.3; 1 fills a link of each sender")
    return sorted(set(wanted))


def _time(option: str, text: str) -> int:
    try:
        return units.parse(text, units.TIME)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def _directory(output: Path | None, described: Machine, traffic: str) -> Path:
    from exanet import run

    stem = f"exanet-sim-{described.name}-{traffic.replace(':', '-')}"
    free = (path for number in itertools.count(1) if not (path := Path(f"{stem}-{number}")).exists())
    return run.result_directory(run.Options(described.name, 0, (), directory=output or next(free)))


@contextmanager
def told(what: str, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A function that shows the share done on the terminal, if there is one; the line is gone afterwards."""
    shown = sys.stderr.isatty() and not quiet

    def tell(share: float) -> None:
        if shown:
            print(f"\r\x1b[Kexanet: {what}, {share:.0%}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _points(described: Machine, wanted: Sequence[float], asked: Asked, threads: int, quiet: bool) -> Iterator[dict[str, Any]]:
    for number, offered in enumerate(wanted, 1):
        with told(f"load {offered:g}, {number} of {len(wanted)}" if offered else "messages", quiet) as tell:
            point = simulate(described, offered=offered, asked=asked, threads=threads, progress=tell)
        yield point


# -- results ---------------------------------------------------------------------------------------------------------------------------


def figures(point: dict[str, Any]) -> dict[str, Any]:
    """The row of a point: all its single figures that the simulation alone determines."""
    row = {key: value for key, value in point.items() if key not in (*_TABLES, *_WATCHED, *_COSTS)}
    return row | {"hottest_link_use": float(point["links"]["use"].max()), "mean_link_use": float(point["links"]["use"].mean())}


def _write(directory: Path, described: Machine, asked: Asked, points: Sequence[dict[str, Any]], threads: int, wall_s: float) -> None:
    import platform
    from importlib.metadata import version

    import polars as pl

    from exanet import report, results

    rows = [figures(point) for point in points]
    tables = {"points": pl.DataFrame(rows)}
    for name in _TABLES:
        frames = [pl.DataFrame(dict(p[name])).insert_column(0, pl.lit(p["load"]).alias("load")) for p in points]
        tables[name] = pl.concat(frames)
    watched = [_queues(point, asked.measure_ps) for point in points if "queued" in point]
    if watched:
        tables["queues"] = pl.concat(watched)
    networks, drawings = _networks(described, asked, points)
    run = {"machine_name": described.name, **vars(asked), "exanet_version": version("exanet")}
    page = {
        "title": f"{asked.traffic} {'messages' if messages.wanted(asked) else 'traffic'} on {described.name}",
        "points": [
            [
                row["offered_load"], row["accepted_load"], row["latency_ns"], row["latency_p50_ns"], row["latency_p99_ns"],
                row["zero_load_ns"], row["saturated"], row["fairness"], row["hottest_link_use"], row["mean_hops"],
            ]
            for row in rows
        ],
        "run": run,
        "networks": networks,
        "drawings": drawings,
    }  # fmt: skip
    files = {f"{name}.parquet": results.parquet(frame) for name, frame in tables.items()}
    files["report.html"] = report.fill(str(page["title"]), page, ("format.js", "parts.js", "machine.js", "network.js", "sim.js")).encode()
    files["run.json"] = results.json_bytes(
        {
            "wall_s": wall_s,
            "threads": threads,
            **{key: [p[key] for p in points] for key in _COSTS if key in points[0]},
            "host_system": platform.platform(),
        }
    )
    files["summary.json"] = results.json_bytes({"run": run, "machine": described.resolve(), "points": rows})
    results.publish(directory, files)


def _queues(point: dict[str, Any], measure_ps: int) -> Any:
    """Packets standing in each router, sample by sample."""
    import polars as pl

    samples, routers = point["queued"].shape
    first = point["first_watched"]
    return pl.DataFrame(
        {
            "load": [point["load"]] * (samples * routers),
            "time_ns": [(i + 1) * measure_ps / samples / 1e3 for i in range(samples) for _ in range(routers)],
            "node": list(range(first, first + routers)) * samples,
            "packets": point["queued"].ravel(),
        }
    )


def _networks(described: Machine, asked: Asked, points: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the page shows of the network at each load, and its drawing."""
    from exanet import report

    shown = [(point, report.network(point, asked.measure_ps)) for point in points]
    if not any(network for _, network in shown):
        return [], {}
    drawing = report.drawing(described.resolve())
    entries = []
    for point, network in shown:
        report.queue_names(network, drawing["names"])
        entries.append({"label": f"load {point['load']:g}", "machine": described.name, **(network or {})})
    return entries, {described.name: drawing}


def _show(described: Machine, asked: Asked, rows: Sequence[dict[str, Any]], cpu_s: float, directory: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from exanet.quantity import time_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("offered", "accepted", "Gb/s", "mean latency", "", "median", "99 %", "empty", "hops", "hottest link", "fairness", ""):
        table.add_column(heading, justify="right")
    for row in rows:
        ns = {key: time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}
        table.add_row(
            f"{row['offered_load']:.3f}", f"{row['accepted_load']:.3f}", f"{row['accepted_gbps']:.1f}", ns["latency_ns"],
            f"± {ns['latency_error_ns']}", ns["latency_p50_ns"], ns["latency_p99_ns"], ns["zero_load_ns"], f"{row['mean_hops']:.2f}",
            f"{row['hottest_link_use']:.0%}", f"{row['fairness']:.3f}", "saturated" if row["saturated"] else "",
        )  # fmt: skip
    hops = sum(row["packet_hops"] for row in rows)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    senders = f"{rows[0]['senders']} of {described.nodes} endpoints send"
    console.print(f"[bold]{escape(asked.traffic)}[/] traffic on [bold]{described.name}[/], {senders}\n")
    console.print(table)
    console.print(
        f"\n{hops / max(cpu_s, 1e-9) / 1e6:.1f} M packet-hops a second of processor time. Results: {escape(str(directory))}", style="dim"
    )
