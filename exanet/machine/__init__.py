# SPDX-License-Identifier: Apache-2.0
"""Machines: the files that describe them (docs/reference/machine-files.md), what is checked, and what the simulator
gets.

The schema is imported when a description is read, which a run of a known machine does not do (kept.py).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exanet.machine.finding import shipped
    from exanet.machine.machine import Machine, load, names

__all__ = ["Machine", "load", "names", "shipped"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("exanet.machine.machine"), name)
    if not name.startswith("_") and find_spec(f"exanet.machine.{name}") is not None:
        return import_module(f"exanet.machine.{name}")
    raise AttributeError(f"module 'exanet.machine' has no attribute {name!r}")
