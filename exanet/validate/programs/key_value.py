# SPDX-License-Identifier: Apache-2.0
"""A key-value store in the memory of rank 1, used by rank 0 through libexanet and without any MPI: half of its
transactions write a value, half read one, each by RDMA at the place that the key's hash gives, one after the other.
Arguments: answer, bytes of a value."""

import ctypes
import json
import random
import sys
from pathlib import Path

from exanet.validate.programs.user_library import HAS_DATA, OFFSET_ADDRESSED, REMOTE_WRITE, Process, library, must

PLACES, TRANSACTIONS, WARM_UP, SEED = 1024, 400, 40, 1
STORE, REMOTE_READ = 1, 1

_pointer, _word, _long, _size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
library.exanet_get.argtypes = (_pointer, ctypes.c_uint16, _long, _pointer, _size, _long, _long, _word, _long)


class Client:
    """Knows what it has stored, so that a wrong answer ends the run."""

    def __init__(self, process: Process, size: int) -> None:
        self.process, self.size, self.known = process, size, dict[int, bytes]()
        self.value = ctypes.create_string_buffer(size)

    def write(self, place: int, value: bytes) -> None:
        self.value.raw = value
        to = (self.process.ni, self.process.ep, self.process.peer)
        must(library.exanet_put(*to, self.value, self.size, place * self.size, STORE, 0, 0, 0), "exanet_put")
        must(self.process.wait().status, "a write")
        self.known[place] = value

    def read(self, place: int) -> None:
        to = (self.process.ni, self.process.ep, self.process.peer)
        must(library.exanet_get(*to, self.value, self.size, place * self.size, STORE, 0, 0), "exanet_get")
        must(self.process.wait().status, "a read")
        if self.value.raw != self.known.get(place, bytes(self.size)):
            sys.exit(f"place {place} has another value than was stored")


def transactions_per_second(process: Process, size: int) -> float:
    client, drawn, begin = Client(process, size), random.Random(SEED), 0
    for number in range(WARM_UP + TRANSACTIONS):
        if number == WARM_UP:
            begin = process.clock_ps()
        place = drawn.randrange(PLACES)
        if number % 2:
            client.read(place)
        else:
            client.write(place, drawn.randbytes(size))
    return TRANSACTIONS / (process.clock_ps() - begin) * 1e12


process, size = Process(), int(sys.argv[2])
memory = ctypes.create_string_buffer(PLACES * size)
access = REMOTE_READ | REMOTE_WRITE | OFFSET_ADDRESSED
must(library.exanet_mem_register(process.ni, memory, len(memory), access, 0, ctypes.byref(ctypes.c_uint64(STORE))), "exanet_mem_register")
process.start()
if process.rank == 0:
    found = transactions_per_second(process, size)
    must(library.exanet_put(process.ni, process.ep, process.peer, memory, 1, 0, STORE, 1, HAS_DATA, 0), "exanet_put")
    must(process.wait().status, "the end")
    Path(sys.argv[1]).write_text(json.dumps({"transactions_per_s": found}), encoding="utf-8")
else:
    process.wait()
process.end()
library.exanet_close(process.ni)
