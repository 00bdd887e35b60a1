# SPDX-License-Identifier: Apache-2.0
"""MPI's one-sided operations on the interface, against the MPI library's emulation of them by messages, one hop."""

from __future__ import annotations

from exanet.validate.experiments.mpi_latency import MACHINE, ONE_HOP
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

SIZES = (8, 64, 256, 1024)


def _saved(runner: Runner, *names: str) -> Measured:
    """The largest share of an operation's latency that the interface saves."""
    native, emulated = (runner.run("onesided", MACHINE, ONE_HOP, way, *SIZES)["latency_us"] for way in ("native", "two-sided"))
    saved = {name: {size: 100 * (1 - native[name][size] / us) for size, us in emulated[name].items()} for name in names}
    shown = "; ".join(f"{name} {', '.join(f'{share:.0f}' for share in by_size.values())} %" for name, by_size in saved.items())
    return Measured(
        max(max(by_size.values()) for by_size in saved.values()),
        f"operation and flush, by MPICH's interface for libfabric against its emulation, with {', '.join(map(str, SIZES))} B: {shown}. "
        "Theirs are another MPI library, processors and network",
        data={"native_us": native, "emulated_us": emulated},
    )


@experiment("R48", kind="beside", needs=("mpich",))
def puts(runner: Runner) -> Measured:
    return _saved(runner, "put", "accumulate")


@experiment("R49", kind="beside", needs=("mpich",))
def gets(runner: Runner) -> Measured:
    return _saved(runner, "get")


@experiment("R50", kind="beside", needs=("mpich",))
def atomics(runner: Runner) -> Measured:
    return _saved(runner, "get_accumulate")
