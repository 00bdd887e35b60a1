# SPDX-License-Identifier: Apache-2.0
"""Breadth-first search on MPI ranks with a GPU each, the kernel of Graph500, as QUonG's benchmark (docs/gpu.md).

The graph is a Kronecker graph by Graph500's rules: 2^SCALE vertices, 16 edges for each, drawn by the probabilities
0.57, 0.19, 0.19 and 0.05, vertices renumbered at random. Vertex v belongs to rank v mod RANKS, with its edges in device
memory.

The search goes level by level. A kernel reads the edges of the vertices that were found last, and packs for each rank
those of its vertices at their other ends, each once. Ranks exchange these, by MPI from device memory to device memory,
and a further kernel marks those that are new.

As Graph500 asks, the tree is checked at the end: each edge joins levels that differ by one at most, and each vertex but
the root was found by a neighbour one level above. The graph and the levels are the same on any number of ranks.

usage: exanet run -m quong -n RANKS --map round-robin --compute off -- python bfs.py [SCALE]

Without a number: scale 12.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from exanet import gpu

MEMORY_RATE = 150e9  # B/s, of the GPU (machines/quong.yaml)
ACCESS = 32  # B that memory moves for a number at a random address, a sector of the GPU's cache
NUMBER, PAIR = 4, 8  # B
DEGREE = 16  # edges for each vertex
BLOCK = 1 << 12  # edges that have a seed of their own
WORLD = MPI.COMM_WORLD


@dataclass
class Part:
    """A rank's vertices, by their number divided by the ranks': `first[i]` to `first[i + 1]` are the places of the
    i-th one's edges in `ends`, which is in device memory."""

    first: np.ndarray
    ends: np.ndarray
    parent: np.ndarray  # in device memory; -1: not found
    level: np.ndarray


def drawn(scale: int, block: int) -> np.ndarray:
    """The edges of a block, as two rows of vertices."""
    random = np.random.default_rng([scale, block])
    edges = np.zeros((2, BLOCK), np.int64)
    for _ in range(scale):
        row = random.random(BLOCK) > 0.57 + 0.19
        column = random.random(BLOCK) > np.where(row, 0.19 / (0.19 + 0.05), 0.57 / (0.57 + 0.19))
        edges = 2 * edges + np.stack([row, column])
    return np.random.default_rng([scale]).permutation(1 << scale)[edges]


def exchanged(rows: list[np.ndarray]) -> np.ndarray:
    """What all ranks have for this one, of arrays with two rows for each rank."""
    return np.concatenate(WORLD.alltoall(rows), axis=1)


