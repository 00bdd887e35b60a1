# SPDX-License-Identifier: Apache-2.0
"""Whose rules say which algorithms a trace's collectives take: those of an MPI library, by name."""

from __future__ import annotations

from exanet import _core
from exanet.errors import InputError
from exanet.trace.folder import Trace

NAMES: dict[str, str] = dict(_core.selection_rules())
"""The rules, and the MPI library whose they are."""


def check(name: str | None) -> None:
    """Raises InputError on rules that there are not."""
    if name is not None and name not in NAMES:
        raise InputError(f"--rules '{name}': there are no such rules; give one of {', '.join(NAMES)}")


def of(trace: Trace, asked: str | None = None) -> str:
    """The rules that are asked for, or those of the MPI that recorded the trace: MPICH's unless that is Open MPI."""
    return asked or ("open-mpi" if trace.about.mpi == "Open MPI" else "mpich")
