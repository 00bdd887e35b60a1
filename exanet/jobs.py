# SPDX-License-Identifier: Apache-2.0
"""Jobs on a machine's network: programs of communication that run to their end, and how long that takes.

`exanet sim --job` is the command; `finish` the same from Python. docs/simulate.md says what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exanet import energy, units
from exanet.bounds import LARGEST_MESSAGE, check_seed, time_within, within
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.units import UnitError

_FORM = "give NAME:KEY=VALUE,... with the keys ranks, bytes, rounds, pause and priority, e.g. stencil-3d:bytes=4KiB,rounds=10"


_OWN_SIZES = {"barrier": "messages of no data", **dict.fromkeys(("web-search", "hadoop", "ali-storage"), "flow sizes of its own")}


@dataclass(frozen=True)
class Job:
    """A program that runs on endpoints of its own.

    `ranks` 0 stands for an equal share of the endpoints that the other jobs leave. What `size_bytes` measures depends on the program: a
    message, a rank's block, or the whole vector. `pause_ps` is the computing of each rank at the beginning of each round.
    """

    program: str
    ranks: int = 0
    size_bytes: int = 1024
    rounds: int = 1
    pause_ps: int = 0
    priority: int = 0  # of its packets: 1 overtakes 0 in routers

    @classmethod
    def parse(cls, text: str) -> Job:
        """From `NAME:KEY=VALUE,...`. Raises InputError, saying what to write."""
        program, _, rest = text.partition(":")
        found: dict[str, int] = {}
        for part in rest.split(",") if rest else ():
            key, equals, value = part.partition("=")
            if not equals or key not in ("ranks", "bytes", "rounds", "pause", "priority"):
                raise InputError(f"--job {text}: '{part}' is not understood; {_FORM}")
            if key == "bytes" and program in _OWN_SIZES:
                raise InputError(f"--job {text}: {program} has {_OWN_SIZES[program]}; leave bytes out")
            try:
                found[key] = _value(key, value)
            except (UnitError, ValueError) as error:
                raise InputError(f"--job {text}: {key}: {error}") from None
        named = {"bytes": "size_bytes", "pause": "pause_ps"}
        return cls(program, **{named.get(key, key): value for key, value in found.items()})


def _value(key: str, text: str) -> int:
    if key == "bytes":
        return units.parse(text, units.BYTES)
    if key == "pause":
        return units.parse(text, units.TIME)
    if not text.isdecimal() or not int(text) < 1 << 32:
        raise ValueError(f"'{text}' is not a whole number below 2^32")
    return int(text)


def finish(
    machine: Machine | str | dict[str, Any],
    jobs: Sequence[Job],
    *,
    mapping: str = "linear",
    packet_bytes: int | None = None,
    seed: int = 1,
    level: str = "packet",
    progress: Any = None,
) -> dict[str, Any]:
    """Runs the jobs together: `finished_ns` of the last, `mean_hops`, `packet_latency_ns`, the list `jobs`, the table `links`.

    `packet_bytes` is the payload of a full packet, by default the machine's largest. `level` is one of messages.LEVELS;
    at flow level messages move at max-min fair rates, and `packet_latency_ns` is 0. Raises InputError on what cannot be run.
    """
    from exanet import messages, sim

    messages.check_level(level)
    described = load(machine, packets=level == "packet") if isinstance(machine, str) else machine
    resolved = described.resolve() if isinstance(described, Machine) else described
    simulation = running(resolved, jobs, mapping=mapping, packet_bytes=packet_bytes, seed=seed, level=level)
    sim.work(simulation, progress)
    found = dict(simulation.results())
    sent = {"packets": found["packets"], "payload_bytes": sum(row["bytes"] for row in found["jobs"])}
    table = energy.table(resolved, found["links"], time_ps=found["finished_ns"] * 1e3, **sent)
    return {**found, **energy.totals(table, sent["payload_bytes"]), **({"energy": table} if table else {})}


def running(
    resolved: dict[str, Any], jobs: Sequence[Job], *, mapping: str, packet_bytes: int | None, seed: int, level: str, make: bool = True
) -> Any:
    """The simulation of the jobs, ready to run; arguments as for finish(). Without `make` figures are looked at, and no more.

    Raises InputError on what cannot be run.
    """
    from exanet import _core

    most = resolved["router"]["max_payload_bytes"]
    payload = most if packet_bytes is None else packet_bytes
    within("packets of", payload, 1, most, units.format_bytes)
    check_seed(seed)
    for job in jobs:
        _check(job)
    if not make:
        return None
    _check_ranks(jobs, _core.topology_needs(resolved["topology"])["endpoints"])
    rows = [
        {"program": j.program, "bytes": j.size_bytes, **{k: getattr(j, k) for k in ("ranks", "rounds", "pause_ps", "priority")}}
        for j in jobs
    ]
    try:
        return _core.Jobs(
            resolved, {"jobs": rows, "mapping": mapping, "seed": seed, "packet_bytes": payload, "flow_level": level == "flow"}
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def _check(job: Job) -> None:
    """Raises InputError on a figure that no job has."""
    within(f"job {job.program}: ranks", job.ranks, 0, (1 << 32) - 1)
    within(f"job {job.program}: rounds", job.rounds, 1, 10**9)
    within(f"job {job.program}: bytes", job.size_bytes, 0, LARGEST_MESSAGE, units.format_bytes)
    within(f"job {job.program}: priority", job.priority, 0, 1)
    time_within(f"job {job.program}: pause", job.pause_ps)
    time_within(f"job {job.program}: all its pauses together", job.rounds * job.pause_ps)


def _check_ranks(jobs: Sequence[Job], endpoints: int) -> None:
    """Raises InputError where jobs that get what the others leave would get nothing."""
    taken = sum(job.ranks for job in jobs)
    sharing = [job for job in jobs if job.ranks == 0]
    if sharing and taken <= endpoints < taken + 2 * len(sharing):
        names = " and ".join(f"job {job.program}" for job in sharing)
        raise InputError(
            f"{names}: the others leave {endpoints - taken} of the machine's {endpoints} endpoints, and a job takes two or more: "
            "give the others fewer ranks"
        )


def command(
    described: Machine,
    texts: Sequence[str],
    mapping: str,
    packet_bytes: int | None,
    seed: int,
    level: str,
    directory: Path,
    as_json: bool,
    quiet: bool,
    *,
    fresh: bool = False,
) -> None:
    """What `exanet sim --job` does: runs, writes tables, report.html and summary.json, and prints a table."""
    import json
    import time

    from exanet import sim_results
    from exanet.progress import told

    jobs = [Job.parse(text) for text in texts]
    began = time.monotonic()
    with told("jobs", quiet) as tell:
        found = finish(described, jobs, mapping=mapping, packet_bytes=packet_bytes, seed=seed, level=level, progress=tell)
    rows = [
        {"job": number, **vars(job), **{key: value for key, value in row.items() if key not in ("message", "endpoints")}}
        for number, (job, row) in enumerate(zip(jobs, found["jobs"], strict=True))
    ]
    run = {
        **sim_results.asked_of(described),
        "jobs": list(texts),
        "mapping": mapping,
        "packet_bytes": packet_bytes,
        "seed": seed,
        "level": level,
    }
    figures = {
        key: value
        for key, value in found.items()
        if key not in ("jobs", "links", "energy", "queued", "first_watched", "watched_ps", "cpu_s")
    }
    spent = {"energy": found["energy"]} if "energy" in found else {}
    what = f"{described.name}{sim_results.ways(described)}" + ("" if mapping == "linear" else f", {mapping} mapping")
    directory = _write(directory, described, what, found, rows, {"run": run, **figures, **spent}, time.monotonic() - began, fresh)
    if as_json:
        print(json.dumps({**figures, **spent, "jobs": rows}, indent=2))
    elif not quiet:
        _show(what, figures, [{**row, "text": text} for row, text in zip(rows, texts, strict=True)], directory)


def _write(
    directory: Path,
    described: Machine,
    what: str,
    found: dict[str, Any],
    rows: list[dict[str, Any]],
    summary: dict[str, Any],
    wall_s: float,
    fresh: bool,
) -> Path:
    """`what` is what the page's title says that they ran on."""
    import platform

    import polars as pl

    from exanet import report, results

    messages = [pl.DataFrame(row["message"]).insert_column(0, pl.lit(number).alias("job")) for number, row in enumerate(found["jobs"])]
    tables = {"jobs": pl.DataFrame(rows), "messages": pl.concat(messages), "links": pl.DataFrame(found["links"])}
    if "energy" in found:
        tables["energy"] = energy.frame(found["energy"])
    if "queued" in found:
        tables["queues"] = report.queue_table(found, found["watched_ps"])
    networks, drawings = report.networks(described, [("all jobs", found, found.get("watched_ps", 0))])
    texts = summary["run"]["jobs"]
    columns = (
        "ranks", "rounds", "priority", "finished_ns", "first_finished_ns", "accepted_gbps", "messages", "message_ns",
        "message_p50_ns", "message_p99_ns", "fairness",
    )  # fmt: skip
    page = {
        "title": f"{', '.join(texts)} on {what}",
        "jobs": [[text, *(row[name] for name in columns)] for text, row in zip(texts, rows, strict=True)],
        "messages": [list(row) for row in tables["messages"].iter_rows()],
        "energy": [list(row.values()) for row in found.get("energy", ())],
        "run": summary["run"],
        "networks": networks,
        "drawings": drawings,
    }
    scripts = ("format.js", "parts.js", "machine.js", "network.js", "energy.js", "jobs.js")
    files = {f"{name}.parquet": results.parquet(frame) for name, frame in tables.items()}
    files["report.html"] = report.fill(str(page["title"]), page, scripts).encode()
    files["run.json"] = results.json_bytes({"wall_s": wall_s, "cpu_s": found["cpu_s"], "host_system": platform.platform()})
    files["summary.json"] = results.json_bytes({**summary, "machine": described.resolve(), "jobs": rows})
    return results.publish(directory, files, fresh=fresh)