def made(scale: int) -> Part:
    blocks = (DEGREE << scale) // BLOCK
    edges = np.concatenate([drawn(scale, block) for block in range(WORLD.rank, blocks, WORLD.size)] or [np.zeros((2, 0), np.int64)], axis=1)
    edges = edges[:, edges[0] != edges[1]]
    both = np.concatenate([edges, edges[::-1]], axis=1)
    own = exchanged([both[:, both[0] % WORLD.size == rank] for rank in range(WORLD.size)])
    own = np.unique(own, axis=1)
    vertices = len(range(WORLD.rank, 1 << scale, WORLD.size))
    first = np.searchsorted(own[0] // WORLD.size, np.arange(vertices + 1))
    ends, parent = gpu.empty(own.shape[1], np.int32), gpu.empty(vertices, np.int32)
    gpu.copy(ends, own[1].astype(np.int32))
    gpu.copy(parent, np.full(vertices, -1, np.int32))
    return Part(first, ends, parent, np.full(vertices, -1))


def edges_of(part: Part, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of these vertices' edges in `ends`, and the vertex of each."""
    counts = part.first[found + 1] - part.first[found]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) + np.repeat(part.first[found] - before, counts)
    return places, np.repeat(found, counts)


def packed(part: Part, found: np.ndarray, space: np.ndarray) -> list[np.ndarray]:
    """The kernel: in `space`, for each rank the vertices at the other ends and where they were seen from."""
    count = int((part.first[found + 1] - part.first[found]).sum())
    with gpu.kernel(count * (NUMBER + ACCESS) / MEMORY_RATE):
        places, near = edges_of(part, found)
        far, seen = np.unique(part.ends[places], return_index=True)
        near = near[seen] * WORLD.size + WORLD.rank
        parts, at = [], 0
        for rank in range(WORLD.size):
            mine = far % WORLD.size == rank
            piece = space[at : at + 2 * int(mine.sum())]
            piece[0::2], piece[1::2] = far[mine], near[mine]
            parts.append(piece)
            at += len(piece)
    return parts


def marked(part: Part, pairs: np.ndarray, level: int) -> np.ndarray:
    """The kernel: of the vertices in `pairs` those that are new, each with the least of those it was seen from."""
    with gpu.kernel(len(pairs) // 2 * (PAIR + ACCESS) / MEMORY_RATE):
        order = np.lexsort((pairs[1::2], pairs[0::2]))
        far, seen = np.unique(pairs[0::2][order], return_index=True)
        near, far = pairs[1::2][order][seen], far // WORLD.size
        new = part.parent[far] < 0
        part.parent[far[new]], part.level[far[new]] = near[new], level
    return far[new]


def exchange(parts: list[np.ndarray], space: np.ndarray) -> np.ndarray:
    """What all ranks have for this one, in `space`, which is in device memory as the parts are."""
    lengths = np.array([len(part) for part in parts], np.int32)
    arriving = np.empty_like(lengths)
    WORLD.Alltoall(lengths, arriving)
    ends = np.cumsum(arriving)
    requests = []
    for shift in range(WORLD.size):
        below, above = (WORLD.rank - shift) % WORLD.size, (WORLD.rank + shift) % WORLD.size
        if arriving[below]:
            requests.append(WORLD.Irecv(space[ends[below] - arriving[below] : ends[below]], below))
        if lengths[above]:
            requests.append(WORLD.Isend(parts[above], above))
    MPI.Request.Waitall(requests)
    return space[: ends[-1]]


def search(part: Part, root: int, scale: int) -> tuple[int, float]:
    """The levels, and the time in messages."""
    out = gpu.empty(2 << scale, np.int32)
    come = gpu.empty(2 * WORLD.size * len(part.parent) + 2, np.int32)
    found = np.zeros(0, np.int64)
    if root % WORLD.size == WORLD.rank:
        found = np.array([root // WORLD.size])
        part.parent[found], part.level[found] = root, 0
    level, messages = 0, 0.0
    while True:
        parts = packed(part, found, out)
        gpu.synchronize()
        begin = MPI.Wtime()
        pairs = exchange(parts, come)
        messages += MPI.Wtime() - begin
        found = marked(part, pairs, level + 1)
        gpu.synchronize()
        begin = MPI.Wtime()
        left = WORLD.allreduce(len(found))
        messages += MPI.Wtime() - begin
        if left == 0:
            return level, messages
        level += 1


def check(part: Part, root: int) -> int:
    """The edges between vertices that were found. Ends the program where the tree is wrong."""
    level = np.empty(WORLD.allreduce(len(part.level)), np.int64)
    for rank, own in enumerate(WORLD.allgather(part.level)):
        level[rank :: WORLD.size] = own
    vertices = np.arange(len(part.level))
    places, near = edges_of(part, vertices)
    far = part.ends[places]
    own = part.level
    reached = own >= 0
    apart = (np.abs(own[near] - level[far]) > 1) | (reached[near] != (level[far] >= 0))
    parents = part.parent[reached]
    above = (level[parents] == own[reached] - 1) | (vertices[reached] * WORLD.size + WORLD.rank == root)
    edge = np.isin(near * len(level) + far, vertices[reached] * len(level) + parents)
    joined = np.count_nonzero(edge) == np.count_nonzero(vertices[reached] * WORLD.size + WORLD.rank != root)
    if WORLD.allreduce(bool(apart.any() or not above.all() or not joined), MPI.LOR):
        raise SystemExit("bfs.py: the tree is wrong")
    return WORLD.allreduce(int(np.count_nonzero(reached[near]))) // 2


def main() -> None:
    scale = int((sys.argv[1:] or ["12"])[0])
    if not 9 <= scale <= 24 or WORLD.size > 1 << scale:
        raise SystemExit(f"bfs.py: scale {scale}: give one of 9 to 24")
    gpu.select(WORLD.Split_type(MPI.COMM_TYPE_SHARED).rank % gpu.count())
    part = made(scale)
    degrees = WORLD.allgather(np.diff(part.first))
    root = min(rank + WORLD.size * int(np.argmax(own)) for rank, own in enumerate(degrees) if own.max() == max(map(np.max, degrees)))
    WORLD.Barrier()
    begin = MPI.Wtime()
    levels, messages = search(part, root, scale)
    WORLD.Barrier()
    took = MPI.Wtime() - begin
    edges = check(part, root)
    sums = [
        WORLD.allreduce(value)
        for value in (messages / WORLD.size, int(part.level[part.level >= 0].sum()), int(np.count_nonzero(part.level >= 0)))
    ]
    if WORLD.rank == 0:
        print(f"found {sums[2]} of {1 << scale} vertices in {levels} levels, sum of their levels {sums[1]}; the tree is right")
        rate, share = edges / took / 1e6, 100 * sums[0] / took
        print(f"{edges} edges in {took * 1e6:.1f} us: {rate:.0f} million edges a second, {share:.1f} % of the time in MPI")


main()
