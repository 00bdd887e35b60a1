# SPDX-License-Identifier: Apache-2.0
"""A written network of spiking neurons in the place of NEST (exanet/trace/written.py): what its ranks exchange, and how
its time falls with their number. docs/traces/studies.md has the same with a network that runs."""

from __future__ import annotations

import functools
import itertools
import statistics
import tempfile
from pathlib import Path

from exanet import replay
from exanet.trace import written
from exanet.validate.registry import Measured, Off, Reading, experiment, published
from exanet.validate.runner import Runner

_MACHINE, _EXCHANGES = "fat-tree-1024", 3
_DOUBLED = (2, 4, 8, 16, 32, 64)
_EXCHANGED = (16, 32, 64, 128, 256, 512)
_BLOCKS_OF = (32, 64, 128, 256)


@functools.cache
def took_ms(runner: Runner, ranks: int) -> float:
    """Milliseconds of an exchange and the computing before it."""
    runner.report(f"spikes of {ranks} ranks")
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        trace = written.spiking(Path(folder) / "trace", ranks, _EXCHANGES)
        return float(replay.replay(replay.Options((trace,), _MACHINE))[0]["summary"]["virtual_ps"]) * 1e-9 / _EXCHANGES


def _computing_ms(ranks: int) -> float:
    return (written.NEURONS * written.STEPS * written.NEURON_STEP_PS + written.SPIKES * written.INPUTS * written.ARRIVAL_PS) / ranks * 1e-9


@experiment("R43", kind="beside")
def block_sizes(runner: Runner) -> Measured:
    """Blocks of the exchange of spikes, by ranks."""
    blocks = {ranks: written.spike_block_bytes(ranks) for ranks in _BLOCKS_OF}
    return Measured(
        blocks[_BLOCKS_OF[-1]],
        f"blocks on {', '.join(map(str, blocks))} ranks, of 100,000 neurons with 100 inputs each; how often neurons fire is chosen, and "
        "theirs is not published",
        text=", ".join(f"{size} B" for size in blocks.values()),
        data=blocks,
    )


@experiment("R47", kind="predicted")
def halved(runner: Runner) -> Measured:
    """The time of half as many ranks that twice as many take, in the mean of five steps."""
    took = {ranks: took_ms(runner, ranks) for ranks in _DOUBLED}
    falls = [took[b] / took[a] for a, b in itertools.pairwise(_DOUBLED)]
    return Measured(
        statistics.fmean(falls),
        f"computing and exchange on {_DOUBLED[0]} to {_DOUBLED[-1]} ranks of {_MACHINE}, a rank a node; step by step "
        f"{', '.join(f'{share:.3f}' for share in falls)}. Computing is NEST's on another host",
        data=took,
        readings=(Reading(f"from {_DOUBLED[-2]} to {_DOUBLED[-1]} ranks", falls[-1], 0.5),),
    )


_LAYOUTS = {
    1: (1, 1, 1),
    2: (2, 2, 1),
    4: (4, 4, 1),
    8: (8, 8, 1),
    16: (8, 8, 2),
    32: (8, 8, 4),
    64: (8, 8, 8),
    128: (8, 8, 16),
    256: (8, 32, 8),
    512: (8, 32, 16),
    704: (11, 44, 16),
}
"""Nodes, ranks and threads of a rank, by cores (D1.4 table 1)."""

_A_RANK_A_NODE = 4
"""Layouts of one thread: as many cores as nodes."""


_THREADS_LOSE = (
    "theirs lose with threads: with 8 ranks on 8 nodes, whose messages stay the same, 16 threads a rank reach 74 % of 128 cores in theirs "
    "and 94 % here, on 512 cores 37 and 52 %. Memory and what NEST does not share between threads are not in the computing here, which "
    "threads share evenly"
)


@functools.cache
def speed_ups(runner: Runner) -> dict[int, float]:
    """By cores, in the layouts of the published table."""
    took = {}
    for cores, (nodes, ranks, threads) in _LAYOUTS.items():
        runner.report(f"spikes of {cores} cores")
        with tempfile.TemporaryDirectory(prefix="exanet-validate-") as place:
            folder = Path(place)
            trace = written.spiking(folder / "trace", ranks, _EXCHANGES, threads)
            (folder / "map").write_text("".join(f"{rank * nodes // ranks}\n" for rank in range(ranks)), encoding="utf-8")
            took[cores] = replay.replay(replay.Options((trace,), _MACHINE, str(folder / "map")))[0]["summary"]["virtual_ps"]
    return {cores: took[1] / ps for cores, ps in took.items()}


def _in_layouts(row: str, ours: dict[int, float], shown: str) -> Measured:
    theirs = tuple(float(each) for each in published()[row]["value"])
    values = tuple(ours.values())
    return Measured(
        values,
        f"a written network of neurons in the place of NEST's, in the nodes, ranks and threads of the table, on {_MACHINE}. {shown}",
        data=ours,
        readings=(Reading("1 to 8 cores, a rank a node, one thread", values[:_A_RANK_A_NODE], theirs[:_A_RANK_A_NODE]),),
    )


@experiment("R41", kind="predicted", off=Off(0.401, _THREADS_LOSE))
def speed_ups_by_cores(runner: Runner) -> Measured:
    """Speed-ups in the layouts of the published table; threads share a rank's computing evenly."""
    ours = speed_ups(runner)
    most = max(ours)
    return _in_layouts("R41", ours, f"On {most} cores all exchanges together take {1 - ours[most] / most:.1%} of the time")


@experiment("R40", kind="predicted", off=Off(-0.286, _THREADS_LOSE))
def run_times(runner: Runner) -> Measured:
    """The published time of one core over the speed-ups of R41."""
    one = float(published()["R40"]["value"][0])
    return _in_layouts("R40", {cores: one / ratio for cores, ratio in speed_ups(runner).items()}, "The time of one core is given")


@experiment("R42", kind="beside", long=True)
def exchange_times(runner: Runner) -> Measured:
    """The time of an exchange by ranks."""
    took = {ranks: took_ms(runner, ranks) - _computing_ms(ranks) for ranks in _EXCHANGED}
    fastest = min(took, key=lambda ranks: took[ranks])
    return Measured(
        fastest,
        f"of {', '.join(map(str, took))} ranks the shortest exchange: {', '.join(f'{ms:.3f} ms' for ms in took.values())}, a rank a node. "
        "Theirs has several ranks a node, on a network that is not described",
        text=f"{fastest} ranks",
        data=took,
    )
