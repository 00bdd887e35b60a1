# SPDX-License-Identifier: Apache-2.0
"""Prints how often a rank reads from files while MPI_Init sets its library up."""

import ctypes
from pathlib import Path

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402


def reads() -> int:
    return next(int(line.split()[1]) for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("syscr"))


before = reads()
MPI.Init()
print("reads", reads() - before)
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
print("own", int(libc.fopen(b"/proc/kallsyms", b"r") is not None))
MPI.Finalize()
