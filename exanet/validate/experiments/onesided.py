# SPDX-License-Identifier: Apache-2.0
"""MPI's one-sided operations on the interface, against the MPI library's emulation of them by messages, one hop.

Another interface, processor and MPI library saved what is published, so each row is a bound: ours is to save no less.
"About" and no word are taken as what each size up to 1024 B saves, and "up to" as what the best size saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exanet.validate.experiments.mpi_latency import MACHINE, ONE_HOP
from exanet.validate.registry import Measured, Off, Reading, experiment, published
from exanet.validate.runner import Runner

SIZES = (8, 64, 256, 1024)

_NO_LOCK = (
    "the source says that its emulation of these operations takes a lock within ParaStation MPI. MPICH's takes none and is shorter: with a "
    "lock of 2.9 us its 7.3 us for 8 B would be the 10.2 us of which 80 % are saved here"
)


def _latency_us(runner: Runner) -> dict[str, dict[str, dict[str, float]]]:
    """Of an operation and its flush, by the interface ("native") and by messages, by name and size."""
    return {way: runner.run("onesided", MACHINE, ONE_HOP, way, *SIZES)["latency_us"] for way in ("native", "two-sided")}


def _saved(runner: Runner, name: str) -> dict[str, float]:
    """Percent of the operation's latency that the interface saves, by size."""
    us = _latency_us(runner)
    return {size: 100 * (1 - us["native"][name][size] / emulated) for size, emulated in us["two-sided"][name].items()}


def _measured(runner: Runner, row: str, ours: float, names: Iterable[str], readings: Mapping[str, float] | None = None) -> Measured:
    least = float(published()[row]["value"])
    shown = "; ".join(f"{name} {', '.join(f'{share:.0f}' for share in _saved(runner, name).values())} %" for name in names)
    us = _latency_us(runner)
    return Measured(
        ours,
        f"operation and flush, by MPICH's interface for libfabric against its emulation, with {', '.join(map(str, SIZES))} B: {shown}. "
        "Hints allow the interface's atomics (programs/onesided.py). Theirs are another MPI library, processors and network",
        holds=ours >= least,
        data={"native_us": us["native"], "emulated_us": us["two-sided"]},
        readings=tuple(Reading(text, saved, least, saved >= least) for text, saved in (readings or {}).items()),
    )


@experiment("R48", kind="bound", needs=("mpich",))
def puts(runner: Runner) -> Measured:
    """The least that is saved of either operation and any size."""
    put, accumulate = (min(_saved(runner, name).values()) for name in ("put", "accumulate"))
    return _measured(runner, "R48", min(put, accumulate), ("put", "accumulate"), {"MPI_Put alone": put})


@experiment("R49", kind="bound", needs=("mpich",))
def gets(runner: Runner) -> Measured:
    """The least that is saved of any size."""
    return _measured(runner, "R49", min(_saved(runner, "get").values()), ("get",))


@experiment("R50", kind="bound", off=Off(-0.099, _NO_LOCK), needs=("mpich",))
def atomics(runner: Runner) -> Measured:
    """The most that is saved of any size."""
    return _measured(runner, "R50", max(_saved(runner, "get_accumulate").values()), ("get_accumulate",))
