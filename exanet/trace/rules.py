# SPDX-License-Identifier: Apache-2.0
"""Which algorithms a trace's collectives take: those that are chosen, and for the others those of the rules of an
MPI library, by name."""

from __future__ import annotations

from exanet import _core
from exanet.errors import InputError
from exanet.near import hint

NAMES: dict[str, str] = dict(_core.selection_rules())
"""The rules, and the MPI library whose they are."""


def of_mpi(name: str) -> str:
    """The rules of an MPI: MPICH's unless it is Open MPI."""
    return "open-mpi" if name == "Open MPI" else "mpich"


def check(name: str | None) -> None:
    """Raises InputError on rules that there are not."""
    if name is not None and name not in NAMES:
        raise InputError(f"--rules '{name}': there are no such rules{hint(name, NAMES)}; give one of {', '.join(NAMES)}")


def algorithms() -> dict[str, list[str]]:
    """The algorithms by collective, as --collective calls them."""
    found: dict[str, list[str]] = {}
    for collective, algorithm in _core.collective_algorithms():
        found.setdefault(collective, []).append(algorithm)
    return found


def check_algorithm(what: str, collective: str, algorithm: str) -> None:
    """Raises InputError unless it is one of the collective."""
    known = algorithms()[collective]
    if not algorithm:
        raise InputError(f"{what}: {collective} has no algorithm; give {collective}= one of {', '.join(known)}")
    if algorithm not in known:
        raise InputError(f"{what}: {collective} has no algorithm '{algorithm}'{hint(algorithm, known)}; give one of {', '.join(known)}")


def choices(text: str | None) -> dict[str, str]:
    """From NAME=ALGORITHM,… the algorithm by collective. Raises InputError."""
    found: dict[str, str] = {}
    known = algorithms()
    names = ", ".join(known)
    for part in text.split(",") if text is not None else ():
        collective, _, algorithm = part.partition("=")
        if not part:
            raise InputError(
                f"--collective '{text}': the collective or its algorithm is missing; give COLLECTIVE=ALGORITHM,... with some of {names}"
            )
        if collective not in known:
            raise InputError(
                f"--collective {text}: there is no collective '{collective}'; give COLLECTIVE=ALGORITHM,... with some of {names}"
            )
        check_algorithm(f"--collective {text}", collective, algorithm)
        if collective in found:
            raise InputError(f"--collective {text}: {collective} is given twice; keep one")
        found[collective] = algorithm
    return found
