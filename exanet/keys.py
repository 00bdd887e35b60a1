# SPDX-License-Identifier: Apache-2.0
"""Reads KEY=VALUE,... of the command line."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from exanet.errors import InputError


def read(what: str, parts: Iterable[str], known: Collection[str], form: str) -> dict[str, str]:
    """The values by their keys. `what` is the text that they stand in, and `form` says how to write it. Raises
    InputError on a part that is no KEY=VALUE, on a key that is not `known`, and on one that is given twice."""
    found: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in known:
            raise InputError(f"{what}: '{part}' is not understood; {form}")
        if key in found:
            raise InputError(f"{what}: '{key}' is given twice; keep one")
        found[key] = value
    return found
