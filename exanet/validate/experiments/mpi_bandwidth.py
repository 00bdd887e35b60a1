# SPDX-License-Identifier: Apache-2.0
"""How much of a link large MPI messages use, one hop: a windowed bandwidth test after OSU's."""

from __future__ import annotations

from exanet.validate.experiments.mpi_latency import MACHINE, ONE_HOP
from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

SIZES = (1 << 20, 2 << 20, 4 << 20)
WINDOW = 4


@experiment("P06", kind="predicted", needs=("mpich",))
def link_use(runner: Runner) -> Measured:
    rates = runner.run("bandwidth", MACHINE, ONE_HOP, WINDOW, *SIZES)["gbps"]
    machine = runner.machine(MACHINE)
    link, router = machine.model.links["intra-qfdb"], machine.model.router
    capacity = link.rate.value / 1e9
    payload = router.max_payload.value * 8
    packet = payload + (router.header.value + router.footer.value) * router.word.value + link.framing.value * link.word.value
    ceiling = payload / packet * float(machine.link_rate("intra-qfdb")) / 1e9
    use = {size: rate / capacity * 100 for size, rate in rates.items()}
    shown = ", ".join(f"{int(size) >> 20} MiB {share:.2f} %" for size, share in use.items())
    return Measured(
        use[str(SIZES[-1])],
        f"{shown} of {capacity:g} Gb/s; framing, header, footer and transceiver pauses leave {ceiling / capacity * 100:.2f} % to a "
        f"stream of {router.max_payload.value} B packets",
        data={"percent": use, "ceiling_percent": ceiling / capacity * 100},
        readings=(Reading("of the 16 Gb/s that a QFDB's links were planned for", rates[str(SIZES[-1])] / 16 * 100, 82),),
    )
