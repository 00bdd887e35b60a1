# SPDX-License-Identifier: Apache-2.0
"""A spiking neural network on MPI ranks, with the exchanges of spikes of NEST and of DPSNN (docs/traces/studies.md).

Leaky integrate-and-fire neurons, four in five of them excitatory, with as many inputs each and Poisson noise from
outside (Brunel 2000). All synapses take DELAY steps, so ranks exchange spikes once in as many. Which neuron is whose
input, and its noise, follow from its number: the spikes are the same on any number of ranks.

nest    any neuron may be any other's input; neurons go to ranks in turn. NEST 3.10's exchange: MPI_Alltoall, equal
        blocks for each pair of ranks, 8 B a spike. A rank that needed more says so in the last entries; then all send
        again in larger blocks.
dpsnn   a grid of columns, four in five inputs from the same column, the others from up to three columns away; columns
        go to ranks in blocks. DPSNN's exchange: MPI_Alltoall of how many spikes come, then MPI_Alltoallv of them, 12 B
        each (neuron and time).

usage: mpiexec -n RANKS python spiking.py nest|dpsnn [NEURONS [INPUTS [MILLISECONDS]]]

Without numbers: 20000 neurons, 100 inputs, 100 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

STEP_MS, DELAY = 0.1, 15
TAU_MS, THRESHOLD_MV, RESET_MV, REFRACTORY = 20.0, 20.0, 10.0, 20  # refractory for so many steps (Brunel 2000)
OUTSIDE, INHIBITION = 2.0, 5.0  # noise, of what would make a neuron fire by itself; inhibition, of excitation
COLUMN = 1250  # neurons of a column (ExaNeSt: 8 x 8 columns of 1250)
NEST_SPIKE, DPSNN_SPIKE = 8, 12  # bytes
GROW, SHRINK_BELOW, SPARE = 1.5, 0.2, 1.1  # NEST's blocks: spike_buffer_grow_extra, _shrink_limit, _shrink_spare


def drawn(*keys: np.ndarray | int) -> np.ndarray:
    """64 random bits for each combination of whole numbers (splitmix64), whoever asks."""
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for key in keys:
            state = (state + np.asarray(key).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state)


@dataclass(frozen=True)
class Network:
    """Who is whose input, and on which rank a neuron is."""

    kind: str
    neurons: int
    inputs: int

    def __post_init__(self) -> None:
        if self.kind not in ("nest", "dpsnn"):
            raise SystemExit(f"spiking.py: {self.kind}: give nest or dpsnn")
        if self.neurons < 5 or self.inputs < 5:
            raise SystemExit("spiking.py: a network has 5 neurons and 5 inputs of each at least")
        if self.kind == "dpsnn" and self.neurons % COLUMN != 0:
            raise SystemExit(f"spiking.py: {self.neurons} neurons: dpsnn has columns of {COLUMN}")

    def ranks_of(self, neurons: np.ndarray, ranks: int) -> np.ndarray:
        if self.kind == "nest":
            return np.asarray(neurons % ranks)
        return np.asarray(neurons // COLUMN * ranks // (self.neurons // COLUMN))

    def of_rank(self, rank: int, ranks: int) -> np.ndarray:
        """Its neurons, ascending."""
        everyone = np.arange(self.neurons)
        return everyone[self.ranks_of(everyone, ranks) == rank]

    def sources(self, targets: np.ndarray) -> np.ndarray:
        """Inputs of these neurons, (targets, inputs); the first four in five are excitatory."""
        excitatory = self.inputs * 4 // 5
        draws = drawn(targets[:, None], np.arange(self.inputs)[None, :])
        if self.kind == "nest":
            base, among = np.zeros_like(draws, dtype=np.int64), self.neurons
        else:
            base, among = self._columns(targets, draws), COLUMN
        # Of five neurons in a row the last one is inhibitory.
        group = (draws % np.uint64(among // 5)).astype(np.int64)
        within = ((draws >> np.uint64(40)) % np.uint64(4)).astype(np.int64)
        within[:, excitatory:] = 4
        return base + 5 * group + within

    def _columns(self, targets: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """First neuron of the column that each input comes from: its own, or one up to 3 columns away each way,
        within the grid."""
        columns = self.neurons // COLUMN
        side = max(d for d in range(1, int(columns**0.5) + 1) if columns % d == 0)
        own = targets[:, None] // COLUMN
        far = drawn(draws, 1)
        away = ((far % np.uint64(7)).astype(np.int64) - 3, ((far >> np.uint64(20)) % np.uint64(7)).astype(np.int64) - 3)
        x, y = (own % side + away[0]).clip(0, side - 1), (own // side + away[1]).clip(0, columns // side - 1)
        return np.asarray(np.where(far >> np.uint64(40) & np.uint64(0xFFFF) < np.uint64(0xCCCD), own, y * side + x) * COLUMN)


@dataclass
class Neurons:
    """The neurons of a rank, and their synapses by the neuron that they come from."""

    network: Network
    mine: np.ndarray
    potential: np.ndarray = field(init=False)
    waits: np.ndarray = field(init=False)  # steps until a neuron may fire again

    def __post_init__(self) -> None:
        sources = self.network.sources(self.mine)
        weight = THRESHOLD_MV / self.network.inputs / 0.2  # mV: 1000 inputs of 0.1 mV
        weights = np.full(self.network.inputs, weight)
        weights[self.network.inputs * 4 // 5 :] *= -INHIBITION
        order = np.argsort(sources, axis=None, kind="stable")
        self._first = np.searchsorted(sources.ravel()[order], np.arange(self.network.neurons + 1))
        self._target, self._weight = order // self.network.inputs, weights[order % self.network.inputs]
        self.sources = np.unique(sources)
        self.potential = (drawn(self.mine, 2) >> np.uint64(11)).astype(float) / 2**53 * THRESHOLD_MV
        self.waits = np.zeros(len(self.mine), np.int32)
        self._outside_weight = weight
        mean = OUTSIDE * THRESHOLD_MV / weight / TAU_MS * STEP_MS
        self._counts = np.exp(-mean) * np.cumsum([1.0, *np.cumprod(mean / np.arange(1, 24))])
        self._arriving = np.zeros((DELAY, len(self.mine)))

    def advance(self, begin: int) -> Iterator[tuple[int, np.ndarray]]:
        """Steps up to the next exchange; yields which of the rank's neurons fired in which of them."""
        for lag in range(DELAY):
            noise = (drawn(self.mine, begin + lag, 3) >> np.uint64(11)).astype(float) / 2**53
            self.potential *= np.exp(-STEP_MS / TAU_MS)
            self.potential += self._arriving[lag] + self._outside_weight * np.searchsorted(self._counts, noise)
            self.potential[self.waits > 0] = RESET_MV
            fired = np.flatnonzero(self.potential >= THRESHOLD_MV)
            self.waits = np.maximum(self.waits - 1, 0)
            self.potential[fired], self.waits[fired] = RESET_MV, REFRACTORY
            yield lag, fired

    def deliver(self, neurons: np.ndarray, lags: np.ndarray) -> int:
        """Spikes of the last steps arrive in the next ones. Returns through how many synapses."""
        counts = self._first[neurons + 1] - self._first[neurons]
        total = int(counts.sum())
        synapses = np.arange(total) + np.repeat(self._first[neurons] - np.cumsum(counts) + counts, counts)
        cells = np.repeat(lags, counts) * len(self.mine) + self._target[synapses]
        self._arriving = np.bincount(cells, self._weight[synapses], DELAY * len(self.mine)).reshape(DELAY, -1)
        return total


