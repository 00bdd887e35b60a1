# SPDX-License-Identifier: Apache-2.0
"""MPI_Bcast of a small message from 4 to 128 ranks, one rank an MPSoC: its latency grows with the logarithm of the
ranks."""

from __future__ import annotations

import math

from exanet.validate.experiments.mpi_latency import MACHINE, SIZE
from exanet.validate.fit import line
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

LEAST_R2 = 0.95


@experiment("P09", kind="shape", needs=("mpich",))
def broadcast(runner: Runner) -> Measured:
    latency = runner.run("broadcast", MACHINE, range(runner.machine(MACHINE).nodes), SIZE)["latency_us"]
    levels = [math.log2(int(ranks)) for ranks in latency]
    fitted = line(levels, list(latency.values()))
    rising = all(a < b for a, b in zip(latency.values(), list(latency.values())[1:], strict=False))
    table = ", ".join(f"{ranks}: {us:.2f}" for ranks, us in latency.items())
    return Measured(
        fitted.r2,
        f"{SIZE} B, latency by ranks in us: {table}; line over log2(ranks): {fitted.slope:.2f} us a doubling, R² = {fitted.r2:.4f} "
        f"(at least {LEAST_R2} asked for, and no fall)",
        holds=rising and fitted.slope > 0 and fitted.r2 >= LEAST_R2,
        text=f"R² = {fitted.r2:.3f}",
        data={"latency_us": latency, "us_per_doubling": fitted.slope, "r2": fitted.r2},
    )
