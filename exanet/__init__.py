# SPDX-License-Identifier: Apache-2.0
"""ExaNet: run unmodified MPI programs on a simulated ExaNet machine.

From Python (docs/python.md): `exanet.run` runs a program, `exanet.replay` replays traces, `exanet.simulate` measures
synthetic traffic, `exanet.sweep` does many simulations, `exanet.load` reads what any command has left, and
`exanet.compare` sets runs side by side. Every module of the package is there under its name when it is first asked for
(`exanet.sim`, `exanet.results`, `exanet.trace`, ...).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["compare", "load", "replay", "run", "simulate", "sweep"]


def __getattr__(name: str) -> Any:
    """Modules are read when they are first used: `import exanet` alone reads none."""
    if name in ("load", "simulate"):
        return getattr(import_module("exanet.api"), name)
    if not name.startswith("_") and find_spec(f"exanet.{name}") is not None:
        return import_module(f"exanet.{name}")
    raise AttributeError(f"module 'exanet' has no attribute {name!r}")


def __dir__() -> list[str]:
    from pkgutil import iter_modules

    return sorted({*globals(), *__all__, *(found.name for found in iter_modules(__path__) if not found.name.startswith("_"))})
