# SPDX-License-Identifier: Apache-2.0
"""A written network of neurons in the place of DPSNN, which is not published: each millisecond of the model all ranks
compute, the time of one rank shared evenly, and exchange spikes.

The time of one core is given (E26, and so "calibrated"). How often neurons fire is chosen; the exchange is short
beside the computing for any rate that neurons have.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from exanet import replay
from exanet.trace.write import Writer
from exanet.validate.registry import Measured, Off, experiment, published
from exanet.validate.runner import Runner

_MACHINE = "fat-tree-64"
_ETHERNET = "links: {link: {rate: 1 Gb/s}}"
_MODEL_MS, _REPLAYED_MS = 5000, 10
_SPIKES, _SPIKE_BYTES = 800, 12
"""Spikes of 80,000 neurons in a millisecond at 10 a second, and what one takes in a message."""


_CORES_LOSE = (
    "the exchange takes 1 % of the time at most here, on links of 1 Gb/s; theirs loses more with four nodes and with four cores of a "
    "node. What of that is memory and what are sockets on an A53 is not published, and the computing here has neither"
)
_ONE_PROCESSOR = (
    "theirs loses 13 % from one core to four and wins it back up to sixteen, which is memory and caches; the computing here has neither"
)


@functools.cache
def _took_s(runner: Runner, one_core_s: float, nodes: int, ranks: int, changes: str) -> float:
    """Seconds of the whole model."""
    runner.report(f"neurons on {ranks} ranks")
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as place:
        folder = Path(place)
        machine = folder / "changed.yaml"
        machine.write_text(f"extends: {_MACHINE}\nname: changed\n{changes}\n", encoding="utf-8")
        (folder / "map").write_text("".join(f"{rank * nodes // ranks}\n" for rank in range(ranks)), encoding="utf-8")
        block = -(-_SPIKES // ranks) * _SPIKE_BYTES
        with Writer(folder / "trace", ranks, {"program": ["neurons"]}) as streams:
            for stream in streams:
                for _ in range(_REPLAYED_MS):
                    stream.collective("Alltoall", block, block, compute_ps=round(one_core_s * 1e12 / _MODEL_MS / ranks))
                stream.end()
        found = replay.replay(replay.Options((folder / "trace",), str(machine), str(folder / "map")))[0]
    return float(found["summary"]["virtual_ps"]) * 1e-12 * _MODEL_MS / _REPLAYED_MS


def _arm(runner: Runner, row: str, nodes: int, ranks: int) -> Measured:
    one, seconds = float(published()["E26"]["value"]), float(published()[row]["value"])
    ours = _took_s(runner, one, nodes, ranks, _ETHERNET)
    return Measured(
        ours,
        f"{_REPLAYED_MS} ms of the model on {nodes} nodes of {_MACHINE} with links of 1 Gb/s: efficiency {one / ours / ranks:.1%}, "
        f"theirs {one / seconds / ranks:.1%}",
    )


@experiment("E26", kind="calibrated")
def one_core(runner: Runner) -> Measured:
    return Measured(_took_s(runner, float(published()["E26"]["value"]), 1, 1, _ETHERNET), "fixes the computing of a millisecond")


@experiment("E27", kind="predicted")
def two_cores(runner: Runner) -> Measured:
    return _arm(runner, "E27", 2, 2)


@experiment("E28", kind="predicted")
def four_cores(runner: Runner) -> Measured:
    return _arm(runner, "E28", 2, 4)


@experiment("E29", kind="predicted", off=Off(-0.127, _CORES_LOSE))
def eight_cores(runner: Runner) -> Measured:
    return _arm(runner, "E29", 4, 8)


@experiment("E30", kind="predicted", off=Off(-0.246, _CORES_LOSE))
def sixteen_cores(runner: Runner) -> Measured:
    return _arm(runner, "E30", 4, 16)


@experiment("E31", kind="predicted", off=Off(-0.128, _ONE_PROCESSOR))
def intel_cores(runner: Runner) -> Measured:
    """The first is given, as E26."""
    one = float(published()["E31"]["value"][0])
    ours = tuple(_took_s(runner, one, min(ranks, 4), ranks, "") for ranks in (1, 2, 4, 8, 16))
    return Measured(ours, f"up to 4 nodes of {_MACHINE}, links of 10 Gb/s; the time of one core is given")
