# SPDX-License-Identifier: Apache-2.0
"""Modules that can be called: `exanet.run(...)` is a function of the package's interface, and `exanet.run.program` a
module of it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *words: Any, **options: Any) -> Any:
        return getattr(import_module("exanet.api"), self.__name__.rpartition(".")[2])(*words, **options)


def as_function(module: str) -> None:
    """A call of the module is one of the function of exanet/api.py that has its name."""
    sys.modules[module].__class__ = _Callable
