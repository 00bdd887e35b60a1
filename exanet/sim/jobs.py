# SPDX-License-Identifier: Apache-2.0
"""Jobs on a machine's network: programs of communication that run to their end, and how long that takes.

`exanet sim --job` is the command; `finish` the same from Python. docs/simulate.md says what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exanet import _core, background, keys, units
from exanet import level as levels
from exanet.bounds import LARGEST_MESSAGE, check_seed, time_within, within
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.quantity import counted
from exanet.sim import congestion
from exanet.units import UnitError

_FORM = "give NAME:KEY=VALUE,... with the keys ranks, bytes, rounds, pause and priority, e.g. stencil-3d:bytes=4KiB,rounds=10"


_OWN_SIZES = {"barrier": "messages of no data", **dict.fromkeys(("web-search", "hadoop", "ali-storage"), "flow sizes of its own")}


@dataclass(frozen=True)
class Job:
    """A program that runs on endpoints of its own.

    `ranks` 0 stands for an equal share of the endpoints that the other jobs leave. What `size_bytes` measures depends
    on the program: a message, a rank's block, or the whole vector. `pause_ps` is the computing of each rank at the
    beginning of each round.
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
        parts = rest.split(",") if rest else []
        if any(part.startswith("algorithm=") for part in parts):
            raise InputError(
                f"--job {text}: collectives by an algorithm run under `exanet replay -m MACHINE --job {text}`; leave it out here"
            )
        given = keys.read(f"--job {text}", parts, ("ranks", "bytes", "rounds", "pause", "priority"), _FORM)
        if "bytes" in given and program in _OWN_SIZES:
            raise InputError(f"--job {text}: {program} has {_OWN_SIZES[program]}; leave bytes out")
        found: dict[str, int] = {}
        for key, value in given.items():
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
    if key == "ranks" and int(text) < 2:
        raise ValueError(f"a job takes two or more, not {text}; leave ranks out for an equal share of what the other jobs leave")
    return int(text)


def finish(
    machine: Machine | str | dict[str, Any],
    jobs: Sequence[Job],
    *,
    mapping: str = "linear",
    packet_bytes: int | None = None,
    seed: int = 1,
    level: str = "packet",
    nic: str = "ideal",
    progress: Any = None,
) -> dict[str, Any]:
    """Runs the jobs together: `finished_ns` of the last, `mean_hops`, `packet_latency_ns`, the list `jobs`, the table
    `links`.

    `packet_bytes` is the payload of a full packet of ideal interfaces, by default the machine's largest. `level` is one
    of exanet.level.LEVELS; at flow level messages move at max-min fair rates, `packet_latency_ns` is 0. `nic` is one of
    registries.nics(), at packet level: with "exanet" ranks send and receive through the message library, at its costs,
    and `page_lookups` and `page_walks` are those of machines with `ni.pages`. Raises InputError on what cannot be run.
    """
    levels.check(level)
    described = load(machine, packets=level == "packet") if isinstance(machine, str) else machine
    resolved = described.resolve() if isinstance(described, Machine) else described
    simulation = running(resolved, jobs, mapping=mapping, packet_bytes=packet_bytes, seed=seed, level=level, nic=nic)
    spec = {"mapping": mapping, "packet_bytes": packet_bytes, "seed": seed, "level": level, "nic": nic}
    background.work(simulation, progress, resolved, {"jobs": list(jobs), **spec})
    found = dict(simulation.results())
    if nic == "ideal":  # has no addresses
        del found["page_lookups"], found["page_walks"]
    sent = {"packets": found["packets"], "payload_bytes": sum(row["bytes"] for row in found["jobs"])}
    from exanet.results import energy

    table = energy.table(resolved, found["links"], time_ps=found["finished_ns"] * 1e3, **sent)
    return {**found, **energy.totals(table, sent["payload_bytes"]), **({"energy": table} if table else {})}


def running(
    resolved: dict[str, Any],
    jobs: Sequence[Job],
    *,
    mapping: str,
    packet_bytes: int | None,
    seed: int,
    level: str,
    nic: str = "ideal",
    make: bool = True,
) -> Any:
    """The simulation of the jobs, ready to run; arguments as for finish(). Without `make` figures are looked at, and no
    more.

    Raises InputError on what cannot be run.
    """
    most = resolved["router"]["max_payload_bytes"]
    payload = most if packet_bytes is None else packet_bytes
    within("packets of", payload, 1, most, units.format_bytes)
    check_seed(seed)
    if level == "flow" and nic != "ideal":
        raise InputError(f"--nic {nic} is of the packet level: leave it out, or --level flow")
    if nic != "ideal":
        congestion.check_costed(resolved, nic, payload)
    else:
        congestion.refuse(resolved, "interfaces without costs have no congestion control", "take --nic exanet")
    for job in jobs:
        check_job(job)
    if not make:
        return None
    _check_ranks(jobs, _core.topology_needs(resolved["topology"])["endpoints"])
    rows = [
        {"program": j.program, "bytes": j.size_bytes, **{k: getattr(j, k) for k in ("ranks", "rounds", "pause_ps", "priority")}}
        for j in jobs
    ]
    try:
        return _core.Jobs(
            resolved, {"jobs": rows, "mapping": mapping, "seed": seed, "packet_bytes": payload, "flow_level": level == "flow", "nic": nic}
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def check_job(job: Job) -> None:
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
            f"{names}: the others leave {endpoints - taken} of the machine's {counted(endpoints, 'endpoint')}, and a job takes "
            "two or more: give the others fewer ranks"
        )
