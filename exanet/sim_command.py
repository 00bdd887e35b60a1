# SPDX-License-Identifier: Apache-2.0
"""`exanet sim`: the command."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import energy, jobs, messages, sim_options, sim_results, units
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.messages import check_level
from exanet.progress import told
from exanet.sim import Asked, figures, simulate, variant
from exanet.units import UnitError

_DEFAULT_LOADS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"


def command(
    context: typer.Context,
    machine: Annotated[str, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")],
    traffic: Annotated[
        str,
        typer.Option(
            "--traffic",
            help="Who sends to whom: uniform, transpose, complement, reversal, shuffle, butterfly, tornado, neighbour, permutation, "
            "hot-spot[:SHARE], hot-region[:SHARE], incast[:SENDERS], next-group[:SIZE], all-to-all.",
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
            "--message",
            metavar="SIZE",
            help="Send messages of this size, e.g. 1 MiB, or of sizes as in data centres: web-search, hadoop, ali-storage; and tell "
            "when they arrive. Flow level: 64 KiB.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", help="Messages of each sender, each sent when the one before has arrived.")] = 1,
    sharing: Annotated[
        str,
        typer.Option(
            "--sharing", help="Flow level: max-min, what the network can carry; fifo, what senders get of it who give all they can."
        ),
    ] = "max-min",
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
    priority: Annotated[
        float, typer.Option("--priority", help="Share of the packets that overtake the others in routers; told apart.")
    ] = 0.0,
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
    check_level(level)
    sizes = message if message in messages.distributions() else None
    size = None if message is None or sizes is not None else _size("--message", message)
    of_messages = level == "flow" or message is not None
    burst = of_messages and loads is None
    sim_options.check(_given(context), of_jobs=bool(job), of_messages=of_messages, flow=level == "flow", burst=burst)
    described = variant(machine, topology, routing, failed or [], packets=level == "packet")
    if job:
        folder = _directory(output, described, job[0].partition(":")[0] + "-job")
        jobs.command(described, job, mapping, packet_bytes, seed, level, folder, as_json, quiet, fresh=output is None)
        return
    window = _time("--measure", ("4 ms" if of_messages else "100 us") if measure is None else measure)
    asked = Asked(
        traffic, packet_bytes, arrivals, seed, None if warm_up == "auto" else _time("--warm-up", warm_up), window,
        level, size, sizes, rounds, _time("--grain", grain), sharing, pace, priority,
    )  # fmt: skip
    wanted = [0.0] if burst else _loads(_DEFAULT_LOADS if loads is None else loads)
    directory = _directory(output, described, traffic)
    began = time.monotonic()
    points = list(_points(described, wanted, asked, threads, quiet))
    directory = sim_results.write(directory, described, asked, points, threads, time.monotonic() - began, fresh=output is None)
    if as_json:
        typer.echo(json.dumps([figures(point) for point in points], indent=2))
    elif not quiet:
        show = messages.show if of_messages else _show
        show(described, asked, [figures(point) for point in points], sum(point["cpu_s"] for point in points), directory)
        _show_tables(points)


def _given(context: typer.Context) -> list[str]:
    """The options that stand on the command line."""
    sources = {option.opts[0]: context.get_parameter_source(option.name or "") for option in context.command.params}
    return [option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _size(option: str, text: str) -> int:
    try:
        return units.parse(text, units.BYTES)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def _loads(text: str) -> list[float]:
    try:
        wanted = [float(part) for part in text.split(",")]
    except ValueError:
        wanted = []
    if not wanted or "_" in text or not all(0 < value <= 1000 for value in wanted):
        raise InputError(f"--load {text}: give numbers above 0 with commas between them, e.g. 0.1,0.2,0.3; 1 fills a link of each sender")
    return sorted(set(wanted))


def _time(option: str, text: str) -> int:
    try:
        return units.parse(text, units.TIME)
    except UnitError as error:
        raise InputError(f"{option}: {error}") from None


def _directory(output: Path | None, described: Machine, traffic: str) -> Path:
    from exanet import run

    return run.result_directory("sim", output, f"exanet-sim-{described.name}-{traffic.replace(':', '-')}")


def _points(described: Machine, wanted: Sequence[float], asked: Asked, threads: int, quiet: bool) -> Iterator[dict[str, Any]]:
    for number, offered in enumerate(wanted, 1):
        with told(f"load {offered:g}, {number} of {len(wanted)}" if offered else "messages", quiet) as tell:
            point = simulate(described, offered=offered, asked=asked, threads=threads, progress=tell)
        yield point


def _show(described: Machine, asked: Asked, rows: Sequence[dict[str, Any]], cpu_s: float, directory: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("offered", "accepted", "Gb/s", "mean latency", "", "median", "99 %", "empty", "hops", "hottest link", "fairness", ""):
        table.add_column(heading, justify="right")
    for row in rows:
        ns = _times(row)
        table.add_row(
            f"{row['offered_load']:.3f}", f"{row['accepted_load']:.3f}", f"{row['accepted_gbps']:.1f}", ns["latency_ns"],
            f"± {ns['latency_error_ns']}", ns["latency_p50_ns"], ns["latency_p99_ns"], ns["zero_load_ns"], f"{row['mean_hops']:.2f}",
            f"{row['hottest_link_use']:.0%}", f"{row['fairness']:.3f}", "saturated" if row["saturated"] else "",
        )  # fmt: skip
    hops = sum(row["packet_hops"] for row in rows)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    senders = f"{rows[0]['senders']} of {described.nodes} endpoints send"
    console.print(
        f"[bold]{escape(asked.traffic)}[/] traffic on [bold]{described.name}[/]{escape(sim_results.ways(described))}, {senders}\n"
    )
    console.print(table)
    console.print(
        f"\n{hops / max(cpu_s, 1e-9) / 1e6:.1f} M packet-hops a second of processor time. Results: {escape(str(directory))}", style="dim"
    )


def _times(row: dict[str, Any]) -> dict[str, str]:
    """The times of a row as they are shown."""
    from exanet.quantity import time_text

    return {key: "?" if row[key] is None else time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}


def _show_tables(points: Sequence[dict[str, Any]]) -> None:
    """What there is of priorities, of sizes and of energy, a line each."""
    from rich.console import Console

    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    for point in points:
        where = f"load {point['load']:g}" if point["load"] else "burst"
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
        if "energy" in point:
            console.print(f"{where}, network: {energy.text(point)}")
