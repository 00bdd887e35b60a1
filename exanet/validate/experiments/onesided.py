# SPDX-License-Identifier: Apache-2.0
"""MPI's one-sided operations on the interface, against the MPI library's emulation of them by messages, one hop.

Another interface, processor and MPI library saved what is published, so each row is a bound: ours is to save no less.
"About" and no word are taken as what each size up to 1024 B saves, and "up to" as what the best size saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from exanet.validate.experiments.mpi_latency import MACHINE, ONE_HOP
from exanet.validate.registry import Measured, experiment, published
from exanet.validate.runner import Runner

SIZES = (8, 64, 256, 1024)


def _saved(runner: Runner, row: str, of: Callable[[Iterable[float]], float], *names: str) -> Measured:
    """Percent of the operations' latency that the interface saves, of all their sizes the least or the most."""
    native, emulated = (runner.run("onesided", MACHINE, ONE_HOP, way, *SIZES)["latency_us"] for way in ("native", "two-sided"))
    saved = {name: {size: 100 * (1 - native[name][size] / us) for size, us in emulated[name].items()} for name in names}
    shown = "; ".join(f"{name} {', '.join(f'{share:.0f}' for share in by_size.values())} %" for name, by_size in saved.items())
    ours = of(share for by_size in saved.values() for share in by_size.values())
    return Measured(
        ours,
        f"operation and flush, by MPICH's interface for libfabric against its emulation, with {', '.join(map(str, SIZES))} B: {shown}. "
        "Theirs are another MPI library, processors and network",
        holds=ours >= float(published()[row]["value"]),
        data={"native_us": native, "emulated_us": emulated},
    )


@experiment("R48", kind="bound", needs=("mpich",))
def puts(runner: Runner) -> Measured:
    return _saved(runner, "R48", min, "put", "accumulate")


@experiment("R49", kind="bound", needs=("mpich",))
def gets(runner: Runner) -> Measured:
    return _saved(runner, "R49", min, "get")


@experiment("R50", kind="bound", needs=("mpich",))
def atomics(runner: Runner) -> Measured:
    return _saved(runner, "R50", max, "get_accumulate")
