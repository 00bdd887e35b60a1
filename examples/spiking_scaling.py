# SPDX-License-Identifier: Apache-2.0
"""How a spiking network's exchange of spikes scales, to more ranks than run here (RED-SEA D1.4, sections 9.1 and
9.2.4).

python examples/spiking_scaling.py --machine fat-tree-1024 --ranks 8,16,32,64,128,256,512

The network of spiking.py (`nest`) runs once, on one rank. Its spikes say what any number of ranks would send: the
traces written from them have the MPI_Alltoall of recordings of the program (tests/mpi/test_spiking.py). Computing is
what NEST 3.10 took for a step of a neuron and for a spike's arrival at a synapse, on this project's host
(docs/traces/studies.md).
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import spiking

from exanet import replay
from exanet.trace.write import Writer

NEURON_STEP_PS, ARRIVAL_PS = 87_000, 128_000


@dataclass(frozen=True)
class Spikes:
    """Which neurons fired between two exchanges, for each exchange."""

    network: spiking.Network
    fired: list[np.ndarray]

    @staticmethod
    def of(network: spiking.Network, milliseconds: int) -> Spikes:
        cells, found = spiking.Neurons(network, np.arange(network.neurons)), []
        for begin in range(0, int(milliseconds / spiking.STEP_MS), spiking.DELAY):
            steps = list(cells.advance(begin))
            who = np.concatenate([each for _, each in steps])
            cells.deliver(who, np.repeat([lag for lag, _ in steps], [len(each) for _, each in steps]))
            found.append(who)
        return Spikes(network, found)


@dataclass(frozen=True)
class Exchange:
    """One exchange on so many ranks: the entries of a block in each round, and picoseconds of computing before and
    behind it, by rank."""

    blocks: list[int]
    before_ps: np.ndarray
    behind_ps: np.ndarray


def exchanges(spikes: Spikes, ranks: int) -> list[Exchange]:
    network = spikes.network
    everyone = np.arange(network.neurons)
    on = network.ranks_of(everyone, ranks)
    # Synapses by the neuron that they come from and the rank that they are on.
    pairs, synapses = np.unique(network.sources(everyone) * ranks + on[:, None], return_counts=True)
    first = np.searchsorted(pairs, np.arange(network.neurons + 1) * ranks)
    before = np.bincount(on, minlength=ranks) * spiking.DELAY * NEURON_STEP_PS
    blocks, found = spiking.Blocks(), []
    for who in spikes.fired:
        counts = first[who + 1] - first[who]
        at = np.arange(counts.sum()) + np.repeat(first[who] - np.cumsum(counts) + counts, counts)
        to = pairs[at] % ranks
        needed = int(np.bincount(np.repeat(on[who], counts) * ranks + to, minlength=1).max(initial=0))
        sizes = [blocks.spikes]
        while not blocks.enough(needed):
            sizes.append(blocks.spikes)
        arrived = np.bincount(to, synapses[at], ranks)
        found.append(Exchange(sizes, before, (arrived * ARRIVAL_PS).astype(np.int64)))
    return found


def write(folder: Path, ranks: int, found: list[Exchange]) -> Path:
    with Writer(folder, ranks, {"program": [f"spikes exchanged {len(found)} times"]}) as streams:
        for rank, stream in enumerate(streams):
            behind = 0
            for exchange in found:
                compute = behind + int(exchange.before_ps[rank])
                for spikes in exchange.blocks:
                    stream.collective("Alltoall", spikes * spiking.NEST_SPIKE, spikes * spiking.NEST_SPIKE, compute_ps=compute)
                    compute = 0
                behind = int(exchange.behind_ps[rank])
            stream.end(compute_ps=behind)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", default="fat-tree-1024", help="name or file (default: fat-tree-1024)")
    parser.add_argument("--ranks", default="8,16,32,64,128,256,512", help="one a core (default: 8,16,...,512)")
    parser.add_argument("--neurons", type=int, default=100_000)
    parser.add_argument("--inputs", type=int, default=100, help="of each neuron (default: 100)")
    parser.add_argument("--milliseconds", type=int, default=60, help="of the network's time (default: 60)")
    parser.add_argument("--mapping", default="round-robin", help="of ranks to nodes (default: round-robin)")
    arguments = parser.parse_args()
    spikes = Spikes.of(spiking.Network("nest", arguments.neurons, arguments.inputs), arguments.milliseconds)
    print(f"{sum(map(len, spikes.fired))} spikes in {len(spikes.fired)} exchanges, {arguments.machine}")
    heads = (("ranks", 6), ("block", 10), ("rounds", 8), ("run", 13), ("computing", 13), ("exchange", 13), ("than before", 15))
    print("".join(f"{head:>{width}}" for head, width in heads))
    last = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for ranks in map(int, arguments.ranks.split(",")):
            found = exchanges(spikes, ranks)
            trace = write(Path(folder) / str(ranks), ranks, found)
            run = replay.replay(replay.Options((trace,), arguments.machine, mapping=arguments.mapping))[0]["summary"]["virtual_ps"]
            compute = sum(int((each.before_ps + each.behind_ps).sum()) for each in found) / ranks
            block = np.median([each.blocks[-1] for each in found]) * spiking.NEST_SPIKE
            faster = f"{last / run:>9.2f} times" if last else ""
            times = "".join(f"{time * 1e-9:>10.3f} ms" for time in (run, compute, run - compute))
            print(f"{ranks:>6}{block:>8.0f} B{sum(len(each.blocks) for each in found):>8}{times}{faster}", flush=True)
            last = run


if __name__ == "__main__":
    main()
