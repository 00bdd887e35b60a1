# SPDX-License-Identifier: Apache-2.0
"""Ranks as points of a grid, the last direction running fastest, and a grid's points as those of a smaller one that
are in their place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_DIRECTIONS = 3

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return " x ".join(map(str, self.shape))

    @property
    def ranks(self) -> int:
        return math.prod(self.shape)

    def point(self, rank: int) -> tuple[int, ...]:
        found = []
        for size in reversed(self.shape):
            found.append(rank % size)
            rank //= size
        return tuple(reversed(found))

    def rank(self, point: Sequence[int]) -> int:
        found = 0
        for size, at in zip(self.shape, point, strict=True):
            found = found * size + at
        return found

    def offset(self, rank: int, other: int) -> Offset:
        """From one to the other, in each direction by the shorter way round."""
        steps = zip(self.shape, self.point(rank), self.point(other), strict=True)
        return tuple((to - at + (size - 1) // 2) % size - (size - 1) // 2 for size, at, to in steps)

    def moved(self, rank: int, offset: Offset) -> int:
        return self.rank([(at + step) % size for size, at, step in zip(self.shape, self.point(rank), offset, strict=True)])

    def place(self, rank: int) -> tuple[int, ...]:
        """In each direction whether the rank is the first (0), one between (1) or the last (2)."""
        return tuple(0 if at == 0 else 2 if at == size - 1 else 1 for size, at in zip(self.shape, self.point(rank), strict=True))

    def row(self, rank: int, fixed: Sequence[int]) -> list[int]:
        """Those who are where the rank is in the `fixed` directions, and anywhere in the others, in their order."""
        here = self.point(rank)
        return [
            self.rank(point) for point in itertools.product(*((at,) if d in fixed else range(size) for d, (size, at) in self._each(here)))
        ]

    def _each(self, point: Sequence[int]) -> Iterator[tuple[int, tuple[int, int]]]:
        return enumerate(zip(self.shape, point, strict=True))

    def like(self, rank: int, larger: Grid) -> int:
        """Who is in this grid in the place of a rank of a larger one: the first and last ones are so, the others in
        turn."""
        point = []
        for size, beyond, at in zip(self.shape, larger.shape, larger.point(rank), strict=True):
            if at == 0 or beyond == size:
                point.append(at)
            elif at == beyond - 1:
                point.append(size - 1)
            else:
                point.append(1 + (at - 1) % (size - 2))
        return self.rank(point)


def grids(ranks: int) -> Iterator[Grid]:
    """The grids of so many ranks, of one direction first."""
    for directions in range(1, _MOST_DIRECTIONS + 1):
        for shape in _shapes(ranks, directions):
            if directions == 1 or min(shape) > 1:
                yield Grid(shape)


def _shapes(ranks: int, directions: int) -> Iterator[tuple[int, ...]]:
    if directions == 1:
        yield (ranks,)
        return
    for size in range(1, ranks + 1):
        if ranks % size == 0:
            for rest in _shapes(ranks // size, directions - 1):
                yield (size, *rest)


def larger(grid: Grid, ranks: int, known: Grid | None = None) -> Grid | None:
    """The grid of so many ranks that is larger by most nearly the same in all directions; of equals the one that is
    longest in the first.

    Only in those directions in which `known`, if given, is another. None where there is no grid that is as large in
    each direction, and that can be: a direction of two has nobody between.
    """
    grows = [size > 2 and (known is None or other != size) for size, other in zip(grid.shape, (known or grid).shape, strict=True)]

    def may_be(shape: tuple[int, ...]) -> bool:
        return all(new == old or (new > old and may) for old, new, may in zip(grid.shape, shape, grows, strict=True))

    def unlike(shape: tuple[int, ...]) -> tuple[float, ...]:
        growth = [new / old for old, new in zip(grid.shape, shape, strict=True)]
        return (max(growth) / min(growth), *(-size for size in shape))

    return Grid(min(found, key=unlike)) if (found := [shape for shape in _shapes(ranks, len(grid.shape)) if may_be(shape)]) else None
