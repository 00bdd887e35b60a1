# SPDX-License-Identifier: Apache-2.0
"""How a program begins and ends virtual time, in the words of messages."""

from __future__ import annotations

from dataclasses import dataclass

from exanet.mpi.detect import Mpi


@dataclass(frozen=True)
class Phases:
    """The calls that begin virtual time, end it, and end the run.

    `instead_of_loops`: what to do about loops that read memory alone, in programs that usually have them; `optional`: a
    program may look at the network and end without having begun.
    """

    begin: str
    end: str
    abort: str
    instead_of_loops: str = ""
    optional: bool = False


_MPI = Phases("MPI_Init", "MPI_Finalize", "MPI_Abort")
_OTHERS = {
    "openshmem": Phases("shmem_init", "shmem_finalize", "shmem_global_exit", "configure Sandia OpenSHMEM with --enable-manual-progress"),
    # The first operation, and the end of the program (runtime/clock/alone.c).
    "libfabric": Phases("fi_send, fi_cq_read or the like", "exit(0)", "abort", "let the loop read a completion queue or a counter", True),
}


_SOCKETS = Phases("socket", "exit(0)", "abort")
"""Of a program without MPI whose sockets go over the simulated network (runtime/sockets)."""


def of(mpi: Mpi, *, sockets: bool = False) -> Phases:
    """Of a program, where `sockets` says that its sockets go over the simulated network."""
    if sockets and mpi.kind == "none":
        return _SOCKETS
    return _OTHERS.get(mpi.kind, _MPI)
