# SPDX-License-Identifier: Apache-2.0
"""A worker of a sweep on this computer: `python -m exanet.sweep.worker SCHEDULER FOLDER`.

It runs one run at a time, and ends at once when the sweep has ended, however that came about: the other end of its
standard input is the sweep's then no longer. It sets itself no limit of memory; what takes too much is ended by the
system.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading


def _end_with_the_sweep() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def _work(scheduler: str, folder: str) -> None:
    from dask.distributed import Worker

    async with Worker(scheduler, nthreads=1, memory_limit=0, local_directory=folder) as worker:
        await worker.finished()


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    asyncio.run(_work(*sys.argv[1:]))
