# SPDX-License-Identifier: Apache-2.0
"""Whether a limit on memory leaves space for the tables of results: found before anything is simulated."""

from __future__ import annotations

import os
import resource

from exanet.errors import InputError

_TABLES_BYTES = 2 * 1024**3
_TABLES_BYTES_PER_PROCESSOR = 8 * 1024**2
"""Address space that making tables takes; polars was seen to take 1.25 GB with two processors, and 2.0 GB with 128.
With less it ends the process, or waits for itself for ever, when all has been simulated."""


def check() -> None:
    """Raises InputError where results could not be made for want of address space."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _TABLES_BYTES + (os.cpu_count() or 1) * _TABLES_BYTES_PER_PROCESSOR
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise InputError(
            f"memory is limited to {limit // 1024} KiB, and the tables of results may take {needed // 1024} KiB of address space: "
            "raise the limit (ulimit -v)"
        )
