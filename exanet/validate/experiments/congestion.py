# SPDX-License-Identifier: Apache-2.0
"""Accurate Congestion Control (ACC) on a blade of 16 MPSoCs, against credits alone: the latency of packets of a flow
that shares a link with an incast of six, how soon rates are fair, and a program beside an incast."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

from exanet import _core, replay, sim
from exanet.machine import located
from exanet.trace import written
from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

_MACHINE = "exanest-blade"
_NODES = 16
_INCAST, _TARGET = (5, 6, 7, 9, 10, 11), 1
_VICTIM = (4, 2)
_CONTROLS: dict[str, dict[str, str]] = {"none": {}, "acc": {"ni.congestion_control": "acc", "ni.acc_start": "feedback"}}
_LOW, _MEDIUM = 0.05, 0.12
"""Of each sender's link; 0.3 and 0.72 of the receiver's."""
_MESSAGE_BYTES = 1 << 16
_WARM_UP_PS, _MEASURE_PS = 2 * 10**9, 2 * 10**10


def _matrix() -> str:
    pairs = {(sender, _TARGET) for sender in _INCAST} | {_VICTIM}
    return "".join(",".join("1" if (row, column) in pairs else "0" for column in range(_NODES)) + "\n" for row in range(_NODES))


@functools.cache
def _victim(runner: Runner, control: str, load: float, buffer_words: int | None = None) -> dict[str, float]:
    """Mean and 99th percentile of the time of the victim's packets in the network, in ns; with all inputs of routers of
    that size, or as the machine has them."""
    buffers = {} if buffer_words is None else {key: f"{buffer_words} words" for key in ("router.inter_fifo", "router.intra_fifo")}
    machine = runner.machine(_MACHINE, located.values({**_CONTROLS[control], **buffers}, "exanet validate"))
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        file = Path(folder) / "incast.csv"
        file.write_text(_matrix(), encoding="utf-8")
        spec = sim.TrafficSpec(
            traffic=f"matrix:{file}", message_bytes=_MESSAGE_BYTES, nic="exanet", warm_up_ps=_WARM_UP_PS, measure_ps=_MEASURE_PS
        )
        flows = sim.simulate(machine, offered=load, spec=spec)["flows"]
    (row,) = (flow for flow in flows if (flow["src"], flow["dst"]) == _VICTIM)
    return {key: float(row[key]) for key in ("fabric_ns", "fabric_p99_ns")}


def _shorter(runner: Runner, figure: str, load: float) -> Measured:
    plain, controlled = (_victim(runner, control, load)[figure] for control in _CONTROLS)
    return Measured(
        plain / controlled,
        f"{plain / 1000:.1f} us by credits alone, {controlled / 1000:.2f} by ACC with Wait-for-feedback; six senders to one, each at "
        f"{load:g} of its link, and the victim at as much. Their loads and traffic are in a figure only",
    )


@experiment("R26", kind="calibrated")
def pulse(runner: Runner) -> Measured:
    """The period that a machine has which gives none."""
    period = _core.configuration(runner.machine(_MACHINE).resolve())["router"]["acc_period_ps"]
    return Measured(period / 1e6, "fixes router.acc_period's default")


_FAIR_WITHIN, _MEAN_OF = 0.02, 10
"""Share of its max-min share by which a flow's rate may miss it to count as fair, and pulses over which both are means:
a packet is 6 % of what a flow gets in one pulse."""

_BEGINS_NS = 2e6


def _settling(runner: Runner, start: str) -> list[tuple[float, float]]:
    """Of five flows to one node beside a victim, which a sixth joins, and one leaves: when what happened, and after how
    many microseconds all rates were fair."""
    period_us = _core.configuration(runner.machine(_MACHINE).resolve())["router"]["acc_period_ps"] / 1e6
    machine = runner.machine(_MACHINE, located.values(_CONTROLS["acc"] | {"ni.acc_start": start}, "exanet validate"))
    long, short = 3_000_000, 1_000_000
    sizes = {_INCAST[0]: short} | dict.fromkeys(_INCAST[1:], long)
    flows = [(*_VICTIM, 0.0, 20_000_000)]
    flows += [(sender, _TARGET, _BEGINS_NS if sender == _INCAST[-1] else 0.0, size) for sender, size in sizes.items()]
    lines = [f"{src}->{dst} id {number} start {begin * 1000:.0f} size {size}" for number, (src, dst, begin, size) in enumerate(flows, 1)]
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        file = Path(folder) / "flows.cm"
        file.write_text("\n".join([f"Nodes {_NODES}", f"Connections {len(lines)}", *lines, ""]), encoding="utf-8")
        spec = sim.TrafficSpec(traffic=f"flows:{file}", nic="exanet")
        found = sim.simulate(machine, offered=0, spec=spec, sample_ps=round(period_us * 1e6))
    left = min(flow["end_ns"] for flow in found["flows"])
    rates = found["flow_rates"]
    pulse = np.rint(rates["begin_ns"] / found["sample_ns"]).astype(np.int64)
    sources, flow = np.unique(rates["src"], return_inverse=True)
    ours, fair = (np.zeros((len(sources), int(pulse.max()) + 1)) for _ in range(2))
    ours[flow, pulse], fair[flow, pulse] = rates["gbps"], rates["share_gbps"]
    return [(at, period_us * _pulses_until_fair(ours, fair, int(np.ceil(at / found["sample_ns"])))) for at in (0.0, _BEGINS_NS, left)]


def _pulses_until_fair(ours: np.ndarray, fair: np.ndarray, first: int) -> int:
    """From the pulse `first` on; rows are flows, columns pulses."""
    for pulses in range(ours.shape[1] - first - _MEAN_OF):
        window = slice(first + pulses, first + pulses + _MEAN_OF)
        rate, share = ours[:, window].mean(axis=1), fair[:, window].mean(axis=1)
        if (np.abs(rate - share) <= _FAIR_WITHIN * share).all():
            return pulses
    return int(ours.shape[1]) - first


@experiment("R27", kind="bound")
def settling(runner: Runner) -> Measured:
    full = _settling(runner, "full-speed")
    waiting = _settling(runner, "feedback")
    one = max(us for _, us in full[1:])
    return Measured(
        one,
        f"five flows and a victim, a sixth begins, one ends: {full[1][1]:g} and {full[2][1]:g} us until each rate, in the mean of "
        f"{_MEAN_OF} pulses, is within {_FAIR_WITHIN:.0%} of its max-min share, looked at with each pulse; with Wait-for-feedback "
        f"{waiting[1][1]:g} and {waiting[2][1]:g}. Drawn sets of flows that bound each other need up to 9 pulses "
        "(docs/congestion-control.md)",
        holds=one <= 60,
        readings=(
            Reading("six flows begin at once, with Wait-for-feedback", waiting[0][1], 60.0),
            Reading("six flows begin at once, at full speed", full[0][1], 60.0),
        ),
    )


@experiment("R28", kind="beside")
def victims_tail(runner: Runner) -> Measured:
    return _shorter(runner, "fabric_p99_ns", _LOW)


@experiment("R29", kind="beside")
def victims_mean(runner: Runner) -> Measured:
    return _shorter(runner, "fabric_ns", _MEDIUM)


_STEPS, _GRID = 10, (4, 2, 2)
_BACKGROUND = "incast,outstanding=1,bytes=64KiB"


@experiment("R30", kind="beside")
def program(runner: Runner) -> Measured:
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as place:
        folder = Path(place)
        acc = folder / "acc.yaml"
        acc.write_text("extends: exanest-mezzanine\nname: acc\nni: {congestion_control: acc, acc_start: feedback}\n", encoding="utf-8")
        trace = written.molecular_dynamics(folder / "trace", _STEPS, _GRID)

        def took_ms(machine: str, background: str | None) -> float:
            runner.report(f"molecular dynamics on {Path(machine).stem}{' beside an incast' if background else ''}")
            found, _ = replay.replay(replay.Options((trace,), machine, "round-robin", compute=0.0, background=background))
            return float(found["summary"]["virtual_ps"]) * 1e-9

        alone, plain, controlled = (
            took_ms(machine, background)
            for machine, background in (("exanest-mezzanine", None), ("exanest-mezzanine", _BACKGROUND), (str(acc), _BACKGROUND))
        )
    return Measured(
        plain / controlled,
        f"written molecular dynamics of 16 ranks in the place of LAMMPS, its communication alone: {plain:.1f} ms by credits alone, "
        f"{controlled:.1f} by ACC with Wait-for-feedback, {alone:.1f} on an idle network; all other nodes keep a message of 64 KiB to "
        "one node under way. The gain follows from that traffic, and theirs was not published. LAMMPS itself is in "
        "docs/congestion-control.md",
    )


_BUFFERS_KB, _WORD_BYTES = (4, 64), 16


@experiment("R31", kind="beside")
def buffers(runner: Runner) -> Measured:
    """The latencies of R28 and R29 with inputs of either size."""

    def ratio(figure: str, load: float, words: int) -> str:
        plain, controlled = (_victim(runner, control, load, words)[figure] for control in _CONTROLS)
        return f"{plain / controlled:.1f} ({plain / 1000:.1f} us by credits alone, {controlled / 1000:.2f} by ACC)"

    sizes = {size: size * 1024 // _WORD_BYTES for size in _BUFFERS_KB}
    each = [
        f"{size} KiB: tail at low load {ratio('fabric_p99_ns', _LOW, words)}, mean at medium load {ratio('fabric_ns', _MEDIUM, words)}"
        for size, words in sizes.items()
    ]
    return Measured(
        tuple(map(float, _BUFFERS_KB)),
        "times that latencies of R28 and R29 are shorter with inputs of routers of these sizes; ExaNet's routers have no buffers of "
        f"outputs. {'; '.join(each)}",
    )


@experiment("R32", kind="beside")
def protection(runner: Runner) -> Measured:
    """The tail at the lower load, the mean of victims at the higher one: the target of R28 and R29."""
    tail, mean = _shorter(runner, "fabric_p99_ns", _LOW).value, _shorter(runner, "fabric_ns", _MEDIUM).value
    assert isinstance(tail, float) and isinstance(mean, float)
    return Measured(
        (tail, mean),
        "as R28 and R29, against credits alone; the target is against BXIv2, whose switches are not published",
        text=f"{tail:.1f}, {mean:.1f} times",
    )
