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
from exanet.validate.registry import Measured, Reading, experiment, published
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


@experiment("R41", kind="beside")
def speed_ups(runner: Runner) -> Measured:
    """Speed-ups on 2 to 128 ranks, taking the one on 2 as 2."""
    took = {ranks: took_ms(runner, ranks) for ranks in (*_DOUBLED, 128)}
    ours = {ranks: 2 * took[2] / ms for ranks, ms in took.items()}
    return Measured(
        ours[128],
        f"{', '.join(f'{ranks}: {ratio:.2f}' for ranks, ratio in ours.items())}, a rank a node of {_MACHINE}. The inputs of theirs are not "
        "published, so their computing and spikes are others",
        text=f"{ours[128]:.1f} on 128",
        data=ours,
    )


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


@experiment("R40", kind="beside")
def run_times(runner: Runner) -> Measured:
    """The published time of one core over the speed-ups of R41."""
    times, took = published()["R40"]["value"], {ranks: took_ms(runner, ranks) for ranks in (*_DOUBLED, 128)}
    ours = {ranks: times[0] * ms / (2 * took[2]) for ranks, ms in took.items()}
    return Measured(
        ours[128],
        f"{', '.join(f'{ranks}: {seconds:.1f}' for ranks, seconds in ours.items())}, theirs {', '.join(str(each) for each in times[1:8])}; "
        "as R41, with the time of one core given",
        text=f"{ours[128]:.1f} s on 128",
        data=ours,
    )
