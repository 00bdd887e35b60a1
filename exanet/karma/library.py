# SPDX-License-Identifier: Apache-2.0
"""Benches in shared libraries, built on first use: their functions, and what they have opened."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from exanet.errors import InputError
from exanet.gateware import build

Signatures = Mapping[str, tuple[Any, Sequence[Any]]]
"""Result and arguments of each function."""


def load(name: str, recipe: build.Recipe, signatures: Signatures) -> ctypes.CDLL:
    """The library of that recipe. Raises InputError when it cannot be built or loaded."""
    path = build.library(name, recipe)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(f"{path}: {error}; remove its folder, and it is built again") from None
    for function, (result, arguments) in signatures.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, arguments
    return library


class Opened:
    """What a library's function has opened, until `close`, or as a context."""

    _library: ctypes.CDLL
    _handle: Any
    _closes: str
    """The function that closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._handle:
            getattr(self._library, self._closes)(self._handle)
            self._handle = None
