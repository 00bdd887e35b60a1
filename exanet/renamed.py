# SPDX-License-Identifier: Apache-2.0
"""Names that users have given to files and settings and that have changed: the old one works for one release, with a
warning."""

from __future__ import annotations

import functools
import sys


@functools.cache
def warn(what: str, old: str, new: str) -> None:
    """Names the new name on the terminal, once for each old one. `what` is the kind of name, e.g. `environment
    variable`."""
    print(f"exanet: {what} {old} is now called {new}; the old name goes with the next release", file=sys.stderr)
