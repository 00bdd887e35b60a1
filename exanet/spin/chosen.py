# SPDX-License-Identifier: Apache-2.0
"""Handlers that a run gives its interfaces (`--handlers`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SHIPPED = Path(__file__).parent / "handlers"


def file_of(name: str) -> Path:
    """The file that --handlers names: one of a path, or one that comes with the package, by its name alone."""
    shipped = _SHIPPED / f"{name}.c"
    return shipped if name.isidentifier() and shipped.is_file() else Path(name)


def resolved(source: str | None) -> dict[str, Any]:
    """The handlers as a key of the resolved machine; none without a file. Raises InputError."""
    if source is None:
        return {}
    from exanet.spin import build

    return {"handlers": build.program(file_of(source))}