def _show(what: str, figures: dict[str, Any], rows: list[dict[str, Any]], directory: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from exanet.quantity import time_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("job")
    for heading in ("ranks", "rounds", "finished", "first rank", "messages", "mean message", "median", "99 %", "fairness"):
        table.add_column(heading, justify="right")
    for row in rows:
        ns = {key: time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}
        table.add_row(
            escape(row["text"]), f"{row['ranks']}", f"{row['rounds']}", ns["finished_ns"], ns["first_finished_ns"],
            f"{row['messages']}", ns["message_ns"], ns["message_p50_ns"], ns["message_p99_ns"], f"{row['fairness']:.3f}",
        )  # fmt: skip
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    took = (
        f" in {time_text(figures['packet_latency_ns'] * 1e3)}" if figures["packet_latency_ns"] else ""
    )  # at flow level, nothing is known of it
    console.print(f"[bold]{len(rows)}[/] job{'s' if len(rows) > 1 else ''} on {escape(what)}\n")
    console.print(table)
    console.print(
        f"\nFinished after {time_text(figures['finished_ns'] * 1e3)}; a packet passed {figures['mean_hops']:.2f} links{took} on average. "
        f"Results: {escape(str(directory))}",
        style="dim",
    )
    if "power_w" in figures:
        console.print(f"Network: {energy.text(figures)}")
