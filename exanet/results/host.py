# SPDX-License-Identifier: Apache-2.0
"""The computer that simulated."""

from __future__ import annotations

import os


def system() -> str:
    """Its operating system and C library, as platform.platform() names them; that reads files and starts a process,
    for 30 ms."""
    of = os.uname()
    try:
        library = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):  # another C library
        library = None
    return f"{of.sysname}-{of.release}-{of.machine}" + (f"-with-{library.replace(' ', '')}" if library else "")
