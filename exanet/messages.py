# SPDX-License-Identifier: Apache-2.0
"""Messages on a machine's network, at packet level or at flow level: when they arrive.

`exanet sim --message` and `exanet sim --level flow` are the command; `simulate` in exanet.sim the same from Python. `run_flows` takes flows
one by one, with what each of them waits for. docs/flow.md describes the flow level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet import units
from exanet.bounds import LARGEST_MESSAGE, time_within, within
from exanet.errors import InputError
from exanet.machine import Machine, load

if TYPE_CHECKING:
    from exanet.sim import Asked

LEVELS = ("packet", "flow")
PACES = ("free", "fair")
SHARINGS = ("max-min", "fifo")
DEFAULT_BYTES = 64 * 1024


def check_level(level: str) -> None:
    """Raises InputError on a level that there is not."""
    if level not in LEVELS:
        raise InputError(f"level {level}: give {' or '.join(LEVELS)}")


def wanted(asked: Asked) -> bool:
    """Is the traffic of whole messages, rather than of single packets?"""
    check_level(asked.level)
    if asked.message_bytes is not None and asked.message_sizes is not None:
        raise InputError("messages have one size or sizes that are drawn: give message_bytes or message_sizes, not both")
    sized = asked.message_bytes is not None or asked.message_sizes is not None
    if asked.level == "packet" and not sized and asked.rounds != 1:
        raise InputError("rounds are of messages: say how long they are as well (--message)")
    return asked.level == "flow" or sized


def distributions() -> list[str]:
    """Names of the distributions of flow sizes."""
    from exanet import _core

    return list(_core.flow_size_names())


def check_sharing(level: str, sharing: str) -> None:
    """Raises InputError on a way of sharing that there is not, or not at this level."""
    if sharing not in SHARINGS:
        raise InputError(f"sharing {sharing}: give {' or '.join(SHARINGS)}")
    if sharing != "max-min" and level == "packet":
        raise InputError(f"sharing {sharing} is a way to compute rates; packets share by themselves: take --level flow, or leave it out")


def size_of(asked: Asked) -> int:
    """Bytes of a message, if its size is not drawn."""
    return DEFAULT_BYTES if asked.message_bytes is None else asked.message_bytes


def running(resolved: dict[str, Any], payload: int, offered: float, asked: Asked) -> Any:
    """What sim.work() runs: a burst for an offered load of 0, otherwise an open loop. Raises InputError on what cannot be run."""
    from exanet import _core

    if asked.arrivals != "poisson":
        raise InputError(f"arrivals {asked.arrivals}: messages arrive in a Poisson process or all at once")
    if asked.priority_share:
        raise InputError("messages have no priority here: give a job one (--job NAME:priority=1), or leave out --message")
    if asked.pace not in PACES:
        raise InputError(f"pace {asked.pace}: give {' or '.join(PACES)}")
    check_sharing(asked.level, asked.sharing)
    within("rounds", asked.rounds, 1, 1 << 31)
    if asked.rounds != 1 and offered:
        raise InputError("rounds are of messages that are sent all at once: leave out the load, or the rounds")
    within("a message of", size_of(asked), 1, LARGEST_MESSAGE, units.format_bytes)
    within("a grain of", asked.grain_ps, 1, 10**12, units.format_time)
    options = {
        "pattern": asked.traffic,
        "load": offered,
        "message_bytes": size_of(asked),
        "sizes": asked.message_sizes or "",
        "rounds": asked.rounds,
        "packet_bytes": payload,
        "seed": asked.seed,
        "warm_up_ps": asked.measure_ps // 4 if asked.warm_up_ps is None else asked.warm_up_ps,
        "measure_ps": asked.measure_ps,
        "grain_ps": asked.grain_ps,
        "fluid": asked.sharing == "fifo",
        "paced": asked.pace == "fair",
    }
    return _core.Messages(resolved, options, asked.level == "packet")


@dataclass(frozen=True)
class Flow:
    """One flow: `start_ps` is the earliest start; `after` are places in the list of flows that must have arrived before it starts."""

    src: int
    dst: int
    size_bytes: int
    start_ps: int = 0
    after: tuple[int, ...] = ()


def run_flows(
    machine: Machine | str, flows: Sequence[Flow], *, packet_bytes: int | None = None, grain_ps: int = 1000, sharing: str = "max-min"
) -> dict[str, Any]:
    """Carries the flows out at flow level: arrays `begun_ps` and `finished_ps`, in the order of `flows`.

    A flow waits for flows before it in the list only, so none can wait for itself. `packet_bytes` is the payload of the packets that they
    are cut into, by default the machine's largest; `sharing` one of SHARINGS. Raises InputError on what cannot be carried out.
    """
    from exanet import _core, sim

    check_sharing("flow", sharing)
    described = load(machine, packets=False) if isinstance(machine, str | Path) else machine
    largest = described.model.router.max_payload.value
    payload = largest if packet_bytes is None else packet_bytes
    within("packets of", payload, 1, largest, units.format_bytes)
    within("a grain of", grain_ps, 1, 10**12, units.format_time)
    try:
        run = _core.Flows(described.resolve(), payload, grain_ps, sharing == "fifo")
        for number, flow in enumerate(flows):
            _check_flow(number, flow)
            run.add(flow.src, flow.dst, flow.size_bytes, flow.start_ps, list(flow.after))
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from None
    sim.work(run, None)
    return dict(run.results())


def _check_flow(number: int, flow: Flow) -> None:
    """Raises InputError on what is no whole number, or beyond any simulation; which ends there are, the simulator knows."""
    for what, end in (("from endpoint", flow.src), ("to endpoint", flow.dst), *(("after flow", earlier) for earlier in flow.after)):
        within(f"flow {number}, {what}", end, 0, (1 << 32) - 1)
    within(f"flow {number} of", flow.size_bytes, 1, LARGEST_MESSAGE, units.format_bytes)
    time_within(f"flow {number} from", flow.start_ps)


def show(described: Machine, asked: Asked, rows: Sequence[dict[str, Any]], cpu_s: float, directory: Path) -> None:
    """A line for each point; `rows` as in points.parquet."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from exanet.quantity import time_text
    from exanet.sim_results import ways
    from exanet.units import format_bytes

    table = Table(box=None, pad_edge=False, header_style="bold")
    headings = (
        "offered", "accepted", "Gb/s", "all done", "mean message", "median", "99 %", "empty", "slowdown", "99 %", "hops", "hottest link",
    )  # fmt: skip
    for heading in (*headings, "fairness", ""):
        table.add_column(heading, justify="right")
    for row in rows:
        ns = {key: time_text(row[key] * 1e3) for key in row if key.endswith("_ns")}
        table.add_row(
            f"{row['offered_load']:.3f}" if row["load"] else "burst", f"{row['accepted_load']:.3f}", f"{row['accepted_gbps']:.1f}",
            ns["completion_ns"] if not row["load"] else "", ns["latency_ns"], ns["latency_p50_ns"], ns["latency_p99_ns"],
            ns["zero_load_ns"],
            f"{row['slowdown']:.2f}", f"{row['slowdown_p99']:.2f}", f"{row['mean_hops']:.2f}", f"{row['hottest_link_use']:.0%}",
            f"{row['fairness']:.3f}", "saturated" if row["saturated"] else "",
        )  # fmt: skip
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    size = format_bytes(size_of(asked)) if asked.message_sizes is None else f"{asked.message_sizes} sizes"
    shared = " with FIFO sharing" if asked.sharing == "fifo" else ""
    console.print(
        f"Messages of {size}, [bold]{escape(asked.traffic)}[/], on [bold]{described.name}[/]{escape(ways(described))} "
        f"at {asked.level} level{shared}, "
        f"{rows[0]['senders']} of {described.nodes} endpoints send\n"
    )
    console.print(table)
    count = sum(row["created"] for row in rows)
    console.print(f"\n{count} messages in {cpu_s:.2f} s of processor time. Results: {escape(str(directory))}", style="dim")
