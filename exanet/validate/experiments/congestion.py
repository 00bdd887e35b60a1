# SPDX-License-Identifier: Apache-2.0
"""Accurate Congestion Control (ACC) on a blade of 16 MPSoCs: the latency of packets of a flow that shares a link with
an incast of six, against credits alone."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from exanet import _core, sim
from exanet.machine import located
from exanet.validate.registry import Measured, experiment
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
def _victim(runner: Runner, control: str, load: float) -> dict[str, float]:
    """Mean and 99th percentile of the time of the victim's packets in the network, in ns."""
    machine = runner.machine(_MACHINE, located.values(_CONTROLS[control], "exanet validate"))
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


@experiment("R28", kind="beside")
def victims_tail(runner: Runner) -> Measured:
    return _shorter(runner, "fabric_p99_ns", _LOW)


@experiment("R29", kind="beside")
def victims_mean(runner: Runner) -> Measured:
    return _shorter(runner, "fabric_ns", _MEDIUM)
