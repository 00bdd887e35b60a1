# SPDX-License-Identifier: Apache-2.0
"""Messages on a machine's network, at packet level or at flow level: when they arrive.

`exanet sim --message` and `exanet sim --level flow` are the command; `simulate` in exanet.sim the same from Python.
`run_flows` takes flows one by one, with what each of them waits for. docs/flow.md describes the flow level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exanet import _core, background, units
from exanet.bounds import LARGEST_MESSAGE, time_within, within
from exanet.errors import InputError
from exanet.machine import Machine, load
from exanet.sim import congestion
from exanet.sim.matrix import lists_flows
from exanet.sim.spec import PACES, TrafficSpec, check_sharing, size_of


def running(resolved: dict[str, Any], payload: int, offered: float, spec: TrafficSpec, sample_ps: int | None = None) -> Any:
    """For background.work(), a point: a burst for an offered load of 0, otherwise an open loop; looked at so often, or
    not at all. Raises InputError on what cannot be run."""
    if spec.arrivals != "poisson":
        raise InputError(f"arrivals {spec.arrivals}: messages arrive in a Poisson process or all at once")
    if spec.priority_share:
        raise InputError("messages have no priority here: give a job one (--job NAME:priority=1), or leave out --message")
    if spec.pace not in PACES:
        raise InputError(f"pace {spec.pace}: give {' or '.join(PACES)}")
    check_sharing(spec.level, spec.sharing)
    if lists_flows(spec.traffic) and (offered or spec.sharing != "max-min" or spec.pace != "free"):
        raise InputError(
            "the flows of a list begin at times of their own: leave out the load, and the ways to share and to pace (--sharing, --pace)"
        )
    within("rounds", spec.rounds, 1, 1 << 31)
    if spec.rounds != 1 and offered:
        raise InputError("rounds are of messages that are sent all at once: leave out the load, or the rounds")
    within("a message of", size_of(spec), 1, LARGEST_MESSAGE, units.format_bytes)
    within("a grain of", spec.grain_ps, 1, 10**12, units.format_time)
    if sample_ps is not None:
        if spec.level != "packet":
            raise InputError("samples over time are of the packet level: leave out the interval (--sample-every), or --level flow")
        within("samples every", sample_ps, 1000, 10**15, units.format_time)
    nic = congestion.interfaces(resolved, spec, payload)
    options = {
        "pattern": spec.traffic,
        "load": offered,
        "message_bytes": size_of(spec),
        "sizes": spec.message_sizes or "",
        "rounds": spec.rounds,
        "packet_bytes": payload,
        "seed": spec.seed,
        "warm_up_ps": spec.measure_ps // 4 if spec.warm_up_ps is None else spec.warm_up_ps,
        "measure_ps": spec.measure_ps,
        "grain_ps": spec.grain_ps,
        "fluid": spec.sharing == "fifo",
        "paced": spec.pace == "fair",
        "nic": nic,
        "sample_ps": sample_ps or 0,
    }
    return _core.Messages(resolved, options, spec.level == "packet")


@dataclass(frozen=True)
class Flow:
    """One flow: `start_ps` is the earliest start; `after` are places in the list of flows that must have arrived
    before it starts."""

    src: int
    dst: int
    size_bytes: int
    start_ps: int = 0
    after: tuple[int, ...] = ()


def run_flows(
    machine: Machine | str, flows: Sequence[Flow], *, packet_bytes: int | None = None, grain_ps: int = 1000, sharing: str = "max-min"
) -> dict[str, Any]:
    """Carries the flows out at flow level: arrays `begun_ps` and `finished_ps`, in the order of `flows`.

    A flow waits for flows before it in the list only, so none can wait for itself. `packet_bytes` is the payload of the
    packets that they are cut into, by default the machine's largest; `sharing` one of SHARINGS. Raises InputError on
    what cannot be carried out.
    """

    check_sharing("flow", sharing)
    described = load(machine, packets=False) if isinstance(machine, str | Path) else machine
    largest = described.model.router.max_payload.value
    payload = largest if packet_bytes is None else packet_bytes
    within("packets of", payload, 1, largest, units.format_bytes)
    within("a grain of", grain_ps, 1, 10**12, units.format_time)
    resolved = described.resolve()
    try:
        run = _core.Flows(resolved, payload, grain_ps, sharing == "fifo")
        for number, flow in enumerate(flows):
            _check_flow(number, flow)
            run.add(flow.src, flow.dst, flow.size_bytes, flow.start_ps, list(flow.after))
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from None
    background.work(run, None, resolved, {"flows": len(flows), "packet_bytes": payload, "grain_ps": grain_ps, "sharing": sharing})
    return dict(run.results())


def _check_flow(number: int, flow: Flow) -> None:
    """Raises InputError on what is no whole number, or beyond any simulation; which ends there are, the simulator
    knows."""
    for what, end in (("from endpoint", flow.src), ("to endpoint", flow.dst), *(("after flow", earlier) for earlier in flow.after)):
        within(f"flow {number}, {what}", end, 0, (1 << 32) - 1)
    within(f"flow {number} of", flow.size_bytes, 1, LARGEST_MESSAGE, units.format_bytes)
    time_within(f"flow {number} from", flow.start_ps)
