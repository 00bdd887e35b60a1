# SPDX-License-Identifier: Apache-2.0
"""How programs scale with a rank on each node, by written molecular dynamics (exanet/trace/written.py) in the place of
LAMMPS and others, whose inputs are not published; and how many messages a particle mesh takes on a cube of ranks."""

from __future__ import annotations

import functools
import itertools
import math
import tempfile
from pathlib import Path

from exanet import replay
from exanet.sim import jobs
from exanet.trace import written
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_GRIDS = {8: (2, 2, 2), 16: (4, 2, 2), 32: (4, 4, 2), 64: (4, 4, 4), 128: (8, 4, 4)}
_SIDES = (16, 32)
_TRANSFORMS = 3
_POWER, _POWER_WITHIN = 4 / 3, 0.05


@functools.cache
def _took_ms(runner: Runner, machine: str, ranks: int, compute: float) -> float:
    """Milliseconds of two steps; `compute` is a factor on the computing of a rank."""
    runner.report(f"molecular dynamics of {ranks} ranks on {machine}")
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        trace = written.molecular_dynamics(Path(folder) / "trace", 2, _GRIDS[ranks])
        return float(replay.replay(replay.Options((trace,), machine, "round-robin", compute=compute))[0]["summary"]["virtual_ps"]) * 1e-9


@experiment("P08", kind="beside")
def weak_scaling(runner: Runner) -> Measured:
    took = {ranks: _took_ms(runner, "exanest", ranks, 1.0) for ranks in (8, 128)}
    return Measured(
        100 * took[8] / took[128],
        f"written molecular dynamics, weak scaling from 8 to 128 ranks on exanest: steps of {took[8] / 2:.2f} and {took[128] / 2:.2f} ms. "
        "Theirs are HPCG, LAMMPS and miniFE, whose sizes are not published; what a rank computes is chosen here",
        data=took,
    )


@experiment("R14", kind="beside")
def gain_of_doubling(runner: Runner) -> Measured:
    """The computing of 16 ranks, shared by twice as many again and again."""
    took = {ranks: _took_ms(runner, "fat-tree-1024", ranks, 16 / ranks) for ranks in (16, 32, 64, 128)}
    gains = [took[a] / took[b] for a, b in itertools.pairwise(took)]
    return Measured(
        gains[-1],
        "written molecular dynamics, strong scaling from 16 to 128 ranks of fat-tree-1024, messages as long for all. Theirs is LAMMPS "
        "on gem5's processors, whose computing is not published",
        text=f"{min(gains):.2f} to {max(gains):.2f} times",
        data=took,
    )


@experiment("R20", kind="shape")
def growth_of_messages(runner: Runner) -> Measured:
    """Each transform of a mesh exchanges along the rows of a cube, a row of each rank in each direction."""
    counts = {}
    for side in _SIDES:
        row = jobs.finish(runner.machine("torus-512"), [jobs.Job("alltoall", ranks=side, size_bytes=64)])["jobs"][0]["messages"]
        counts[side] = _TRANSFORMS * side**2 * int(row)
    first, last = counts.values()
    exponent = math.log(last / first) / math.log((_SIDES[1] / _SIDES[0]) ** 3)
    return Measured(
        exponent,
        f"an exchange between all of a row, counted for {_SIDES[0]} and {_SIDES[1]} ranks: {first} and {last} messages of "
        f"{_SIDES[0]}^3 and {_SIDES[1]}^3 ranks, which is 3 n^3 (n - 1). The power law is that of many ranks; it "
        f"holds within {_POWER_WITHIN:.0%}",
        holds=abs(exponent / _POWER - 1) <= _POWER_WITHIN and all(count == 3 * n**3 * (n - 1) for n, count in counts.items()),
        data=counts,
    )