class Blocks:
    """How many spikes NEST's blocks hold: as many as any pair of ranks needed, and some more."""

    def __init__(self) -> None:
        self.spikes = 2

    def enough(self, needed: int) -> bool:
        """After an exchange: whether all that any rank had for another one went. If not, all send again."""
        sent = needed <= self.spikes
        if not sent:
            self.spikes = int(GROW * needed)
        elif needed < SHRINK_BELOW * self.spikes:
            self.spikes = max(2, int(SPARE * needed))
        return sent


def main() -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    kind, given = sys.argv[1], [int(word) for word in sys.argv[2:5]]
    neurons, inputs, milliseconds = *given, *(20000, 100, 100)[len(given) :]
    network = Network(kind, neurons, inputs)
    began = MPI.Wtime()
    cells = Neurons(network, network.of_rank(world.rank, world.size))
    # Each rank sends the others which of their neurons it has synapses of.
    owners = network.ranks_of(cells.sources, world.size)
    wanted = world.alltoall([cells.sources[owners == rank] for rank in range(world.size)])
    goes = np.zeros((world.size, len(cells.mine)), bool)
    for rank, theirs in enumerate(wanted):
        goes[rank, np.searchsorted(cells.mine, theirs)] = True
    world.Barrier()
    built, exchanging, spikes, check, rounds, sent = MPI.Wtime(), 0.0, 0, 0, 0, 0
    blocks = Blocks()
    for begin in range(0, int(milliseconds / STEP_MS), DELAY):
        fired = list(cells.advance(begin))
        who = np.concatenate([each for _, each in fired])
        lags = np.repeat([lag for lag, _ in fired], [len(each) for _, each in fired])
        spikes += len(who)
        check ^= int(np.bitwise_xor.reduce(drawn(cells.mine[who], begin + lags), initial=np.uint64(0)))
        due = (cells.mine[who] * DELAY + lags).astype(np.uint64)
        out = [due[goes[rank, who]] for rank in range(world.size)]
        start = MPI.Wtime()
        if kind == "nest":
            arrived, times, size = _nest(world, out, blocks)
        else:
            arrived, times, size = _dpsnn(world, out)
        exchanging += MPI.Wtime() - start
        rounds, sent = rounds + times, sent + size
        cells.deliver((arrived // np.uint64(DELAY)).astype(np.int64), (arrived % np.uint64(DELAY)).astype(np.int64))
    world.Barrier()
    worked = MPI.Wtime() - built
    totals = world.gather((spikes, check, sent))
    if world.rank == 0:
        check = int(np.bitwise_xor.reduce([np.uint64(one) for _, one, _ in totals]))
        rate = sum(count for count, _, _ in totals) / neurons / milliseconds * 1000
        print(f"{sum(count for count, _, _ in totals)} spikes ({rate:.1f} Hz), check {check:016x}, on {world.size} ranks")
        print(f"built in {built - began:.6f} s, worked for {worked:.6f} s, exchanged spikes for {exchanging:.6f} s of it, {rounds} rounds,")
        print(f"{sum(size for _, _, size in totals)} bytes")
    MPI.Finalize()  # else the end of the interpreter counts, too


def _nest(world, out: list[np.ndarray], blocks: Blocks) -> tuple[np.ndarray, int, int]:  # type: ignore[no-untyped-def]
    """Spikes for this rank, how many rounds they took, and bytes sent.

    An entry of a block is a spike plus 1; the last one says besides, in its upper half, how many this rank had most for
    another one.
    """
    needed, rounds, size = max(map(len, out)), 0, 0
    while True:
        sent = np.zeros((world.size, blocks.spikes), np.uint64)
        for rank, each in enumerate(out):
            sent[rank, : min(len(each), blocks.spikes)] = each[: blocks.spikes] + np.uint64(1)
        sent[:, -1] |= np.uint64(needed << 32)
        came = np.empty_like(sent)
        world.Alltoall(sent, came)
        rounds, size = rounds + 1, size + NEST_SPIKE * sent.size
        if blocks.enough(int((came[:, -1] >> np.uint64(32)).max())):
            entries = came.ravel() & np.uint64(0xFFFFFFFF)
            return entries[entries > 0] - np.uint64(1), rounds, size


def _dpsnn(world, out: list[np.ndarray]) -> tuple[np.ndarray, int, int]:  # type: ignore[no-untyped-def]
    """Spikes for this rank, 1 round, and bytes sent."""
    spike = np.dtype([("cell", np.uint64), ("time", np.uint32)])
    counts = np.array([len(each) for each in out], np.int32)
    coming = np.empty_like(counts)
    world.Alltoall(counts, coming)
    sent, came = np.zeros(counts.sum(), spike), np.empty(coming.sum(), spike)
    sent["cell"] = np.concatenate(out)
    from mpi4py import MPI

    one = MPI.BYTE
    world.Alltoallv([sent, counts * DPSNN_SPIKE, one], [came, coming * DPSNN_SPIKE, one])
    return came["cell"], 1, int(counts.nbytes + sent.nbytes)


if __name__ == "__main__":
    main()
