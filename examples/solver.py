# SPDX-License-Identifier: Apache-2.0
"""A solver to record and replay (docs/traces.md): conjugate gradients on the heat equation of a square plate, in strips
of rows.

Each step exchanges the rows at the strips' edges with both neighbours, and adds up two numbers over all ranks. It ends
when the residual is small, or after STEPS, and says what it found.

usage: mpiexec -n RANKS python solver.py [SIDE [STEPS]]     (128 points a side, 60 steps)
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
DOWN, UP = 0, 1  # tags: towards higher ranks, and lower ones


def exchange(field: np.ndarray) -> None:
    """Fills the outermost rows with those of the neighbours; beyond the plate they stay zero."""
    above = WORLD.rank - 1 if WORLD.rank > 0 else MPI.PROC_NULL
    below = WORLD.rank + 1 if WORLD.rank + 1 < WORLD.size else MPI.PROC_NULL
    MPI.Request.Waitall(
        [
            WORLD.Irecv(field[0], above, DOWN),
            WORLD.Irecv(field[-1], below, UP),
            WORLD.Isend(field[1], above, UP),
            WORLD.Isend(field[-2], below, DOWN),
        ]
    )


def apply(field: np.ndarray) -> np.ndarray:
    """The five-point stencil on this rank's rows."""
    exchange(field)
    inner = field[1:-1]
    result = 4 * inner - field[:-2] - field[2:]
    result[:, 1:] -= inner[:, :-1]
    result[:, :-1] -= inner[:, 1:]
    return result


def dot(a: np.ndarray, b: np.ndarray) -> float:
    total = np.array(np.vdot(a, b))
    WORLD.Allreduce(MPI.IN_PLACE, total)
    return float(total)


def solve(side: int, steps: int) -> tuple[int, float]:
    """Steps taken, and the residual that is left, relative to the first."""
    rows = side // WORLD.size + (WORLD.rank < side % WORLD.size)
    answer = np.zeros((rows, side))
    residual = np.ones((rows, side))
    direction = np.zeros((rows + 2, side))
    direction[1:-1] = residual
    square = first = dot(residual, residual)
    step = 0
    while step < steps and square > 1e-16 * first:
        image = apply(direction)
        length = square / dot(direction[1:-1], image)
        answer += length * direction[1:-1]
        residual -= length * image
        before, square = square, dot(residual, residual)
        direction[1:-1] = residual + square / before * direction[1:-1]
        step += 1
    return step, (square / first) ** 0.5


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    taken, left = solve(*given, *(128, 60)[len(given) :])
    if WORLD.rank == 0:
        print(f"{taken} steps on {WORLD.size} ranks, residual {left:.6e}")
    MPI.Finalize()  # else the end of the interpreter counts, too
