# SPDX-License-Identifier: Apache-2.0
"""Packed ranks: one memory map, but processes, files, folders and environments of their own."""

import ctypes
import os
import signal
import subprocess

from mpi4py import MPI

world = MPI.COMM_WORLD
text = ctypes.create_string_buffer(f"memory of rank {world.rank}".encode())
addresses = world.allgather(ctypes.addressof(text))
for rank, address in enumerate(addresses):
    assert ctypes.string_at(address) == f"memory of rank {rank}".encode()

assert len(set(world.allgather(os.getpid()))) == world.size
assert world.allgather(os.environ["EXANET_RANK"]) == [str(rank) for rank in range(world.size)]
assert "EXANET_HOST" not in os.environ

here = os.getcwd()
os.mkdir(f"of-{world.rank}")
os.chdir(f"of-{world.rank}")
world.Barrier()
assert os.getcwd() == f"{here}/of-{world.rank}"
files = [open("file", "w") for _ in range(10 * world.rank)]  # noqa: SIM115
world.Barrier()
assert len(os.listdir("/proc/self/fd")) > 10 * world.rank
del files

handled = []
signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))
world.Barrier()
if world.rank == 0:
    os.kill(os.getpid(), signal.SIGUSR1)
world.Barrier()
assert len(handled) == (world.rank == 0)

assert subprocess.run(["echo", str(world.rank)], capture_output=True, text=True, check=True).stdout == f"{world.rank}\n"
child = os.fork()
if child == 0:
    ctypes.string_at(addresses[0])
    os._exit(world.rank + 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == world.rank + 3

# Far more than one block, of the size that comes from the break in a process, and given back.
kept = [bytes([world.rank]) * 1000 for _ in range(20000)]
world.Barrier()
assert all(each == bytes([world.rank]) * 1000 for each in kept)
del kept
world.Barrier()
if world.rank == 0:
    print("ok", world.size)
