# SPDX-License-Identifier: Apache-2.0
"""The version of the package that runs."""

from __future__ import annotations

from pathlib import Path


def version() -> str:
    """As the package's installer has recorded it; "unknown" for a source tree that is not installed.

    The record is a folder beside the package. Finding it by importlib.metadata takes as long as a tenth of a small
    run's start, so that is left to packages whose record is elsewhere.
    """
    recorded = sorted(Path(__file__).parent.parent.glob("exanet-*.dist-info"))
    if len(recorded) == 1:
        return recorded[0].name.removeprefix("exanet-").removesuffix(".dist-info")
    from importlib import metadata

    try:
        return metadata.version("exanet")
    except metadata.PackageNotFoundError:
        return "unknown"
