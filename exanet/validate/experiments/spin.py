# SPDX-License-Identifier: Apache-2.0
"""Handlers on interfaces (sPIN): workloads on PsPIN's HPUs (machines/pspin.yaml), and overlap on FPsPIN's
(machines/fpspin.yaml)."""

from __future__ import annotations

from statistics import median

from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_WORKLOADS = {"copy": 1, "unpack": 2, "reduce": 1, "histogram": 1, "filter": 1}
"""Handlers of exanet/spin/handlers, and how much larger the receive's buffer is than the message."""
_NODES = (0, 4)  # on two switches
_LONG = 960 * 4000  # bytes: packets enough for the first and last ones not to count
_HEADER = 64  # bytes of a packet beside its payload
_SMALL, _LARGE = 4096, 1 << 20
_REPEATS = 5


@experiment("R06", kind="predicted", needs=("mpich", "riscv"))
def workloads(runner: Runner) -> Measured:
    rates: dict[str, float] = {}
    cycles: dict[str, float] = {}
    for name, spread in _WORKLOADS.items():
        found = runner.run("handled", "pspin", _NODES, 1, 0, spread, _LONG, options=("--handlers", name))["run"]["handlers"]
        rates[name] = found["gbit_per_s"] * (1 + _HEADER * found["packets"] / found["bytes"])
        cycles[name] = found["cycles_per_packet"]
    each = ", ".join(f"{name} {rates[name]:.0f} Gb/s ({cycles[name]:.0f} cycles)" for name in rates)
    return Measured(
        median(rates.values()),
        f"the median of five workloads on one message in packets of 1 KiB, headers included: {each}. The link's rate is given; that "
        "HPUs keep up with it follows from the handlers' instructions",
        data={"gbps": rates, "cycles": cycles},
    )


def _overlap(runner: Runner, size: int, handlers: str) -> tuple[float, float]:
    """Share of computing in computing and waiting, in percent, where computing takes as long as the message alone; and
    how many microseconds that is."""
    options = ("--handlers", handlers) if handlers else ()

    def waited_us(computing_us: float) -> float:
        answer = runner.run("handled", "fpspin", _NODES, _REPEATS, computing_us, 2, size, options=options)
        return float(answer["waited_us"][str(size)])

    alone = waited_us(0)
    waited = waited_us(alone)
    return 100 * alone / (alone + waited), alone


@experiment("R08", kind="bound", needs=("mpich", "riscv"))
def overlap(runner: Runner) -> Measured:
    """How long the product takes is not published: the shortest that can hide a message bounds the overlap from
    below."""
    (small, small_us), (large, large_us) = (_overlap(runner, size, "unpack") for size in (_SMALL, _LARGE))
    host_small, host_large = (_overlap(runner, size, "")[0] for size in (_SMALL, _LARGE))
    return Measured(
        (small, large),
        f"vectors of {_SMALL // 1024} KiB and {_LARGE // 1024} KiB unpacked by the interface while rank 0 computes for as long as the "
        f"message takes alone, {small_us:.3g} and {large_us:.4g} us; longer products give more. Without handlers, where the processor "
        f"starts the transfer and would have to unpack, {host_small:.0f} and {host_large:.0f} %",
        holds=small >= 94 and large >= 98,
        data={"alone_us": [small_us, large_us], "without_handlers": [host_small, host_large]},
    )
