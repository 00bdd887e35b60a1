# SPDX-License-Identifier: Apache-2.0
"""Transactions of a key-value store over RDMA: on carvnet, and on the design that it replaced, whose co-processor cut
transfers and whose RDMA took 4 us by the source.

The earlier design is the prototype (machines/exanest.yaml) with the start of a transfer so long that RDMA takes that
time. The store is ours, since the published one is not described.
"""

from __future__ import annotations

from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

_NOW, _BEFORE = "carvnet", "exanest"
_BEFORE_US = 4.0  # D1.4 section 8.2
_VALUE_BYTES = 64
_NEIGHBOURS = (0, 1)


def _before(runner: Runner) -> str:
    """What the prototype's machine is changed by, to have the published time of RDMA."""
    own = runner.machine(_BEFORE).resolve()["ni"]["dma_start_ps"]
    took_ps = 1000 * runner.run("puts", _BEFORE, _NEIGHBOURS, _VALUE_BYTES, mpi="none")["one_way_ns"][str(_VALUE_BYTES)]
    start_ns = (own + _BEFORE_US * 1e6 - took_ps) / 1000
    return f"ni: {{dma_start: {{value: {start_ns:.1f} ns, source: RDMA takes {_BEFORE_US:g} us (D1.4 8.2), kind: calibrated}}}}"


@experiment("R39", kind="bound")
def transactions(runner: Runner) -> Measured:
    """Times as many transactions a second, half of them reads and half writes of 64 B, one after the other."""

    def rate(machine: str, changes: str = "") -> float:
        return float(runner.run("key_value", machine, _NEIGHBOURS, _VALUE_BYTES, mpi="none", changes=changes)["transactions_per_s"])

    now, before, prototype = rate(_NOW), rate(_BEFORE, _before(runner)), rate(_BEFORE)
    return Measured(
        now / before,
        f"{now / 1000:.0f} thousand a second on {_NOW}, {before / 1000:.0f} with an RDMA of {_BEFORE_US:g} us, and {prototype / 1000:.0f} "
        f"on {_BEFORE} as it is, whose interface cuts transfers itself. The aim of the source names neither a store nor what it is "
        "compared with",
        holds=now / before >= 2,
        data={"transactions_per_s": {"now": now, "before": before, "exanest": prototype}},
        readings=(Reading(f"against {_BEFORE} as it is", now / prototype, 2.0, now / prototype >= 2),),
    )
