# SPDX-License-Identifier: Apache-2.0
"""MPI_Allreduce by the interfaces' units in the place of the MPI library, on 4 to 128 ranks, one rank an MPSoC."""

from __future__ import annotations

from exanet.validate.experiments.mpi_latency import MACHINE
from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

RANKS = (4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128)
SIZES = (8, 32, 40, 64, 144, 160, 256)


@experiment("P07", kind="predicted", needs=("mpich",))
def accelerator(runner: Runner) -> Measured:
    """The largest saving of all these ranks and sizes, since "up to" is published, by the MPI library that P03 is
    measured with."""
    nodes = range(runner.machine(MACHINE).nodes)
    given = (",".join(map(str, RANKS)), *SIZES)
    software = runner.run("allreduce", MACHINE, nodes, *given)["latency_us"]
    units = runner.run("allreduce", MACHINE, nodes, *given, options=("--offload", "allreduce"))["latency_us"]
    saved = {ranks: {size: 100 * (1 - units[ranks][size] / us) for size, us in by_size.items()} for ranks, by_size in software.items()}
    best, ranks, size = max((share, ranks, size) for ranks, by_size in saved.items() for size, share in by_size.items())
    most = ", ".join(f"{ranks}: {by_size['8']:.0f} to {max(by_size.values()):.0f} %" for ranks, by_size in saved.items())
    return Measured(
        best,
        f"saved on {ranks} ranks at {size} B, {software[ranks][size]:.2f} us by MPICH and {units[ranks][size]:.2f} us by the units; "
        f"of 8 B to the best size by ranks {most}; ranks and sizes of the published figure are not known, nor its "
        "MPI. Open MPI takes more steps at some sizes, of which the units save up to 96 % (docs/offload.md)",
        data={"software_us": software, "units_us": units, "saved_percent": saved},
        readings=(Reading("sums of 8 B", max(by_size["8"] for by_size in saved.values()), 88.0),),
    )
